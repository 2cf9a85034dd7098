"""The streamed text of a model for viewers, without tags and in at most about ten updates per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from arvis.bus import EventBus
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.markup import Scanner
from arvis.domain.messages import FINAL_STATUSES

# The text of unfinished answers that people have seen. If a turn is stopped, this text is stored as its reply.


#: The maximum number of unfinished answers, and of characters of each.
_MOST_ANSWERS = 1_000
_LONGEST = 262_144

#: A function that gets the id of a message and returns the part of its answer that people have seen; "" if they have
#: seen nothing.
Shown = Callable[[str], str]


def nothing_shown(_message_id: str) -> str:
    """Return "": the default where unfinished answers are not shown."""
    return ""


class StreamedTexts:
    """The streamed texts of unfinished answers, by the id of the answered message. `shown` can be called on any
    thread."""

    def __init__(self, bus: EventBus) -> None:
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
            return  # an earlier piece was missed, so the text is incomplete
        self._texts[piece.message_id] = (before[: piece.offset] + piece.text)[:_LONGEST]

    def _settle(self, change: StatusChanged) -> None:
        if change.status in FINAL_STATUSES:
            self._texts.pop(change.message_id, None)


#: The minimum time (s) between two updates.
INTERVAL = 0.1

OnDelta = Callable[[int, str], None]


class Showing:
    """A filter that receives the pieces of a reply with their offsets in the reply, and sends pieces of the visible
    text with their offsets in the visible text. A piece at offset 0 begins a new text."""

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
        """Send the remaining text. Nothing is sent after this call."""
        if piece := self._stream.close():
            self._coalescer.add(self._shown, piece)
        self._coalescer.close()


class Coalescer:
    """A buffer that combines the pieces of a text. At the end of a pass of the event loop, it sends the pieces that
    arrived in this pass. It then sends the pieces of each following `interval` together. `send` gets the text with its
    offset in characters. A piece at offset 0 begins a new text."""

    def __init__(self, *, send: OnDelta, interval: float = INTERVAL) -> None:
        self._send = send
        self._interval = interval
        self._offset = 0
        self._pieces: list[str] = []
        self._timer: asyncio.Handle | None = None

    def add(self, offset: int, text: str) -> None:
        if offset == 0 and (self._offset or self._pieces):
            self._pieces.clear()
            self._offset = 0
        self._pieces.append(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_soon(self._flush)

    def close(self) -> None:
        """Send the remaining text. Nothing is sent after this call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send_all()

    def _flush(self) -> None:
        """Send the buffered pieces. If pieces were sent, start the timer again."""
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
