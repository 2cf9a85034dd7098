"""Pictures, sounds, documents and linked resources in the results of MCP servers, with the official package."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.messages import OutgoingFile
from arvis.domain.runs import PictureRef
from arvis.media import WebFileReader
from arvis.ports.store import Store
from arvis.ports.tool import Caller, ToolServices
from arvis.process.clock import SystemClock
from arvis.process.subprocesses import GuardedPrograms
from arvis.tools.mcp.servers import McpServers, open_servers
from tests.fixtures.mcp_server import PNG
from tests.flows.test_mcp_client import a_program, until


class Scene:
    """The servers, and the pictures and files that their results contain."""

    def __init__(self, servers: McpServers, folder: Path) -> None:
        self._servers = servers
        self.folder = folder
        self.shown: list[PictureRef] = []
        self.sent: list[OutgoingFile] = []

    async def call(self, name: str, *tools: str, **arguments: Any) -> str:
        self.shown.clear()
        self.sent.clear()
        agent = Agent("a", "helper", "Helper", tools=tools)
        caller = Caller(agent, None, "c", "e", None, "call", self.folder, "UTC")
        caller = replace(caller, show=self.shown.append, attach=self.sent.append)
        await until(lambda: self._servers.find([name]))
        (found,) = await self._servers.find([name])
        return await found.call(arguments, caller)

    @property
    def files(self) -> dict[str, bytes]:
        return {file.name.partition("-")[2]: file.read_bytes() for file in (self.folder / "tools").glob("*")}


@asynccontextmanager
async def open_scene(store: Store, folder: Path, **settings: Any) -> AsyncIterator[Scene]:
    reader = WebFileReader(programs=GuardedPrograms())
    services = ToolServices(
        store=store, clock=SystemClock(), reader=reader, **dict.fromkeys(NOT_USED, cast("Any", None))
    )

    async def given() -> ToolServices:
        return services

    async with open_servers([a_program(**settings)], clock=SystemClock(), store=store, services=given) as servers:
        yield Scene(servers, folder / "workspace")


NOT_USED = ("fetcher", "http", "sandbox", "secrets", "search")


async def test_files_of_a_result_are_shown_sent_and_stored(store: Store, tmp_path: Path) -> None:
    async with open_scene(store, tmp_path) as fix:
        result = await fix.call("fix.sent", "send_file")
        assert [(name, kind) for name, kind, _ in fix.shown] == [("sent.png", "image/png")]
        assert [(file.filename, file.content_type, file.size) for file in fix.sent] == [
            ("sent.png", "image/png", len(PNG))
        ]
        assert await store.get_blob(fix.sent[0].sha256) == await store.get_blob(fix.shown[0][2]) == PNG
        assert set(fix.files) == {"sent.png", "sent.ogg", "notes.bin.txt", "sent.txt"}
        first, sound, document, text, wrong, last, damaged = result.splitlines()
        assert "It will be sent with your reply. It is stored as tools/" in first
        assert "(audio/ogg, 44 bytes)" in sound
        assert "send_file sends it" in sound
        assert ("notes.bin.txt (text/plain" in document, text) == (True, "Some notes.")
        assert ("sent.txt (text/plain" in wrong, last) == (True, "no picture")
        assert damaged == "[a file (image/png) that is damaged: it is not base64]"


async def test_an_agent_without_a_folder_sees_pictures(store: Store, tmp_path: Path) -> None:
    async with open_scene(store, tmp_path, send_files=True) as fix:
        result = await fix.call("fix.sent", "fix.sent")
        assert "stored as" not in result
        assert fix.files == {}
        assert len(fix.shown) == 1
        assert len(fix.sent) == 4


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (5, 0)])
async def test_a_few_linked_resources_are_read(store: Store, tmp_path: Path, count: int, shown: int) -> None:
    async with open_scene(store, tmp_path) as fix:
        result = await fix.call("fix.linked", count=count)
        assert [name for name, _, _ in fix.shown] == ["sales.png"] * shown
        assert result.count("[resource sales.png at data://") == count
