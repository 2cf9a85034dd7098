"""Send one POST request to a vendor and read the answer within limits; every failure is a `ProviderError`.

This module handles HTTP, JSON and server-sent events, and contains nothing about a vendor's format. No answer of a
server may block the event loop or fill the memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Account, CallTimeouts
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient, HttpError, HttpResponse
from arvis.providers import failures
from arvis.providers.reply import Answer, ReplyText

#: The maximum number of bytes of one document (a complete answer, or one event of a stream), and of an answer with an
#: error status.
MAX_DOCUMENT = 16 * 1024 * 1024
_MAX_FAILURE = 65_536

#: The maximum number of brackets and commas in a document, because parsing costs memory and time: `[{},{},…]` takes 24
#: times its own size, and an object with 500,000 members blocks the event loop for half a second. A normal complete
#: reply has a few thousand of them.
_MAX_MARKS = 100_000

#: The number of bytes of a stream that are parsed at once, before other tasks on the event loop may run.
_SLICE = 16_384

#: The number of bytes of a stream that are allowed for each byte of the reply's text. Vendors send some 300 bytes for a
#: token of 4 bytes.
_STREAM_OVERHEAD = 256

_SUCCESS = range(200, 300)

#: The object that `events` yields for the mark `[DONE]`, with which some vendors end a stream.
DONE = object()

#: Returns the error for an answer with an error status. The arguments are the account, the answer's status, its
#: headers, its JSON document, and the clock.
FailureReader = Callable[[Account, int, Mapping[str, str], object, Clock], ProviderError]


class Exchange:
    """Requests to a vendor over HTTP. `failure` reads a vendor's error object."""

    def __init__(
        self,
        *,
        http: HttpClient,
        clock: Clock,
        timeouts: CallTimeouts,
        failure: FailureReader = failures.from_answer,
    ) -> None:
        self._http = http
        self._clock = clock
        self._timeouts = timeouts
        self._failure = failure

    @asynccontextmanager
    async def post(
        self,
        account: Account,
        url: str,
        *,
        headers: Mapping[str, str],
        document: Mapping[str, Any],
        stream: bool,
        max_bytes: int,
        begin_within: float | None = None,
    ) -> AsyncIterator[Answered]:
        """Send a request, and return the answer as soon as a success status has arrived. `max_bytes` limits the reply's
        text; the limit for the bytes of the stream is derived from it. `begin_within` is the time limit in seconds for
        the first byte of a stream."""
        begun = Beginning(begin_within if stream else None)
        try:
            async with (
                begun,
                self._http.post(
                    url,
                    headers=headers,
                    json=document,
                    timeout=self._timeouts.total,
                    idle_timeout=self._timeouts.silence if stream else self._timeouts.total,
                    max_bytes=MAX_DOCUMENT + (_STREAM_OVERHEAD * max_bytes if stream else 0),
                ) as response,
            ):
                if response.status not in _SUCCESS:
                    begun.note()
                    raise await self._failed(response, account)
                yield Answered(response, account, begun)
        except HttpError as error:
            raise failures.from_transport(account, error, silent=not begun.seen) from None

    async def _failed(self, response: HttpResponse, account: Account) -> ProviderError:
        try:
            document = await _read_whole(response, account, _MAX_FAILURE)
        except (HttpError, ProviderError):
            document = None  # Without a document, the status alone determines the error.
        return self._failure(account, response.status, response.headers, document, self._clock)


class Beginning:
    """A context with a time limit of `seconds` for the first byte of an answer; with None, only the general time limit
    applies. `seen` is True once that byte has arrived. If the time limit is exceeded, leaving the context raises
    `HttpError`."""

    def __init__(self, seconds: float | None) -> None:
        self._scope = asyncio.timeout(seconds)
        self.seen = False

    def note(self) -> None:
        """Record that the first byte has arrived, and end the time limit."""
        if not self.seen:
            self.seen = True
            self._scope.reschedule(None)

    async def __aenter__(self) -> None:
        await self._scope.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError:
            raise HttpError("the server accepted the request but sent no answer", timeout=True) from None


