"""The outgoing side of one socket: a bounded buffer of frames.

Adding a frame never waits, so a slow client delays no other client. A client that falls too far behind is
disconnected with 1013 and resumes by `lastSeq`. Deltas of one answer are merged while they wait.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.events import Delta
from arvis.domain.messages import Address, Sender
from arvis.web.http.identity import Identity

_MAX_FRAMES = 1_000
_MAX_CHARACTERS = 4_000_000

#: Close codes of the socket.
GOING_AWAY = 1001
BROKEN = 1011
TOO_SLOW = 1013
TRY_LATER = 1013
NO_ACCESS = 4001


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the socket with this code and send no more frames."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as text. `seq` is set for deliveries."""

    text: str
    seq: int | None = None

    @property
    def size(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Look:
    """A signal to read deliveries from the database, because some may exist that were not pushed to this client."""


LOOK = Look()


@dataclass(slots=True)
class _Stream:
    """Successive deltas of one answer."""

    message_id: str
    offset: int
    pieces: list[str] = field(default_factory=list)
    end: int = 0

    @property
    def size(self) -> int:
        return self.end - self.offset

    def frame(self) -> Frame:
        text = "".join(self.pieces)
        return frame({"type": "delta", "messageId": self.message_id, "offset": self.offset, "text": text})


def frame(data: dict[str, Any], seq: int | None = None) -> Frame:
    return Frame(_ENCODER.encode(data), seq)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Client:
    """An authenticated socket. `seen` is the `seq` of the last delivery that was sent to it."""

    def __init__(self, *, id: str, identity: Identity, sender: Sender, address: Address) -> None:  # noqa: A002
        self.id = id
        self.identity = identity
        self.sender = sender
        self.address = address
        self.seen = 0
        self._waiting: deque[Frame | _Stream | Look] = deque()
        self._characters = 0
        self._hang_up: HangUp | None = None
        self._woken = asyncio.Event()

    def push(self, item: Frame) -> None:
        self._waiting.append(item)
        self._grew(item.size)

    def look(self) -> None:
        """Signal that deliveries exist which only the database holds. They are sent in order among the waiting
        frames."""
        if not self._waiting or self._waiting[-1] is not LOOK:
            self._waiting.append(LOOK)
        self._grew(0)

    def push_delta(self, delta: Delta) -> None:
        last = self._waiting[-1] if self._waiting else None
        if not isinstance(last, _Stream) or (last.message_id, last.end) != (delta.message_id, delta.offset):
            last = _Stream(delta.message_id, delta.offset, end=delta.offset)
            self._waiting.append(last)
        last.pieces.append(delta.text)
        last.end += len(delta.text)
        self._grew(len(delta.text))

    def hang_up(self, code: int, reason: str) -> None:
        """Close immediately and drop all waiting frames."""
        if self._hang_up is None:
            self._hang_up = HangUp(code, reason)
        self._waiting.clear()
        self._woken.set()

    @property
    def behind(self) -> bool:
        """Return whether frames are still waiting."""
        return bool(self._waiting)

    @property
    def ended(self) -> bool:
        """Return whether the socket was disconnected."""
        return self._hang_up is not None

    async def next(self) -> Frame | Look | HangUp:
        """Return the next frame. A delivery that was sent before is skipped. A gap in the numbers makes the socket
        read the database, because the deliveries in between may arrive later, or never, as frames."""
        while True:
            while not self._waiting and self._hang_up is None:
                self._woken.clear()
                await self._woken.wait()
            if self._hang_up is not None:
                return self._hang_up
            item = self._waiting.popleft()
            if isinstance(item, Look):
                return item
            self._characters -= item.size
            ready = item.frame() if isinstance(item, _Stream) else item
            if ready.seq is not None and ready.seq > self.seen + 1:
                return LOOK
            if self.accepts(ready):
                return ready

    def accepts(self, item: Frame) -> bool:
        """Return whether this frame must still be sent, and remember the delivery in it."""
        if item.seq is None:
            return True
        if item.seq <= self.seen:
            return False
        self.seen = item.seq
        return True

    def _grew(self, characters: int) -> None:
        self._characters += characters
        if self._hang_up is not None:
            self._waiting.clear()
        elif len(self._waiting) > _MAX_FRAMES or self._characters > _MAX_CHARACTERS:
            self.hang_up(TOO_SLOW, "too slow: connect again with lastSeq")
        self._woken.set()
