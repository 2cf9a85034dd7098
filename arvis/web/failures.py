"""Failed tries to get in, as people who run the house read them: lines of the log, at most so many a minute.

Guesses must not fill the disk: what comes on top is counted, and told with the next line.
"""

from __future__ import annotations

from collections import deque

import structlog
from starlette.requests import HTTPConnection

from arvis.ports.clock import Clock

log = structlog.get_logger(__name__)

_MOST_LINES = 20
_SECONDS = 60.0
_LONGEST_NAME = 100


class Failures:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._lines: deque[float] = deque(maxlen=_MOST_LINES)
        self._untold = 0

    async def note(self, address: str, event: str, by: str, user: str = "") -> None:
        """One failed try from an address: `by` a password, a link or a key; `user` as it was written, never the secret."""
        now = self._clock.monotonic()
        if len(self._lines) == _MOST_LINES and now - self._lines[0] < _SECONDS:
            self._untold += 1
            return
        self._lines.append(now)
        more, self._untold = ({"untold": self._untold} if self._untold else {}), 0
        named = {"user": user[:_LONGEST_NAME]} if user else {}
        log.warning(event, address=address, by=by, **named, **more)


def address_of(connection: HTTPConnection) -> str:
    """Who dialled us. Forwarded headers are not believed, for everybody can send them."""
    return connection.client.host if connection.client else ""
