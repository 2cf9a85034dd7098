"""Where the changing parts of a prompt go: behind what stays the same, for a vendor keeps only an equal beginning.

Nothing here changes a turn but the newest words of the user: two requests of a conversation that grows begin alike up to
them.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.runs import Account, RunRequest, Turn


def system_of(request: RunRequest) -> str:
    """The whole system text, what changes last; with the time, where no words of the user can carry it."""
    line = request.now if asked_at(request.turns) is None else ""
    return "\n\n".join(part for part in (request.system, request.changing, line) if part.strip())


def turns_of(request: RunRequest) -> tuple[Turn, ...]:
    """The turns, with the line that tells the time behind the newest words of the user. It never stands behind outputs of
    tools: vendors take text there for the end of the turn."""
    place = asked_at(request.turns)
    if place is None or not request.now.strip():
        return request.turns
    turns = list(request.turns)
    turns[place] = replace(turns[place], content=_joined(turns[place].content, request.now))
    return tuple(turns)


def asked_at(turns: Sequence[Turn]) -> int | None:
    """The place of the newest turn in which the user speaks and no tool does."""
    places = [place for place, turn in enumerate(turns) if turn.role == "user" and not turn.outputs]
    return places[-1] if places else None


def origin_of(request: RunRequest, account: Account) -> str:
    """Where the thoughts of a model are understood: at the same model of the same server."""
    server = zlib.crc32((account.base_url or "").encode("utf-8", "replace"))
    return f"{account.provider} {server:08x} {request.model or account.model}"


def _joined(text: str, line: str) -> str:
    return f"{text}\n\n{line}" if text.strip() else line
