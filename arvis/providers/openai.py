"""OpenAI, OpenRouter and every other server that speaks the chat-completions format.

Written to the public wire format, without an SDK. This module makes exactly one call; the runner waits, retries and
chooses other accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.provider import ProviderServices
from arvis.providers.completions import CompletionsResponse
from arvis.providers.completions_fields import NEW_LIMIT, OLD_LIMIT, Accepted, FieldRefused, failure, first_try
from arvis.providers.completions_prompt import messages_of
from arvis.providers.exchange import Exchange, read_stream, sendable_key
from arvis.providers.prompts import origin_of, system_of, turns_of
from arvis.providers.reply import ReplyText


@dataclass(frozen=True, slots=True)
class Vendor:
    """The differences between servers of this format. `base_url` None: every account must name its own."""

    base_url: str | None = None
    max_tokens_field: str = OLD_LIMIT
    headers: Mapping[str, str] = field(default_factory=dict)


#: OpenRouter shows these two to the user in its statistics.
_OPENROUTER_HEADERS = {"HTTP-Referer": "http://localhost:5070", "X-Title": "Arvis"}

VENDORS: Mapping[str, Vendor] = {
    # OpenAI's newer models refuse `max_tokens`.
    "openai": Vendor(base_url="https://api.openai.com/v1", max_tokens_field=NEW_LIMIT),
    "openrouter": Vendor(base_url="https://openrouter.ai/api/v1", headers=_OPENROUTER_HEADERS),
    "custom": Vendor(),
}


def create(name: str, services: ProviderServices) -> ChatCompletionsProvider:
    """Make the provider; this is the entry point of `openai`, `openrouter` and `custom`."""
    exchange = Exchange(http=services.http, clock=services.clock, timeouts=services.timeouts, failure=failure)
    return ChatCompletionsProvider(name=name, vendor=VENDORS[name], exchange=exchange)


class ChatCompletionsProvider:
    """A `StreamingProvider` for one vendor. It learns and remembers which fields each server accepts."""

    def __init__(self, *, name: str, vendor: Vendor, exchange: Exchange) -> None:
        self.name = name
        self._vendor = vendor
        self._exchange = exchange
        self._accepted: dict[tuple[str, str], Accepted] = {}

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        """Make one call, and another one for each field that the server refuses."""
        key = (self._url(account), model := request.model or account.model)
        accepted = self._accepted.get(key) or first_try(account, model, field=self._vendor.max_tokens_field)
        tried = {accepted}
        while True:
            document = _document(request, account, accepted, stream=stream)
            try:
                result = await self._once(request, account, document, reply, stream=stream)
            except FieldRefused as refused:
                other = accepted.after(refused, document)
                if other is None or other in tried:
                    raise
                accepted = other
                tried.add(other)
            else:
                self._accepted[key] = accepted
                return result

    async def _once(
        self, request: RunRequest, account: Account, document: Mapping[str, Any], reply: ReplyText, *, stream: bool
    ) -> RunResult:
        answer = CompletionsResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        async with self._exchange.post(
            account,
            self._url(account),
            headers=self._headers(account),
            document=document,
            stream=stream,
            max_bytes=request.max_bytes,
            begin_within=request.begin_within,
        ) as answered:
            if _is_stream(answered.content_type, requested=stream):
                await read_stream(answered.events(), partial(answer.take, part="delta"), answer, reply)
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


def _document(request: RunRequest, account: Account, accepted: Accepted, *, stream: bool) -> dict[str, Any]:
    origin = origin_of(request, account)
    messages = [
        message
        for turn in turns_of(request)
        for message in messages_of(turn, origin, required=accepted.reasoning_required, taken=accepted.reasoning)
    ]
    if system := system_of(request):
        messages.insert(0, {"role": "system", "content": system})
    document: dict[str, Any] = {"model": request.model or account.model, "messages": messages}
    document[accepted.limit] = request.max_tokens
    document |= request.sampling
    if request.tools:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ]
        document["tools"] = [{"type": "function", "function": tool} for tool in tools]
        if request.tools_off:
            document["tool_choice"] = "none"
    if stream:
        usage = {"stream_options": {"include_usage": True}} if accepted.stream_options else {}
        document |= {"stream": True, **usage}
    return document


def _is_stream(content_type: str, *, requested: bool) -> bool:
    """Return whether the answer is a stream. Some servers cannot stream and answer in one piece, others stream under
    a wrong content type."""
    return "event-stream" in content_type or (requested and "json" not in content_type)
