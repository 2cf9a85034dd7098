"""Programs under a guard: they are limited, and none of their child processes outlives them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ToolError
from arvis.ports.sandbox import PROGRAM_MISSING, Finished, Task
from arvis.process.subprocesses import GuardedPrograms

#: A child that leaves its parent, group and session, ignores SIGTERM, and writes its process id to `orphan`.
ORPHAN = "trap '' TERM HUP INT; (setsid sh -c 'echo $$ > orphan.new; mv orphan.new orphan; exec sleep 60' &) &"
WAIT = "while ! [ -e orphan ]; do sleep 0.01; done"

#: A minimal daemon: it runs a program and is killed.
DAEMON = """
import asyncio, sys
from pathlib import Path
from arvis.ports.sandbox import Task
from arvis.process.subprocesses import GuardedPrograms
task = Task(["sh", "-c", sys.argv[1]], Path(sys.argv[2]), environment={"PATH": "/usr/bin:/bin"})
asyncio.run(GuardedPrograms().run(task))
"""


async def run(folder: Path, *argv: str, **more: Any) -> Finished:
    task = Task(argv, folder, environment={"PATH": "/usr/bin:/bin"}, **more)
    return await GuardedPrograms().run(task)


def orphan(folder: Path) -> int:
    return int((folder / "orphan").read_text(encoding="ascii"))


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_it_is_fed_read_and_ends_as_it_ended(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    finished = await run(tmp_path, "sh", "-c", "cat; echo err >&2; exit 3", stdin=data, max_output=4_000_000)
    assert finished == Finished(3, data, b"err\n")
    assert (await run(tmp_path, "sh", "-c", "kill -TERM $$")).exit_code == -signal.SIGTERM
    assert (await run(tmp_path, "sh", "-c", "kill -KILL 0")).exit_code == -signal.SIGKILL
    assert (await run(tmp_path, "true", stdin=data)).exit_code == 0


async def test_it_finds_its_environment_and_no_other(tmp_path: Path) -> None:
    # Without `LANG`, the guard's interpreter would add LC_CTYPE=C.UTF-8.
    given = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "X": "1"}
    finished = await GuardedPrograms().run(Task(["env"], tmp_path, environment=given))
    assert sorted(finished.stdout.decode().split()) == ["LANG=C.UTF-8", "PATH=/usr/bin:/bin", "X=1"]
    umask = await run(tmp_path, "sh", "-c", "umask; pwd; ls /proc/self/fd | wc -l")
    assert umask.stdout.decode().split() == ["0077", str(tmp_path), "4"]


@pytest.mark.parametrize("ending", ["good", "timeout", "cancelled", "consumer"])
async def test_nobody_is_left_behind(ending: str, tmp_path: Path) -> None:
    rest = "exit 5" if ending == "good" else "echo begun; sleep 60"
    script = f"{ORPHAN} {WAIT}; {rest}"
    begun = asyncio.Event()

    def take(_: bytes) -> None:
        begun.set()
        if ending == "consumer":
            raise KeyError

    task = Task(["sh", "-c", script], tmp_path, environment={"PATH": "/usr/bin:/bin"}, timeout=_time(ending))
    running = asyncio.create_task(GuardedPrograms().run(task, on_stdout=take))
    match ending:
        case "good":
            assert (await running).exit_code == 5
        case "timeout":
            assert (await running).timed_out
        case "consumer":
            with pytest.raises(KeyError):
                await running
        case _:
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
    assert not lives(orphan(tmp_path))


def _time(ending: str) -> float:
    return 1.0 if ending == "timeout" else 30.0


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_of_the_daemon_ends_everything(signum: signal.Signals, tmp_path: Path) -> None:
    script = f"{ORPHAN} {WAIT}; echo $$ > program.new; mv program.new program; sleep 60"
    with subprocess.Popen([sys.executable, "-c", DAEMON, script, str(tmp_path)]) as daemon:
        _until((tmp_path / "program").exists)
        program = int((tmp_path / "program").read_text(encoding="ascii"))
        assert lives(program)
        daemon.send_signal(signum)
    _until(lambda: not lives(program) and not lives(orphan(tmp_path)))


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_program_that_hears_no_signal_is_ended(tmp_path: Path) -> None:
    finished = await run(tmp_path, "sh", "-c", "trap '' TERM INT HUP QUIT; while :; do sleep 1; done", timeout=0.3)
    assert (finished.timed_out, finished.exit_code) == (True, -signal.SIGKILL)


async def test_memory_is_bounded_over_all_processes(tmp_path: Path) -> None:
    hold = f"{sys.executable} -c \"held = b'x' * 60_000_000; import time; time.sleep(60)\""
    finished = await run(tmp_path, "sh", "-c", f"{hold} & {hold} & wait", memory=100_000_000)
    assert finished.exit_code == -signal.SIGKILL
    assert b"of memory" in finished.stderr


async def test_processes_are_bounded(tmp_path: Path) -> None:
    many = "i=0; while [ $i -lt 400 ]; do sleep 60 & i=$((i+1)); done; wait"
    finished = await run(tmp_path, "sh", "-c", many)
    assert finished.exit_code == -signal.SIGKILL
    assert b"more than 256 processes" in finished.stderr


async def test_output_beyond_the_bound_is_dropped(tmp_path: Path) -> None:
    finished = await run(tmp_path, "sh", "-c", "head -c 5000000 /dev/zero; echo end >&2", max_output=1_000)
    assert (len(finished.stdout), finished.stderr, finished.truncated) == (1_000, b"end\n", True)


async def test_a_consumer_is_given_all_of_it(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    task = Task(["head", "-c", "500000", "/dev/zero"], tmp_path, environment={"PATH": "/usr/bin:/bin"}, max_output=9)
    finished = await GuardedPrograms().run(task, on_stdout=pieces.append)
    assert (sum(map(len, pieces)), finished.stdout, finished.truncated) == (500_000, b"", False)


async def test_closed_streams_are_no_end(tmp_path: Path) -> None:
    await run(tmp_path, "sh", "-c", "exec <&- >&- 2>&-; sleep 0.2; touch done")
    assert _exists(tmp_path / "done")


def _exists(file: Path) -> bool:
    return file.exists()


async def test_a_missing_program_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        await run(tmp_path, "no-such-program")
    assert caught.value.code == PROGRAM_MISSING
    for argv, folder in (
        (["true", "a\0b"], tmp_path),
        (["true"], tmp_path / "none"),
        (["true", "x" * 200_000], tmp_path),
    ):
        with pytest.raises(ToolError) as caught:
            await run(folder, *argv)
        assert caught.value.code != PROGRAM_MISSING


async def test_no_descriptor_is_lost(tmp_path: Path) -> None:
    await run(tmp_path, "true")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (no folder of files)
    for argv in (["true"], ["sleep", "5"], ["false"]):
        await run(tmp_path, *argv, timeout=0.2)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 (as above)
