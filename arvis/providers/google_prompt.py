"""Build a prompt as `contents`: text, pictures, function calls and their responses."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.runs import Turn

Part = dict[str, Any]

_ROLES = {"user": "user", "assistant": "model"}


def contents_of(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return the contents. Responses are matched to their calls by name, so the names of all calls are looked up."""
    names = {call.id: call.name for turn in turns for call in turn.calls}
    return [{"role": _ROLES[turn.role], "parts": list(_parts(turn, names))} for turn in turns]


def _parts(turn: Turn, names: Mapping[str, str]) -> Iterator[Part]:
    for output in turn.outputs:
        response = {"error": output.content} if output.failed else {"output": output.content}
        yield {"functionResponse": {"name": names.get(output.call_id, "unknown"), "response": response}}
    for image in turn.images:
        yield {"inlineData": {"mimeType": image.media_type, "data": base64.b64encode(image.data).decode()}}
    if turn.content or not (turn.outputs or turn.images or turn.calls):
        yield {"text": turn.content}
    for call in turn.calls:
        part: Part = {"functionCall": {"name": call.name, "args": call.arguments or {}}}
        yield {**part, "thoughtSignature": call.signature} if call.signature else part
