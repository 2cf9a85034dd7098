"""A PostgreSQL server that tests can kill and restart, and a proxy to a server that tests can cut."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tests.postgres import NOT_DURABLE, PostgresServer, await_ready, identity_in, make_cluster, start_server


class UnsteadyPostgres:
    """The server in `folder`. After a kill it is down until `start`."""

    def __init__(self, initdb: Path, folder: Path, *, durable: bool) -> None:
        self._program = initdb.with_name("postgres")
        self._folder = folder
        self._identity = identity_in(folder)
        self._settings = () if durable else NOT_DURABLE
        with self._log() as log:
            make_cluster(initdb, folder, self._identity, log)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def server(self) -> PostgresServer:
        assert self._process is not None
        return PostgresServer(self._folder, self._process.pid)

    def begin(self) -> None:
        """Start the server without waiting until it accepts connections."""
        with self._log() as log:
            self._process = start_server(self._program, self._folder, self._identity, log, self._settings)

    def start(self) -> None:
        self.begin()
        assert self._process is not None
        await_ready(self._process, self._folder)

    def kill(self) -> None:
        """Send SIGKILL to the server and its child processes, and return when all have ended."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)  # so that it starts no more child processes
        children = _children(self._process.pid)
        for pid in (self._process.pid, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        for pid in children:
            _await_end(pid)

    def stop(self) -> None:
        """Do a "fast" stop, as an operator would: it ends the sessions, then the server."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def _log(self) -> contextlib.AbstractContextManager[object]:
        return (self._folder / "log").open("ab")


@contextmanager
def unsteady_postgres(initdb: Path, *, durable: bool = False) -> Iterator[UnsteadyPostgres]:
    """Run a server until the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="arvis-pg-", dir="/tmp"))
    try:
        unsteady = UnsteadyPostgres(initdb, folder, durable=durable)
        try:
            unsteady.start()
            yield unsteady
        finally:
            unsteady.close()
    finally:
        shutil.rmtree(folder)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in found.split()]


def _await_end(pid: int) -> None:
    """Wait for the end of a process that is not our child, by its process descriptor."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            select.select([descriptor], [], [], 10)
        finally:
            os.close(descriptor)


class CutLine:
    """A proxy to a server, which can break at a statement that contains `at`: before forwarding the statement, or
    after the server's answer and before forwarding that."""

    def __init__(self) -> None:
        self.at: bytes | None = None
        self.answered = False
        self.cuts = 0
        self.broken = asyncio.Event()
        self.url: Callable[[str], str] = lambda database: database

    def cut(self, at: bytes, *, answered: bool) -> None:
        self.at, self.answered = at, answered

    async def serve(self, socket: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(str(socket))
        cutting = asyncio.Event()
        back = asyncio.create_task(self._back(from_server, writer, cutting))
        try:
            while data := await reader.read(65536):
                if self.at is not None and self.at in data:
                    self.at = None
                    self.cuts += 1
                    self.broken.set()
                    if not self.answered:
                        break
                    cutting.set()
                    to_server.write(data)
                    await back
                    break
                to_server.write(data)
        finally:
            back.cancel()
            await asyncio.gather(back, return_exceptions=True)
            for end in (writer, to_server):
                end.transport.abort()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cutting: asyncio.Event) -> None:
        while data := await reader.read(65536):
            if cutting.is_set():
                return
            writer.write(data)


@asynccontextmanager
async def cut_line(server: PostgresServer) -> AsyncIterator[CutLine]:
    """Run a proxy to the server on a port of 127.0.0.1."""
    line, serving = CutLine(), set[asyncio.Task[None]]()
    socket = server.folder / ".s.PGSQL.5432"

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.create_task(line.serve(socket, reader, writer)))

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    line.url = lambda database: f"postgresql://arvis@127.0.0.1:{port}/{database}"
    try:
        yield line
    finally:
        listening.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next iteration
