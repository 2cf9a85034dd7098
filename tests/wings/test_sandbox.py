"""The sandbox against hostile programs: escape attempts, processes that stay behind, and limits of resources."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import stat
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import ToolError
from arvis.domain.tools import Permit
from arvis.ports.sandbox import WORKSPACE, Finished, Task
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.sandbox import Bubblewrap, _limited, _limits
from arvis.process.subprocess_guard import _control_group, _crowded, _namespace_init
from arvis.tools import run_shell
from arvis.tools.registry import Policy
from tests.flows.web_server import running_site
from tests.parts import find, refused, require
from tests.wings.sandbox_escapes import ESCAPES, PREAMBLE, SURVIVORS

_INSTALL = "install bubblewrap (Debian: apt-get install bubblewrap)"
_PYTHON = "/usr/bin/python3"


@dataclass
class Place:
    """A data folder with secrets, and the workspace of a program in it."""

    sandbox: Bubblewrap
    data: Path
    workspace: Path

    async def run(self, *argv: str, **more: Any) -> Finished:
        return await self.sandbox.run(Task(argv, self.workspace, **more))

    async def shell(self, command: str, **more: Any) -> Finished:
        return await self.run("/bin/sh", "-c", command, **more)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    require("bwrap", _INSTALL)
    sandbox = Bubblewrap(hidden=[tmp_path])
    reason = await sandbox.refusal()
    if reason is not None:
        refused(reason)
    workspace = tmp_path / "sessions/one"
    workspace.mkdir(parents=True)
    (tmp_path / "arvis.db").write_text("canary", encoding="utf-8")
    (tmp_path / "sessions/two").write_text("canary", encoding="utf-8")
    yield Place(sandbox, tmp_path, workspace)
    assert _names(tmp_path) == ["arvis.db", "sessions"]


@pytest.fixture
def canary() -> Iterator[tuple[int, list[socket.socket]]]:
    """Servers that no program may reach, and a secret in the environment that no program may read."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            stack.enter_context(socket.socket(socket.AF_UNIX)),
        ]
        port = servers[0].getsockname()[1]
        servers[1].bind(f"\0arvis-canary-{port}")
        servers[1].listen()
        for server in servers:
            server.setblocking(False)
        os.environ["ARVIS_CANARY"] = "canary"
        stack.callback(os.environ.pop, "ARVIS_CANARY")
        yield port, servers


def test_there_are_enough_attempts() -> None:
    assert len(ESCAPES) + len(SURVIVORS) >= 30


@pytest.mark.parametrize("attempt", ESCAPES)
async def test_no_attempt_escapes(attempt: str, place: Place, canary: tuple[int, list[socket.socket]]) -> None:
    port, servers = canary
    secrets = [str(place.data / "arvis.db"), str(place.data / "sessions/two")]
    program = f"SECRETS, PORT, PARENT, OUTSIDE = {secrets!r}, {port}, {os.getpid()}, {str(place.data)!r}\n"
    program += PREAMBLE + ESCAPES[attempt]
    finished = await place.run(_PYTHON, "-", stdin=program.encode(), timeout=10.0, memory=1 << 28)
    assert b"ESCAPED" not in finished.stdout
    assert b"SyntaxError" not in finished.stderr
    for server in servers:
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("way", SURVIVORS)
async def test_nobody_outlives_a_program(way: str, place: Place) -> None:
    for timeout in (10.0, 0.3):
        hangs = SURVIVORS[way] if timeout > 1 else f"{SURVIVORS[way].replace('exit', 'true')}; sleep 20"
        finished = await place.shell(hangs, timeout=timeout)
        assert finished.timed_out == (timeout < 1)
    await asyncio.sleep(1.2)
    assert not (place.workspace / "late").exists()


async def test_a_cancelled_program_is_over_at_once(place: Place) -> None:
    running = asyncio.create_task(place.shell("touch begun; sleep 1; touch late"))
    await asyncio.to_thread(_until, place.workspace / "begun")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.sleep(1.2)
    assert not (place.workspace / "late").exists()


