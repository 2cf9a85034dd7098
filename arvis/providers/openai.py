"""OpenAI, OpenRouter and every other server that speaks the chat-completions format, without an SDK.

The runner waits, retries and chooses other accounts; this module does not. Servers of this format treat some fields
differently. If a server refuses a request because of such a field, the provider sends the request again with another
form of the field or without it, and uses the accepted form for later requests. No value in an answer is trusted to have
the documented type: a value of a wrong type makes the answer unreadable, but never crashes the daemon. After an
unreadable answer, the runner may retry the call. Fields that are missing in the answer (usage, model) are left out of
the result.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import EmbeddingRequest, EmbeddingResult
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Account, Image, RunRequest, RunResult, Turn
from arvis.domain.tools import ToolCall
from arvis.ports.clock import Clock
from arvis.ports.provider import ProviderServices
from arvis.providers import embeddings, failures
from arvis.providers.exchange import Exchange, read_stream, sendable_key
from arvis.providers.prompts import origin_of, system_of, turns_of
from arvis.providers.reply import Answer, Reasoning, ReplyText, printable, token_count

# -- fields that servers treat differently -----------------------------------------------------------------------------


OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
_REFUSING = frozenset({400, 422})
_NAMES = regex(r"\b(?:max_tokens|max_completion_tokens|reasoning_content|reasoning|stream_options)\b")
_REQUIRED = regex(r"must be passed back|\bis missing\b|\bmissing\b.{0,40}reasoning_content", re.IGNORECASE)
#: The maximum number of characters of a refusal that are examined.
_LOOKED_AT = 8_192

#: OpenAI's models that refuse `max_tokens`, on any server.
_NEW_MODELS = regex(r"(?:o\d|gpt-[5-9]|codex|chatgpt-[5-9])\b", re.IGNORECASE)


class FieldRefused(ProviderError):
    """A refusal that names fields of the request. `required` is True if the server expected reasoning that was not
    sent."""

    def __init__(self, error: ProviderError, named: frozenset[str], *, required: bool) -> None:
        super().__init__(error.kind, error.what, retry_after=error.retry_after, elsewhere=error.elsewhere)
        self.named = named
        self.required = required


@dataclass(frozen=True, slots=True)
class Accepted:
    """The form of requests that one model of one server accepts."""

    #: The name of the field that limits the reply.
    limit: str
    #: True if messages may contain the reasoning before their tool calls.
    reasoning: bool = True
    #: True if messages with tool calls must contain reasoning.
    reasoning_required: bool = False
    #: True if the request may contain `stream_options`.
    stream_options: bool = True

    def after(self, refused: FieldRefused, document: Mapping[str, Any]) -> Accepted | None:
        """Return the form to try after the server refused this document; None if the refusal names no field that can
        be changed or left out."""
        if refused.required:
            return None if self.reasoning_required else replace(self, reasoning=True, reasoning_required=True)
        sent = {name for message in document["messages"] for name in message} | document.keys()
        named = refused.named & sent
        if named & {"reasoning", "reasoning_content"}:
            return replace(self, reasoning=False, reasoning_required=False)
        if "stream_options" in named:
            return replace(self, stream_options=False)
        if self.limit in named:
            return replace(self, limit=NEW_LIMIT if self.limit == OLD_LIMIT else OLD_LIMIT)
        return None


def first_try(account: Account, model: str, *, field: str) -> Accepted:
    """Return the form of the first request. `field` is the name that the vendor uses for the limit of the reply. If the
    account names its own address, the old name `max_tokens` is used, except for models that refuse it."""
    newer = _NEW_MODELS.match(model.rpartition("/")[2]) is not None
    own = account.base_url is not None and not newer
    return Accepted(OLD_LIMIT if own else NEW_LIMIT if newer and account.provider != "openrouter" else field)


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Return the error of an answer: a `FieldRefused` if the answer names fields of the request."""
    error = failures.from_answer(account, status, headers, document, clock)
    if status not in _REFUSING or error.kind is not ProviderErrorKind.BAD_REQUEST:
        return error
    text = json.dumps(document, ensure_ascii=False)[:_LOOKED_AT]
    named = frozenset(_NAMES.findall(text))
    required = "reasoning_content" in named and _REQUIRED.search(text) is not None
    return FieldRefused(error, named, required=required) if named else error


