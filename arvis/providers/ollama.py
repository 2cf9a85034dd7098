"""Models on an Ollama server, through Ollama's own chat API, because only this API can read and set the size of the
context.

By default, Ollama uses a small context and silently drops the beginning of a longer prompt, so every call sets the
context size that it needs. The provider makes one request for each reply. Before the first reply of a model, it makes
another request, to read the model's maximum context and the ways in which it can think. An answer is one JSON
document, or a stream with one JSON document on each line. No value in a document is trusted to have the documented
type: a value of a wrong type makes the answer unreadable, but never crashes the daemon.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import NONE, nearest
from arvis.domain.embeddings import EmbeddingRequest, EmbeddingResult
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.ports.clock import Clock
from arvis.ports.provider import ProviderServices
from arvis.providers import embeddings, failures
from arvis.providers.exchange import Answered, Exchange, read_stream, sendable_key
from arvis.providers.prompts import origin_of, system_of, turns_of
from arvis.providers.reply import Answer, Reasoning, ReplyText, printable, token_count

BASE_URL = "http://127.0.0.1:11434"

#: The errors of servers without `/api/show`: they answer with status 404, 405 or 501, or with a web page.
_CANNOT_SAY = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.OVERLOADED})


def create(name: str, services: ProviderServices) -> OllamaProvider:
    """Make the provider; this is the entry point."""
    exchange = Exchange(http=services.http, clock=services.clock, timeouts=services.timeouts, failure=failure)
    return OllamaProvider(name=name, exchange=exchange)


class OllamaProvider:
    """A `StreamingProvider`. The description of a model is requested once and remembered. If the server does not
    report it, the provider sets as much context as the prompt needs, up to `ASSUMED_CONTEXT`."""

    def __init__(self, *, name: str, exchange: Exchange) -> None:
        self.name = name
        self._exchange = exchange
        self._models: dict[tuple[str, str], OllamaModel] = {}

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def embed(self, request: EmbeddingRequest, account: Account) -> EmbeddingResult:
        document: dict[str, Any] = {"model": request.model, "input": [*request.texts]}
        if request.dimensions is not None:
            document["dimensions"] = request.dimensions
        async with self._post(account, "embed", document) as answered:
            return embeddings.in_embeddings(await answered.document(), request, account)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        model = request.model or account.model
        known = await self._model(request, account, model)
        most, think = known.context, known.think(model, request.effort)
        context = min(context_for(prompt_tokens(request) + request.max_tokens), most or ASSUMED_CONTEXT)
        document = _document(request, account, context, think, stream=stream)
        answer = OllamaResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        async with self._post(account, "chat", document, request if stream else None) as answered:
            if stream:
                await read_stream(answered.lines(), answer.take, answer, reply)
            else:
                answer.take(await answered.document())
        left_out = ("effort",) if request.effort is not None and think is None else ()
        return replace(answer.result(request), window=most, left_out=left_out)

    async def _model(self, request: RunRequest, account: Account, model: str) -> OllamaModel:
        """Return what the server reports about the model. Raise `ProviderError` of kind `too_long` if the prompt is
        certainly longer than the model's context."""
        key = (_base(account), model)
        if key not in self._models:
            self._models[key] = await self._shown(account, model)
        most, tokens = self._models[key].context, prompt_tokens(request, bytes_a_token=MOST_BYTES_A_TOKEN)
        if most is not None and tokens > most:
            text = f"the prompt needs about {tokens} tokens, but the context window of {model} has {most}"
            raise ProviderError(ProviderErrorKind.TOO_LONG, text)
        return self._models[key]

    async def _shown(self, account: Account, model: str) -> OllamaModel:
        """Request the description of a model. Return an empty description if the server does not have the endpoint,
        because some servers implement only Ollama's chat. Also return an empty description for an unknown model,
        because the chat request that follows reports the error."""
        try:
            async with self._post(account, "show", {"model": model}) as answered:
                document = await answered.document()
                return OllamaModel(context_length(document), thinking_values(document))
        except ProviderError as error:
            if error.kind in _CANNOT_SAY:
                return OllamaModel()
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
    """Return the base address with a scheme; users may write the address without one, as in `OLLAMA_HOST`."""
    base = (account.base_url or BASE_URL).rstrip("/")
    return base if "://" in base else f"http://{base}"


