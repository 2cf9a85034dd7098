"""Streamed text of a model on its way to viewers: without tags, and combined, so that a fast model sends at most
about ten updates per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from arvis.domain.events import Delta, StatusChanged
from arvis.domain.markup import Scanner
from arvis.domain.messages import FINAL_STATUSES
from arvis.ports.bus import Bus

# The text of unfinished answers that people have seen: a stopped turn keeps it.


#: Answers of one moment, and characters of one.
_MOST_ANSWERS = 1_000
_LONGEST = 262_144

#: Return the text that was shown of the answer to a message; "" when there is none.
Shown = Callable[[str], str]


def nothing_shown(_message_id: str) -> str:
    """Return "", for use without viewers."""
    return ""


class StreamedTexts:
    """Collects the pieces of answers by the answered message until its end. Can be read on any thread."""

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


#: Seconds between two deltas.
INTERVAL = 0.1

OnDelta = Callable[[int, str], None]


class Showing:
    """Takes the pieces of a reply with their offsets, and sends the visible text with offsets of its own. A piece at
    offset 0 starts again."""

    def __init__(self, *, send: OnDelta) -> None:
        self._coalescer = Coalescer(send=send)
        self._stream = Scanner()
        self._shown = 0

    def add(self, offset: int, text: str) -> None:
        if offset == 0:
            self._stream, self._shown = Scanner(), 0
        if piece := self._stream.feed(text):
            self._coalescer.add(self._shown, piece)
            self._shown += len(piece)

    def close(self) -> None:
        """Send what is left, and nothing later."""
        if piece := self._stream.close():
            self._coalescer.add(self._shown, piece)
        self._coalescer.close()


class Coalescer:
    """Sends the first piece immediately, then combines the following ones. `send` gets the text with its offset in
    characters. A piece at offset 0 starts again."""

    def __init__(self, *, send: OnDelta, interval: float = INTERVAL) -> None:
        self._send = send
        self._interval = interval
        self._offset = 0
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, offset: int, text: str) -> None:
        if offset == 0 and (self._offset or self._pieces):
            self._pieces.clear()
            self._offset = 0
        self._pieces.append(text)
        if self._timer is None:
            self._flush()

    def close(self) -> None:
        """Send what is left, and nothing later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send_all()

    def _flush(self) -> None:
        """The timer runs on while there is something to send."""
        self._timer = None
        if self._send_all():
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._flush)

    def _send_all(self) -> bool:
        if not self._pieces:
            return False
        text = "".join(self._pieces)
        self._pieces.clear()
        self._send(self._offset, text)
        self._offset += len(text)
        return True
