"""Put the changing parts of a prompt after its constant part, because a vendor's cache is used only for prompts with an
equal beginning.

This module changes only the newest message of the user, so two requests of a growing conversation are equal up to that
message.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from arvis.domain.dataclass import replace
from arvis.domain.runs import Account, RunRequest, Turn


def system_of(request: RunRequest) -> str:
    """Return the whole system text, with its changing part at the end. If no message of the user can contain the line
    with the current time, add this line after the changing part."""
    line = request.now if asked_at(request.turns) is None else ""
    return "\n\n".join(part for part in (request.system, request.changing, line) if part.strip())


def turns_of(request: RunRequest) -> tuple[Turn, ...]:
    """Return the turns. After the newest text of the user, insert the line with the current time. This line never
    follows tool outputs, because models would treat a text there as the end of the turn."""
    place = asked_at(request.turns)
    if place is None or not request.now.strip():
        return request.turns
    turns = list(request.turns)
    text = turns[place].content
    turns[place] = replace(turns[place], content=f"{text}\n\n{request.now}" if text.strip() else request.now)
    return tuple(turns)


def asked_at(turns: Sequence[Turn]) -> int | None:
    """Return the index of the newest turn that contains text of the user and no tool output."""
    places = [place for place, turn in enumerate(turns) if turn.role == "user" and not turn.outputs]
    return places[-1] if places else None


def origin_of(request: RunRequest, account: Account) -> str:
    """Return a name for the model and the server of a request. Only the same model on the same server accepts the
    thoughts of the model in later requests."""
    server = zlib.crc32((account.base_url or "").encode("utf-8", "replace"))
    return f"{account.provider} {server:08x} {request.model or account.model}"
