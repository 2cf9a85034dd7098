"""Build a prompt in the messages format, with marks for the vendor's prompt cache.

The vendor recognises a prompt by the bytes of its beginning (tools, then system, then messages), so this module may
depend on nothing but the request: two requests of a growing conversation are equal up to the newest message. It does
not need the vendor's SDK.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from arvis.domain.runs import RunRequest, Turn
from arvis.domain.tools import ToolCall, ToolSpec
from arvis.providers.prompts import asked_at

Block = dict[str, Any]

BASE_URL = "https://api.anthropic.com"

#: Turns, counted from the end, after which the prompt is cached: all but the newest. The older mark is for turns of
#: many blocks, because the vendor looks for a cached beginning only 20 blocks before a mark.
_KEPT = (-2, -4)

#: The characters that the vendor accepts in call ids and tool names; those of other vendors may contain more.
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]")


#: The parameters of OpenAI that this vendor knows under the same names.
_TUNED = ("temperature", "top_p")


def document_of(request: RunRequest, model: str, origin: str = "") -> dict[str, Any]:
    """Build the document. Thoughts go back to their `origin` only, because no other server accepts their signatures."""
    document: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "messages": _messages(request.turns, request.now, origin),
        "model": model,
    }
    document |= {name: request.sampling[name] for name in _TUNED if name in request.sampling}
    if system := list(_system(request)):
        document["system"] = system
    if request.tools:
        document["tools"] = _tools(request.tools, marked=not request.system.strip())
    if request.tools and request.tools_off:
        document["tool_choice"] = {"type": "none"}
    return document


def _system(request: RunRequest) -> Iterator[Block]:
    """Return the system text. The mark is before the part that changes."""
    if request.system.strip():
        yield _marked(_text(request.system))
    if request.changing.strip():
        yield _text(request.changing)
    if request.now.strip() and asked_at(request.turns) is None:
        yield _text(request.now)


def _messages(turns: Sequence[Turn], now: str, origin: str) -> list[Block]:
    """Return the messages. Empty turns are left out, because the vendor refuses them. The line with the time is a
    separate block after the user's newest text, never after tool outputs, because the vendor's models take text there
    for the end of the turn. After the very newest text it also follows every mark."""
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
    """Return a call. The vendor accepts only an object as arguments."""
    arguments = _clean_value(call.arguments or {})
    return {"type": "tool_use", "id": _plain(call.id), "name": _plain(call.name), "input": arguments}


def _tools(tools: Sequence[ToolSpec], *, marked: bool) -> list[Block]:
    """Return the tools, sorted by name. The mark after the system text covers them, too; without a system text they
    need their own."""
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
    """Return a name that the vendor accepts, always the same for the same name, and different for different names."""
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
