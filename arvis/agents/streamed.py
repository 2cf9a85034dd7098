"""What people have been shown of answers that are still being written: a stopped turn keeps it."""

from __future__ import annotations

from collections.abc import Callable

from arvis.domain.events import Delta, StatusChanged
from arvis.domain.messages import FINAL_STATUSES
from arvis.ports.bus import Bus

#: Answers of one moment, and characters of one.
_MOST_ANSWERS = 1_000
_LONGEST = 262_144

#: Return the text that was shown of the answer to a message; "" when there is none.
Shown = Callable[[str], str]


def nothing_shown(_message_id: str) -> str:
    """Where nobody watches."""
    return ""


class StreamedTexts:
    """Collects the pieces of answers by the message that they answer, until it has its end. Safe to be asked on any thread."""

    def __init__(self, bus: Bus) -> None:
        self._texts: dict[str, str] = {}
        bus.subscribe(Delta, self._add)
        bus.subscribe(StatusChanged, self._settle)

    def shown(self, message_id: str) -> str:
        return self._texts.get(message_id, "")

    def _add(self, piece: Delta) -> None:
        before = self._texts.pop(piece.message_id, "")
        if len(self._texts) >= _MOST_ANSWERS:
            del self._texts[next(iter(self._texts))]
        if piece.offset > len(before):
            return  # a piece was missed: what came before it is not what people saw
        self._texts[piece.message_id] = (before[: piece.offset] + piece.text)[:_LONGEST]

    def _settle(self, change: StatusChanged) -> None:
        if change.status in FINAL_STATUSES:
            self._texts.pop(change.message_id, None)
