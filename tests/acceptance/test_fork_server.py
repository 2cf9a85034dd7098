"""A forked process behaves like one that the interpreter has started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arvis import __version__
from tests.acceptance.daemon import arvis
from tests.environment import daemon_environment, fork_server, forkable
from tests.fork_server import ForkedProcess, ForkServer, ProgramNotLoaded, fork


@pytest.mark.parametrize("arguments", [["version"], ["jobs", "list", "--status", "odd"], ["run", "--config", "absent"]])
def test_a_forked_command_ends_and_prints_like_a_started_one(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "arvis", *arguments]
    started = subprocess.run(
        command, cwd=tmp_path, env=daemon_environment(), capture_output=True, text=True, check=False
    )
    forked = arvis(*arguments, cwd=tmp_path)
    assert forked.args == ["arvis", *arguments]
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_processes_end_with_their_server(tmp_path: Path) -> None:
    server = ForkServer(daemon_environment())
    with (tmp_path / "log").open("wb") as log:
        environment = daemon_environment(ARVIS__WEB__PORT="0")
        daemon = ForkedProcess(server, ["run"], cwd=tmp_path, env=environment, stderr=log.fileno())
        assert daemon.stdout is not None
        with daemon.stdout as out:
            assert out.readline().startswith("Arvis is ready")
            assert daemon.poll() is None
            server.close()
            assert (daemon.wait(10), daemon.poll()) == (-9, -9)
        with pytest.raises(ProgramNotLoaded):
            ForkedProcess(server, ["version"], cwd=tmp_path, env={}, stderr=log.fileno(), stdout=log.fileno())


def test_a_server_without_the_program_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "arvis.py").write_text("raise SystemExit(7)")
    server = ForkServer({"PYTHONPATH": str(tmp_path)})
    with (tmp_path / "log").open("wb") as log, pytest.raises(ProgramNotLoaded):
        ForkedProcess(server, ["version"], cwd=tmp_path, env={}, stderr=log.fileno(), stdout=log.fileno())
    server.close()


def test_variables_of_the_interpreter_need_a_start_of_their_own() -> None:
    assert forkable(daemon_environment(ARVIS__WEB__PORT="0"))
    assert not forkable(daemon_environment(PYTHONIOENCODING="ascii"))
    assert not forkable(daemon_environment(Path("/elsewhere")))


async def test_a_signal_to_an_ended_process_does_not_hide_its_end(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        environment = daemon_environment()
        process = await fork(fork_server(), ["version"], cwd=tmp_path, env=environment, stderr=log.fileno(), hold=True)
    process.release()
    # The event loop must not notice the end before the signal.
    while Path(f"/proc/{process.pid}").exists():  # noqa: ASYNC240
        time.sleep(0.01)  # noqa: ASYNC251
    time.sleep(0.2)  # noqa: ASYNC251
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 10) == 0
    assert await process.stdout.read() == f"arvis {__version__}\n".encode()


def test_a_process_has_its_own_group_as_soon_as_its_id_is_known(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        for _ in range(20):
            process = ForkedProcess(
                fork_server(), ["version"], cwd=tmp_path, env={}, stderr=log.fileno(), stdout=log.fileno(), hold=True
            )
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(10) == -signal.SIGKILL
