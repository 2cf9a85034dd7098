"""OpenAI, OpenRouter and every other server that speaks the chat-completions format, without an SDK.

The runner waits, retries and chooses other accounts; this module does not. Servers of this format treat some fields
differently. If a server refuses a request because of such a field, the provider sends the request again with another
form of the field or without it, and uses the accepted form for later requests. Models that are only available through
OpenAI's Responses API are called there (`openai_responses`). No value in an answer is trusted to have
the documented type: a value of a wrong type makes the answer unreadable, but never crashes the daemon. After an
unreadable answer, the runner may retry the call. Fields that are missing in the answer (usage, model) are left out of
the result.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import EmbeddingRequest, EmbeddingResult
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, Image, RunRequest, RunResult, Turn
from arvis.domain.tools import ToolCall
from arvis.ports.provider import ProviderServices
from arvis.providers import embeddings, failures, openai_responses
from arvis.providers.exchange import Answered, Exchange, read_stream, sendable_key
from arvis.providers.openai_forms import NEW_LIMIT, OLD_LIMIT, Accepted, FieldRefused, failure, first_try
from arvis.providers.openai_responses import ResponsesResponse
from arvis.providers.prompts import origin_of, system_of, turns_of
from arvis.providers.reply import Answer, Reasoning, ReplyText, printable, token_count


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
        #: The accepted forms by address, model and the account's setting `api`.
        self._accepted: dict[tuple[str, str, str | None], Accepted] = {}

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
            f"{self._base(account)}/embeddings",
            headers=self._headers(account),
            document=document,
            stream=False,
            max_bytes=0,
        ) as answered:
            return embeddings.in_data(await answered.document(), request, account)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        """Make one call. If the server refuses a field, repeat the call with another form of the field or without
        it."""
        key = (self._base(account), model := request.model or account.model, account.api)
        accepted = self._accepted.get(key) or first_try(account, model, field=self._vendor.max_tokens_field)
        tried = {accepted}
        while True:
            make = openai_responses.document_of if accepted.responses else _document
            document = make(request, account, accepted, stream=stream)
            try:
                result = await self._once(request, account, accepted, document, reply, stream=stream)
            except FieldRefused as refused:
                other = accepted.after(refused, document, request)
                if other is None or other in tried:
                    raise
                accepted = other
                tried.add(other)
            else:
                self._accepted[key] = accepted
                left_out = accepted.left_out(request)
                return replace(result, left_out=left_out) if left_out else result

    async def _once(
        self,
        request: RunRequest,
        account: Account,
        accepted: Accepted,
        document: Mapping[str, Any],
        reply: ReplyText,
        *,
        stream: bool,
    ) -> RunResult:
        path = "responses" if accepted.responses else "chat/completions"
        async with self._exchange.post(
            account,
            f"{self._base(account)}/{path}",
            headers=self._headers(account),
            document=document,
            stream=stream,
            max_bytes=request.max_bytes,
            begin_within=request.begin_within,
        ) as answered:
            streamed = _is_stream(answered.content_type, requested=stream)
            if accepted.responses:
                response = ResponsesResponse(reply=reply, account=account, max_bytes=request.max_bytes)
                await _read(answered, response, response.take, reply, streamed=streamed)
                return response.result(request)
            completion = CompletionsResponse(reply=reply, account=account, max_bytes=request.max_bytes)
            take = partial(completion.take, part="delta" if streamed else "message")
            await _read(answered, completion, take, reply, streamed=streamed)
            return completion.result(request)

    def _base(self, account: Account) -> str:
        base = account.base_url or self._vendor.base_url
        if base is None:
            raise ProviderError(ProviderErrorKind.BAD_REQUEST, f"the account {account.name} needs a base_url")
        return base.rstrip("/")

    def _headers(self, account: Account) -> dict[str, str]:
        headers = dict(self._vendor.headers)
        if account.api_key:
            headers["Authorization"] = f"Bearer {sendable_key(account)}"
        return headers


async def _read(
    answered: Answered, answer: Answer, take: Callable[[object], bool], reply: ReplyText, *, streamed: bool
) -> None:
    if streamed:
        await read_stream(answered.events(), take, answer, reply)
    else:
        take(await answered.document())


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
    document |= accepted.sampling(request)
    if (effort := accepted.effort_of(request)) is not None:
        document |= (
            {"reasoning": {"effort": effort}} if account.provider == "openrouter" else {"reasoning_effort": effort}
        )
    if (wanted := accepted.format_of(request)) is not None:
        document["response_format"] = _response_format(wanted)
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


def _response_format(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the format of the reply. In chat completions, a schema and its properties are in a separate object."""
    kind = wanted.pop("type")
    return {"type": kind, kind: wanted} if wanted else {"type": kind}


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
