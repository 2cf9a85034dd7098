"""Runs programs with limits for input and output, and ends them with all processes that they started. A program runs
once; a worker keeps running and answers each line with a line.

Each program runs below a guard (`subprocess_guard.py`). The guard ends all processes immediately when this process
closes a pipe to it: after the time limit, at a cancellation, or when this process dies.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.ports.sandbox import PROGRAM_MISSING, Finished, Task, Worker

_GUARD = Path(__file__).with_name("subprocess_guard.py")
_LINE = 65_536


class Lifeline:
    """A pipe whose read `end` a guard inherits. The guard reads the end of the stream when this process closes the pipe
    or dies."""

    def __init__(self) -> None:
        self.end, self._held = os.pipe()
        os.set_blocking(self._held, False)

    def ask(self) -> None:
        """Ask the program to end: the guard sends SIGTERM to the program and its group, and continues to wait."""
        with suppress(OSError):
            os.write(self._held, b"?")

    def close(self) -> None:
        for descriptor in (self.end, self._held):
            if descriptor >= 0:
                os.close(descriptor)
        self.end = self._held = -1


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a program and all processes that it starts (bytes of memory, numbers of processes and threads), and
    the limits of its folder (bytes on disk, number of files). 0 means no limit and no check."""

    memory: int = 0
    processes: int = 0
    threads: int = 0
    disk: int = 0
    files: int = 0


async def start_guarded(
    argv: Sequence[str],
    lifeline: Lifeline,
    *,
    environment: Mapping[str, str],
    bounds: Bounds,
    folder: Path | None = None,
    descriptors: Sequence[int] = (),
    umask: int = -1,
    limit: int = _LINE,
) -> Process:
    """Start a guard, which starts the program, and return the guard. The program inherits the guard's pipes and
    `descriptors`. `limit` is the maximum length in bytes of a line that is read from the program; a negative `umask`
    means the umask of this process. Raise `OSError` if the guard cannot be started, and `ValueError` for a NUL in an
    argument. If the program does not exist, no error is raised: the exit code shows this."""
    figures = (lifeline.end, bounds.memory, bounds.processes, bounds.threads, bounds.disk, bounds.files)
    guard = [str(_GUARD), *map(str, figures)]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", "-B"),
        *guard,
        *argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
        pass_fds=(lifeline.end, *descriptors),
        umask=umask,
        limit=limit,
    )


PRIVATE_UMASK = 0o077
_PIECE = 65_536
_SLICE = 8_192

#: The maximum number of processes of one program at a time.
MAX_PROCESSES = 256

#: Seconds that the guard has to end all processes.
_GRACE = 5.0


class GuardedPrograms:
    """An implementation of `Programs`. Each program may have at most `MAX_PROCESSES` processes at a time."""

    async def run(self, task: Task, *, on_stdout: Callable[[bytes], None] | None = None) -> Finished:
        program = shutil.which(task.argv[0], path=task.environment.get("PATH", os.defpath))
        if program is None:
            raise ToolError(f"The program {task.argv[0]} is not installed.", code=PROGRAM_MISSING)
        return await run_guarded([program, *task.argv[1:]], task, on_stdout=on_stdout)


