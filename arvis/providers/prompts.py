"""Where the changing parts of a prompt go: behind what stays the same, for a vendor keeps only an equal beginning.

Nothing here changes a turn but the newest of the user: two requests of a conversation that grows begin alike up to it.
"""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.runs import RunRequest, Turn


def system_of(request: RunRequest) -> str:
    """The whole system text, what changes last."""
    return "\n\n".join(part for part in (request.system, request.changing) if part.strip())


def turns_of(request: RunRequest) -> tuple[Turn, ...]:
    """The turns, with the line that tells the time behind the newest of the user. Where that holds nothing but outputs
    of tools, the line stands behind the last output: some servers refuse a message of the user there."""
    places = [place for place, turn in enumerate(request.turns) if turn.role == "user"]
    if not places or not request.now.strip():
        return request.turns
    turns = list(request.turns)
    turns[places[-1]] = _with_line(turns[places[-1]], request.now)
    return tuple(turns)


def _with_line(turn: Turn, line: str) -> Turn:
    if turn.outputs and not turn.content:
        last = turn.outputs[-1]
        return replace(turn, outputs=(*turn.outputs[:-1], replace(last, content=_joined(last.content, line))))
    return replace(turn, content=_joined(turn.content, line))


def _joined(text: str, line: str) -> str:
    return f"{text}\n\n{line}" if text.strip() else line
