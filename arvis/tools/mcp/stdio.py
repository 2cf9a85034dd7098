"""A server that is a program of this machine and speaks lines of JSON on its standard input and output.

It gets no environment but its own and PATH, HOME and LANG, and runs below a guard, which ends it with all that it
started, also when the daemon is killed (reliability.md H22). A line has a limit, so that a server that never ends one
fills no memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from arvis.process.subprocesses import Bounds, Lifeline, start_guarded

MAX_LINE = 4 * 1024 * 1024
_MAX_STDERR_LINE = 1_000
#: Lines that are no messages, of one life; a program that has more to say to people does not speak the protocol.
_MAX_STRAY_LINES = 1_000
#: Seconds for a program to end by itself, and again after the first signal.
_GRACE = 1.0
#: Seconds for the guard to end everything.
_MOST_TO_END = 5.0
_LOOK = 0.01
#: Seconds for a program to read what it is sent.
_MOST_TO_READ = 10.0

Say = Callable[[str], None]
_Messages = MemoryObjectSendStream[SessionMessage | Exception]


def program(command: Sequence[str], environment: Mapping[str, str], say: Say) -> Transport:
    """Return the transport that starts the program; it raises `OSError` if the program is missing. `say` gets its
    messages to people."""
    return _running(command, environment, say)


@contextlib.asynccontextmanager
async def _running(
    command: Sequence[str], environment: Mapping[str, str], say: Say
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    with contextlib.closing(Lifeline()) as lifeline:
        process = await _start(command, environment, lifeline)
        try:
            incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
            async with incoming, read, write, outgoing, anyio.create_task_group() as group:
                group.start_soon(_read, process, incoming, say)
                group.start_soon(_write, process, outgoing, incoming)
                group.start_soon(_hear, process, say)
                try:
                    yield read, write
                finally:
                    group.cancel_scope.cancel()
        finally:
            await _to_its_end(_end(process, lifeline))


async def _start(command: Sequence[str], environment: Mapping[str, str], lifeline: Lifeline) -> Process:
    found = shutil.which(command[0], path=environment.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    argv = [found, *command[1:]]
    return await start_guarded(argv, lifeline, environment=environment, bounds=Bounds(), limit=MAX_LINE)


def environment_of(given: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server, without any variable of ours that could hold a secret."""
    return {**{name: ours[name] for name in ("PATH", "HOME", "LANG") if name in ours}, **given}


async def _read(process: Process, incoming: _Messages, say: Say) -> None:
    """Forward the program's messages; end with its output, which also ends the connection."""
    strays = 0
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with incoming:
            while (line := await _line(process, say)) is not None and strays < _MAX_STRAY_LINES:
                message = _message(line)
                if message is not None:
                    await incoming.send(SessionMessage(message))
                    continue
                if line.strip():
                    say(f"(no message) {line[:_MAX_STDERR_LINE].decode(errors='replace').strip()}")
                strays += 1
                # Lines that are in the buffer already would be read without a pause.
                await asyncio.sleep(0)


async def _line(process: Process, say: Say) -> bytes | None:
    assert process.stdout is not None  # noqa: S101 - made with a pipe
    try:
        return await process.stdout.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        say(f"(ended because it wrote a line longer than {MAX_LINE} bytes)")
        return None


def _message(line: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        return None


async def _write(process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage], incoming: _Messages) -> None:
    assert process.stdin is not None  # noqa: S101 - made with a pipe
    try:
        async for each in outgoing:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            async with asyncio.timeout(_MOST_TO_READ):
                await process.stdin.drain()
    except OSError:  # a time limit is one, too
        # Closing wakes those who wait: the connection is over.
        await incoming.aclose()


async def _hear(process: Process, say: Say) -> None:
    """Read the program's standard error line by line; long lines are cut."""
    assert process.stderr is not None  # noqa: S101 - made with a pipe
    rest = b""
    while piece := await process.stderr.read(8_192):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _MAX_STDERR_LINE:
            lines, rest = [*lines, rest], b""
        for line in lines:
            if text := line[:_MAX_STDERR_LINE].decode(errors="replace").strip():
                say(text)
        # Without this pause a full buffer would be read without a switch to other tasks.
        await asyncio.sleep(0)


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of the work, however often this task is cancelled meanwhile; it takes seconds at most. The
    package cancels what it opened repeatedly while it closes, and no program may be left running by that."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as again:
            cancelled = again
    task.result()
    if cancelled is not None:
        raise cancelled


async def _end(process: Process, lifeline: Lifeline) -> None:
    """Ask the program to end, then kill it. The guard kills leftover processes in any case: the program may have
    started others."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        await _exited(process, _GRACE)
        if process.returncode is None:
            lifeline.ask()
            await _exited(process, _GRACE)
    finally:
        lifeline.close()
    await _exited(process, _MOST_TO_END)
    if process.returncode is None:
        # Something has stopped the guard.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await _exited(process, _GRACE)
    await _drain(process)


async def _exited(process: Process, seconds: float) -> None:
    """Wait for the exit. `process.wait` would also wait for the ends of its pipes, which other processes may hold."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(_LOOK)


async def _drain(process: Process) -> None:
    """Read its pipes to their ends, so that they are closed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            for pipe in (process.stdout, process.stderr):
                while pipe is not None and await pipe.read(65_536):
                    pass
