"""The connections to a server, which is a configured program or address, and the limits on the data that it sends.

A program gets only its configured environment and PATH, HOME and LANG. It runs under a guard process, which ends the
program with all processes that it started, even if the daemon is killed. The length of a line is limited, so that a
server that never ends a line cannot fill the memory.

No address except the configured one is contacted. The client in the package `mcp` reads complete answers, so the HTTP
transport below it limits their size. The package starts a task for each message, and stores each question of the server
until the server reads the answer. So a server that sends too much or never reads would fill the memory. The package
also checks results by patterns that the server chooses, which can take hours. Therefore a layer between the transport
and the package counts and limits the server's messages and removes these patterns.
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
from http.client import FORBIDDEN, UNAUTHORIZED
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from arvis.ports.clock import Clock
from arvis.process.subprocesses import Bounds, Lifeline, start_guarded
from arvis.tools.mcp.remote import LinkLost

# -- limits on messages ------------------------------------------------------------------------------------------------


#: The maximum number of the server's questions that wait for an answer of Arvis.
_MAX_OPEN = 64
#: The maximum number of messages per second that are read from a server.
_MAX_RATE = 1_000


class News:
    """The reports for which the owner of the connection waits: tools have changed, or the connection is lost."""

    def __init__(self) -> None:
        self._announced = asyncio.Event()
        self._lost: str | None = None

    def change(self) -> None:
        self._announced.set()

    def lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._announced.set()

    async def changed(self) -> None:
        """Wait until `change` is called. Raise `LinkLost` after `lose`."""
        await self._announced.wait()
        self._announced.clear()
        if self._lost is not None:
            raise LinkLost(self._lost)


@contextlib.asynccontextmanager
async def guarded(transport: Transport, news: News, clock: Clock) -> AsyncIterator[Any]:
    """Open the transport, and count and limit the messages of its server."""
    async with transport as (read, write):
        count = _Open()
        yield _Incoming(read, count, news, clock), _Outgoing(write, count)


class _Open:
    """The number of the server's questions that have no answer yet."""

    def __init__(self) -> None:
        self.number = 0


class _Incoming:
    def __init__(self, inner: Any, count: _Open, news: News, clock: Clock) -> None:
        self._inner = inner
        self._count = count
        self._news = news
        self._clock = clock
        self._since = clock.monotonic()
        self._seen = 0

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        await self._pace()
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except StopAsyncIteration:
            self._news.lose("it closed the connection")
            raise
        if isinstance(item, SessionMessage):
            self._look_at(item.message)
        return item

    async def receive(self) -> SessionMessage | Exception:
        return await self.__anext__()

    async def _pace(self) -> None:
        """Delay the reading of messages from a server that sends more than `_MAX_RATE` per second."""
        self._seen += 1
        if self._seen < _MAX_RATE:
            return
        early = 1.0 - (self._clock.monotonic() - self._since)
        if early > 0:
            await self._clock.sleep(early)
        self._seen, self._since = 0, self._clock.monotonic()

    def _look_at(self, message: object) -> None:
        match message:
            case JSONRPCRequest():
                self._count.number += 1
                if self._count.number > _MAX_OPEN:
                    self._news.lose("it sends too many questions and reads no answers")
                    raise StopAsyncIteration
            case JSONRPCResponse(result=dict() as result):
                # The protocol prescribes this value if a server sends no type; without it, the package refuses the
                # result.
                result.setdefault("resultType", "complete")
                _drop_output_schemas(result.get("tools"))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)


def _drop_output_schemas(tools: object) -> None:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            tool.pop("outputSchema", None)


class _Outgoing:
    def __init__(self, inner: Any, count: _Open) -> None:
        self._inner = inner
        self._count = count

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._count.number -= 1

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)


# -- an address, by streamable HTTP ------------------------------------------------------------------------------------


#: The maximum size in bytes of one answer, or of one event of a stream.
MAX_ANSWER = 8 * 1024 * 1024
_MAX_CONNECTIONS = 20
#: The time limit in seconds for connecting and sending. The time limit of the call applies to the answer.
_PATIENCE = 30.0
_FIRST_REFUSAL = 400
_LONGEST_CHALLENGE = 4_000