#: The parameters that have the same names for Ollama as for OpenAI.
_TUNED = frozenset({"temperature", "top_p", "seed", "frequency_penalty", "presence_penalty"})


def _document(
    request: RunRequest, account: Account, context: int, think: bool | str | None, *, stream: bool
) -> dict[str, Any]:
    turns, origin = turns_of(request), origin_of(request, account)
    messages = [message for turn in turns for message in messages_of(turn, turns, origin)]
    if system := system_of(request):
        messages.insert(0, {"role": "system", "content": system})
    document: dict[str, Any] = {
        "model": request.model or account.model,
        "messages": messages,
        "stream": stream,
        "options": {
            "num_ctx": context,
            "num_predict": request.max_tokens,
            **{name: value for name, value in request.sampling.items() if name in _TUNED},
        },
    }
    if think is not None:
        document["think"] = think
    # The format is sent only if the model must not call tools, because a model with a format cannot call them.
    if request.format is not None and (request.tools_off or not request.tools):
        document["format"] = request.format.schema or "json"
    # Tools that must not be called are left out, because Ollama's format cannot forbid their calls.
    if request.tools and not request.tools_off:
        document["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    return document


# -- sizes of contexts, prompts and answers ----------------------------------------------------------------------------


#: Ollama's default context, in tokens.
_LEAST_CONTEXT = 4_096
#: The context (tokens) that is assumed for a model that does not report it.
_UNKNOWN_CONTEXT = 8_192
#: The largest context (tokens) that is accepted from a model's description.
_MOST_CONTEXT = 1 << 21
#: The largest context (tokens) that is requested from a server that does not report the model's maximum.
ASSUMED_CONTEXT = 131_072

#: The number of bytes per token for a high estimate of a prompt's tokens. An estimate that is too high costs memory,
#: but one that is too low would lose the beginning of the prompt.
_BYTES_A_TOKEN = 2.5
#: The number of bytes per token for a low estimate of a prompt's tokens. A prompt that is too long even by this
#: estimate is refused. The runner's estimate is more exact, because the runner has learned how the model counts.
MOST_BYTES_A_TOKEN = 4.5
_TOKENS_A_PICTURE = 1_600

_LONGEST_NAME = 200
_TOO_LONG = regex(r"exceeds? (?:the )?(?:available )?context|context (?:length|window|size)", re.IGNORECASE)


def prompt_tokens(request: RunRequest, *, bytes_a_token: float = _BYTES_A_TOKEN) -> int:
    """Return an estimate of the prompt's tokens. The default `bytes_a_token` gives a high estimate, and
    `MOST_BYTES_A_TOKEN` a low one."""
    texts = [request.system, request.changing, request.now, *(text for turn in request.turns for text in _texts(turn))]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) + sum(len(str(t)) for t in request.tools)
    pictures = sum(len(turn.images) for turn in request.turns)
    return round(size / bytes_a_token) + pictures * _TOKENS_A_PICTURE


def context_for(needed: int) -> int:
    """Return the context size, rounded up in large steps, so that a growing conversation does not make the server
    reload the model at every turn."""
    context = _LEAST_CONTEXT
    while context < needed:
        context *= 2
    return context


def context_length(document: object) -> int:
    """Return a model's maximum context from the answer of `/api/show`, where it is the field
    `ARCHITECTURE.context_length`."""
    info = document.get("model_info") if isinstance(document, Mapping) else None
    for name, value in info.items() if isinstance(info, Mapping) else ():
        if str(name).endswith(".context_length") and (length := token_count(value)):
            return min(length, _MOST_CONTEXT)
    return _UNKNOWN_CONTEXT


# -- thinking ----------------------------------------------------------------------------------------------------------


