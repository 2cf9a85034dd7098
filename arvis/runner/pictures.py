"""What a model is told that cannot see."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.markup import escape
from arvis.domain.runs import Image, RunRequest, Turn


def without_pictures(request: RunRequest) -> RunRequest:
    """The request with a line in place of each picture."""
    if not any(turn.images for turn in request.turns):
        return request
    return replace(request, turns=tuple(_named(turn) for turn in request.turns))


def _named(turn: Turn) -> Turn:
    if not turn.images:
        return turn
    return replace(turn, content="\n".join([turn.content, *map(_line, turn.images)]), images=())


def _line(image: Image) -> str:
    name = " ".join(image.name.split()) or "without a name"
    return f"[Image {escape(name)}: this model cannot see pictures. Tell the person so.]"
