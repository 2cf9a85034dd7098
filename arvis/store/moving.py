"""A channel that has become another one: everything that belongs to it goes along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from arvis.domain.memory import room_scope
from arvis.domain.messages import Address
from arvis.store.jobs import SqlJobs
from arvis.store.memory import SqlFacts
from arvis.store.messages import SqlDeliveries
from arvis.store.session import Session


class Mover:
    """Moves one channel of a bot, once in its life. It may be run again: then what has come to the old one since goes
    along."""

    def __init__(self, session: Session, old: Address, new_channel: str) -> None:
        self._session = session
        self._old = replace(old, thread="")
        self._new = replace(self._old, channel=new_channel)

    def move(self, now: int) -> None:
        self._move_lanes(self._threads("threads_on_their_way"), now)
        for thread in self._threads("threads_of_conversations"):
            self._move_memory(thread)
        self._execute("move_bindings")
        self._execute("drop_moved_bindings")
        self._execute("close_doubled_conversations")
        for query in ("move_conversations", "move_schedules", "move_webhooks", "move_drafts", "move_observed"):
            self._execute(query)

    def _move_lanes(self, threads: Iterable[str], now: int) -> None:
        """Deliveries that have not left, each with its job; numbers are those of the new channel, in the same order."""
        places = [(replace(self._old, thread=thread), replace(self._new, thread=thread)) for thread in threads]
        jobs = SqlJobs(self._session)
        jobs.lock([address.lane for pair in places for address in pair])
        self._execute("continue_channel")
        deliveries = SqlDeliveries(self._session)
        for row in self._session.rows("deliveries_on_their_way", **self._channels()):
            self._session.execute(
                "move_delivery", id=row["id"], channel=self._new.channel, seq=deliveries.next_seq(self._new)
            )
        for old, new in places:
            jobs.move_lane(old.lane, new.lane, now)

    def _move_memory(self, thread: str) -> None:
        old, new = (room_scope(replace(address, thread=thread)) for address in (self._old, self._new))
        SqlFacts(self._session).move(old, new)
        self._session.execute("move_states", old=old, new=new)

    def _threads(self, query: str) -> list[str]:
        """The channel itself is one of them."""
        rows = self._session.rows(query, **self._channels())
        return sorted({"", *(row["thread"] for row in rows)})

    def _execute(self, query: str) -> None:
        self._session.execute(query, **self._channels())

    def _channels(self) -> dict[str, str]:
        return {
            "platform": self._old.platform,
            "connector": self._old.connector,
            "old": self._old.channel,
            "new": self._new.channel,
        }