#: The levels of models that have levels but whose server does not list them.
_LEVELS = ("low", "medium", "high")
_WITH_LEVELS = regex(r"gpt-oss", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """The server's description of a model."""

    #: The maximum context in tokens; None if the server does not report it.
    context: int | None = None
    #: The values of `think` that the model accepts; None if the model can think but the server does not list the
    #: values.
    values: tuple[bool | str, ...] | None = ()

    def think(self, model: str, effort: str | None) -> bool | str | None:
        """Return the value of `think` for an effort; None if the model accepts no suitable value."""
        if effort is None:
            return None
        values: tuple[bool | str, ...] = (True, False)
        if self.values is not None:
            values = self.values
        elif _WITH_LEVELS.search(model):
            values = _LEVELS
        if effort == NONE and False in values:
            return False
        if (level := nearest(effort, [value for value in values if isinstance(value, str)])) is not None:
            return level
        return True if effort != NONE and True in values else None


def thinking_values(document: object) -> tuple[bool | str, ...] | None:
    """Return the values of `think` from the answer of `/api/show`. Return the values in `thinking.values` if the answer
    lists them, None if only the model's capabilities contain `thinking`, and an empty tuple if the model cannot
    think."""
    match document:
        case {"thinking": {"values": list(values)}}:
            return tuple(value for value in values[:20] if isinstance(value, bool | str))
        case {"capabilities": list(capabilities)} if "thinking" in capabilities:
            return None
    return ()


def messages_of(turn: Turn, turns: Sequence[Turn], origin: str = "") -> Iterator[dict[str, Any]]:
    """Return the messages of a turn. Tool outputs are separate messages that name the tool. Thoughts are sent back to
    their `origin`."""
    names = {call.id: call.name for each in turns for call in each.calls} if turn.outputs else {}
    for output in turn.outputs:
        yield {"role": "tool", "tool_name": names.get(output.call_id, "unknown"), "content": output.content}
    if not (turn.content or turn.images or turn.calls) and turn.outputs:
        return
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.images:
        message["images"] = [base64.b64encode(image.data).decode() for image in turn.images]
    if turn.calls:
        calls = [{"function": {"name": call.name, "arguments": call.arguments or {}}} for call in turn.calls]
        message["tool_calls"] = calls
    match turn.thoughts:
        case {"origin": str(from_), "field": "thinking", "text": str(text)} if from_ == origin:
            message["thinking"] = text
    yield message


class OllamaResponse(Answer):
    """One streamed answer, built from JSON documents as they arrive. `finished` is True after a document with `"done":
    true`."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        super().__init__(reply=reply, account=account, max_bytes=max_bytes)
        self._reasoning = Reasoning(max_bytes, fields=("thinking",))

    def _thoughts_of(self, request: RunRequest) -> Mapping[str, Any] | None:
        return self._reasoning.result(origin_of(request, self.account))

    def take(self, document: object) -> bool:
        """Read the next document. Return False if the reply has reached its maximum size. Raise `ProviderError` if the
        document is invalid or reports an error."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        if error := document.get("error"):
            raise _refined(failures.from_error_object(self.account, error))
        more = self._take_message(document.get("message"))
        if document.get("done") is True:
            self._finish(document)
        return more

    def _take_message(self, message: object) -> bool:
        if isinstance(message, Mapping):
            self._reasoning.add(message)
        match message:
            case None:
                return True
            case {"tool_calls": list(calls)}:
                for call in calls:
                    self._take_call(call)
        match message:
            case {"content": str(text)}:
                return self._reply.add(text)
            case Mapping() if message.get("content") is None:
                return True
        raise failures.unreadable(self.account, "its message has a wrong type")

    def _take_call(self, call: object) -> None:
        match call:
            case {"function": {"name": str(name), **function}}:
                self._calls.add_whole(name, function.get("arguments") or {})
            case _:
                raise failures.unreadable(self.account, "its tool calls have a wrong type")

    def _finish(self, document: Mapping[str, object]) -> None:
        self.finished = True
        self._input_tokens = token_count(document.get("prompt_eval_count"))
        self._output_tokens = token_count(document.get("eval_count"))
        match document.get("model"):
            case str(model):
                self._model = printable(model, _LONGEST_NAME) or None
        match document.get("done_reason"):
            case str(reason) if reason != "stop":
                self._stop_reason = printable(reason, 32)


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Return the error for an answer with an error status. Ollama reports an error as a string, not as an object."""
    return _refined(failures.from_answer(account, status, headers, document, clock))


def _refined(plain: ProviderError) -> ProviderError:
    if not _TOO_LONG.search(plain.what):
        return plain
    return plain.refined(ProviderErrorKind.TOO_LONG)


def _texts(turn: Turn) -> Iterator[str]:
    yield turn.content
    yield from (output.content for output in turn.outputs)
    yield from (str(call.arguments) for call in turn.calls)
