"""Converts the conversations of another program to records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from arvis.calendar import zone_of
from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Role
from arvis.domain.taint import Label
from arvis.interchange.format import PersonRef, Place
from arvis.interchange.peers.draft import Draft

_LONGEST = 1_000_000
#: A number below this limit is a time in seconds, a greater number is a time in ms. In ms, the limit is in the year
#: 1973.
_MILLISECONDS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of a conversation. An entry with the role `tool` is the output of a tool, so it has no text for
    people."""

    role: str
    text: str
    #: The time of the entry in ms. None means that the time is unknown.
    at: int | None
    #: The id of the entry in the other program. Empty means that the entry has no id.
    id: str = ""
    person: PersonRef | None = None
    name: str = ""
    #: True if a model wrote the text together with tool calls.
    calls: bool = False
    #: True if a person wrote the text in a channel, but not to the agent.
    overheard: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation without its messages. `created_at` is the time of its beginning in ms; None means that the time is
    unknown."""

    id: str
    agent: str
    place: Place
    direct: bool
    created_at: int | None


def add_talk(draft: Draft, talk: Talk, lines: Iterable[Line]) -> None:
    """Add a conversation if it has messages. Outputs of tools are left out. If a model wrote a text after an output of
    a tool, the text gets the taint of tools."""
    label = f"{talk.place.platform}:{talk.place.channel} {talk.id}"
    if not draft.once("conversations", talk.id):
        return
    messages, ids = list[dict[str, Any]](), dict[str, int]()
    last, tools, cut = talk.created_at or 0, False, 0
    for line in lines:
        if line.role == "tool":
            tools = True
            continue
        tools = tools and line.role != "user"
        last = max(last, line.at or last)
        if not line.text.strip():
            continue
        cut += len(line.text) > _LONGEST
        messages.append(_message(line, last, tools=tools) | {"id": _unique(line, ids)})
    if cut:
        draft.home.leave(
            "conversations", label, f"{cut} messages were cut, because they have more than {_LONGEST} characters"
        )
    if messages:
        begin = talk.created_at if talk.created_at is not None else messages[0]["created_at"]
        draft.add(
            "conversations", label, id=talk.id, agent=talk.agent, place=talk.place.model_dump(), direct=talk.direct,
            created_at=begin, messages=messages,
        )  # fmt: skip


def _message(line: Line, at: int, *, tools: bool) -> dict[str, Any]:
    if line.role == "user":
        role, taint = Role.USER, [Label.PEOPLE] if line.overheard else []
    else:
        role, taint = Role.PROGRESS if line.calls else Role.ASSISTANT, [Label.TOOLS] if tools else []
    person = None if line.person is None else line.person.model_dump()
    text = line.text[:_LONGEST]
    return {"role": role, "content": text, "created_at": at, "person": person, "name": line.name[:300], "taint": taint}


def _unique(line: Line, ids: dict[str, int]) -> str:
    """Return an id that is unique in the conversation. If the other program gave the message no id, make the id from
    the time, the role and the text."""
    digest = hashlib.sha256(f"{line.at}\n{line.role}\n{line.text}".encode(errors="replace")).hexdigest()[:24]
    found = line.id[:200] or digest
    ids[found] = ids.get(found, 0) + 1
    return found if ids[found] == 1 else f"{found}-{ids[found]}"


def text_of(content: Any) -> str:
    """Return the text of a message whose content is a text or a list of blocks. A mark such as `[image]` replaces an
    image or a file."""
    if isinstance(content, str):
        return content
    blocks: Sequence[Any] = content if isinstance(content, list) else [content]
    texts = list[str]()
    for block in blocks:
        match block:
            case str():
                texts.append(block)
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                texts.append(text)
            case {"type": "image" | "image_url" | "input_image"}:
                texts.append("[image]")
            case {"type": "file" | "audio" | "document" as kind}:
                texts.append(f"[{kind}]")
    return "\n".join(texts)


def moment(value: Any, zone: str | None = None) -> int | None:
    """Return a time in ms. `value` is a number of seconds or ms, or an ISO text. A text without an offset is a time in
    `zone`, or in UTC if `zone` is None. Return None if `value` is not a time."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        try:
            found = int(value if abs(value) >= _MILLISECONDS else value * 1000)
        except (ValueError, OverflowError):
            return None
        return found if 0 < found < 2**48 else None
    try:
        given = datetime.fromisoformat(str(value).strip())
        return int((given if given.tzinfo else given.replace(tzinfo=zone_of(zone) if zone else UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
