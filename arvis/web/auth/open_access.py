"""The register of open sockets, streams and waiting requests. It ends each of them as soon as its credential is no
longer valid.

A request is checked when it arrives (`Authorizer.identify`). Longer connections are registered here. They are checked
again after every change of rights that any process makes: a person is blocked or removed, or a role, a login or a key
is revoked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.errors import Unauthorised
from arvis.domain.events import Changed, NoticesMissed, SessionEnded
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.identity import Identity

#: The topics of changes that can affect a person's rights.
_OF_RIGHTS = frozenset({ChangeTopic.USERS, ChangeTopic.KEYS, ChangeTopic.PEOPLE})

Renew = Callable[[Identity], Awaitable[Identity | None]]


class _Held:
    """The identity of an open connection, and the function that ends the connection."""

    __slots__ = ("end", "identity")

    def __init__(self, identity: Identity, end: Callable[[], None]) -> None:
        self.identity = identity
        self.end = end


class OpenAccess:
    """The register of open connections. `renew` returns the current identity of a credential. It returns None if the
    credential is no longer valid or its rights have changed."""

    def __init__(self, *, renew: Renew) -> None:
        self._renew = renew
        self._held: set[_Held] = set()
        self._fresh: set[_Held] = set()
        self._all_stale = False
        self._changed = False
        self._checking: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        endings = [
            bus.subscribe(Changed, self._on_change),
            bus.subscribe(SessionEnded, self._session_ended),
            bus.subscribe(NoticesMissed, lambda _: self._recheck_all()),
        ]
        try:
            yield
        finally:
            for end in endings:
                end()
            if self._checking is not None:
                self._checking.cancel()

    @contextlib.contextmanager
    def held(self, identity: Identity, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` if the credential becomes invalid while the context is open. If any rights have changed since the
        start of the daemon, check the credential soon: it may have become invalid after the request was admitted."""
        each = _Held(identity, end)
        self._held.add(each)
        if self._changed:
            self._fresh.add(each)
            self._check_soon()
        try:
            yield
        finally:
            self._held.discard(each)
            self._fresh.discard(each)

    def _on_change(self, event: Changed) -> None:
        if event.topic in _OF_RIGHTS:
            self._recheck_all()

    def _session_ended(self, event: SessionEnded) -> None:
        """End the connections of a login or key that has ended, without another check of the credential."""
        self._changed = True
        self._end(each for each in set(self._held) if event.session in {each.identity.session, each.identity.key})

    def _recheck_all(self) -> None:
        self._changed = True
        self._all_stale = True
        self._check_soon()

    def _check_soon(self) -> None:
        if self._checking is None and self._held:
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        """Check the credentials that may have become invalid, and end the connections of the invalid ones. Repeat this
        if rights change during the check."""
        try:
            while self._all_stale or self._fresh:
                doubted = set(self._held) if self._all_stale else set(self._fresh)
                self._all_stale = False
                self._fresh -= doubted
                for identity in {each.identity for each in doubted}:
                    found = await attempt(self._renew(identity))
                    if found is None or (isinstance(found, Failure) and found.status in {401, 403}):
                        self._end(each for each in doubted & self._held if each.identity == identity)
        finally:
            self._checking = None

    def _end(self, ended: Iterator[_Held]) -> None:
        for each in list(ended):
            self._held.discard(each)
            each.end()


def access_ended() -> Unauthorised:
    return Unauthorised(
        "Your access has ended: this login or key was revoked, or its rights changed.",
        fix="Log in again, or ask an owner of this Arvis.",
        code="access_ended",
    )
