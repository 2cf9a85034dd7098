"""Anthropic's models, and servers that speak the messages format, through the vendor's SDK.

This module makes exactly one call; the runner waits, retries and chooses other accounts. Importing it takes seconds
and memory, so only the entry point imports it.
"""

from __future__ import annotations

from collections.abc import Callable

from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.provider import ProviderServices
from arvis.providers.anthropic_answer import AnthropicResponse, failure
from arvis.providers.anthropic_prompt import document_of
from arvis.providers.anthropic_sdk import SdkExchange
from arvis.providers.exchange import read_stream
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

    async def aclose(self) -> None:
        await self._exchange.aclose()

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        answer = AnthropicResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        document = document_of(request, request.model or account.model, origin_of(request, account))
        async with self._exchange.post(
            account, document, stream=stream, max_bytes=request.max_bytes, begin_within=request.begin_within
        ) as answered:
            if stream and "json" not in answered.content_type:
                await read_stream(answered.events(), answer.take, answer, reply)
            else:
                answer.take(await answered.document())
        return answer.result(request)