class HttpTransport(httpx2.AsyncBaseTransport):
    """The HTTP transport of one server. It limits the size of answers and refuses compressed answers. `refusal` is the
    status of the last answer if the server refused the request, because the package does not report this status.
    `challenge` is the header `WWW-Authenticate` of this answer if the server demands a login and Arvis can log in
    (`may_log_in`), else None. While `connecting` is True, a demand for a login stays recorded until a request succeeds,
    because the package then tries older versions of the protocol, which the server may refuse in another way."""

    def __init__(self, *, may_log_in: bool = False) -> None:
        self._may_log_in = may_log_in
        limits = httpx2.Limits(max_connections=_MAX_CONNECTIONS)
        self._inner = httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)
        self.refusal: int | None = None
        self.challenge: str | None = None
        self.connecting = True

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        refusal = response.status_code if response.status_code >= _FIRST_REFUSAL else None
        challenge = _challenge_in(response) if self._may_log_in else None
        known = self.connecting and self.challenge is not None and refusal is not None
        if challenge is not None or not known:
            self.refusal, self.challenge = refusal, challenge
        endless = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        most = 0 if packed else None if endless else MAX_ANSWER
        if most is not None:
            response.stream = _Bounded(response.stream, most)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _challenge_in(response: httpx2.Response) -> str | None:
    header: str = response.headers.get("www-authenticate", "")[:_LONGEST_CHALLENGE]
    more_scope = response.status_code == FORBIDDEN and "insufficient_scope" in header
    return header if more_scope or response.status_code == UNAUTHORIZED else None


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise httpx2.StreamError(
                    "The answer is too large, or it is compressed although that was not requested."
                )
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


@contextlib.asynccontextmanager
async def address(
    url: str, headers: Mapping[str, str], transport: HttpTransport, auth: httpx2.Auth | None
) -> AsyncIterator[Any]:
    """Open the transport to this address; every request has these headers, and the token of `auth`."""
    timeout = httpx2.Timeout(_PATIENCE, read=None)
    async with (
        httpx2.AsyncClient(
            headers=dict(headers), timeout=timeout, transport=transport, trust_env=False, auth=auth
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_ANSWER) as streams,
    ):
        yield streams


MAX_LINE = 8 * 1024 * 1024
_MAX_STDERR_LINE = 1_000
#: The maximum number of lines without a protocol message that a program may print. A program that prints more of them
#: does not speak the protocol.
_MAX_STRAY_LINES = 1_000
#: The seconds that a program has to end after its input is closed, and again after the first signal.
_GRACE = 1.0
#: The seconds that the guard process has to end all processes of the program.
_MOST_TO_END = 5.0
_LOOK = 0.01
#: The seconds that a program has to read a message.
_MOST_TO_READ = 10.0

Say = Callable[[str], None]
_Messages = MemoryObjectSendStream[SessionMessage | Exception]


@contextlib.asynccontextmanager
async def program(
    command: Sequence[str], environment: Mapping[str, str], say: Say
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """Start the program, and end it after the context. Raise `OSError` if the program is missing. `say` gets the lines
    of the program that are not messages of the protocol."""
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
    """Return the environment of a server's program: the variables in `given`, and PATH, HOME and LANG of the daemon.
    Other variables of the daemon may contain secrets."""
    return {**{name: ours[name] for name in ("PATH", "HOME", "LANG") if name in ours}, **given}


async def _read(process: Process, incoming: _Messages, say: Say) -> None:
    """Forward the program's messages. The connection ends when the output ends or contains too many lines without a
    message."""
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
                # Without this pause, buffered lines would be read without a switch to other tasks.
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
    except OSError:  # `TimeoutError` is also an `OSError`
        # Closing `incoming` ends the connection and wakes the tasks that wait for a message.
        await incoming.aclose()


async def _hear(process: Process, say: Say) -> None:
    """Pass the program's standard error to `say` line by line; long lines are cut."""
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
    """Wait until the work has ended, even if this task is cancelled meanwhile, and raise the cancellation afterwards.
    The work takes a few seconds at most. While the package closes the connection, it cancels this task repeatedly, but
    the program must not keep running after that."""
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
    """Ask the program to end, then kill it. The guard always kills the remaining processes, because the program may
    have started others."""
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
        # The guard has not ended the processes, perhaps because it was stopped.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await _exited(process, _GRACE)
    await _drain(process)


async def _exited(process: Process, seconds: float) -> None:
    """Wait for the exit of the program. `process.wait` would also wait for the ends of its pipes, which other processes
    may keep open."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(_LOOK)


async def _drain(process: Process) -> None:
    """Read the pipes of an ended program to their ends, so that they are closed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            for pipe in (process.stdout, process.stderr):
                while pipe is not None and await pipe.read(65_536):
                    pass
