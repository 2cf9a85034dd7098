"""Answers that take long: the timeouts of this port, and server-sent events."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


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


#: A comment that keeps proxies from closing an idle stream.
KEEP_ALIVE = ": keep-alive\n\n"


class EventStream(StreamingResponse):
    """A response of server-sent events. It releases `held` at its end, and calls `left` if the client disconnected
    before."""

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
