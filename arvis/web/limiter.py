"""How often one client address may try to log in (reliability.md §5 rule 5: 5 a minute, 20 an hour).

The counts live in memory on purpose: a restart forgets tries, and codes die after minutes in any case.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict, deque

from arvis.domain.errors import TooMany
from arvis.ports.clock import Clock

#: (tries, seconds)
_WINDOWS = ((5, 60.0), (20, 3600.0))
_MAX_ADDRESSES = 10_000


class LoginLimiter:
    """A try counts before its outcome is known, so that many at once do not slip through; success gives it back."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def count(self, address: str) -> None:
        """Count a try, or raise `TooMany`."""
        now = self._clock.monotonic()
        tries = self._tries.setdefault(_network(address), deque(maxlen=_WINDOWS[-1][0]))
        for most, seconds in _WINDOWS:
            if sum(1 for at in tries if now - at < seconds) >= most:
                raise TooMany("Too many wrong login codes.", fix="Wait a minute; after 20 in an hour, wait an hour.")
        tries.append(now)
        self._tries.move_to_end(_network(address))
        if len(self._tries) > _MAX_ADDRESSES:
            self._tries.popitem(last=False)

    def forgive(self, address: str) -> None:
        """The last try of this address succeeded."""
        tries = self._tries.get(_network(address))
        if tries:
            tries.pop()


def _network(address: str) -> str:
    """One household has one IPv4 address or one IPv6 /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address
