"""OpenAI, OpenRouter and every other server that speaks the chat-completions format.

Written to the public wire format, without an SDK. It makes exactly one call: waiting, trying again and
choosing another account are the runner's work.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient, HttpError, HttpResponse
from arvis.providers import failures
from arvis.providers.completions import Answer
from arvis.providers.reply import ReplyText
from arvis.providers.sse import EventParser, EventTooLarge

#: The largest document that is read as one: an answer in one piece, or one event of a stream, in bytes. An error needs
#: less.
MAX_DOCUMENT = 16 * 1024 * 1024
_MAX_FAILURE = 65_536

#: Brackets and commas of a document: read, `[{},{},…]` takes 24 times its own size.
_MAX_MARKS = 500_000

#: Bytes of a stream that are read before others get their turn on the event loop.
_SLICE = 16_384

#: On the wire a streamed reply is much larger than its text: some 300 bytes around each token of 4.
_STREAM_OVERHEAD = 256

_SUCCESS = range(200, 300)


@dataclass(frozen=True, slots=True)
class Vendor:
    """What differs between servers of this format. `base_url` None: every account must name its own."""

    base_url: str | None = None
    max_tokens_field: str = "max_tokens"
    headers: Mapping[str, str] = field(default_factory=dict)


#: OpenRouter shows these two to the user in its statistics.
_OPENROUTER_HEADERS = {"HTTP-Referer": "http://localhost:5070", "X-Title": "Arvis"}

VENDORS: Mapping[str, Vendor] = {
    # OpenAI's newer models refuse `max_tokens`.
    "openai": Vendor(base_url="https://api.openai.com/v1", max_tokens_field="max_completion_tokens"),
    "openrouter": Vendor(base_url="https://openrouter.ai/api/v1", headers=_OPENROUTER_HEADERS),
    "custom": Vendor(),
}


def create(*, name: str, http: HttpClient, clock: Clock, timeouts: CallTimeouts) -> ChatCompletionsProvider:
    """The entry point of `openai`, `openrouter` and `custom`."""
    return ChatCompletionsProvider(name=name, vendor=VENDORS[name], http=http, clock=clock, timeouts=timeouts)


class ChatCompletionsProvider:
    """A `StreamingProvider` for one vendor."""

    def __init__(self, *, name: str, vendor: Vendor, http: HttpClient, clock: Clock, timeouts: CallTimeouts) -> None:
        self.name = name
        self._vendor = vendor
        self._http = http
        self._clock = clock
        self._timeouts = timeouts

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        answer = Answer(reply=reply, account=account)
        try:
            async with self._post(request, account, stream=stream) as response:
                if response.status not in _SUCCESS:
                    raise await self._failure(response, account)
                if _is_stream(response, asked=stream):
                    await self._read_stream(response, answer)
                else:
                    answer.take(await _read_whole(response, account, MAX_DOCUMENT), part="message")
        except HttpError as error:
            raise failures.from_transport(account, error) from None
        return answer.result(request)

    def _post(
        self, request: RunRequest, account: Account, *, stream: bool
    ) -> AbstractAsyncContextManager[HttpResponse]:
        timeouts = self._timeouts
        return self._http.post(
            self._url(account),
            headers=self._headers(account),
            json=self._document(request, account, stream=stream),
            timeout=timeouts.total,
            idle_timeout=timeouts.silence if stream else timeouts.total,
            max_bytes=MAX_DOCUMENT + (_STREAM_OVERHEAD * request.max_bytes if stream else 0),
        )

    def _url(self, account: Account) -> str:
        base = account.base_url or self._vendor.base_url
        if base is None:
            raise ProviderError(ProviderErrorKind.BAD_REQUEST, f"the account {account.name} needs a base_url")
        return f"{base.rstrip('/')}/chat/completions"

    def _headers(self, account: Account) -> dict[str, str]:
        headers = dict(self._vendor.headers)
        if account.api_key:
            headers["Authorization"] = f"Bearer {_sendable(account)}"
        return headers

    def _document(self, request: RunRequest, account: Account, *, stream: bool) -> dict[str, Any]:
        messages = [{"role": turn.role, "content": turn.content} for turn in request.turns]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        # Servers behind an address of their own know the old name of the field for certain.
        limit = self._vendor.max_tokens_field if account.base_url is None else "max_tokens"
        document: dict[str, Any] = {"model": request.model or account.model, "messages": messages}
        document[limit] = request.max_tokens
        if stream:
            document |= {"stream": True, "stream_options": {"include_usage": True}}
        return document

    async def _failure(self, response: HttpResponse, account: Account) -> ProviderError:
        try:
            document = await _read_whole(response, account, _MAX_FAILURE)
        except (HttpError, ProviderError):
            document = None  # The status alone says what to do.
        return failures.from_answer(account, response.status, response.headers, document, self._clock)

    async def _read_stream(self, response: HttpResponse, answer: Answer) -> None:
        parser = EventParser(max_bytes=MAX_DOCUMENT)
        try:
            async for piece in _slices(response.chunks()):
                for event in parser.feed(piece):
                    if event.data == "[DONE]":
                        return
                    if not answer.take(_parse(event.data, answer.account), part="delta"):
                        return
        except EventTooLarge as error:
            raise failures.unreadable(answer.account, str(error)) from None
        except HttpError as error:
            if not answer.finished:
                raise _ended_early(answer.account, str(error)) from None
        if not answer.finished:
            raise _ended_early(answer.account, "no end was marked")


async def _slices(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes; a large chunk of tiny events is not taken apart in one go."""
    async for chunk in chunks:
        for start in range(0, len(chunk), _SLICE):
            yield chunk[start : start + _SLICE]
            await asyncio.sleep(0)


def _ended_early(account: Account, why: str) -> ProviderError:
    """Half an answer is no answer: the pieces shown so far are replaced by the next try."""
    return ProviderError(ProviderErrorKind.TIMEOUT, f"the stream of the account {account.name} ended early: {why}")


def _is_stream(response: HttpResponse, *, asked: bool) -> bool:
    """Some servers cannot stream and answer in one piece, others stream under a wrong content type."""
    content_type = response.headers.get("Content-Type", "")
    return "event-stream" in content_type or (asked and "json" not in content_type)


async def _read_whole(response: HttpResponse, account: Account, most: int) -> object:
    body = bytearray()
    async for chunk in response.chunks():
        body += chunk
        if len(body) > most:
            raise failures.unreadable(account, f"it is larger than {most} bytes")
    return _parse(body.decode("utf-8", "replace"), account)


def _parse(data: str, account: Account) -> object:
    if sum(data.count(mark) for mark in "[{,") > _MAX_MARKS:
        raise failures.unreadable(account, "it holds too much")
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):  # RecursionError: brackets without end
        raise failures.unreadable(account, "it is not JSON") from None
    return document


def _sendable(account: Account) -> str:
    """The key as a header can carry it."""
    key = (account.api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ProviderError(ProviderErrorKind.AUTH, f"the key of the account {account.name} holds unusable characters")
    return key
