"""Records of failed logins: lines in the log (a limited number per minute) and rows in the audit log.

The limits protect the disk. Attempts above the limits are counted, and the next line or row contains their number. For
each kind and address, the audit log gets a row for the first attempt of an hour, then for the tenth, the hundredth and
so on. If there are more than `_MOST_KEYS` pairs of kind and address in an hour, further addresses share rows.
"""

from __future__ import annotations

from collections import deque

import structlog
from starlette.requests import HTTPConnection

from arvis.domain.dataclass import dataclass
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)

_MOST_LINES = 20
_SECONDS = 60.0
_LONGEST_NAME = 100

#: For the audit log: the seconds after which a count restarts at 0, the maximum number of counts, and the name under
#: which all further addresses are counted.
_HOUR = 3600.0
_MOST_KEYS = 50
_OTHERS = "other addresses"


@dataclass
class _AttemptCount:
    """The attempts of one kind from one address within an hour."""

    #: The start of the hour, in seconds of the monotonic clock.
    begun: float
    #: The number of attempts in this hour.
    times: int = 0
    #: The number of attempts that no row of the audit log includes yet.
    unwritten: int = 0


class FailedLogins:
    def __init__(self, *, clock: Clock, store: Store) -> None:
        self._clock = clock
        self._store = store
        self._counts: dict[tuple[str, str, str], _AttemptCount] = {}
        self._lines: deque[float] = deque(maxlen=_MOST_LINES)
        self._unreported = 0

    async def note(self, address: str, event: str, by: str, user: str = "") -> None:
        """Record a failed attempt from an address. `by` is `password`, `link` or `key`, and `user` is the entered name.
        The secret is never recorded."""
        self._log(address, event, by, user)
        seen, shown = self._counted(address, event, by)
        if seen.times == 1 or _is_power_of_ten(seen.times):
            fields = {"by": by, "times": seen.unwritten, **({"user": user[:_LONGEST_NAME]} if user else {})}
            seen.unwritten = 0
            await self._store.write(_keep, Access(AccessKind(event), shown, fields), self._clock.now())

    def _counted(self, address: str, event: str, by: str) -> tuple[_AttemptCount, str]:
        """Count the attempt. Return the count, and the address under which the attempt was counted, which can be
        `_OTHERS`."""
        now = self._clock.monotonic()
        self._counts = {key: seen for key, seen in self._counts.items() if seen.unwritten or now - seen.begun < _HOUR}
        if (address, event, by) not in self._counts and len(self._counts) >= _MOST_KEYS:
            address = _OTHERS
        seen = self._counts.setdefault((address, event, by), _AttemptCount(now))
        if now - seen.begun >= _HOUR:
            seen.begun, seen.times = now, 0
        seen.times += 1
        seen.unwritten += 1
        return seen, address

    def _log(self, address: str, event: str, by: str, user: str) -> None:
        now = self._clock.monotonic()
        if len(self._lines) == _MOST_LINES and now - self._lines[0] < _SECONDS:
            self._unreported += 1
            return
        self._lines.append(now)
        more, self._unreported = ({"unreported": self._unreported} if self._unreported else {}), 0
        named = {"user": user[:_LONGEST_NAME]} if user else {}
        log.warning(event, address=address, by=by, **named, **more)


def _is_power_of_ten(number: int) -> bool:
    return str(number).rstrip("0") == "1"


def _keep(tx: Transaction, access: Access, now: int) -> None:
    tx.audit.add(access_entry(tx.new_id(), access, now))


def address_of(connection: HTTPConnection) -> str:
    """Return the address of the peer. Forwarded headers are ignored, because any client can send them."""
    return connection.client.host if connection.client else ""
