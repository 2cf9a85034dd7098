"""Servers of tools that are added, changed and removed at run time, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from arvis.config.servers import STORED_SERVERS, McpServer
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.ports.store import Store
from arvis.process.clock import SystemClock
from arvis.process.secrets import SealedBox
from arvis.tools.mcp.servers import McpServers, open_servers
from arvis.tools.mcp.stored import ServerChanges, StoredServers
from tests.flows.test_mcp_client import SERVER, Bench, over_http, until

SECRET = "key-of-the-weather"
FILE = McpServer(name="file", command=SERVER)


@asynccontextmanager
async def a_process(store: Store, folder: Path) -> AsyncIterator[McpServers]:
    box = SealedBox(file=folder / "key", given=None, tell=print)
    stored = StoredServers(store, box, SystemClock())
    async with open_servers([FILE], clock=SystemClock(), store=store, stored=stored) as servers:
        yield servers


async def test_a_server_is_added_changed_and_removed_in_every_process(either_store: Store, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        url, moved = [await stack.enter_async_context(over_http()) for _ in range(2)]
        one, other = [await stack.enter_async_context(a_process(either_store, tmp_path)) for _ in range(2)]
        await one.add("net", ServerChanges({"url": url, "risk": "read"}, {"X-Key": SECRET}))
        for servers in (one, other):
            await until(lambda servers=servers: servers.find(["net.header"]))  # type: ignore[misc]
            assert await Bench(servers).call("net.header", name="x-key") == "[redacted]"
        kept = await either_store.read(lambda tx: tx.kv.get(STORED_SERVERS) or "")
        assert url in kept
        assert SECRET not in kept
        with pytest.raises(Conflict, match="already"):
            await other.add("net", ServerChanges({"url": url}))
        with pytest.raises(Unprocessable, match="X-Key"):
            await one.change("net", ServerChanges({"url": moved}))
        await one.add("late", ServerChanges({"url": url}))
        tools = {tool.name: tool.digest for tool in (await one.status("late")).tools}
        # The other process has just read the stored servers, and still finds the new one.
        await other.accept("late", tools, "owner")
        await one.remove("late")
        await one.change("net", ServerChanges({"url": moved}, {"X-Key": None}))
        await until(lambda: one.find(["net.header"]))
        assert await Bench(one).call("net.header", name="x-key") == "(not sent)"
        await other.remove("net")
        with pytest.raises(NotFound):
            await other.remove("net")
        assert await other.find(["net.*"]) == []
        await until(lambda: gone(one))


async def gone(servers: McpServers) -> bool:
    return len(await servers.statuses()) == 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (ServerChanges({"url": "http://127.0.0.1:1/mcp", "command": ["sh"]}), "settings.command"),
        (ServerChanges({"url": "http://127.0.0.1:1/mcp", "env": {"A": "b"}}), "settings.env"),
        (ServerChanges({"url": "http://127.0.0.1:1/mcp", "local": True}), "settings.local"),
        (ServerChanges({"url": "http://127.0.0.1:1/mcp", "name": "file"}), "settings.name"),
        (ServerChanges({"url": "file:///etc/passwd"}), "url"),
        (ServerChanges({"url": "http://127.0.0.1:1/mcp"}, {"X\n": "y"}), "headers"),
        (ServerChanges({}), "command"),
    ],
)
async def test_no_program_and_no_wrong_value_can_be_stored(
    store: Store, tmp_path: Path, changes: ServerChanges, text: str
) -> None:
    async with a_process(store, tmp_path) as servers:
        with pytest.raises(Unprocessable, match=text):
            await servers.add("net", changes)
        assert await store.read(lambda tx: tx.kv.get(STORED_SERVERS)) is None


async def test_a_stored_program_is_never_started(store: Store, tmp_path: Path) -> None:
    """A restored backup may contain any row."""
    row = '{"evil": {"settings": {"command": ["touch", "x"]}, "headers": {}}}'
    await store.write(lambda tx: tx.kv.put(STORED_SERVERS, row, 0))
    async with a_process(store, tmp_path) as servers:
        assert [each.settings.name for each in await servers.statuses()] == ["file"]


async def test_servers_of_the_configuration_cannot_be_changed(store: Store, tmp_path: Path) -> None:
    async with a_process(store, tmp_path) as servers:
        for change in (
            servers.add("file", ServerChanges({"url": "http://127.0.0.1:1/mcp"})),
            servers.change("file", ServerChanges({"risk": "read"})),
            servers.remove("file"),
        ):
            with pytest.raises(Conflict, match="configuration"):
                await change
