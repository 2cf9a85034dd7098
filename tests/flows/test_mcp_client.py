"""Tools of MCP servers: servers made with the official package, as programs and over HTTP, and servers that
misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import uvicorn
from pydantic import SecretStr
from structlog.testing import capture_logs

from arvis.config.servers import McpServer
from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool
from arvis.process.clock import SystemClock
from arvis.store.open import Database
from arvis.tools.mcp.servers import McpServers, open_servers
from tests.conformance.databases import opened
from tests.fixtures.mcp_server import PNG, make_server

FIXTURES = Path(__file__).parents[1] / "fixtures"
SERVER = (sys.executable, str(FIXTURES / "mcp_server.py"))
SECRET = "token-of-the-weather-service"
CALLER = Caller(Agent(id="a", slug="helper", name="Helper"), None, "c", "e", None, "call", Path(), "UTC")


def a_program(**more: Any) -> McpServer:
    return McpServer(**{"name": "fix", "command": SERVER, **more})


def hostile(mode: str, **more: Any) -> McpServer:
    return McpServer(**{"name": "bad", "command": (sys.executable, str(FIXTURES / "mcp_hostile.py"), mode), **more})


class Bench:
    """The tools of some servers."""

    def __init__(self, servers: McpServers) -> None:
        self.servers = servers

    async def tool(self, name: str) -> Tool:
        (found,) = await self.servers.find([name])
        return found

    async def call(self, name: str, /, **arguments: Any) -> str:
        return await (await self.tool(name)).call(arguments, CALLER)

    async def refusal(self, name: str, /, **arguments: Any) -> str:
        with pytest.raises(ToolError) as caught:
            await self.call(name, **arguments)
        return caught.value.what


@asynccontextmanager
async def bench(*settings: McpServer) -> AsyncIterator[Bench]:
    async with temporary_store() as store, open_servers(settings, clock=SystemClock(), store=store) as servers:
        yield Bench(servers)


@asynccontextmanager
async def temporary_store() -> AsyncIterator[Store]:
    with TemporaryDirectory() as folder:
        async with opened(Database(Path(folder) / "arvis.db", None, Path(folder))) as store:
            yield store


@asynccontextmanager
async def over_http(port: int = 0, **how: Any) -> AsyncIterator[str]:
    """Run the fixture's server on a free port, and yield its address."""
    async with serving(make_server().streamable_http_app(**how), port) as url:
        yield f"{url}/mcp"


