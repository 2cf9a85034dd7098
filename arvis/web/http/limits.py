"""The timeouts of the web server, and the limits of the input of clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from arvis.config.sections import Limits
from arvis.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts and intervals in seconds."""

    #: The time in which a new socket must authenticate.
    greeting: float = 10.0
    #: The time in which a client must accept one frame.
    sending: float = 10.0
    #: The time between two checks of an open socket's login.
    renewal: float = 60.0
    #: The time between two reads of a message's status during a wait. The status is read because a notification can be
    #: lost.
    look: float = 5.0
    #: The time in which a closing socket must accept the remaining frames, and in which running requests must end when
    #: the server stops.
    closing: int = 3
    #: The time in which a connection must send a whole request, and accept the next part of a response.
    idle: int = 15
    #: The longest wait for the answer to a chat completion that is not streamed.
    completion: float = 600.0
    #: The time between two keep-alive comments of an idle stream.
    keepalive: float = 15.0
    #: The longest wait for the answer to a chat completion if no model answers at the moment and the queue will retry
    #: the message later.
    put_off: float = 30.0


#: The size of a piece of a body in bytes or characters. JSON with more bytes is parsed in a thread, so that a large
#: attachment does not block the event loop.
PIECE = 262_144
_PAUSE_SECONDS = 0.001


def paced(length: int) -> Iterator[int]:
    """Yield the start of each piece of a text, and pause between the pieces. A thread that computes without a pause delays
    each step of the event loop by 5 ms, because Python passes the interpreter lock on only at this interval."""
    for start in range(0, length, PIECE):
        if start:
            time.sleep(_PAUSE_SECONDS)
        yield start


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The limits of JSON input."""

    #: The maximum size, in bytes for a body and in characters for a frame of a socket.
    size: int
    #: The maximum number of opening brackets and commas together. This number limits the memory: a parsed `[{},{},…]`
    #: takes 24 times the memory of its text.
    marks: int
    #: The lock that a thread holds while it parses a large body, so that only one thread parses at a time. Several
    #: threads would delay all other work of the process by seconds, because a thread that parses holds Python's
    #: interpreter lock. None: no body can be large.
    turn: asyncio.Lock | None = None

    def holds(self, text: str) -> bool:
        if len(text) > self.size:
            return False
        marks = sum(text.count(mark, start, start + PIECE) for start in paced(len(text)) for mark in "[{,")
        return marks <= self.marks


#: The limits of a request or frame without attachments.
SMALL = BodyLimit(size=65_536, marks=65_536)


def message_limit(limits: Limits, turn: asyncio.Lock | None = None) -> BodyLimit:
    """Return the limits of a JSON body that contains a message. In JSON, an escaped character is up to six times as
    long, and base64 adds a third. The number of marks (`BodyLimit.marks`) may be as large as the size of the text,
    because a text can consist only of commas."""
    text, files = limits.message_bytes, 2 * limits.attachment_bytes
    return BodyLimit(size=6 * text + files + SMALL.size, marks=text + SMALL.marks, turn=turn)
