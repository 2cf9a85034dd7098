"""The messages format without the vendor's SDK: prompts with marks for the prompt cache, and the answers to them.

The vendor recognises a prompt by the bytes of its beginning (tools, then system, then messages). Therefore a prompt
depends only on the request: as a conversation grows, each request begins with the same bytes as the request before it,
up to that request's newest message. An answer is one whole message, or a stream of events. No value in the JSON is
trusted to have the documented type: a value of a wrong type makes the answer unreadable, but never crashes the daemon.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.domain.tools import ToolCall, ToolSpec
from arvis.ports.clock import Clock
from arvis.providers import failures
from arvis.providers.prompts import asked_at, origin_of
from arvis.providers.reply import Answer, ReplyText, ThinkingBlocks, printable, token_count

# -- prompts -----------------------------------------------------------------------------------------------------------


Block = dict[str, Any]

BASE_URL = "https://api.anthropic.com"

#: The positions, counted from the end, of the messages that get a cache mark. The vendor caches the prompt up to each
#: mark, so the newest message is not cached. The second mark helps if the messages have many blocks, because the vendor
#: looks for a cached beginning only 20 blocks before a mark.
_KEPT = (-2, -4)

#: The call ids and tool names that the vendor accepts. The ids and names of other vendors may contain further
#: characters.
_PLAIN = regex(r"[A-Za-z0-9_-]{1,64}")
_NOT_PLAIN = regex(r"[^A-Za-z0-9_-]")


#: The parameters that have the same names for this vendor as for OpenAI.
TUNED = ("temperature", "top_p")


def document_of(
    request: RunRequest, model: str, origin: str = "", thinking: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the body of the request. `origin` names the server and the model that receive the request. Thoughts of
    another origin are left out, because this server would not accept their signatures. `thinking` are the fields for
    the reasoning effort."""
    document: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "messages": _messages(request.turns, request.now, origin),
        "model": model,
    }
    document |= thinking or {}
    document |= {name: request.sampling[name] for name in TUNED if name in request.sampling}
    if system := list(_system(request)):
        document["system"] = system
    if request.tools:
        document["tools"] = _tools(request.tools, marked=not request.system.strip())
    if request.tools and request.tools_off:
        document["tool_choice"] = {"type": "none"}
    return document


def _system(request: RunRequest) -> Iterator[Block]:
    """Yield the blocks of the system text. The cache mark is before the part that changes."""
    if request.system.strip():
        yield _marked(_text(request.system))
    if request.changing.strip():
        yield _text(request.changing)
    if request.now.strip() and asked_at(request.turns) is None:
        yield _text(request.now)


def _messages(turns: Sequence[Turn], now: str, origin: str) -> list[Block]:
    """Return the messages. Empty turns are left out, because the vendor refuses them. The line with the time is a
    separate block after the user's newest text. It never follows tool outputs, because the vendor's models would treat
    a text there as the end of the turn. If this text is the newest message, the line comes after all cache marks."""
    place = asked_at(turns)
    messages: list[Block] = []
    for number, turn in enumerate(turns):
        blocks = list(_blocks(turn, origin))
        if number == place and now.strip():
            blocks.append(_text(now))
        if blocks:
            messages.append({"role": turn.role, "content": blocks})
    for kept in _KEPT:
        if len(messages) >= -kept:
            content = messages[kept]["content"]
            content[-1] = _marked(content[-1])
    return messages


def _blocks(turn: Turn, origin: str) -> Iterator[Block]:
    if turn.thoughts is not None and turn.thoughts.get("origin") == origin:
        yield from (_clean_value(block) for block in turn.thoughts.get("blocks", ()))
    for output in turn.outputs:
        block: Block = {"type": "tool_result", "tool_use_id": _plain(output.call_id), "content": _clean(output.content)}
        yield {**block, "is_error": True} if output.failed else block
    for image in turn.images:
        data = base64.b64encode(image.data).decode()
        yield {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}
    if turn.content.strip():
        yield _text(turn.content)
    yield from (_call(call) for call in turn.calls)


def _call(call: ToolCall) -> Block:
    """Return a tool call. The vendor accepts arguments only if they are an object."""
    arguments = _clean_value(call.arguments or {})
    return {"type": "tool_use", "id": _plain(call.id), "name": _plain(call.name), "input": arguments}


