"""The timeouts of the web server, and responses with server-sent events."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

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


#: A comment that keeps proxies from closing an idle stream.
KEEP_ALIVE = ": keep-alive\n\n"


class EventStream(StreamingResponse):
    """A response of server-sent events. It closes `held` at its end, and calls `left` if the client disconnects before
    the last event."""

    def __init__(
        self,
        events: AsyncIterator[str],
        *,
        held: contextlib.ExitStack,
        headers: Mapping[str, str],
        left: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(
            self._to_the_end(events), headers={**headers, "x-accel-buffering": "no"}, media_type="text/event-stream"
        )
        self._held = held
        self._left = left
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)
        if not self._ended and self._left is not None:
            await self._left()

    async def _to_the_end(self, events: AsyncIterator[str]) -> AsyncIterator[str]:
        async for each in events:
            yield each
        self._ended = True
