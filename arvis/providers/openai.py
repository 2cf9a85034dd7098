"""OpenAI, OpenRouter and every other server that speaks the chat-completions format.

Written to the public wire format, without an SDK. It makes exactly one call: waiting, trying again and
choosing another account are the runner's work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.provider import ProviderServices
from arvis.providers.completions import Answer
from arvis.providers.completions_prompt import messages_of
from arvis.providers.exchange import DONE, Answered, Broken, Exchange, ended_early, sendable_key
from arvis.providers.prompts import system_of, turns_of
from arvis.providers.reply import ReplyText


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


def create(name: str, services: ProviderServices) -> ChatCompletionsProvider:
    """The entry point of `openai`, `openrouter` and `custom`."""
    exchange = Exchange(http=services.http, clock=services.clock, timeouts=services.timeouts)
    return ChatCompletionsProvider(name=name, vendor=VENDORS[name], exchange=exchange)


class ChatCompletionsProvider:
    """A `StreamingProvider` for one vendor."""

    def __init__(self, *, name: str, vendor: Vendor, exchange: Exchange) -> None:
        self.name = name
        self._vendor = vendor
        self._exchange = exchange

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        answer = Answer(reply=reply, account=account, max_bytes=request.max_bytes)
        async with self._exchange.post(
            account,
            self._url(account),
            headers=self._headers(account),
            document=self._document(request, account, stream=stream),
            stream=stream,
            max_bytes=request.max_bytes,
            begin_within=request.begin_within,
        ) as answered:
            if _is_stream(answered.content_type, asked=stream):
                await _read_stream(answered, answer)
            else:
                answer.take(await answered.document(), part="message")
        return answer.result(request)

    def _url(self, account: Account) -> str:
        base = account.base_url or self._vendor.base_url
        if base is None:
            raise ProviderError(ProviderErrorKind.BAD_REQUEST, f"the account {account.name} needs a base_url")
        return f"{base.rstrip('/')}/chat/completions"

    def _headers(self, account: Account) -> dict[str, str]:
        headers = dict(self._vendor.headers)
        if account.api_key:
            headers["Authorization"] = f"Bearer {sendable_key(account)}"
        return headers

    def _document(self, request: RunRequest, account: Account, *, stream: bool) -> dict[str, Any]:
        messages = [message for turn in turns_of(request) for message in messages_of(turn)]
        if system := system_of(request):
            messages.insert(0, {"role": "system", "content": system})
        # Servers behind an address of their own know the old name of the field for certain.
        limit = self._vendor.max_tokens_field if account.base_url is None else "max_tokens"
        document: dict[str, Any] = {"model": request.model or account.model, "messages": messages}
        document[limit] = request.max_tokens
        if request.tools:
            document["tools"] = [{"type": "function", "function": dataclasses.asdict(tool)} for tool in request.tools]
            if request.tools_off:
                document["tool_choice"] = "none"
        if stream:
            document |= {"stream": True, "stream_options": {"include_usage": True}}
        return document


async def _read_stream(answered: Answered, answer: Answer) -> None:
    """To the end that the vendor marks. A connection that breaks after it does not mind."""
    try:
        async for document in answered.events():
            if document is DONE or not answer.take(document, part="delta"):
                return
    except Broken as error:
        if not answer.finished:
            raise ended_early(answer.account, str(error)) from None
    if not answer.finished:
        raise ended_early(answer.account, "no end was marked")


def _is_stream(content_type: str, *, asked: bool) -> bool:
    """Some servers cannot stream and answer in one piece, others stream under a wrong content type."""
    return "event-stream" in content_type or (asked and "json" not in content_type)