def _tools(tools: Sequence[ToolSpec], *, marked: bool) -> list[Block]:
    """Return the tools, sorted by name. If `marked`, the last tool gets a cache mark, because there is no system text
    whose mark would include the tools."""
    blocks: list[Block] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]
    if marked:
        blocks[-1] = _marked(blocks[-1])
    return blocks


def _text(text: str) -> Block:
    return {"type": "text", "text": _clean(text)}


def _marked(block: Block) -> Block:
    return {**block, "cache_control": {"type": "ephemeral"}}


def _plain(name: str) -> str:
    """Return a name that the vendor accepts. Equal names have equal results, and different names have different
    results."""
    if _PLAIN.fullmatch(name):
        return name
    return f"{_NOT_PLAIN.sub('_', name)[:50]}_{zlib.crc32(name.encode('utf-8', 'replace')):08x}"


def _clean(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8 form: a question mark in the prompt is better than a failed call."""
    return text.encode("utf-8", "replace").decode()


def _clean_value(value: Any) -> Any:
    match value:
        case str():
            return _clean(value)
        case dict():
            return {_clean(name): _clean_value(member) for name, member in value.items()}
        case list():
            return [_clean_value(member) for member in value]
    return value


_ENDS: Mapping[str, str] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}

_LONGEST_NAME = 200
_LONGEST_REFUSAL = 1_000

_BY_TYPE: Mapping[str, ProviderErrorKind] = {
    "authentication_error": ProviderErrorKind.AUTH,
    "permission_error": ProviderErrorKind.AUTH,
    "billing_error": ProviderErrorKind.QUOTA,
    "rate_limit_error": ProviderErrorKind.RATE_LIMIT,
    "overloaded_error": ProviderErrorKind.OVERLOADED,
    "api_error": ProviderErrorKind.OVERLOADED,
    "timeout_error": ProviderErrorKind.TIMEOUT,
    "request_too_large": ProviderErrorKind.TOO_LONG,
    "invalid_request_error": ProviderErrorKind.BAD_REQUEST,
    "not_found_error": ProviderErrorKind.BAD_REQUEST,
}

#: The vendor reports a prompt that is too long, and missing credit, as `invalid_request_error`. Only the text of the
#: error shows the cause.
_TOO_LONG = regex(r"prompt is too long|exceeds? (?:the )?context|context (?:limit|window|length)", re.IGNORECASE)
_NO_CREDIT = regex(r"credit balance|usage limits?|spend(?:ing)? limit", re.IGNORECASE)


class AnthropicResponse(Answer):
    """One answer, built from JSON documents as they arrive. `finished` is True after the vendor has given a reason for
    the end."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        super().__init__(reply=reply, account=account, max_bytes=max_bytes)
        self._usage: dict[str, int] = {}
        self._thoughts = ThinkingBlocks(max_bytes)

    def take(self, document: object) -> bool:
        """Read the next document. Return False if no further document is needed, because the message is complete or has
        reached its maximum size. Raise `ProviderError` for an error, a refusal or a wrong type."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        if document.get("type") == "message":
            self._take_message(document)
            return False
        return self._take_event(document)

    def result(self, request: RunRequest) -> RunResult:
        """Return the result. The vendor's count of the input excludes tokens that are read from its cache or written to
        it, so these tokens are added."""
        plain = self._usage.get("input_tokens")
        self._cached_tokens = self._usage.get("cache_read_input_tokens", 0)
        self._written_tokens = self._usage.get("cache_creation_input_tokens", 0)
        self._input_tokens = None if plain is None else plain + self._cached_tokens + self._written_tokens
        self._output_tokens = self._usage.get("output_tokens")
        return super().result(request)

    def _thoughts_of(self, request: RunRequest) -> Mapping[str, Any] | None:
        return self._thoughts.result(origin_of(request, self.account), signed=self.account.base_url is None)

    def _take_event(self, document: Mapping[str, object]) -> bool:
        match document:
            case {"type": "message_start", "message": Mapping() as message}:
                self._note(message)
            case {"type": "content_block_start", "index": int(index), "content_block": Mapping() as block}:
                return self._take_block(index, block)
            case {"type": "content_block_delta", "index": int(index), "delta": Mapping() as delta}:
                return self._take_delta(index, delta)
            case {"type": "message_delta", "delta": Mapping() as delta}:
                self._count(document.get("usage"))
                self._end(delta)
            case {"type": "message_stop"}:
                return False
            case {"type": "error"}:
                error = document.get("error")
                raise _refined(error, failures.from_error_object(self.account, error))
            case {"type": "message_start" | "content_block_start" | "content_block_delta" | "message_delta" as name}:
                raise failures.unreadable(self.account, f"its {name} has a wrong type")
            case {"type": str()}:
                return True  # a ping, the end of a block, or an event type that this module does not know
            case _:
                raise failures.unreadable(self.account, "it is not a message")
        return True

    def _take_message(self, message: Mapping[str, object]) -> None:
        self._note(message)
        blocks = message.get("content")
        if not isinstance(blocks, list):
            raise failures.unreadable(self.account, "its content has a wrong type")
        for index, block in enumerate(blocks):
            if not isinstance(block, Mapping):
                raise failures.unreadable(self.account, "its content has a wrong type")
            self._take_block(index, block)
        self._end(message)

    def _note(self, message: Mapping[str, object]) -> None:
        match message.get("model"):
            case str(model) if model:
                self._model = printable(model, _LONGEST_NAME) or None
        self._count(message.get("usage"))

    def _count(self, usage: object) -> None:
        """Update the token counts. The counts in a stream are cumulative, so the last one is the final count."""
        for name, value in usage.items() if isinstance(usage, Mapping) else ():
            if (count := token_count(value)) is not None:
                self._usage[str(name)] = count

    def _take_block(self, index: int, block: Mapping[str, object]) -> bool:
        match block:
            case {"type": "text", "text": str(text)}:
                return self._reply.add(text)
            case {"type": "tool_use", "id": str(id_), "name": str(name)}:
                written = block.get("input")
                arguments = "" if written in (None, {}) else json.dumps(written, ensure_ascii=False)
                self._calls.add(index, id=id_, name=name, arguments=arguments)
                return True
            case {"type": "text" | "tool_use"}:
                raise failures.unreadable(self.account, "its content has a wrong type")
            case _:
                self._thoughts.begin(index, block)
                return True  # the model's thoughts are not shown in the chat

    def _take_delta(self, index: int, delta: Mapping[str, object]) -> bool:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                return self._reply.add(text)
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._calls.add(index, arguments=piece)
                return True
            case {"type": "text_delta" | "input_json_delta"}:
                raise failures.unreadable(self.account, "its content has a wrong type")
            case _:
                self._thoughts.add(index, delta)
                return True

    def _end(self, ended: Mapping[str, object]) -> None:
        match ended.get("stop_reason"):
            case None:
                return
            case "refusal":
                raise self._refused(ended.get("stop_details"))
            case str(reason):
                self.finished = True
                self._stop_reason = _ENDS.get(reason) or printable(reason, 32)
            case _:
                raise failures.unreadable(self.account, "its stop reason has a wrong type")

    def _refused(self, details: object) -> ProviderError:
        why = ""
        match details:
            case {"explanation": str(explanation)} if explanation.strip():
                why = f": {explanation[:_LONGEST_REFUSAL]}"
        text = f"the model of the account {self.account.name} declined{why}"
        return ProviderError(ProviderErrorKind.REFUSED, failures.redact(text, self.account))


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Return the error that the vendor's error object describes: `{"type": "error", "error": {"type", "message"}}`."""
    error = document.get("error") if isinstance(document, Mapping) else None
    return _refined(error, failures.from_answer(account, status, headers, document, clock))


def _refined(error: object, plain: ProviderError) -> ProviderError:
    """Return the error with the more exact kind that the type and the text of the error object show."""
    return plain.refined(_kind(error, plain))


def _kind(error: object, plain: ProviderError) -> ProviderErrorKind:
    match error:
        case {"type": "invalid_request_error", "message": str(message)} if _TOO_LONG.search(message):
            return ProviderErrorKind.TOO_LONG
        case {"type": "invalid_request_error", "message": str(message)} if _NO_CREDIT.search(message):
            return ProviderErrorKind.QUOTA
        case {"type": str(type_)}:
            return _BY_TYPE.get(type_, plain.kind)
        case _:
            return plain.kind
