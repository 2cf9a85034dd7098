"""The five HTTP formats as their servers write them, in parts, so that each part can be changed.

They follow the vendors' public documentation. A streamed answer is `begin`, any number of `text` and `call`, then
`end`, each document in its `frame`, and finally the `mark`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]

#: Default counts of an answer.
USAGE = (7, 5)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of model servers."""

    #: The name of the format, and of its provider unless `account` names it.
    name: str
    #: The end of the account's address.
    base: str
    content_type: str
    begin: Sequence[Document]
    text: Callable[[Any], Document]
    #: Takes a number, an id, a name and the arguments: an object, or raw text for formats with arguments as text.
    call: Callable[[int, Any, Any, Any], Sequence[Document]]
    #: Takes the reason for the end and the counts.
    end: Callable[[Any, Any], Sequence[Document]]
    #: The documents of a model that declines with this text.
    refusal: Callable[[str], Sequence[Document]]
    error: Callable[[int, Any], Document]
    reason: str
    tool_reason: str
    lines: bool = False
    mark: bytes = b""
    #: Further settings of an account whose server has this format.
    account: Mapping[str, str] = field(default_factory=dict)

    def frame(self, text: bytes) -> bytes:
        """Return the frame of one document in a stream. The text is JSON or almost JSON."""
        return text + b"\n" if self.lines else b"data: " + text + b"\n\n"

    def framed(self, *documents: Document) -> list[bytes]:
        return [self.frame(_encoded(document)) for document in documents]

    def answer(self, *pieces: str, reason: Any = None, usage: Any = USAGE) -> list[bytes]:
        """Return a good answer in frames, with its mark."""
        end = self.end(self.reason if reason is None else reason, usage)
        return [*self.framed(*self.begin, *(self.text(piece) for piece in pieces), *end), *self.marks]

    def calling(self, *calls: tuple[Any, Any, Any]) -> list[bytes]:
        """Return an answer that asks for tools, each with an id, a name and arguments."""
        asked = [document for number, call in enumerate(calls) for document in self.call(number, *call)]
        return [*self.framed(*self.begin, *asked, *self.end(self.tool_reason, USAGE)), *self.marks]

    @property
    def marks(self) -> list[bytes]:
        return [self.mark] if self.mark else []

    @property
    def comment(self) -> bytes:
        """Return a part between documents that clients ignore."""
        return b"\n" if self.lines else b": still here\n\n"


