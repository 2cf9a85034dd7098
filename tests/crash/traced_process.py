"""Processes of the daemon in a sweep: forked, optionally traced by strace, and ended by id."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.crash.daemon import READY
from tests.environment import daemon_environment, fork_server
from tests.fork_server import AsyncForkedProcess, fork

#: A daemon hangs if it is not ready, or has not ended, after this time (seconds).
PATIENCE = 30.0
ATTACHED = b" attached"


class StraceRefused(Exception):
    """This machine does not allow strace to attach to a process."""


class TracedProcess:
    """A process. `ended` is its exit code, negative for a signal."""

    def __init__(self, process: AsyncForkedProcess) -> None:
        self.ended = process.ended
        self._process = process
        self._strace: asyncio.subprocess.Process | None = None

    async def attach_strace(self, options: Sequence[str], log: Path) -> None:
        """Attach strace before the process begins its work. Raise `StraceRefused` if this is not possible."""
        command = ["strace", "-f", "-o", str(log), *options, "-p", str(self._process.pid)]
        try:
            self._strace = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        except FileNotFoundError as missing:
            raise StraceRefused(str(missing)) from missing
        assert self._strace.stderr is not None
        line = await self._strace.stderr.readline()
        if ATTACHED not in line:
            await self._strace.wait()
            raise StraceRefused(line.decode(errors="replace").strip())

    async def begin(self) -> bool:
        """Let the process run. Return whether it became ready before its end. Raise `TimeoutError` if neither happens
        in time."""
        self._process.release()
        async with asyncio.timeout(PATIENCE):
            while line := await self._process.stdout.readline():
                if line.startswith(READY):
                    return True
            await self._process.wait()
        return False

    def kill(self) -> None:
        if not self.ended.done():
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def stop(self) -> int:
        """Send SIGTERM and return the exit code. Raise `TimeoutError` if the process does not end."""
        self._process.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self._process.wait()

    async def close(self) -> None:
        """Kill the process if it is alive, and wait for the end of strace."""
        self.kill()
        await self._process.wait()
        if self._strace is not None:
            await self._strace.communicate()
            self._strace = None


async def traced_process(code: Path, arguments: Sequence[str], folder: Path, log: Path) -> TracedProcess:
    """Fork a process of the program in `code` that waits before it begins. Its standard error goes to `log`."""
    environment = daemon_environment(code)
    with log.open("ab") as errors:
        process = await fork(
            fork_server(code), arguments, cwd=folder, env=environment, stderr=errors.fileno(), hold=True
        )
    return TracedProcess(process)


async def prove_strace(code: Path, folder: Path) -> None:
    """Raise `StraceRefused` if strace cannot be used."""
    process = await traced_process(code, ["version"], folder, folder / "proof.log")
    try:
        await process.attach_strace([], folder / "proof.strace")
    finally:
        await process.close()