async def run_guarded(
    argv: Sequence[str],
    task: Task,
    *,
    descriptors: Sequence[int] = (),
    on_stdout: Callable[[bytes], None] | None = None,
    threads: int = 0,
    disk: int = 0,
    files: int = 0,
) -> Finished:
    """Run `argv` with the settings of the task; the program inherits `descriptors`. `threads` limits the threads of all
    processes together, and `disk` (bytes) and `files` limit the folder of the task; 0 means no limit. A limited folder
    contains no setuid bits, pipes, sockets and devices afterwards. Raise `ToolError` if the program cannot be started,
    and every error that `on_stdout` raises."""
    out, err = _Kept(task.max_output, on_stdout), _Kept(task.max_output)
    with closing(Lifeline()) as lifeline:
        bounds = Bounds(task.memory, MAX_PROCESSES, threads, disk, files)
        process = await _start(argv, task, lifeline, descriptors, bounds)
        talk = _talk(process, task.stdin, out, err)
        try:
            _, late = await asyncio.wait(talk, timeout=task.timeout, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            lifeline.close()
            await asyncio.shield(_settle(process, talk))
    for part in talk:
        if not part.cancelled():
            part.result()
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Finished(code, bytes(out.data), bytes(err.data), timed_out=bool(late), truncated=out.cut or err.cut)


async def _start(
    argv: Sequence[str], task: Task, lifeline: Lifeline, descriptors: Sequence[int], bounds: Bounds
) -> Process:
    try:
        return await start_guarded(
            argv,
            lifeline,
            environment=task.environment,
            bounds=bounds,
            folder=task.folder,
            descriptors=descriptors,
            umask=PRIVATE_UMASK,
        )
    except (OSError, ValueError) as error:  # ValueError is raised for a NUL or an invalid character in an argument
        raise ToolError("The program could not be started.", why=str(error)) from None


def _talk(process: Process, stdin: bytes, out: _Kept, err: _Kept) -> list[asyncio.Task[None]]:
    parts: list[Coroutine[Any, Any, None]] = [_wait(process)]
    if process.stdin and process.stdout and process.stderr:
        parts += [_feed(process.stdin, stdin), out.keep(process.stdout), err.keep(process.stderr)]
    return [asyncio.create_task(part) for part in parts]


class _Kept:
    """The first `most` bytes of a stream. Later bytes are read and dropped, so that the program does not block and
    memory stays bounded."""

    def __init__(self, most: int, on_piece: Callable[[bytes], None] | None = None) -> None:
        self.data = bytearray()
        self.cut = False
        self._most = most
        self._on_piece = on_piece

    async def keep(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(_PIECE):
            for start in range(0, len(piece), _SLICE):
                self._take(piece[start : start + _SLICE])
                await asyncio.sleep(0)  # `on_piece` may take long for a block, and other tasks must run meanwhile

    def _take(self, piece: bytes) -> None:
        if self._on_piece is not None:
            self._on_piece(piece)
            return
        room = self._most - len(self.data)
        self.cut = self.cut or len(piece) > room
        self.data += piece[:room]


async def _feed(writer: asyncio.StreamWriter, stdin: bytes) -> None:
    """Write the input to the program. Ignore the error if the program ends without reading it."""
    with suppress(BrokenPipeError, ConnectionResetError):
        for start in range(0, len(stdin), _PIECE):
            writer.write(stdin[start : start + _PIECE])
            await writer.drain()
    writer.close()
    with suppress(BrokenPipeError, ConnectionResetError):
        await writer.wait_closed()


async def _wait(process: Process) -> None:
    await process.wait()


async def _settle(process: Process, talk: Sequence[asyncio.Task[None]]) -> None:
    """Wait for the end of the guard after its lifeline was closed. If the guard does not end within `_GRACE` seconds,
    kill it."""
    if process.stdout and any(task.done() and not task.cancelled() and task.exception() for task in talk):
        # The task that read standard output has failed. The output must still be read to its end, because otherwise the
        # program's end would not be detected.
        talk = [*talk, asyncio.create_task(_Kept(0).keep(process.stdout))]
    _, late = await asyncio.wait(talk, timeout=_GRACE)
    if late and process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _, late = await asyncio.wait(talk, timeout=_GRACE)
    for task in late:
        task.cancel()
    await asyncio.gather(*talk, return_exceptions=True)


_MOST_LINE = 4 * 1024 * 1024
_MOST_PROCESSES = 64
#: If a program ends unexpectedly, the error contains this many bytes from the end of the program's standard error.
_LAST_WORDS = 500


class GuardedWorkers:
    """Implements `Workers`."""

    async def start(self, argv: Sequence[str], *, environment: Mapping[str, str], memory: int) -> Worker:
        lifeline = Lifeline()
        bounds = Bounds(memory, _MOST_PROCESSES)
        try:
            process = await start_guarded(argv, lifeline, environment=environment, bounds=bounds, limit=_MOST_LINE)
        except (OSError, ValueError) as error:
            lifeline.close()
            raise ToolError("The program could not be started.", why=str(error)) from None
        return GuardedWorker(process=process, lifeline=lifeline)


class GuardedWorker:
    """Implements `Worker`. Standard error is read all the time, so that the program does not block. Its last bytes are
    kept, because the error for a program that ends unexpectedly contains them."""

    def __init__(self, *, process: Process, lifeline: Lifeline) -> None:
        self._process = process
        self._lifeline = lifeline
        self._turn = asyncio.Lock()
        self._last_words = b""
        self._listening = asyncio.create_task(self._listen())

    async def ask(self, line: bytes, *, timeout: float) -> bytes:
        async with self._turn:
            try:
                async with asyncio.timeout(timeout):
                    return await self._exchange(line)
            except (TimeoutError, asyncio.CancelledError) as error:
                await self.close()  # otherwise a late answer would be taken for the answer to the next line
                if isinstance(error, TimeoutError):
                    raise ToolError(f"The program gave no answer within {timeout:.0f} seconds.") from None
                raise

    async def close(self) -> None:
        self._lifeline.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _exchange(self, line: bytes) -> bytes:
        process = self._process
        assert process.stdin is not None  # noqa: S101 it was started with pipes
        assert process.stdout is not None  # noqa: S101 (as above)
        try:
            process.stdin.write(line + b"\n")
            await process.stdin.drain()
            answer = await process.stdout.readline()
        except (ConnectionError, ValueError):  # ValueError is raised for a line that is too long
            answer = b""
        if answer.endswith(b"\n"):
            return answer[:-1]
        await self.close()
        words = self._last_words.decode("utf-8", "replace").strip()
        raise ToolError("The program has ended.", why=words)

    async def _listen(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 (as above)
        while piece := await self._process.stderr.read(_MOST_LINE):
            self._last_words = (self._last_words + piece)[-_LAST_WORDS:]