@pytest.mark.alone
async def test_a_bomb_of_processes_is_ended_on_a_busy_machine(place: Place) -> None:
    load = [await asyncio.create_subprocess_exec(_PYTHON, "-c", "while True: pass") for _ in range(6)]
    try:
        finished = await place.run("/bin/bash", "-c", ":(){ :|:& };:; sleep 30", timeout=20.0)
    finally:
        for busy in load:
            busy.kill()
            await busy.wait()
    assert not finished.timed_out
    assert finished.exit_code != 0 or b"Resource temporarily unavailable" in finished.stderr


def test_the_processes_of_the_machine_do_not_count_before_the_sandbox_is_complete() -> None:
    require("unshare", "install util-linux (Debian: apt-get install util-linux)")
    with subprocess.Popen(["unshare", "-U", "-r", "--pid", "--fork", "sleep", "60"]) as starting:
        while not (init := _namespace_init(starting.pid)):
            assert starting.poll() is None
        assert not _crowded(init, 0)
        os.kill(init, signal.SIGKILL)


async def test_a_program_with_many_threads_is_ended(place: Place) -> None:
    code = "import threading as t; t.stack_size(65536); [t.Thread(target=t.Event().wait).start() for _ in range(700)]"
    finished = await place.run(_PYTHON, "-c", code, timeout=20.0)
    assert not finished.timed_out
    assert b"more than 512 threads" in finished.stderr


#: A program that starts processes until the kernel refuses them, and prints their number.
FORKS = """
import os, signal
forked = []
try:
    while len(forked) < 2000:
        pid = os.fork()
        if not pid:
            signal.pause()
        forked.append(pid)
except BlockingIOError:
    print(len(forked))
for pid in forked:
    os.kill(pid, signal.SIGKILL)
"""


async def test_the_kernel_limits_the_processes_of_every_user_except_root(tmp_path: Path) -> None:
    require("bwrap", _INSTALL)
    task = Task([_PYTHON, "-c", FORKS], tmp_path)
    walls = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    walls += ["--ro-bind", "/", "/", "--proc", "/proc"]
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    argv = [*user, "bwrap", *walls, *_limited(_limits(task)), *task.argv]
    finished = await asyncio.to_thread(subprocess.run, argv, cwd="/", capture_output=True, timeout=120)
    assert 900 < int(finished.stdout or 0) <= 1024, finished.stderr


def test_a_control_group_limits_the_processes_of_root() -> None:
    if not (group := _control_group(50)):
        refused("Only root can create a control group, and only with version 1.")
    join = f"open('{group}/cgroup.procs', 'w').write('0')"
    try:
        output = subprocess.run([_PYTHON, "-c", f"{join}\n{FORKS}"], capture_output=True, timeout=60, check=True).stdout
        assert int(output) == 49
    finally:
        while Path(f"{group}/cgroup.procs").read_text(encoding="ascii"):
            pass
        Path(group).rmdir()


async def test_a_program_yields_to_the_daemon(place: Place) -> None:
    finished = await place.shell("nice; cat /proc/self/oom_score_adj /proc/1/oom_score_adj")
    assert finished.stdout.split() == [str(min(os.nice(0) + 10, 19)).encode(), b"1000", b"1000"]


