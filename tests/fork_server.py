"""Starts of Arvis without a second of imports: a server imports the program once, and forks a process for each start.

A forked process runs the real `main` of the command line in its only thread, with its own folder, environment,
arguments and open files. The server kills its processes when the process that started the server ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

#: This file is also the program of the server.
FILE = Path(__file__).resolve()
#: The modules that a daemon imports after `arvis.cli.main`.
PROGRAM = (
    "aiosqlite",
    "arvis.app.daemon",
    "arvis.app.web",
    "arvis.app.work",
    "arvis.net.client",
    "arvis.providers.openai",
    "concurrent.futures.thread",
)
#: The files of a request: folder, standard input, output and error, the pipe for reports, and the pipe of `hold`.
FILES = 6
#: A process reports its id, and the server later reports its exit code.
REPORT = struct.Struct("i")
#: The maximum time (s) from the end of a process to the end of its standard output.
OUTPUT_ENDS_WITHIN = 1.0
#: Arguments of `prctl`: end this process with its parent, and let any process of this user trace this one.
_PR_SET_PDEATHSIG, _PR_SET_PTRACER, _ANYBODY = 1, 0x59616D61, ctypes.c_ulong(-1)


class ProgramNotLoaded(Exception):
    """The fork server ended, probably because the program cannot be imported. Its standard error has the reason."""


class ForkServer:
    """A running server. All its processes have the settings of the interpreter in its environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # -P, because modules in the file's folder would hide others.
            command = [sys.executable, "-P", str(FILE), str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, env=environment, pass_fds=[theirs.fileno()], start_new_session=True
            )

    def send(self, request: Mapping[str, Any], files: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], files)
        except OSError as ended:
            raise ProgramNotLoaded from ended

    def close(self) -> None:
        """End the server and its processes."""
        self._control.close()
        self._process.wait()


class ForkedProcess:
    """A process in its own session, with the part of `subprocess.Popen` that the tests use.

    Without `stdout`, its standard output is a pipe. `returncode` is None until `poll` or `wait` has noticed the end,
    and negative for a signal. If `hold` is true, the process waits for `release` before it begins.
    """

    def __init__(
        self,
        server: ForkServer,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stderr: int,
        stdout: int | None = None,
        stdin: int | None = None,
        hold: bool = False,
    ) -> None:
        self.returncode: int | None = None
        self._reports, report = os.pipe()
        held, start = os.pipe()
        self._start: int | None = start
        given = [os.open(cwd, os.O_RDONLY), report, held]
        self.stdout: IO[str] | None = None
        if stdin is None:
            stdin = os.open(os.devnull, os.O_RDONLY)
            given.append(stdin)
        if stdout is None:
            out, stdout = os.pipe()
            self.stdout = os.fdopen(out)
            given.append(stdout)
        if not hold:
            self.release()
        try:
            request = {"arguments": list(arguments), "environment": dict(env)}
            server.send(request, [given[0], stdin, stdout, stderr, report, held])
        finally:
            for file in given:
                os.close(file)
        pid = self._report()
        if pid is None:
            raise ProgramNotLoaded
        self.pid = pid

    def release(self) -> None:
        if self._start is not None:
            os.close(self._start)
            self._start = None

    def fileno(self) -> int:
        """Return the file that becomes readable when the process ends."""
        return self._reports

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._reports], [], [], 0)[0]:
            status = self._report()
            # The server kills a process about which it cannot report.
            self.returncode = -signal.SIGKILL if status is None else status
            os.close(self._reports)
            self.release()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raise `subprocess.TimeoutExpired` if the process does not end in time."""
        if self.returncode is None and not select.select([self._reports], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("arvis", timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _report(self) -> int | None:
        report = os.read(self._reports, REPORT.size)
        return REPORT.unpack(report)[0] if report else None


class _Output(asyncio.StreamReaderProtocol):
    """The standard output of a process. `ended` is set at its end."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.reader = reader
        self.ended = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.ended.set()


