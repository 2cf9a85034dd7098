"""Lives of the daemon as the sweep sees them: forked off a nursery, held by strace or not, ended by process id."""

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

from tests.crash.daemon import READY, _environment

NURSERY = Path(__file__).with_name("sweep_nursery.py")
#: A daemon that is not ready, or not gone, after so many seconds hangs (reliability.md R3).
PATIENCE = 30.0
ATTACHED = b" attached"


class NurseryClosed(Exception):
    """It ended, most likely because the program cannot be imported: its standard error says why."""


class StraceRefused(Exception):
    """This machine does not let strace take hold of a process."""


class Nursery:
    """The process that has imported the program, and the births and deaths that it tells of."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._turn = asyncio.Lock()
        self._born: asyncio.Future[int] | None = None
        self._ends: dict[int, asyncio.Future[int]] = {}

    async def listen(self) -> None:
        """Until the nursery is gone, and with it all that lived."""
        loop = asyncio.get_running_loop()
        while message := await loop.sock_recv(self._door, 65536):
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
        """A daemon to be, which does nothing yet. `log` takes what it writes to standard error. Raises `NurseryClosed`."""
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
                socket.send_fds(self._door, [json.dumps(arguments).encode()], given)
                pid = await self._born
        finally:
            for file in given:
                os.close(file)
        return Life(pid, self._ends[pid], start, await _lines(out))


class Life:
    """One process. `ended` is its exit code, negative for a signal."""

    def __init__(self, pid: int, ended: asyncio.Future[int], start: int, lines: asyncio.StreamReader) -> None:
        self.pid = pid
        self.ended = ended
        self._start: int | None = start
        self._lines = lines
        self._strace: asyncio.subprocess.Process | None = None

    async def held_by_strace(self, options: Sequence[str], log: Path) -> None:
        """Let strace take hold of it before it does anything. Raises `StraceRefused`."""
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
        """Run, and whether it became ready before it ended. `TimeoutError` when it does neither."""
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
        """SIGTERM, and its exit code. `TimeoutError` when it does not end."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self.ended)

    async def close(self) -> None:
        """Leave nothing behind: killed if it lives, strace gone."""
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
    """Raises `StraceRefused` where it cannot be used."""
    life = await nursery.bear(["version"], folder, folder / "proof.log")
    try:
        await life.held_by_strace([], folder / "proof.strace")
    finally:
        await life.close()


@asynccontextmanager
async def nursery(code: Path) -> AsyncIterator[Nursery]:
    """A nursery of the program in the folder `code`, until the end of the block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    # -P: the folder of the script holds modules of its own.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(NURSERY), str(theirs.fileno()), env=_environment(code), pass_fds=[theirs.fileno()]
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
