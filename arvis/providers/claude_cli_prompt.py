"""Build the input of the `claude` program: one message that contains the whole conversation.

Earlier messages are JSON, one per line, so that no content of a message can look like the next message.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from arvis.domain.runs import Image, RunRequest, Turn
from arvis.providers import prompts

#: The program would put the file or folder of this name into the prompt. An invisible joiner before the @ makes it
#: normal text; mail addresses are left as they are.
_MENTION = re.compile("(?<![\\w\u2060])@")
_APART = "\u2060@"

_NO_SYSTEM = "Answer the user."
_HISTORY = "The conversation so far, one message in JSON on each line:"
_NEWEST = "The newest message of the user, which you must answer:"
_RESULTS = "Continue the conversation: the last line contains the results of your tool calls."


def system_of(request: RunRequest) -> str:
    return prompts.system_of(request) or _NO_SYSTEM


def prompt_of(request: RunRequest) -> bytes:
    """Return one line for standard input in the format `stream-json`. Pictures come before the text, with the numbers
    by which the text names them."""
    pictures = [picture for turn in request.turns for picture in turn.images]
    blocks = [block for number, picture in enumerate(pictures, 1) for block in _picture(number, picture)]
    text = "\n\n".join(part for part in (_text(request.turns), request.now) if part)
    blocks.append({"type": "text", "text": _apart(text)})
    message = {"type": "user", "message": {"role": "user", "content": blocks}}
    # A lone surrogate would be sent unchanged, and no receiver can read it.
    return _clean(json.dumps(message, ensure_ascii=False)).encode() + b"\n"


def _text(turns: tuple[Turn, ...]) -> str:
    """Return the text. It never begins with the user's words, because those might begin like a command of the
    program."""
    numbers = _numbers(turns)
    *earlier, newest = turns or (Turn("user", ""),)
    if newest.outputs or newest.role != "user":
        lines = [_line(turn, held) for turn, held in zip(turns, numbers, strict=True)]
        return "\n".join((_HISTORY, "", *lines, "", _RESULTS))
    shown = f"\n\n[With picture {', '.join(map(str, numbers[-1]))}]" if newest.images else ""
    parts = [_NEWEST, "", newest.content + shown]
    if earlier:
        lines = [_line(turn, held) for turn, held in zip(earlier, numbers[:-1], strict=True)]
        parts = [_HISTORY, "", *lines, "", *parts]
    return "\n".join(parts)


def _numbers(turns: tuple[Turn, ...]) -> list[list[int]]:
    """Return the numbers of the pictures of each turn."""
    numbers: list[list[int]] = []
    first = 1
    for turn in turns:
        numbers.append(list(range(first, first + len(turn.images))))
        first += len(turn.images)
    return numbers


def _line(turn: Turn, pictures: list[int]) -> str:
    entry: dict[str, Any] = {"from": "user" if turn.role == "user" else "you", "text": _apart(turn.content)}
    if pictures:
        entry["pictures"] = pictures
    if turn.calls:
        entry["asked for"] = [{"tool": call.name, "arguments": call.arguments or call.written} for call in turn.calls]
    if turn.outputs:
        entry["results"] = [_apart(output.content) for output in turn.outputs]
    return json.dumps(entry, ensure_ascii=False)


def _picture(number: int, picture: Image) -> Iterator[Mapping[str, Any]]:
    data = base64.b64encode(picture.data).decode()
    yield {"type": "text", "text": f"Picture {number}:"}
    yield {"type": "image", "source": {"type": "base64", "media_type": picture.media_type, "data": data}}


def _apart(text: str) -> str:
    return _MENTION.sub(_APART, text)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