@dataclass(frozen=True, slots=True)
class Vendor:
    """The properties in which vendors of this format differ. If `base_url` is None, every account must name its own
    address."""

    base_url: str | None = None
    max_tokens_field: str = OLD_LIMIT
    headers: Mapping[str, str] = field(default_factory=dict)


#: OpenRouter shows the values of both headers to the user in its statistics.
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

    async def embed(self, request: EmbeddingRequest, account: Account) -> EmbeddingResult:
        document: dict[str, Any] = {"model": request.model, "input": [*request.texts]}
        if request.dimensions is not None:
            document["dimensions"] = request.dimensions
        async with self._exchange.post(
            account,
            self._url(account, "embeddings"),
            headers=self._headers(account),
            document=document,
            stream=False,
            max_bytes=0,
        ) as answered:
            return embeddings.in_data(await answered.document(), request, account)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        """Make one call, and repeat it for each field that the server refuses."""
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

    def _url(self, account: Account, method: str = "chat/completions") -> str:
        base = account.base_url or self._vendor.base_url
        if base is None:
            raise ProviderError(ProviderErrorKind.BAD_REQUEST, f"the account {account.name} needs a base_url")
        return f"{base.rstrip('/')}/{method}"

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
    """Return whether the answer is a stream. Some servers cannot stream and answer in one piece; others declare a wrong
    content type for a stream."""
    return "event-stream" in content_type or (requested and "json" not in content_type)


# -- prompts -----------------------------------------------------------------------------------------------------------


Message = dict[str, Any]


def messages_of(turn: Turn, origin: str = "", *, required: bool = False, taken: bool = True) -> Iterator[Message]:
    """Return the messages of a turn. Tool outputs are separate messages, before the user's text. Reasoning is sent back
    together with the calls that followed it, but only to its `origin`, and only if the server accepts reasoning
    (`taken`). If the server requires reasoning (`required`), calls by other models get an empty reasoning text."""
    for output in turn.outputs:
        yield {"role": "tool", "tool_call_id": output.call_id, "content": output.content}
    if turn.calls:
        calls = [_call(call) for call in turn.calls]
        reasoning = _reasoning(turn, origin, required) if taken else {}
        yield {"role": turn.role, "content": turn.content or None, **reasoning, "tool_calls": calls}
    elif turn.images:
        text = [{"type": "text", "text": turn.content}] if turn.content else []
        yield {"role": turn.role, "content": [*text, *(_image(image) for image in turn.images)]}
    elif turn.content or not turn.outputs:
        yield {"role": turn.role, "content": turn.content}


def _reasoning(turn: Turn, origin: str, required: bool) -> Message:
    match turn.thoughts:
        case {"origin": str(from_), "field": str(name), "text": str(text)} if from_ == origin:
            return {name: text}
    return {"reasoning_content": ""} if required else {}


