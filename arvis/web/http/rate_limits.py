"""Limits of login attempts, of concurrent requests, and of requests over time. All counts are in memory, so a restart
clears them."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arvis.domain.errors import TooMany
from arvis.ports.clock import Clock

#: The limits of login attempts from one address or for one account: pairs of the maximum number and the seconds in
#: which attempts are counted.
_WINDOWS = ((5, 60.0), (20, 3600.0))
#: The limits of wrong keys from one address: pairs of the maximum number and the seconds in which wrong keys are
#: counted.
_KEY_WINDOWS = ((30, 60.0), (300, 3600.0))
_MOST_NAMES = 10_000


class LoginLimiter:
    """The limits of login attempts. An attempt is counted before its outcome is known, so that concurrent attempts
    cannot exceed the limit. A successful attempt is then removed from the count."""

    def __init__(self, *, clock: Clock) -> None:
        self._addresses = _Tries(clock)
        self._links = _Tries(clock)
        self._accounts = _Tries(clock)
        self._strange_accounts = _Tries(clock)

    def count(self, address: str) -> None:
        """Count an attempt from an address, or raise `TooMany`."""
        self._addresses.count(_network(address))

    def count_link(self, address: str) -> None:
        """Count an attempt with a login link. Links are counted separately, so that wrong passwords from an address do
        not block login links from the same address."""
        self._links.count(_network(address))

    def forgive_link(self, address: str) -> None:
        self._links.forgive(_network(address))

    def count_account(self, account: str, *, known: bool) -> None:
        """Count an attempt for an account, or raise `TooMany`. Unknown names are counted separately, so that they
        cannot displace the counts of real accounts."""
        (self._accounts if known else self._strange_accounts).count(account)

    def forgive(self, address: str, account: str | None = None) -> None:
        """Remove the last attempt of this address and account from the counts, because the attempt succeeded."""
        self._addresses.forgive(_network(address))
        if account is not None:
            self._accounts.forgive(account)


class KeyGuesses:
    """The counts of the wrong keys from each address. Keys that cannot be guessed are always checked, so other clients
    at the same address cannot lock out the holder of such a key."""

    def __init__(self, *, clock: Clock) -> None:
        self._tries = _Tries(clock, windows=_KEY_WINDOWS, what="Too many wrong keys from this address.")

    def exhausted(self, address: str) -> TooMany | None:
        return self._tries.refusal(_network(address))

    def count(self, address: str) -> None:
        """Count a wrong key. Raise `TooMany` above the limit."""
        self._tries.count(_network(address))


class _Tries:
    """The times of the attempts, by name. A name is a network or an account. If there are more than `_MOST_NAMES`
    names, the name whose last attempt is the oldest is dropped."""

    def __init__(
        self,
        clock: Clock,
        *,
        windows: Sequence[tuple[int, float]] = _WINDOWS,
        what: str = "Too many failed logins.",
    ) -> None:
        self._clock = clock
        self._windows = windows
        self._what = what
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tries)

    def count(self, name: str) -> None:
        if (refused := self.refusal(name)) is not None:
            raise refused
        self._tries.setdefault(name, deque(maxlen=self._windows[-1][0])).append(self._clock.monotonic())
        self._tries.move_to_end(name)
        if len(self._tries) > _MOST_NAMES:
            self._tries.popitem(last=False)

    def refusal(self, name: str) -> TooMany | None:
        """Return the error if this name has reached a limit, else None."""
        now, tries = self._clock.monotonic(), self._tries.get(name, ())
        for most, seconds in self._windows:
            counted = [at for at in tries if now - at < seconds]
            if len(counted) >= most:
                wait = math.ceil(counted[-most] + seconds - now)
                return TooMany(self._what, fix=f"Wait {wait} seconds.", seconds=wait)
        return None

    def forgive(self, name: str) -> None:
        if tries := self._tries.get(name):
            tries.pop()


def _network(address: str) -> str:
    """Return the network that is counted for an address: the IPv4 address itself, or the /64 network of an IPv6
    address, because one subscriber usually has all addresses of a /64 network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address


class ConcurrencyLimit:
    """A limit of `most` concurrent requests in total, and of `most_of_one` for each caller, so that one caller cannot
    block all others."""

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    @contextmanager
    def taken(self, user_id: str) -> Iterator[None]:
        """Count a request of this user while the context is open. Raise `TooMany` above a limit."""
        if self._held.total() >= self._most or self._held[user_id] >= self._most_of_one:
            raise TooMany("Too many requests of this kind are running.", fix="Wait until one of them has finished.")
        self._held[user_id] += 1
        try:
            yield
        finally:
            self._held[user_id] -= 1
            if not self._held[user_id]:
                del self._held[user_id]


_MOST_BUCKETS = 1_000


class Buckets:
    """Token buckets, one for each name. A bucket contains at most `burst` tokens and gets `per_second` new tokens."""

    def __init__(self, *, clock: Clock, burst: int, per_second: float) -> None:
        self._clock = clock
        self._burst = burst
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> int:
        """Take a token and return 0. If the bucket is empty, return the whole seconds until a token is available."""
        now = self._clock.monotonic()
        tokens, then = self._buckets.get(name, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - then) * self._per_second)
        wait = 0 if tokens >= 1 else max(1, math.ceil((1 - tokens) / self._per_second))
        self._buckets[name] = (tokens if wait else tokens - 1, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return wait
