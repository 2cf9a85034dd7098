"""Anthropic's models, and servers that speak the messages format, through the vendor's SDK.

The provider makes exactly one call for each request; the runner waits, retries and chooses other accounts. The SDK
provides the addresses, the headers and the field names of requests. This module reads the bytes of an answer itself,
within the same limits as the other providers, because the SDK sets no limits. The SDK has its own HTTP client (ADR
0005). Importing the SDK takes seconds and memory, so this module is imported only by its entry point.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import anthropic

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ProviderError
from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.http import HttpError
from arvis.ports.provider import ProviderServices
from arvis.providers import failures
from arvis.providers.anthropic_messages import BASE_URL, TUNED, AnthropicResponse, document_of, failure
from arvis.providers.anthropic_thinking import Thinking, first_thinking, merged
from arvis.providers.exchange import MAX_DOCUMENT, Answered, Beginning, FailureReader, parse, read_stream, sendable_key
from arvis.providers.prompts import origin_of
from arvis.providers.reply import ReplyText


def create(name: str, services: ProviderServices) -> AnthropicProvider:
    """Make the provider; this is the entry point."""
    exchange = SdkExchange(clock=services.clock, timeouts=services.timeouts, failure=failure)
    return AnthropicProvider(name=name, exchange=exchange)


class AnthropicProvider:
    """A `StreamingProvider` that keeps connections open until `aclose`."""

    def __init__(self, *, name: str, exchange: SdkExchange) -> None:
        self.name = name
        self._exchange = exchange
        #: The accepted forms of thinking by address and model.
        self._thinking: dict[tuple[str, str], Thinking] = {}

    async def aclose(self) -> None:
        await self._exchange.aclose()

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        """Make one call. If the model refuses a form of thinking, repeat the call with another form."""
        key = (_base(account), model := request.model or account.model)
        thinking = self._thinking.get(key) or first_thinking(model)
        tried = {thinking}
        while True:
            fields = thinking.fields(request, origin_of(request, account))
            formatted = thinking.format_fields(request)
            asked = thinking.without_refused(request, fields)
            try:
                sent = merged(fields, formatted)
                result = await self._once(asked, account, reply, sent, stream=stream)
            except ProviderError as error:
                other = thinking.after(error, fields, asked, formatted=bool(formatted))
                if other is None or other in tried:
                    raise
                thinking = other
                tried.add(other)
            else:
                self._thinking[key] = thinking
                lost = ["effort"] if request.effort is not None and not fields else []
                lost += sorted(request.sampling.keys() - (asked.sampling.keys() & set(TUNED)))
                return replace(result, left_out=tuple(lost)) if lost else result

    async def _once(
        self, request: RunRequest, account: Account, reply: ReplyText, thinking: Mapping[str, Any], *, stream: bool
    ) -> RunResult:
        answer = AnthropicResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        document = document_of(request, request.model or account.model, origin_of(request, account), thinking)
        async with self._exchange.post(
            account, document, stream=stream, max_bytes=request.max_bytes, begin_within=request.begin_within
        ) as answered:
            if stream and "json" not in answered.content_type:
                await read_stream(answered.events(), answer.take, answer, reply)
            else:
                answer.take(await answered.document())
        return answer.result(request)


# -- one call through the SDK ------------------------------------------------------------------------------------------


_SUCCESS = range(200, 300)
_MAX_FAILURE = 65_536

#: The number of bytes of a stream that are allowed for each byte of the reply's text.
_STREAM_OVERHEAD = 256

#: The seconds to wait for the last bytes of an answer after the message in it is complete.
_LINGER = 0.05

#: The module of the HTTP client that the SDK uses. While an answer is read, the SDK does not convert the errors of this
#: client, so `_Faults` converts them.
_CLIENT = "httpx2"

#: `_NO_PROXIES` disables the proxies of the environment. `_PLAIN` disables compression, because a compressed answer
#: could expand without limit. The other providers have the same settings.
_NO_PROXIES = {"http://": None, "https://": None, "all://": None}
_PLAIN = {"Accept-Encoding": "identity"}


#: If more clients than this are open, idle clients are closed. Otherwise the clients for keys that were replaced would
#: accumulate.
_MOST_CLIENTS = 16


@dataclass(slots=True)
class _Kept:
    """A client of the SDK and the number of calls that use it."""

    client: anthropic.AsyncAnthropic
    users: int = 0


class SdkExchange:
    """The open clients of the SDK with their connections, which `aclose` closes. There is one client for each recently
    used pair of key and address."""

    def __init__(self, *, clock: Clock, timeouts: CallTimeouts, failure: FailureReader) -> None:
        self._clock = clock
        self._timeouts = timeouts
        self._failure = failure
        #: The clients by key and address, in the order of their last use.
        self._clients: dict[tuple[str, str], _Kept] = {}
        self._opening = asyncio.Lock()

    async def aclose(self) -> None:
        """Close all connections. A later call opens new ones."""
        clients, self._clients = self._clients, {}
        for kept in clients.values():
            await kept.client.close()

    @contextlib.asynccontextmanager
    async def post(
        self,
        account: Account,
        document: Mapping[str, Any],
        *,
        stream: bool,
        max_bytes: int,
        begin_within: float | None = None,
    ) -> AsyncIterator[Answered]:
        """Send a request, and return the answer as soon as a success status has arrived. `max_bytes` limits the reply's
        text; the limit for the bytes of the stream is derived from it. `begin_within` is the time limit in seconds for
        the first byte of a stream."""
        begun = Beginning(begin_within if stream else None)
        base = _base(account)
        silence = self._timeouts.silence if stream else self._timeouts.total
        most = MAX_DOCUMENT + (_STREAM_OVERHEAD * max_bytes if stream else 0)
        try:
            async with asyncio.timeout(self._timeouts.total) as scope, begun:
                with _Faults(base):
                    async with self._client(account, base) as client:
                        create = client.messages.with_streaming_response.create
                        async with create(
                            **{name: value for name, value in document.items() if name not in TUNED},
                            # The vendor's API has these parameters, but its library no longer names them.
                            extra_body={name: document[name] for name in TUNED if name in document} or None,
                            stream=stream,
                            timeout=anthropic.Timeout(silence),
                        ) as response:
                            body = SdkResponse(response, base=base, most=most, until=scope.when())
                            scope.reschedule(None)
                            yield Answered(body, account, begun)
                            await body.drain()
        except _Failed as error:
            raise self._failure(account, error.status, error.headers, _read(error.body, account), self._clock) from None
        except HttpError as error:
            raise failures.from_transport(account, error, silent=not begun.seen) from None
        except TimeoutError:
            late = HttpError(f"{_host(base)} took too long to answer", timeout=True)
            raise failures.from_transport(account, late, silent=not begun.seen) from None

    @contextlib.asynccontextmanager
    async def _client(self, account: Account, base: str) -> AsyncIterator[anthropic.AsyncAnthropic]:
        """Provide the client for an account. A new client is made in a thread, because it reads certificates from
        disk."""
        name = (sendable_key(account), base)
        async with self._opening:
            kept = self._clients.pop(name, None) or _Kept(await asyncio.to_thread(_open, *name))
            self._clients[name] = kept
            kept.users += 1
        try:
            await self._close_spare()
            yield kept.client
        finally:
            kept.users -= 1

    async def _close_spare(self) -> None:
        """If there are too many clients, close the idle clients that have not been used for the longest time."""
        unused = [name for name, kept in self._clients.items() if not kept.users]
        spare = unused[: max(0, len(self._clients) - _MOST_CLIENTS)]
        for kept in [self._clients.pop(name) for name in spare]:
            await kept.client.close()


def _open(key: str, base: str) -> anthropic.AsyncAnthropic:
    """Make a client. Every option is set, because the SDK reads missing options from the environment."""
    headers: dict[str, Any] = {**_PLAIN} if key else {**_PLAIN, "Authorization": anthropic.Omit()}
    return anthropic.AsyncAnthropic(
        api_key=key,
        base_url=base,
        max_retries=0,
        default_headers=headers,
        open_telemetry=False,
        middleware=[_hold_failures],
        http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False, trust_env=False, mounts=_NO_PROXIES),
    )


class _Failed(Exception):
    """The signal that an answer has an error status. `body` is the body of the answer. It is empty if the body is too
    large or could not be read."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


