"""Whom the store calls when the disk fails it (reliability.md, H24)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.domain.errors import StoreLost


@dataclass(frozen=True, slots=True)
class Emergency:
    """Both are called on the store's own threads. `make_room` gives up what was kept back for a full disk. `lost`
    hears that nobody knows any more what the database holds: it should end the process, and until then the store
    refuses everything."""

    make_room: Callable[[], None]
    lost: Callable[[StoreLost], None]


#: For those who only look, and have no daemon to end.
ALONE = Emergency(make_room=lambda: None, lost=lambda _: None)