@pytest.mark.alone
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (":(){ :|:& };:; sleep 60", "more than 256 processes"),
        (
            "for n in 1 2 3 4 5 6; do python3 -c \"x = b'x' * (300 << 20); import time; time.sleep(60)\" & done; wait",
            "of memory",
        ),
        ("python3 -c \"for n in range(10 ** 6): open(str(n), 'w').close()\"; sleep 60", "more than 20000 files"),
        ("truncate -s 1T hole", "a file was larger than 256 MiB"),
    ],
)
async def test_the_daemon_answers_while_a_program_uses_up_a_limit(
    command: str, words: str, place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with running_site(tmp_path_factory.mktemp("site")) as site:
        bomb = asyncio.create_task(place.run("/bin/bash", "-c", command, timeout=60.0))
        waits = []
        while not bomb.done():
            begun = time.monotonic()
            assert (await site.call("GET", "/health", key=None)).status == 200
            waits.append(time.monotonic() - begun)
            await asyncio.wait({bomb}, timeout=0.02)
    finished = await bomb
    assert not finished.timed_out
    assert finished.exit_code != 0
    assert words in finished.stderr.decode()
    assert sorted(waits)[len(waits) * 9 // 10] < 1.0


@pytest.mark.alone
async def test_many_processes_share_one_bound_of_memory(place: Place) -> None:
    hold = "held = b'x' * 60_000_000; import time; time.sleep(30)"
    commands = " & ".join([f'{_PYTHON} -c "{hold}"'] * 4)
    finished = await place.shell(f"{commands}; wait", timeout=20.0, memory=150_000_000)
    assert not finished.timed_out
    assert b"of memory" in finished.stderr


@pytest.mark.alone
async def test_shared_memory_counts_as_well(place: Place) -> None:
    hold = "import mmap, time; held = mmap.mmap(-1, 60_000_000); held.write(bytes(60_000_000)); time.sleep(30)"
    commands = " & ".join([f"{_PYTHON} -c '{hold}'"] * 4)
    finished = await place.shell(f"{commands}; wait", timeout=20.0, memory=150_000_000)
    assert not finished.timed_out
    assert b"of memory" in finished.stderr


def bounded(place: Place, *, disk: int | None = None, files: int | None = None) -> Place:
    return replace(place, sandbox=Bubblewrap(hidden=[place.data], disk=disk, files=files))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("for n in 1 2 3 4 5 6; do head -c 10000000 /dev/zero > big$n; done; sleep 30", "more than 40 MiB"),
        ("exec 3> gone; rm gone; head -c 60000000 /dev/zero >&3; sleep 30", "more than 40 MiB"),
        ("mkdir -p a/b; for n in $(seq 300); do echo > a/b/$n; done; sleep 30", "more than 200 files"),
        ("cd /tmp; for n in $(seq 300); do echo > $n; done; sleep 30", "more than 200 files"),
        ("mkdir -m 0 shut; sleep 30", "cannot be read"),
        ("for n in $(seq 150); do mkdir d; cd d; done; sleep 30", "nested too deeply"),
    ],
)
async def test_a_program_that_fills_its_folder_is_ended(command: str, words: str, place: Place) -> None:
    if "shut" in command and os.geteuid() == 0:
        words = ""  # Root may read everything, so the program is not stopped for it.
        command = command.removesuffix("; sleep 30")
    finished = await bounded(place, disk=40 << 20, files=200).shell(command, timeout=20.0)
    assert not finished.timed_out
    assert words in finished.stderr.decode()
    assert finished.exit_code != 0 or not words


async def test_a_folder_that_is_full_already_can_be_cleared_but_not_filled(place: Place) -> None:
    for number in range(300):
        (place.workspace / str(number)).touch()
    small = bounded(place, files=200)
    finished = await small.shell("touch more; sleep 30", timeout=20.0)
    assert b"more than 300 files" in finished.stderr
    assert (await small.shell("sleep 0.5; rm -r *; sleep 0.5")).exit_code == 0


async def test_links_and_holes_take_no_room(place: Place) -> None:
    command = "head -c 15000000 /dev/zero > one; for n in 1 2 3 4; do ln one $n; done; truncate -s 200M hole; sleep 0.5"
    assert (await bounded(place, disk=20 << 20).shell(command)).exit_code == 0


async def test_what_only_harms_does_not_stay_in_the_folder(place: Place) -> None:
    command = """cp /bin/true program; chmod 6755 program; mkdir -p in/side; cp program in/side/; chmod 06000 in/side/program
        mkfifo pipe; ln -s /bin/true link; mkdir shut; echo > shut/file; chmod 2000 shut
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("plug")'"""
    finished = await place.shell(command)
    assert finished.exit_code == 0, finished.stderr
    found = {str(path.relative_to(place.workspace)): path.lstat() for path in place.workspace.rglob("*")}
    assert sorted(found) == ["in", "in/side", "in/side/program", "link", "program", "shut", "shut/file"]
    assert {name for name, each in found.items() if each.st_mode & 0o7000} == set()
    assert stat.S_IMODE(found["program"].st_mode) == 0o755
    assert stat.S_IMODE(found["shut"].st_mode) == 0o700


