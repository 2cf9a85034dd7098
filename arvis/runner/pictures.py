"""What a model is told that cannot see, and how its server says so."""

from __future__ import annotations

import re
from dataclasses import replace

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.markup import escape
from arvis.domain.runs import Image, RunRequest, Turn

_ABOUT_PICTURES = re.compile(r"image|vision|multi-?modal|picture|visual", re.IGNORECASE)
#: Some servers take a picture that they cannot read for a fault of their own.
_REFUSING = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.OVERLOADED})


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


def refused_pictures(request: RunRequest, error: ProviderError) -> bool:
    """Whether a server refused a request because of its pictures."""
    said = error.kind in _REFUSING and _ABOUT_PICTURES.search(error.what) is not None
    return said and any(turn.images for turn in request.turns)