@asynccontextmanager
async def serving(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Run an application on a free port, and yield its address."""
    listener = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=1, access_log=False)
    server = uvicorn.Server(config)
    server.capture_signals = no_signals  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


def no_signals() -> Any:
    """Keep the signal handlers of the test's process."""
    return contextlib.nullcontext()


async def until(true: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(60):
        while not await true():  # noqa: ASYNC110 - a server of others has no event
            await asyncio.sleep(0.02)


def names(tools: Sequence[Tool]) -> list[str]:
    return [tool.spec.name for tool in tools]


def alive(pid: int) -> bool:
    """Return true if the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before or during the read
        return False


# --- A program, made with the package ---


async def test_the_tools_of_a_program_are_offered_and_called() -> None:
    async with bench(a_program(tools=("add", "fail", "picture", "weather", "resources", "large", "grow"))) as fix:
        every = await fix.servers.all()
        assert names(every) == [
            f"fix.{name}" for name in sorted(["add", "fail", "picture", "weather", "resources", "large", "grow"])
        ]
        assert await fix.servers.find(["fix.nothing", "other.add", "fix.sleep", "add"]) == []
        assert names(await fix.servers.find(["fix.*"])) == names(every)
        add = await fix.tool("fix.add")
        assert (add.risk, add.repeatable, add.spec.description) == (Risk.WRITE, False, "Adds two numbers.")
        assert set(add.spec.parameters["properties"]) == {"a", "b"}
        add.check({"a": 1, "b": 2})
        with pytest.raises(ToolError, match="not of type 'integer'"):
            add.check({"a": "x"})

        assert await fix.call("fix.add", a=20, b=22) == "42"
        assert "the moon is full" in await fix.refusal("fix.fail")
        assert await fix.call("fix.picture") == "[A file (1,200 bytes) was left out.]"
        assert '"degrees": 21' in await fix.call("fix.weather", town="Graz")
        assert (await fix.call("fix.resources")).splitlines() == [
            "two",
            "[resource report at file:///report]",
            "[text of file:///letter, 500 characters]",
            "Dear " * 100,
        ]
        long = await fix.call("fix.large", size=200_000)
        assert len(long.encode()) < 263_000
        assert long.endswith("[cut here: the result has 400000 bytes]")

        assert await fix.call("fix.grow") == "done"
        await until(lambda: fix.servers.find(["fix.add"]))


async def test_resources_and_prompts_are_read_with_tools() -> None:
    async with bench(a_program(), hostile("plain")) as fix:
        await until(lambda: fix.servers.find(["fix.mcp_resource"]))
        assert names(await fix.servers.find(["fix.mcp_*", "bad.*"])) == ["bad.plain"]
        assert (await fix.call("fix.mcp_resource")).splitlines() == [
            "data://sales · sales · image/png",
            "template data://{name}/text · text · text/plain · A text by its name.",
        ]
        assert "The text of Ann." in await fix.call("fix.mcp_resource", uri="data://Ann/text")
        assert await fix.call("fix.mcp_resource", uri="data://sales") == f"[A file ({len(PNG)} bytes) was left out.]"
        assert "The call to the server fix failed: " in await fix.refusal("fix.mcp_resource", uri="data://nothing")
        assert (await fix.call("fix.mcp_prompt")).splitlines() == ["greet · Greets a person.", "  who · required"]
        greeting = await fix.call("fix.mcp_prompt", name="greet", arguments={"who": "Ann"})
        assert greeting == "[user]\nGreet Ann kindly."
        prompt = await fix.tool("fix.mcp_prompt")
        assert (prompt.risk, prompt.repeatable) == (Risk.WRITE, False)
        with pytest.raises(ToolError, match="must be an object"):
            prompt.check({"name": "greet", "arguments": ["Ann"]})
    async with bench(a_program(tools=("add", "mcp_prompt"), trust_annotations=True)) as fix:
        await until(lambda: fix.servers.find(["fix.add"]))
        assert names(await fix.servers.all()) == ["fix.add", "fix.mcp_prompt"]
        assert (await fix.tool("fix.mcp_prompt")).risk is Risk.READ


async def test_a_changed_list_is_read_again() -> None:
    async with bench(a_program()) as fix:
        assert await fix.servers.find(["fix.grown"]) == []
        await fix.call("fix.grow")
        await until(lambda: fix.servers.find(["fix.grown"]))
        assert await fix.call("fix.grown") == "grown"


async def test_a_changed_list_of_an_older_server_is_read_again() -> None:
    async with bench(hostile("changes")) as fix:
        assert await fix.servers.find(["bad.later"]) == []
        await fix.call("bad.plain", text="x")
        await until(lambda: fix.servers.find(["bad.later"]))


async def test_what_a_server_says_of_itself_counts_only_when_trusted() -> None:
    async with bench(a_program(trust_annotations=True, risk="exec", repeatable=True)) as fix:
        add, fail = await fix.tool("fix.add"), await fix.tool("fix.fail")
        assert (add.risk, fail.risk) == (Risk.READ, Risk.EXEC)
        assert add.repeatable


async def test_a_program_sees_only_its_own_environment_and_its_secret_reaches_no_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARVIS_OF_THE_DAEMON", "x")
    with capture_logs() as logs:
        async with bench(a_program(env={"TOKEN": SecretStr(SECRET)})) as fix:
            kept = set((await fix.call("fix.environment", name="*")).split())
            assert "TOKEN" in kept
            # Python itself adds the others.
            assert kept <= {"PATH", "HOME", "LANG", "TOKEN", "LC_CTYPE"}
            # The value reached the server; the output is redacted.
            assert await fix.call("fix.environment", name="TOKEN") == "[redacted]"
            assert await fix.call("fix.complain", lines=500) == "complained"
            await until(lambda: said(logs, "mcp_server_says"))
    lines = [entry["text"] for entry in logs if entry["event"] == "mcp_server_says"]
    assert lines[0] == "complaint 0 [redacted]"
    assert len(lines) <= 30
    assert SECRET not in str(logs)


async def said(logs: Sequence[Mapping[str, Any]], event: str) -> bool:
    return any(entry["event"] == event for entry in logs)


async def test_a_slow_call_ends_at_the_limit_and_cancellation_passes_through() -> None:
    async with bench(a_program(timeout_seconds=5)) as fix:
        sleep = await fix.tool("fix.sleep")
        call = asyncio.create_task(sleep.call({"seconds": 60}, CALLER))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await fix.call("fix.add", a=1, b=1) == "2"
    async with bench(a_program(timeout_seconds=4)) as fix:
        assert "no answer within 4 seconds" in await fix.refusal("fix.sleep", seconds=60)
        assert await fix.call("fix.add", a=1, b=1) == "2"


async def test_progress_is_reported_in_numbers() -> None:
    async with bench(a_program()) as fix:
        await until(lambda: fix.servers.find(["fix.count"]))
        reports: list[str] = []
        count = await fix.tool("fix.count")
        assert await count.call({}, replace(CALLER, progress=reports.append)) == "counted"
        assert reports == ["1 of 3", "2 of 3", "3 of 3"]


@pytest.mark.parametrize("over", ["program", "http"])
async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path, over: str) -> None:
    async with over_http() as url:
        settings = a_program() if over == "program" else McpServer(name="fix", url=url)
        async with bench(settings) as fix:
            await until(lambda: fix.servers.find(["fix.wait"]))
            mark = tmp_path / "mark"
            call = asyncio.create_task(fix.call("fix.wait", mark=str(mark)))
            await until(lambda: exists(tmp_path / "mark.begun"))
            assert not mark.exists()
            call.cancel()
            await until(lambda: exists(mark))


async def exists(file: Path) -> bool:
    return is_there(file)


def is_there(file: Path) -> bool:
    return file.exists()


async def test_a_program_that_dies_is_started_again() -> None:
    with capture_logs() as logs:
        async with bench(a_program()) as fix:
            assert "disconnected during the call" in await fix.refusal("fix.die")
            await until(lambda: said(logs, "mcp_server_unreachable"))
            assert await fix.servers.find(["fix.*"]) == []
            await until(lambda: fix.servers.find(["fix.add"]))
            assert await fix.call("fix.add", a=1, b=2) == "3"
    assert [entry["event"] for entry in logs] == ["mcp_server_ready", "mcp_server_unreachable", "mcp_server_ready"]


async def test_a_program_ends_with_all_that_it_started() -> None:
    async with bench(a_program()) as fix:
        child = int(await fix.call("fix.child"))
        assert alive(child)
    await until_gone(child)


async def until_gone(pid: int) -> None:
    async def gone() -> bool:
        return not alive(pid)

    await until(gone)


async def test_a_program_that_is_not_there_is_left_out_and_told_of_once() -> None:
    with capture_logs() as logs:
        async with bench(McpServer(name="none", command=("no-such-program",)), hostile("plain")) as fix:
            assert names(await fix.servers.all()) == ["bad.plain"]
            await asyncio.sleep(1.2)
            assert await fix.servers.find(["none.x"]) == []
    told = [entry for entry in logs if entry["event"] == "mcp_server_unreachable"]
    assert [(entry["server"], entry["why"]) for entry in told] == [("none", "No such file or directory")]


# --- Programs that misbehave ---


@pytest.mark.parametrize("mode", ["junk", "notifications", "changes", "stderr"])
async def test_noise_disturbs_nothing(mode: str) -> None:
    with capture_logs() as logs:
        async with bench(hostile(mode)) as fix:
            assert await fix.call("bad.plain", text="x") == "still here"
            assert await fix.call("bad.plain", text="x") == "still here"
    assert len(logs) < 40


@pytest.mark.parametrize("mode", ["endless junk", "long line", "questions"])
async def test_what_would_fill_memory_ends_the_connection(mode: str) -> None:
    async with bench(hostile(mode, timeout_seconds=20)) as fix:
        assert "disconnected during the call" in await fix.refusal("bad.plain", text="x")
        await until(lambda: fix.servers.find(["bad.plain"]))


async def test_a_result_without_a_type_counts_as_complete() -> None:
    async with bench(hostile("untyped")) as fix:
        assert await fix.call("bad.plain", text="x") == "still here"


@pytest.mark.parametrize("mode", ["elicits", "requires"])
async def test_a_question_of_a_server_is_declined_and_told(mode: str) -> None:
    """The older protocol asks with a request of its own, the newer one with an unfinished result."""
    async with bench(hostile(mode)) as fix:
        told = await fix.call("bad.plain", text="x")
        assert told.startswith("decline\n")
        assert 'asked "Which gate?"' in told
        assert "declined" in told


async def test_a_call_whose_server_asks_nothing_ends_after_the_time_limit() -> None:
    async with bench(hostile("asks nothing", timeout_seconds=3)) as fix:
        await until(lambda: fix.servers.find(["bad.plain"]))
        assert await fix.refusal("bad.plain", text="x") == "The server bad gave no answer within 3 seconds."


async def test_an_endless_list_is_read_to_a_bound() -> None:
    async with bench(hostile("endless")) as fix:
        assert len(await fix.servers.all()) == 100


async def test_schemas_that_cannot_be_used_leave_their_tool_out() -> None:
    with capture_logs() as logs:
        async with bench(hostile("schemas")) as fix:
            assert names(await fix.servers.all()) == ["bad.away", "bad.doubling", "bad.huge", "bad.plain", "bad.slow"]
            assert (await fix.tool("bad.plain")).spec.description == "x" * 1_999 + "…"
            began = time.monotonic()
            assert "refers to itself too often" in await fix.refusal("bad.doubling", text="x")
            assert "refers to another document" in await fix.refusal("bad.away", text="x")
            assert "cannot be checked against the tool's schema" in await fix.refusal("bad.huge", n=10**400)
            assert "cannot be checked against the tool's schema" in await fix.refusal("bad.huge", m=10**5_000)
            assert await fix.call("bad.slow", text="a" * 64 + "!") == "still here"
            assert time.monotonic() - began < 10
    left_out = {entry["tool"]: entry["why"] for entry in logs if entry["event"] == "mcp_tool_left_out"}
    assert set(left_out) == {"large", "wrong", "no good name"}
    assert left_out["large"] == "its schema is larger than 32768 bytes"


# --- Over HTTP ---


@pytest.mark.parametrize("how", [{}, {"json_response": True}, {"stateless_http": True}])
async def test_a_server_over_http(how: dict[str, Any]) -> None:
    async with over_http(**how) as url, bench(McpServer(name="net", url=url)) as net:
        assert await net.call("net.add", a=2, b=3) == "5"
        assert "the moon is full" in await net.refusal("net.fail")
        assert "1,200 bytes" in await net.call("net.picture")
        assert '"town": "Graz"' in await net.call("net.weather", town="Graz")


async def test_headers_reach_the_server_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with capture_logs() as logs:
        async with over_http() as url:
            settings = McpServer(
                name="net", url=url, headers={"X-Key": SecretStr(SECRET), "X-Plain": SecretStr("Bearer x")}
            )
            async with bench(settings) as net:
                assert await net.call("net.header", name="x-key") == "[redacted]"
                assert await net.call("net.header", name="x-nothing") == "(not sent)"
                assert SECRET not in repr(settings)
    assert SECRET not in str(logs) + caplog.text


async def test_a_changed_list_is_read_again_over_http() -> None:
    async with over_http() as url, bench(McpServer(name="net", url=url)) as net:
        assert await net.servers.find(["net.grown"]) == []
        # The stream of notifications opens together with the first calls.
        await asyncio.sleep(0.3)
        await net.call("net.grow")
        await until(lambda: net.servers.find(["net.grown"]))


async def test_a_server_over_http_that_dies_comes_back() -> None:
    async with over_http() as url:
        port = int(url.split(":")[2].partition("/")[0])
        open_bench = bench(McpServer(name="net", url=url, timeout_seconds=5))
        net = await open_bench.__aenter__()
        assert await net.call("net.add", a=2, b=3) == "5"
    try:
        add = None
        if found := await net.servers.find(["net.add"]):
            (add,) = found
        if add is not None:
            with pytest.raises(ToolError):
                await add.call({"a": 1, "b": 1}, CALLER)

        async def gone() -> bool:
            return not await net.servers.find(["net.add"])

        await until(gone)
        async with over_http(port):
            await until(lambda: net.servers.find(["net.add"]))
            assert await net.call("net.add", a=4, b=4) == "8"
    finally:
        await open_bench.__aexit__(None, None, None)


async def test_a_refusing_address_is_told_with_its_status() -> None:
    async with over_http() as url:
        with capture_logs() as logs:
            async with bench(McpServer(name="net", url=url.replace("/mcp", "/nothing"))) as net:
                assert await net.servers.all() == []
    (told,) = [entry for entry in logs if entry["event"] == "mcp_server_unreachable"]
    assert "status 404" in told["why"]