async def test_memory_of_no_process_cannot_be_had(place: Place) -> None:
    finished = await place.shell(f"{_PYTHON} -c 'import os; os.memfd_create(\"x\")'")
    assert b"PermissionError" in finished.stderr
    code = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.msgget(0, 0o1600), ctypes.get_errno())"
    assert (await place.run(_PYTHON, "-c", code)).stdout == b"-1 1\n"


@pytest.mark.parametrize("stream", ["1", "2"])
async def test_a_flood_takes_no_room(stream: str, place: Place) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finished = await place.shell(f"yes >&{stream}", timeout=1.5, max_output=10_000)
    assert finished.timed_out
    assert finished.truncated
    assert len(finished.stdout) + len(finished.stderr) == 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


async def test_what_a_program_has(place: Place) -> None:
    task = "pwd; id -u; cat; echo $HOME $LANG $GIVEN; umask; echo text > file; exit 3"
    finished = await place.shell(task, stdin=b"in\n", environment={"GIVEN": "here", "LD_PRELOAD": "/x.so"})
    assert finished.stdout.decode().split() == [WORKSPACE, "1000", "in", "/tmp", "C.UTF-8", "here", "0077"]
    assert finished.exit_code == 3
    assert (place.workspace / "file").read_text(encoding="utf-8") == "text\n"
    assert (await place.shell("kill -9 $$")).exit_code == -9


async def test_what_may_be_read_cannot_be_written(place: Place, tmp_path: Path) -> None:
    shown = tmp_path / "sessions/shown"
    shown.mkdir()
    (shown / "text").write_text("seen", encoding="utf-8")
    command = f"cat {shown}/text; echo no > {shown}/text; ls {place.data}"
    finished = await place.shell(command, readable=[shown])
    assert finished.stdout == b"seensessions\n"
    assert b"Read-only" in finished.stderr


@pytest.mark.parametrize("path", ["/", "/proc", "/dev", "/tmp"])
async def test_the_sandboxs_own_folders_are_not_the_machines(path: str, place: Place) -> None:
    with pytest.raises(ToolError):
        await place.shell("true", readable=[Path(path)])


async def test_a_hidden_folder_inside_a_readable_one_is_not_seen(place: Place) -> None:
    finished = await place.shell(f"ls -A {place.data}; touch {place.data}/new", readable=[place.data.parent])
    assert finished.stdout == b""
    assert b"Read-only" in finished.stderr, "it is in memory without a limit"


@pytest.mark.parametrize("name", ["A=B", "A\0--bind\0/\0/x", ""])
async def test_an_environment_adds_no_option(name: str, place: Place) -> None:
    with pytest.raises(ToolError):
        await place.shell("true", environment={name: "x"})


@pytest.mark.parametrize("argv", [["/bin/sh", "-c", "a\0b"], ["x" * 200_000], ["\ud800"]])
async def test_what_cannot_be_started_is_told(argv: list[str], place: Place) -> None:
    with pytest.raises(ToolError):
        await place.run(*argv)


async def test_a_network_that_is_granted_is_there(place: Place, canary: tuple[int, list[socket.socket]]) -> None:
    code = f"import socket; socket.create_connection(('127.0.0.1', {canary[0]}), 5); print('there')"
    finished = await place.run(_PYTHON, "-c", code, network=True)
    assert finished.stdout == b"there\n"


# --- The tool ---


def tool_of(sandbox: Bubblewrap) -> Tool:
    others = cast("Any", None)
    return run_shell.create(ToolServices(others, others, others, others, sandbox, others, others, others))


def caller_in(workspace: Path) -> Caller:
    return Caller(Agent("a", "helper", "Helper"), None, "c", "e", None, "1", workspace, "UTC")


