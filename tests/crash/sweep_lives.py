"""Lives of the daemon in a sweep: processes forked by a nursery, optionally traced by strace, and ended by id."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.crash.daemon import READY
from tests.environment import daemon_environment

NURSERY = Path(__file__).with_name("sweep_nursery.py")
#: A daemon hangs if it is not ready, or has not ended, after this time (seconds).
PATIENCE = 30.0
ATTACHED = b" attached"


class NurseryClosed(Exception):
    """The nursery ended, probably because the program cannot be imported. Its standard error has the reason."""


class StraceRefused(Exception):
    """This machine does not allow strace to attach to a process."""


class Nursery:
    """The process that has imported the program, and the births and deaths that it reports."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._turn = asyncio.Lock()
        self._born: asyncio.Future[int] | None = None
        self._ends: dict[int, asyncio.Future[int]] = {}

    async def listen(self) -> None:
        """Handle the nursery's reports until it ends. All its processes have ended then."""
        loop = asyncio.get_running_loop()
        while message := await loop.sock_recv(self._control, 65536):
            match json.loads(message):
                case {"born": pid}:
                    self._ends[pid] = loop.create_future()
                    assert self._born is not None
                    self._born.set_result(pid)
                case {"ended": pid, "status": status}:
                    self._ends.pop(pid).set_result(status)
        for ended in self._ends.values():
            ended.set_result(-signal.SIGKILL)
        if self._born is not None and not self._born.done():
            self._born.set_exception(NurseryClosed)

    async def bear(self, arguments: Sequence[str], folder: Path, log: Path) -> Life:
        """Fork a process that waits before it becomes a daemon. Its standard error goes to `log`. Raise `NurseryClosed`
        if the nursery has ended."""
        out, out_end = os.pipe()
        start_end, start = os.pipe()
        given = [
            os.open(folder, os.O_RDONLY),
            os.open(os.devnull, os.O_RDONLY),
            out_end,
            os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
            start_end,
        ]
        try:
            async with self._turn:
                self._born = asyncio.get_running_loop().create_future()
                socket.send_fds(self._control, [json.dumps(arguments).encode()], given)
                pid = await self._born
        finally:
            for file in given:
                os.close(file)
        return Life(pid, self._ends[pid], start, await _lines(out))


class Life:
    """A process. `ended` is its exit code, negative for a signal."""

    def __init__(self, pid: int, ended: asyncio.Future[int], start: int, lines: asyncio.StreamReader) -> None:
        self.pid = pid
        self.ended = ended
        self._start: int | None = start
        self._lines = lines
        self._strace: asyncio.subprocess.Process | None = None

    async def held_by_strace(self, options: Sequence[str], log: Path) -> None:
        """Attach strace before the process begins its work. Raise `StraceRefused` if this is not possible."""
        command = ["strace", "-f", "-o", str(log), *options, "-p", str(self.pid)]
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
        self._let_go()
        async with asyncio.timeout(PATIENCE):
            while line := await self._lines.readline():
                if line.startswith(READY):
                    return True
            await asyncio.shield(self.ended)
        return False

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self) -> int:
        """Send SIGTERM and return the exit code. Raise `TimeoutError` if the process does not end."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self.ended)

    async def close(self) -> None:
        """Kill the process if it is alive, and wait for the end of strace."""
        if not self.ended.done():
            self.kill()
            await self.ended
        self._let_go()
        if self._strace is not None:
            await self._strace.communicate()
            self._strace = None

    def _let_go(self) -> None:
        if self._start is not None:
            os.close(self._start)
            self._start = None


async def prove_strace(nursery: Nursery, folder: Path) -> None:
    """Raise `StraceRefused` if strace cannot be used."""
    life = await nursery.bear(["version"], folder, folder / "proof.log")
    try:
        await life.held_by_strace([], folder / "proof.strace")
    finally:
        await life.close()


@asynccontextmanager
async def nursery(code: Path) -> AsyncIterator[Nursery]:
    """Yield a nursery of the program in the folder `code`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    # -P, because modules in the script's folder would hide others.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(NURSERY),
        str(theirs.fileno()),
        env=daemon_environment(code),
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    births = Nursery(ours)
    listening = asyncio.create_task(births.listen())
    try:
        yield births
    finally:
        ours.shutdown(socket.SHUT_WR)
        await process.wait()
        await listening
        ours.close()


async def _lines(file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol: Any = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(file, "rb", 0))
    return reader
