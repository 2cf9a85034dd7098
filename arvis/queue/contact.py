"""Contact with the database: when it was lost, when it came back, and when expired leases may be judged again.

While the database is away no process can renew its leases. So a process that just found the database again does not
take the expired leases of others for crashes; it gives the others time to renew them first.
"""

from __future__ import annotations

import structlog

from arvis.domain.errors import DatabaseAway
from arvis.ports.clock import Clock

log = structlog.get_logger(__name__)

#: Seconds after an outage, and after the start, in which the leases of other processes are not judged: each process
#: finds the database again within `RETRY_SECONDS` and renews its leases immediately.
GRACE_SECONDS = 5.0
#: Between two tries while the database is away.
RETRY_SECONDS = 1.0
#: Between two lines of the log about the same outage.
_REPEAT_SECONDS = 60.0


class Contact:
    """One outage is one line in the log at its start, one at its end, and one a minute in between."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._judging_from = clock.monotonic() + GRACE_SECONDS
        self._since: float | None = None
        self._said = 0.0

    @property
    def away(self) -> bool:
        return self._since is not None

    def judges_leases(self) -> bool:
        return self._since is None and self._clock.monotonic() >= self._judging_from

    def lost(self, error: DatabaseAway) -> None:
        now = self._clock.monotonic()
        if self._since is None:
            self._since = now
        elif now - self._said < _REPEAT_SECONDS:
            return
        self._said = now
        log.warning("database_away", seconds=round(now - self._since), why=error.why, fix=error.fix)

    def found(self) -> None:
        """A call has succeeded."""
        if self._since is None:
            return
        now = self._clock.monotonic()
        log.info("database_back", seconds=round(now - self._since, 1))
        self._since, self._judging_from = None, now + GRACE_SECONDS
