"""Google's models by `generateContent`, written to the public wire format, without an SDK.

This module makes exactly one call; the runner waits, retries and chooses other accounts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.provider import ProviderServices
from arvis.providers.exchange import Exchange, read_stream, sendable_key
from arvis.providers.google_answer import GoogleResponse, failure
from arvis.providers.google_prompt import contents_of
from arvis.providers.prompts import system_of, turns_of
from arvis.providers.reply import ReplyText

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"


def create(name: str, services: ProviderServices) -> GoogleProvider:
    """Make the provider; this is the entry point."""
    exchange = Exchange(http=services.http, clock=services.clock, timeouts=services.timeouts, failure=failure)
    return GoogleProvider(name=name, exchange=exchange)


class GoogleProvider:
    """A `StreamingProvider`. An account's `base_url` ends with the version, as Google's own does."""

    def __init__(self, *, name: str, exchange: Exchange) -> None:
        self.name = name
        self._exchange = exchange

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        answer = GoogleResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        async with self._exchange.post(
            account,
            _url(request, account, stream=stream),
            headers={"x-goog-api-key": sendable_key(account)},
            document=_document(request),
            stream=stream,
            max_bytes=request.max_bytes,
            begin_within=request.begin_within,
        ) as answered:
            if not stream:
                answer.take(await answered.document())
                return answer.result(request)
            await read_stream(answered.events(), answer.take, answer, reply)
        return answer.result(request)


def _url(request: RunRequest, account: Account, *, stream: bool) -> str:
    base = (account.base_url or BASE_URL).rstrip("/")
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"{base}/models/{quote(request.model or account.model, safe='')}:{method}"


#: OpenAI's parameters by this vendor's names.
_TUNED = {
    "temperature": "temperature",
    "top_p": "topP",
    "seed": "seed",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}


def _tuned(request: RunRequest) -> dict[str, Any]:
    return {_TUNED[name]: value for name, value in request.sampling.items() if name in _TUNED}


def _document(request: RunRequest) -> dict[str, Any]:
    document: dict[str, Any] = {
        "contents": contents_of(turns_of(request)),
        "generationConfig": {"maxOutputTokens": request.max_tokens, **_tuned(request)},
    }
    if system := system_of(request):
        document["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in request.tools
        ]
        document["tools"] = [{"functionDeclarations": declared}]
        if request.tools_off:
            document["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
    return document
