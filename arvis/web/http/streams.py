"""Responses with server-sent events."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

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
