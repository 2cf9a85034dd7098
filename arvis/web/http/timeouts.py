"""The timeouts of this port, in seconds. Tests use shorter ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """`greeting`: for a new socket to say who it is; `sending`: for a client to take one frame; `renewal`: between
    two looks at the login of an open socket; `look`: between two looks at the status of a message that somebody
    waits for, because events of other processes do not reach this bus; `closing`: for a closing socket to take the
    rest, and for running requests when the server stops; `idle`: for a connection to bring a whole request, and to take
    some more of an answer; `completion`: for the answer to a chat completion that is not streamed; `keepalive`: between
    two signs of life of a stream that has nothing to say; `put_off`: for a chat completion whose message is to be tried again later,
    because no model answers now."""

    greeting: float = 10.0
    sending: float = 10.0
    renewal: float = 60.0
    look: float = 5.0
    closing: int = 3
    idle: int = 15
    completion: float = 600.0
    keepalive: float = 15.0
    put_off: float = 30.0