def _encoded(document: Document) -> bytes:
    """Encode as JSON without ASCII escapes, so that a stream can be cut inside a character."""
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def written(arguments: Any) -> str:
    """Return the arguments for a format that has them as text."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _counts(usage: Any, *names: str) -> Any:
    """Return the two counts under these names. A value that is not a pair is used for both; None means no counts."""
    return (
        None if usage is None else dict(zip(names, usage if isinstance(usage, tuple) else (usage, usage), strict=True))
    )


# -- chat completions ---------------------------------------------------------------------------------------


def _chunk(delta: Any, reason: Any = None, **more: Any) -> Document:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "hostile", "choices": [choice], **more}


def _chat_call(number: int, id_: Any, name: Any, arguments: Any) -> list[Document]:
    function = {"name": name, "arguments": written(arguments)}
    return [_chunk({"tool_calls": [{"index": number, "id": id_, "type": "function", "function": function}]})]


def _chat_end(reason: Any, usage: Any) -> list[Document]:
    counts = _counts(usage, "prompt_tokens", "completion_tokens")
    return [_chunk({}, reason), *([] if counts is None else [{**_chunk({}), "choices": [], "usage": counts}])]


CHAT = Format(
    name="openai",
    base="/v1",
    content_type="text/event-stream",
    begin=[_chunk({"role": "assistant", "content": ""})],
    text=lambda value: _chunk({"content": value}),
    call=_chat_call,
    end=_chat_end,
    refusal=lambda words: [_chunk({"refusal": words}), _chunk({}, "stop")],
    error=lambda status, words: {"error": {"message": words, "type": "error", "param": None, "code": status}},
    reason="stop",
    tool_reason="tool_calls",
    mark=b"data: [DONE]\n\n",
)


# -- responses ----------------------------------------------------------------------------------------------


def _responses_call(number: int, id_: Any, name: Any, arguments: Any) -> list[Document]:
    item = {"type": "function_call", "id": "f", "call_id": id_, "name": name, "status": "completed"}
    begun = {"type": "response.output_item.added", "output_index": number + 1, "item": {**item, "arguments": ""}}
    done = {**item, "arguments": written(arguments)}
    return [begun, {"type": "response.output_item.done", "output_index": number + 1, "item": done}]


def _responses_end(reason: Any, usage: Any) -> list[Document]:
    counts = _counts(usage, "input_tokens", "output_tokens")
    response = {**_RESPONSE, "status": reason, **({} if counts is None else {"usage": counts})}
    return [{"type": "response.completed", "response": response}]


_RESPONSE = {"id": "r", "object": "response", "created_at": 1, "model": "hostile", "output": [], "error": None}
_PART = {"item_id": "m", "output_index": 0, "content_index": 0}

RESPONSES = Format(
    name="responses",
    base="/v1",
    content_type="text/event-stream",
    begin=[{"type": "response.created", "response": {**_RESPONSE, "status": "in_progress"}}],
    text=lambda value: {"type": "response.output_text.delta", **_PART, "delta": value},
    call=_responses_call,
    end=_responses_end,
    refusal=lambda words: [
        {"type": "response.refusal.delta", **_PART, "delta": words},
        *_responses_end("completed", USAGE),
    ],
    error=lambda status, words: {"type": "error", "error": {"message": words, "type": "error", "code": status}},
    reason="completed",
    tool_reason="completed",
    account={"provider": "openai", "api": "responses"},
)


# -- Anthropic ----------------------------------------------------------------------------------------------


def _anthropic_call(number: int, id_: Any, name: Any, arguments: Any) -> list[Document]:
    block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": written(arguments)}
    return [
        {"type": "content_block_start", "index": number + 1, "content_block": block},
        {"type": "content_block_delta", "index": number + 1, "delta": delta},
        {"type": "content_block_stop", "index": number + 1},
    ]


def _anthropic_end(reason: Any, usage: Any, **more: Any) -> list[Document]:
    counts = _counts(usage, "input_tokens", "output_tokens")
    delta = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None, **more}}
    return [{"type": "content_block_stop", "index": 0}, {**delta, "usage": counts}, {"type": "message_stop"}]


_ANTHROPIC_START = {"id": "m", "type": "message", "role": "assistant", "model": "hostile", "content": []}

ANTHROPIC = Format(
    name="anthropic",
    base="",
    content_type="text/event-stream",
    begin=[
        {"type": "message_start", "message": _ANTHROPIC_START},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ],
    text=lambda value: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": value}},
    call=_anthropic_call,
    end=_anthropic_end,
    refusal=lambda words: _anthropic_end("refusal", USAGE, stop_details={"type": "refusal", "explanation": words}),
    error=lambda status, words: {"type": "error", "error": {"type": f"error_{status}", "message": words}},
    reason="end_turn",
    tool_reason="tool_use",
)


# -- Google -------------------------------------------------------------------------------------------------


def _candidate(*parts: Any, **more: Any) -> Document:
    content = {"parts": list(parts), "role": "model"}
    return {"candidates": [{"content": content, "index": 0, **more}], "modelVersion": "hostile"}


def _google_end(reason: Any, usage: Any) -> list[Document]:
    counts = _counts(usage, "promptTokenCount", "candidatesTokenCount")
    end = _candidate({"text": ""}, finishReason=reason)
    return [end if counts is None else {**end, "usageMetadata": counts}]


GOOGLE = Format(
    name="google",
    base="/v1beta",
    content_type="text/event-stream",
    begin=[],
    text=lambda value: _candidate({"text": value}),
    call=lambda _, id_, name, arguments: [_candidate({"functionCall": {"id": id_, "name": name, "args": arguments}})],
    end=_google_end,
    refusal=lambda words: [_candidate({"text": words}, finishReason="SAFETY")],
    error=lambda status, words: {"error": {"code": status, "message": words, "status": "UNKNOWN", "details": []}},
    reason="STOP",
    tool_reason="STOP",
)


# -- Ollama -------------------------------------------------------------------------------------------------


def _line(message: Mapping[str, Any], **more: Any) -> Document:
    return {"model": "hostile", "message": {"role": "assistant", **message}, "done": False, **more}


def _ollama_end(reason: Any, usage: Any) -> list[Document]:
    counts = _counts(usage, "prompt_eval_count", "eval_count") or {}
    return [_line({"content": ""}, done=True, done_reason=reason, **counts)]


OLLAMA = Format(
    name="ollama",
    base="",
    content_type="application/x-ndjson",
    begin=[],
    text=lambda value: _line({"content": value}),
    call=lambda _, id_, name, arguments: [
        _line({"content": "", "tool_calls": [{"id": id_, "function": {"name": name, "arguments": arguments}}]})
    ],
    end=_ollama_end,
    refusal=lambda words: [_line({"content": "No.", "refusal": words}), *_ollama_end("stop", USAGE)],
    error=lambda status, words: {"error": words, "code": status},
    reason="stop",
    tool_reason="stop",
    lines=True,
)

FORMATS: Mapping[str, Format] = {each.name: each for each in (CHAT, RESPONSES, ANTHROPIC, GOOGLE, OLLAMA)}


def format_of(path: str) -> Format | None:
    """Return the format to which this path belongs."""
    ends = {
        "/chat/completions": CHAT,
        "/responses": RESPONSES,
        "/messages": ANTHROPIC,
        ":streamGenerateContent": GOOGLE,
        "/api/chat": OLLAMA,
    }
    return next((found for end, found in ends.items() if path.partition("?")[0].endswith(end)), None)