def _call(call: ToolCall) -> Message:
    """Return a tool call with its arguments as the model wrote them, even if they are not an object: the model must see
    the arguments that it has to correct."""
    arguments = call.written if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _image(image: Image) -> Message:
    data = base64.b64encode(image.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


# -- answers: one complete document, or the pieces of a stream ---------------------------------------------------------


#: The maximum number of characters of a model's name, and of the text of a refusal in an error.
_LONGEST_NAME = 200
_LONGEST_REFUSAL = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The first choice in a JSON document. It is empty for a document that contains only token counts."""

    text: str = ""
    refusal: str = ""
    finish_reason: str | None = None
    part: Mapping[str, object] = field(default_factory=dict)
    tool_calls: Sequence[object] = ()


class CompletionsResponse(Answer):
    """One answer, built from JSON documents as they arrive. `finished` is True after a document with a finish
    reason."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        super().__init__(reply=reply, account=account, max_bytes=max_bytes)
        self._refusal = ""
        self._reasoning = Reasoning(max_bytes)

    def take(self, document: object, *, part: str) -> bool:
        """Read the next document. `part` is the field that contains its text: `message` or `delta`. Return False if the
        reply has reached its maximum size. Raise `ProviderError` for an error object, a refusal or a wrong type."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        if document.get("error"):
            raise failures.from_error_object(self.account, document["error"])
        self._note(document)
        choice = self._choice(document.get("choices"), part)
        self._reasoning.add(choice.part)
        if len(self._refusal) < _LONGEST_REFUSAL:
            self._refusal += choice.refusal[:_LONGEST_REFUSAL]
        for number, call in enumerate(choice.tool_calls):
            self._take_call(number, call)
        if choice.finish_reason is not None:
            self._finish(choice.finish_reason)
        return self._reply.add(choice.text)

    def result(self, request: RunRequest) -> RunResult:
        """Return the reply. Raise `ProviderError` if it is empty or the model declined."""
        try:
            return super().result(request)
        except ProviderError:
            if not self._refusal:
                raise
            text = failures.redact(f"the model declined: {self._refusal}", self.account)
            raise ProviderError(ProviderErrorKind.REFUSED, text) from None

    def _thoughts_of(self, request: RunRequest) -> Mapping[str, Any] | None:
        return self._reasoning.result(origin_of(request, self.account))

    def _note(self, document: Mapping[str, object]) -> None:
        match document:
            case {"model": str(model)} if model:
                self._model = printable(model, _LONGEST_NAME) or None
        match document.get("usage"):
            case {"prompt_tokens": prompt, "completion_tokens": completion}:
                self._input_tokens = token_count(prompt)
                self._output_tokens = token_count(completion)
        match document.get("usage"):
            case {"prompt_tokens_details": {"cached_tokens": cached}}:
                self._cached_tokens = token_count(cached) or 0

    def _choice(self, choices: object, part: str) -> Choice:
        match choices:
            case None | []:
                return Choice()
            case [Mapping() as first, *_]:
                content = first.get(part) or {}
                if isinstance(content, Mapping):
                    return Choice(
                        text=self._string(content.get("content")),
                        refusal=self._string(content.get("refusal")),
                        part=content,
                        finish_reason=self._string(first.get("finish_reason")) or None,
                        tool_calls=self._list(content.get("tool_calls")),
                    )
        raise failures.unreadable(self.account, "its choices have a wrong type")

    def _take_call(self, number: int, call: object) -> None:
        """Read a complete tool call, or a piece of one. The field `index` of the piece is the number of the call;
        without it, `number` is used."""
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping):
            raise failures.unreadable(self.account, "its tool calls have a wrong type")
        index = call.get("index")
        self._calls.add(
            index if isinstance(index, int) else number,
            id=self._string(call.get("id")),
            name=self._string(function.get("name")),
            arguments=self._string(function.get("arguments")),
        )

    def _list(self, value: object) -> Sequence[object]:
        if value is None or isinstance(value, list):
            return value or ()
        raise failures.unreadable(self.account, "its choices have a wrong type")

    def _string(self, value: object) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        raise failures.unreadable(self.account, "its choices have a wrong type")

    def _finish(self, reason: str) -> None:
        self.finished = True
        match reason:
            case "content_filter":
                raise ProviderError(
                    ProviderErrorKind.REFUSED,
                    f"the content filter of the account {self.account.name} stopped the reply",
                )
            case "error":
                raise failures.from_error_object(self.account, None)
            case "stop":
                self._stop_reason = "end"
            case _:
                self._stop_reason = printable(reason, 32)
