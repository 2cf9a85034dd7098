"""The timeouts of this port, in seconds. Tests use shorter ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts and intervals in seconds."""

    #: For a new socket to authenticate.
    greeting: float = 10.0
    #: For a client to accept one frame.
    sending: float = 10.0
    #: Between two checks of an open socket's login.
    renewal: float = 60.0
    #: Between two reads of a message's status during a wait, because events of other processes do not reach this bus.
    look: float = 5.0
    #: For a closing socket to accept the remaining frames, and for running requests when the server stops.
    closing: int = 3
    #: For a connection to send a whole request, and to accept the next part of a response.
    idle: int = 15
    #: For the answer to a chat completion that is not streamed.
    completion: float = 600.0
    #: Between two keep-alive comments of an idle stream.
    keepalive: float = 15.0
    #: For a chat completion whose message is retried later because no model answers now.
    put_off: float = 30.0