class Answered:
    """An answer with a success status. Read it once, with `document`, `events` or `lines`."""

    def __init__(self, response: HttpResponse, account: Account, begun: Beginning | None = None) -> None:
        self._response = response
        self._account = account
        self._begun = begun or Beginning(None)

    @property
    def content_type(self) -> str:
        return self._response.headers.get("Content-Type", "")

    async def document(self) -> object:
        return await _read_whole(self._response, self._account, MAX_DOCUMENT)

    async def events(self) -> AsyncIterator[object]:
        """Yield the JSON of each server-sent event, and `DONE` for the mark `[DONE]`, after which nothing is read.
        Raise `Broken` if the connection breaks."""
        parser = EventParser(max_bytes=MAX_DOCUMENT)
        try:
            async for piece in self._slices():
                for event in parser.feed(piece):
                    if event.data == "[DONE]":
                        yield DONE
                        return
                    yield parse(event.data, self._account)
        except EventTooLarge as error:
            raise failures.unreadable(self._account, str(error)) from None

    async def lines(self) -> AsyncIterator[object]:
        """Yield the JSON of each line. Raise `Broken` if the connection breaks."""
        line = bytearray()
        async for piece in self._slices():
            end, *starts = piece.split(b"\n")
            line += end
            for start in starts:
                if line.strip():
                    yield parse(line.decode("utf-8", "replace"), self._account)
                line = bytearray(start)
            if len(line) > MAX_DOCUMENT:
                raise failures.unreadable(self._account, f"a line is larger than {MAX_DOCUMENT} bytes")
        if line.strip():
            yield parse(line.decode("utf-8", "replace"), self._account)

    async def _slices(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces of at most `_SLICE` bytes. After each `_SLICE` bytes, let other tasks run, even if
        the body arrives in many small chunks."""
        passed = 0
        try:
            async for chunk in self._response.chunks():
                self._begun.note()
                for start in range(0, len(chunk), _SLICE):
                    piece = chunk[start : start + _SLICE]
                    yield piece
                    passed += len(piece)
                    if passed >= _SLICE:
                        passed = 0
                        await asyncio.sleep(0)
        except HttpError as error:
            if error.timeout and not self._begun.seen:
                raise  # the server has sent nothing, so no stream has begun
            raise Broken(str(error), spent=error.spent) from None


class Broken(Exception):
    """The error of a stream whose connection broke. If the answer was already complete, the error is ignored. `spent`
    is True if the stream used its whole time limit."""

    def __init__(self, text: str, *, spent: bool = False) -> None:
        super().__init__(text)
        self.spent = spent


async def read_stream(
    documents: AsyncIterator[object], take: Callable[[object], bool], answer: Answer, reply: ReplyText
) -> None:
    """Read a stream until `take` returns False or the vendor's end mark arrives. If the connection breaks after the
    mark, the answer is complete. If the time limit ends after a part of the reply's text has arrived, the reply is cut
    there. Raise `ProviderError` for any other stream without an end mark."""
    try:
        async for document in documents:
            if document is DONE:
                return
            if not take(document):
                break
    except Broken as error:
        if answer.finished or (error.spent and reply.cut()):
            return
        raise ended_early(answer.account, str(error), spent=error.spent) from None
    # If the reply reached its maximum size, the stream was not read up to its end mark.
    if not answer.finished and not reply.truncated:
        raise ended_early(answer.account, "the server did not mark the end")


def ended_early(account: Account, why: str, *, spent: bool = False) -> ProviderError:
    """Return the error for an incomplete answer. It counts as a temporary fault: the runner tries again, and the text
    of the next attempt replaces the text shown so far."""
    text = f"the stream of the account {account.name} ended early: {why}"
    return ProviderError(ProviderErrorKind.TIMEOUT, text, spent=spent)


def sendable_key(account: Account) -> str:
    """Return the key for a header. Raise `ProviderError` if it contains characters that a header cannot contain."""
    key = (account.api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ProviderError(
            ProviderErrorKind.AUTH, f"the key of the account {account.name} contains unusable characters"
        )
    return key


def parse(data: str, account: Account) -> object:
    """Parse a JSON document. Raise `ProviderError` if it is not JSON, is nested too deeply, or has more than
    `_MAX_MARKS` brackets and commas."""
    if sum(data.count(mark) for mark in "[{,") > _MAX_MARKS:
        raise failures.unreadable(account, "it has too many values")
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):  # RecursionError is raised for too many nested brackets
        raise failures.unreadable(account, "it is not JSON") from None
    return document


async def _read_whole(response: HttpResponse, account: Account, most: int) -> object:
    body = bytearray()
    async for chunk in response.chunks():
        body += chunk
        if len(body) > most:
            raise failures.unreadable(account, f"it is larger than {most} bytes")
    return parse(body.decode("utf-8", "replace"), account)


# -- server-sent events: bytes in, events out --------------------------------------------------------------------------


_LINE_END = regex(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """The error for an event that is larger than allowed. Nothing more can be read from its stream."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. `kind` is the name that the vendor gave the event, or `message` if the event has no name."""

    kind: str
    data: str


class EventParser:
    """A parser of a stream that arrives in pieces of any size. The parsing time is linear in the number of bytes."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._after_return = False
        self._at_start = True
        self._kind = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that this piece completes. Raise `EventTooLarge` if an event exceeds the limit."""
        if self._after_return and piece:
            # "\r\n" was split between two pieces: the "\r" has already ended the line.
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        self._after_return = self._after_return or piece.endswith(b"\r")
        start, *rest = _LINE_END.split(piece)
        self._extend(start)
        events = []
        for next_start in rest:
            event = self._end_line()
            if event is not None:
                events.append(event)
            self._extend(next_start)
        return events

    def _extend(self, part: bytes) -> None:
        self._line += part
        self._size += len(part)
        if self._size > self._max_bytes:
            raise EventTooLarge(f"an event of the stream is larger than {self._max_bytes} bytes")

    def _end_line(self) -> ServerEvent | None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        match name:
            case b"data":
                self._data.append(value.removeprefix(b" "))
            case b"event":
                self._kind = value.removeprefix(b" ")
        return None

    def _end_event(self) -> ServerEvent | None:
        kind, data = self._kind, self._data
        self._kind, self._data, self._size = b"", [], 0
        if not data:
            return None
        return ServerEvent(kind.decode("utf-8", "replace") or "message", b"\n".join(data).decode("utf-8", "replace"))
