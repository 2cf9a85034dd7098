"""Scripts of the graph `code` in the real sandbox: calls of tools, attacks on the bridge, and limits."""

from __future__ import annotations

import asyncio
import http.server
import socket
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import StoreError, ToolError
from arvis.ports.sandbox import BRIDGE, Task
from arvis.ports.tool import Caller
from arvis.process.sandbox import Bubblewrap
from arvis.tools.code import PackageSets, Workbench, code_tool, daemons_interpreter
from arvis.tools.code.tool import MOST_CALLS, RESULT
from tests.flows.scripted import Held, ScriptedTool
from tests.parts import refused, require
from tests.wings.code_attempts import ATTEMPTS, RAW


@dataclass
class Place:
    """A data folder with the workspace of a conversation. Scripts can call `look`."""

    sandbox: Bubblewrap
    data: Path
    look: ScriptedTool

    @property
    def workspace(self) -> Path:
        return self.data / "sessions/one/workspace"

    def bench(self, *allowed: str, seconds: float = 20.0, settings: Mapping[str, str] | None = None) -> Workbench:
        python, folder = daemons_interpreter(), self.data / "code"
        packages = PackageSets(
            folder=folder, sandbox=self.sandbox, interpreter=python, allowed=allowed, settings=settings
        )
        return Workbench(self.sandbox, python, packages, seconds)

    async def run(self, script: str, *libraries: str, bench: Workbench | None = None) -> str:
        caller = Caller(Agent("a", "helper", "Helper"), None, "one", "e", None, "e-1-1", self.workspace, "UTC")
        tool = code_tool(bench or self.bench(), {"look": self.look})
        arguments: dict[str, Any] = {"script": script, "libraries": list(libraries)}
        tool.check(arguments)
        return await tool.call(arguments, caller)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    sandbox = Bubblewrap(hidden=[tmp_path])
    reason = await sandbox.refusal()
    if reason is not None:
        refused(reason)
    (tmp_path / "arvis.db").write_text("canary", encoding="utf-8")
    before = _descriptors()
    yield Place(sandbox, tmp_path, ScriptedTool("look"))
    await asyncio.sleep(0)  # lets the loop close its transports
    assert _descriptors() <= before


async def test_a_script_runs_in_the_folder_of_the_conversation(place: Place) -> None:
    text = await place.run("open('kept', 'w').write('x')\nprint('hello')")
    assert text == f"{RESULT}\nhello\n[exit code 0]"
    assert (place.workspace / "kept").read_text(encoding="utf-8") == "x"
    assert "kept" in await place.run("import os\nprint(os.listdir())")
    assert await place.run("kept = 1") == f"{RESULT}\n(nothing)\n[exit code 0]"
    assert "NameError" in await place.run("print(kept)")


async def test_a_tool_is_a_function_of_the_script(place: Place) -> None:
    text = await place.run("print([look({'words': each}) for each in 'ab'])\nprint(look())")
    assert "['look of a', 'look of b']\nlook of nothing\n[exit code 0; tools called: look, look, look]" in text
    assert place.look.callers[0].call_id == "e-1-1-1"


async def test_an_error_of_a_tool_is_an_exception_of_the_script(place: Place) -> None:
    place.look.script.append(ToolError("It is dark."))
    text = await place.run(
        "try:\n    look()\nexcept ToolError as error:\n    print('caught', error)\nlook({'colour': 1})"
    )
    assert "caught It is dark." in text
    assert text.count('File "<script>"') == 1
    assert "ToolError: The arguments are not valid" in text
    assert "exit code 1" in text


async def test_large_values_pass(place: Place) -> None:
    place.look.script.append("é" * 200_000)
    text = await place.run("print(len(look({'words': 'y' * 200_000})))")
    assert "200000" in text
    assert place.look.calls == [{"words": "y" * 200_000}]


async def test_a_traceback_shows_the_script_and_nothing_of_ours(place: Place) -> None:
    text = await place.run("def f():\n    return 1 / 0\nf()")
    assert "return 1 / 0" in text
    assert "inside" not in text
    assert text.count("File ") == 2
    assert "SyntaxError" in await place.run("this is no python")
    assert "exit code 3" in await place.run("import sys; sys.exit(3)")


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_attempts_over_the_bridge(attempt: str, place: Place) -> None:
    script, told = ATTEMPTS[attempt]
    text = await place.run(RAW + script)
    assert told in text
    assert "SyntaxError" not in text
    assert len(place.look.calls) <= 1


async def test_thousands_of_calls_end_at_the_bound(place: Place) -> None:
    script = "made = 0\ntry:\n    while True:\n        look(); made += 1\nexcept ToolError as error:\n    print(made, error)\n"
    text = await place.run(f"{script}for _ in range(5000):\n    try: look()\n    except ToolError: pass\nprint('over')")
    assert f"{MOST_CALLS} A script can call tools at most {MOST_CALLS} times" in text
    assert "over" in text
    assert len(place.look.calls) == MOST_CALLS


