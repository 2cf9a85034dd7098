"""Parse server-sent events, as far as model vendors use them: bytes in, events out, no I/O.

Written to the event stream interpretation of the HTML standard. An event that the stream did not finish is never
returned, and one event never takes more than `max_bytes` of memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """One event is larger than allowed; nothing more can be read from this stream."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. `kind` is the vendor's name for it, `message` if it has none."""

    kind: str
    data: str


class EventParser:
    """Parses a stream in pieces of any size; the time is linear in the number of bytes."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._after_return = False
        self._at_start = True
        self._kind = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that this piece completes. Raises `EventTooLarge`."""
        if self._after_return and piece:
            # "\r\n" was cut in two: the line ended at the "\r" already.
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        self._after_return = self._after_return or piece.endswith(b"\r")
        start, *rest = _LINE_END.split(piece)
        self._extend(start)
        events = []
        for next_start in rest:
            event = self._end_line()
            if event is not None:
                events.append(event)
            self._extend(next_start)
        return events

    def _extend(self, part: bytes) -> None:
        self._line += part
        self._size += len(part)
        if self._size > self._max_bytes:
            raise EventTooLarge(f"an event of the stream is larger than {self._max_bytes} bytes")

    def _end_line(self) -> ServerEvent | None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        match name:
            case b"data":
                self._data.append(value.removeprefix(b" "))
            case b"event":
                self._kind = value.removeprefix(b" ")
        return None

    def _end_event(self) -> ServerEvent | None:
        kind, data = self._kind, self._data
        self._kind, self._data, self._size = b"", [], 0
        if not data:
            return None
        return ServerEvent(kind.decode("utf-8", "replace") or "message", b"\n".join(data).decode("utf-8", "replace"))
