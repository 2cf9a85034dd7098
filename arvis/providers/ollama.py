"""Models on an Ollama server, through its native chat: only there can the size of the context be read and set.

By default, Ollama uses a small context and silently drops the beginning of a longer prompt, so every call sets the
size that it needs. The provider makes one call for a reply, and one before the first call of a model to read the
model's maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.provider import ProviderServices
from arvis.providers.exchange import Answered, Exchange, read_stream, sendable_key
from arvis.providers.ollama_chat import (
    MOST_BYTES_A_TOKEN,
    UNTOLD_CONTEXT,
    OllamaResponse,
    context_for,
    context_length,
    failure,
    messages_of,
    prompt_tokens,
)
from arvis.providers.prompts import system_of, turns_of
from arvis.providers.reply import ReplyText

BASE_URL = "http://127.0.0.1:11434"

#: The statuses of servers without `/api/show`: 404, 405 or 501; some answer with a page.
_CANNOT_SAY = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.OVERLOADED})


def create(name: str, services: ProviderServices) -> OllamaProvider:
    """Make the provider; this is the entry point."""
    exchange = Exchange(http=services.http, clock=services.clock, timeouts=services.timeouts, failure=failure)
    return OllamaProvider(name=name, exchange=exchange)


class OllamaProvider:
    """A `StreamingProvider`. The context size of a model is requested once and remembered; from a server that does
    not report it, the provider requests as much as the prompt needs."""

    def __init__(self, *, name: str, exchange: Exchange) -> None:
        self.name = name
        self._exchange = exchange
        self._contexts: dict[tuple[str, str], int | None] = {}

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        model = request.model or account.model
        most = await self._most(request, account, model)
        context = min(context_for(prompt_tokens(request) + request.max_tokens), most or UNTOLD_CONTEXT)
        document = _document(request, model, context, stream=stream)
        answer = OllamaResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        async with self._post(account, "chat", document, request if stream else None) as answered:
            if stream:
                await read_stream(answered.lines(), answer.take, answer, reply)
            else:
                answer.take(await answered.document())
        return replace(answer.result(request), window=most)

    async def _most(self, request: RunRequest, account: Account, model: str) -> int | None:
        """Return the model's maximum context in tokens, if the server reports it. Raises kind `too_long` when the
        prompt is certainly longer."""
        key = (_base(account), model)
        if key not in self._contexts:
            self._contexts[key] = await self._shown(account, model)
        most, tokens = self._contexts[key], prompt_tokens(request, bytes_a_token=MOST_BYTES_A_TOKEN)
        if most is not None and tokens > most:
            text = f"the prompt needs some {tokens} tokens, and {model} holds {most}"
            raise ProviderError(ProviderErrorKind.TOO_LONG, text)
        return most

    async def _shown(self, account: Account, model: str) -> int | None:
        """Return the description of a model; None if the server has no such endpoint, as servers that only implement
        Ollama's chat. If it does not know the model either, the chat reports that."""
        try:
            async with self._post(account, "show", {"model": model}) as answered:
                return context_length(await answered.document())
        except ProviderError as error:
            if error.kind in _CANNOT_SAY:
                return None
            raise

    def _post(
        self, account: Account, method: str, document: Mapping[str, Any], streamed: RunRequest | None = None
    ) -> AbstractAsyncContextManager[Answered]:
        headers = {"Authorization": f"Bearer {sendable_key(account)}"} if account.api_key else {}
        return self._exchange.post(
            account,
            f"{_base(account)}/api/{method}",
            headers=headers,
            document=document,
            stream=streamed is not None,
            max_bytes=streamed.max_bytes if streamed else 0,
            begin_within=streamed.begin_within if streamed else None,
        )


def _base(account: Account) -> str:
    """Return the base address. `OLLAMA_HOST` may be written without a scheme."""
    base = (account.base_url or BASE_URL).rstrip("/")
    return base if "://" in base else f"http://{base}"


#: The parameters of OpenAI that its models know under the same names.
_TUNED = frozenset({"temperature", "top_p", "seed", "frequency_penalty", "presence_penalty"})


def _document(request: RunRequest, model: str, context: int, *, stream: bool) -> dict[str, Any]:
    turns = turns_of(request)
    messages = [message for turn in turns for message in messages_of(turn, turns)]
    if system := system_of(request):
        messages.insert(0, {"role": "system", "content": system})
    document: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "stream": stream,
        "options": {
            "num_ctx": context,
            "num_predict": request.max_tokens,
            **{name: value for name, value in request.sampling.items() if name in _TUNED},
        },
    }
    # Its wire format cannot forbid calls of the tools that it lists.
    if request.tools and not request.tools_off:
        document["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    return document