async def test_requests_whose_answers_nobody_reads_hold_nothing_up(place: Place) -> None:
    place.look.script += ["x" * 200_000] * MOST_CALLS
    flood = "os.write(bridge, LOOK * 100)\nimport time\ntime.sleep(20)"
    began = time.monotonic()
    text = await place.run(RAW + flood, bench=place.bench(seconds=2.5))
    assert "time limit of 2500 ms" in text
    assert len(place.look.calls) < MOST_CALLS
    assert time.monotonic() - began < 5


async def test_a_script_ends_at_its_time_limit_and_so_does_its_call(place: Place) -> None:
    held = Held()
    place.look.script.append(held)
    text = await place.run("print('begun')\nlook()", bench=place.bench(seconds=2.5))
    assert text == f"{RESULT}\nbegun\n[stopped at its time limit of 2500 ms; tools called: look]"
    assert held.cancelled.is_set()


async def test_a_script_that_ends_leaves_no_call_behind(place: Place) -> None:
    held = Held()
    place.look.script.append(held)
    text = await place.run(
        "import threading, time, os\nthreading.Thread(target=look).start()\ntime.sleep(0.3)\nos._exit(5)"
    )
    assert "exit code 5" in text
    assert held.cancelled.is_set()


async def test_a_cancelled_script_is_over_with_all_that_it_started(place: Place) -> None:
    held = Held()
    place.look.script.append(held)
    late = "import subprocess\nsubprocess.Popen(['/bin/sh', '-c', 'sleep 1; touch late'])\nlook()"
    running = asyncio.create_task(place.run(late))
    await held.until_begun()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert held.cancelled.is_set()
    await asyncio.sleep(1.1)
    assert not (place.workspace / "late").exists()


async def test_a_defect_that_is_not_for_the_model_ends_the_script(place: Place) -> None:
    place.look.script.append(StoreError("lost"))
    began = time.monotonic()
    with pytest.raises(StoreError):
        await place.run("try:\n    look()\nfinally:\n    import time; time.sleep(15)")
    assert time.monotonic() - began < 5


async def test_output_is_cut_in_the_middle(place: Place) -> None:
    text = await place.run("print('begin')\nprint('x' * 3_000_000)")
    assert text.startswith(f"{RESULT}\nbegin")
    assert "characters omitted" in text
    assert text.endswith("[exit code 0; some output was dropped]")
    assert len(text) < 8_300
    assert "\x1b" not in await place.run("print('\\x1b[31m')")


async def test_a_script_has_bounds_of_memory_and_no_network(place: Place) -> None:
    assert "MemoryError" in await place.run("x = b'x' * 2_000_000_000")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = await place.run(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\n")
        assert "ConnectionRefusedError" in text
    text = await place.run(f"print(open({str(place.data / 'arvis.db')!r}).read())")
    assert "canary" not in text


async def test_a_bridge_is_for_tasks_that_ask_for_one(place: Place) -> None:
    place.workspace.mkdir(parents=True)
    finished = await place.sandbox.run(Task(["/bin/sh", "-c", "ls /proc/self/fd | wc -l; env"], place.workspace))
    assert finished.stdout.split()[0] == b"4"
    assert BRIDGE.encode() not in finished.stdout


async def test_without_a_sandbox_nothing_runs(place: Place) -> None:
    place.sandbox = Bubblewrap(program="no-such-bwrap")
    with pytest.raises(ToolError, match="apt-get install bubblewrap"):
        await place.run("print(1)")


# --- Packages ---


@pytest.fixture
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a package index on this machine with one wheel, and one package that has no wheel."""
    root = tmp_path_factory.mktemp("index")
    wheel = root / "simple/greet/greet-1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("greet.py", "def hello(): return 'hello from a wheel'\n")
        archive.writestr("greet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n")
        archive.writestr("greet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("greet-1.0.dist-info/RECORD", "")
    source = root / "simple/source/source-1.0.tar.gz"
    source.parent.mkdir()
    source.write_bytes(b"x")

    class Pages(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, directory=str(root), **more)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


async def test_declared_packages_are_there_and_stay(place: Place, index: str) -> None:
    bench = place.bench("greet", settings={"PIP_INDEX_URL": index})
    assert bench.interpreter.pip is not None
    script = "import greet\nprint(greet.hello())\nopen(greet.__file__, 'a')"
    text = await place.run(script, "greet==1.0", bench=bench)
    assert "hello from a wheel" in text
    assert "Read-only" in text
    (kept,) = (place.data / "code").iterdir()
    assert not (kept / ".pip").exists()
    again = place.bench("greet", settings={"PIP_INDEX_URL": "http://127.0.0.1:9/simple"})
    assert "hello from a wheel" in await place.run(script, "greet==1.0", bench=again)
    assert "ModuleNotFoundError" in await place.run(script, bench=bench)


async def test_what_is_no_wheel_is_not_installed(place: Place, index: str) -> None:
    bench = place.bench("*", settings={"PIP_INDEX_URL": index})
    with pytest.raises(ToolError, match="could not be installed"):
        await place.run("print(1)", "source", bench=bench)
    assert [path.suffix for path in (place.data / "code").iterdir()] == [".part"]


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