async def test_the_tool_tells_output_errors_and_the_end(place: Place) -> None:
    tool, caller = tool_of(place.sandbox), caller_in(place.workspace / "new")
    text = await tool.call({"command": "echo out; echo err >&2; exit 4"}, caller)
    assert text == "out\nerr\n[exit code 4]"
    assert await tool.call({"command": "kill -9 $$"}, caller) == "\n[ended by signal 9]"
    assert "time limit of 300 ms" in await tool.call({"command": "sleep 9", "timeout_ms": 300}, caller)
    long = await tool.call({"command": "echo begin; yes x | head -c 100000; echo end"}, caller)
    assert long.startswith("begin")
    assert long.endswith("end\n[exit code 0]")
    assert "characters omitted" in long
    assert len(long) < 4_200


#: One deletion in forms that lists of forbidden words recognize, and in forms that they do not.
DELETIONS = (
    "rm -rf {target}",
    "r''m -r\\f {target}",
    "$(printf 'r%s' m) -rf {target}",
    "eval $(echo cm0gLXJm | base64 -d) {target}",
    "find {target} -delete",
    "/usr/bin/python3 -c \"import shutil; shutil.rmtree('{target}')\"",
    "x=m; r$x -rf {target}; :",
    "ls\nrm -rf {target}",
    "true `rm -rf {target}`",
    ": > {target}/kept; > {target}/kept",
)


@pytest.mark.parametrize("command", DELETIONS)
async def test_the_sandbox_and_no_list_of_words_protects_files(
    place: Place, tmp_path_factory: pytest.TempPathFactory, command: str
) -> None:
    """The command may do in its own folder what it cannot do elsewhere, in whatever words."""
    tool, caller = tool_of(place.sandbox), caller_in(place.workspace / "new")
    # The policy knows the risk of the tool only, so it asks before every command.
    assert Policy(rules={}).permit(tool) is Permit.ASK
    other = tmp_path_factory.mktemp("other") / "folder"
    for folder in (other, caller.workspace / "own"):
        folder.mkdir(parents=True)
        (folder / "kept").write_text("kept")
    await tool.call({"command": command.format(target=other)}, caller)
    assert (other / "kept").read_text() == "kept"
    await tool.call({"command": command.format(target="own")}, caller)
    own = caller.workspace / "own" / "kept"
    assert not own.exists() or own.read_text() == ""


@pytest.mark.parametrize(
    "arguments", [{}, {"command": ""}, {"command": "x", "timeout_ms": 0}, {"command": "x", "y": 1}]
)
def test_the_tool_checks_what_it_is_given(arguments: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        tool_of(Bubblewrap()).check(arguments)


async def test_without_bubblewrap_the_tool_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="apt-get install bubblewrap"):
        await tool_of(Bubblewrap(program="no-such-bwrap")).call({"command": "true"}, caller_in(tmp_path))


async def test_a_machine_without_a_filter_of_system_calls_runs_nothing(tmp_path: Path) -> None:
    require("bwrap", _INSTALL)
    with pytest.raises(ToolError, match="no filter of system calls for the machine type riscv64"):
        await tool_of(Bubblewrap(machine="riscv64")).call({"command": "true"}, caller_in(tmp_path))


async def test_a_kernel_without_namespaces_is_told_of(tmp_path: Path) -> None:
    require("bwrap", _INSTALL)
    program = tmp_path / "bwrap"
    none = "echo 0 > /proc/sys/user/max_user_namespaces"
    program.write_text(f'#!/bin/sh\nexec unshare -U -r sh -c \'{none} && exec bwrap "$@"\' sh "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    sandbox = Bubblewrap(program=str(program))
    reason = await sandbox.refusal()
    assert reason is not None
    assert "Allow user namespaces" in reason
    with pytest.raises(ToolError, match="Allow user namespaces"):
        await tool_of(sandbox).call({"command": "true"}, caller_in(tmp_path))


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _until(file: Path) -> None:
    while not file.exists():
        assert find("sh")
