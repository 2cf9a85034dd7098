"""Build a prompt in the chat-completions format: text, pictures as data URLs, tool calls and their outputs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from arvis.domain.runs import Image, Turn
from arvis.domain.tools import ToolCall

Message = dict[str, Any]


def messages_of(turn: Turn, origin: str = "", *, required: bool = False, taken: bool = True) -> Iterator[Message]:
    """Return the messages of a turn. The outputs of tools are separate messages, before the user's text. Reasoning
    goes back with calls to its `origin`, unless the server has refused it (`taken`); where it is `required`, calls of
    other models carry an empty one."""
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
    """Return the arguments as the model wrote them, even if they are no object: the model must see the text that it
    is asked to correct."""
    arguments = call.written if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _image(image: Image) -> Message:
    data = base64.b64encode(image.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}