async def _hold_failures(
    request: anthropic.APIRequest, call_next: anthropic.AsyncCallNext
) -> anthropic.AsyncAPIResponse[Any]:
    """Raise `_Failed` for an error answer, because otherwise the SDK would read its body without a limit."""
    response = await call_next(request)
    if response.status_code in _SUCCESS:
        return response
    try:
        body = await SdkResponse(response, base=str(request.url), most=_MAX_FAILURE).body()
    except HttpError:
        body = b""  # Without a body, the status alone determines the error.
    finally:
        await response.close()
    raise _Failed(response.status_code, response.headers, body)


class SdkResponse:
    """An `HttpResponse` of at most `most` bytes that can be read once. `until` is the deadline for reading it, in the
    time of the event loop; None means no deadline."""

    def __init__(
        self, response: anthropic.AsyncAPIResponse[Any], *, base: str, most: int, until: float | None = None
    ) -> None:
        self._response = response
        self._until = until
        self._base = base
        self._left = most
        self._pieces = response.http_response.aiter_raw()

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def body(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def drain(self) -> None:
        """Read the remaining bytes of the answer if they arrive at once. The connection can be used for another call
        only after all bytes have been read."""
        with contextlib.suppress(HttpError, TimeoutError):
            async with asyncio.timeout(_LINGER):
                async for _ in self:
                    pass

    async def __anext__(self) -> bytes:
        if self.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise HttpError(f"the answer of {_host(self._base)} is compressed, which was not requested")
        try:
            with _Faults(self._base):
                async with asyncio.timeout_at(self._until):
                    chunk = await anext(self._pieces)
        except TimeoutError:
            text = f"{_host(self._base)} took too long to answer"
            raise HttpError(text, timeout=True, spent=True) from None
        self._left -= len(chunk)
        if self._left < 0:
            raise HttpError(f"the answer of {_host(self._base)} is larger than allowed", too_large=True)
        return chunk


class _Faults:
    """A context that converts the errors of the SDK and of its HTTP client to `HttpError`, without their texts, which
    may quote an address or a header. The client's errors are recognised by their module, because the client must not be
    imported here."""

    def __init__(self, base: str) -> None:
        self._host = _host(base)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, anthropic.APITimeoutError):
            raise HttpError(f"{self._host} took too long to answer", timeout=True) from None
        if isinstance(error, anthropic.APIConnectionError):
            raise HttpError(f"no connection to {self._host} ({_in_words(type(error.__cause__))})") from None
        if isinstance(error, anthropic.AnthropicError):
            raise HttpError(f"{self._host} could not be called: the vendor's library refused the request") from None
        if kind is not None and kind.__module__.partition(".")[0] == _CLIENT:
            timeout = "Timeout" in kind.__name__
            raise HttpError(f"the connection to {self._host} broke ({_in_words(kind)})", timeout=timeout) from None


def _in_words(kind: type[BaseException | None]) -> str:
    """Describe a failed connection for people. The description depends on the class name of the HTTP client's error."""
    descriptions = {
        "ConnectError": "the server could not be reached",
        "ConnectTimeout": "it took too long",
        "ReadTimeout": "the server sent no data for too long",
        "ReadError": "it was closed in the middle of the answer",
        "RemoteProtocolError": "it was closed before the end of the answer",
        "UnsupportedProtocol": "the address does not begin with http:// or https://",
    }
    return descriptions.get(kind.__name__, "it was closed")


def _read(body: bytes, account: Account) -> object:
    try:
        return parse(body.decode("utf-8", "replace"), account)
    except ProviderError:
        return None


def _base(account: Account) -> str:
    """Return the base address without `/v1`, because the SDK adds it. Users may have written `/v1`, because the
    addresses of other vendors need it."""
    return (account.base_url or BASE_URL).rstrip("/").removesuffix("/v1")


def _host(base: str) -> str:
    """Return the host for error texts, without the user and password that an address may contain."""
    try:
        return urlsplit(base).netloc.rpartition("@")[2] or "the given address"
    except ValueError:
        return "the given address"