class AsyncForkedProcess:
    """A forked process with the part of `asyncio.subprocess.Process` that the tests use."""

    def __init__(self, process: ForkedProcess, pipe: asyncio.BaseTransport, output: _Output) -> None:
        self.pid = process.pid
        self.stdout = output.reader
        self._pipe = pipe
        self._output = output
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._process = process
        self._reports = process.fileno()
        asyncio.get_running_loop().add_reader(self._reports, self._end)

    @property
    def returncode(self) -> int | None:
        return self.ended.result() if self.ended.done() else None

    async def wait(self) -> int:
        """Return the exit code when the process has ended and its standard output is closed. A process that it has
        started can keep the output open."""
        code = await asyncio.shield(self.ended)
        with suppress(TimeoutError):
            async with asyncio.timeout(OUTPUT_ENDS_WITHIN):
                await self._output.ended.wait()
        self._pipe.close()
        return code

    def release(self) -> None:
        self._process.release()

    def terminate(self) -> None:
        self._send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._send_signal(signal.SIGKILL)

    def _send_signal(self, number: int) -> None:
        # Only the reader of the event loop may take the report of the end.
        if not self.ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._reports)
        code = self._process.poll()
        assert code is not None
        self.ended.set_result(code)


async def fork(
    server: ForkServer, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stderr: int, hold: bool = False
) -> AsyncForkedProcess:
    process = ForkedProcess(server, arguments, cwd=cwd, env=env, stderr=stderr, hold=hold)
    loop = asyncio.get_running_loop()
    pipe, output = await loop.connect_read_pipe(lambda: _Output(asyncio.StreamReader()), process.stdout)
    return AsyncForkedProcess(process, pipe, output)


def _serve(control: socket.socket) -> None:
    """Fork a process for each request until the socket is closed. Only a forked process returns."""
    #: The pipes for reports, by process id.
    children: dict[int, int] = {}
    wake, signalled = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(signalled, False)
    # The handler does nothing: the signal wakes the loop through the pipe, and the loop alone collects children.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(signalled)
    sources: list[socket.socket | int] = [control, wake]
    while True:
        readable, _, _ = select.select(sources, [], [])
        if wake in readable:
            os.read(wake, 4096)
            _report_ends(children)
        if control not in readable:
            continue
        request, files, _, _ = socket.recv_fds(control, 1 << 20, FILES)
        if not request:
            _leave(children)
        pid = os.fork()
        if pid == 0:
            _become(json.loads(request), files)
            return
        *others, report, held = files
        children[pid] = report
        for file in (*others, held):
            os.close(file)


def _report_ends(children: dict[int, int]) -> None:
    for pid, report in list(children.items()):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            del children[pid]
            # A test that no longer needs the process has closed the pipe.
            with suppress(BrokenPipeError):
                os.write(report, REPORT.pack(os.waitstatus_to_exitcode(status)))
            os.close(report)


def _become(request: Mapping[str, Any], files: Sequence[int]) -> None:
    """Make the forked process look like one that Python has just started."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, *streams, report, held = files
    os.setsid()
    # A test may now send signals to the process and to its group.
    os.write(report, REPORT.pack(os.getpid()))
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # Yama allows only ancestors to attach, and strace is no ancestor. Without Yama this call does nothing.
    prctl(_PR_SET_PTRACER, _ANYBODY, 0, 0, 0)
    os.fchdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.read(held, 1)
    os.closerange(3, 1 << 16)
    # The inherited objects remember the kind of the file that they were opened on.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = ["arvis", *request["arguments"]]


def _leave(children: Mapping[int, int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    sys.exit()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    program = importlib.import_module("arvis.cli.main")
    for name in (*PROGRAM, *(f"arvis.cli.{command.module}" for command in program.COMMANDS.values())):
        importlib.import_module(name)
    # The garbage collector of a forked process skips the objects that all of them share.
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(program.main())
