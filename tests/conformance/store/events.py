"""Cases for the events of platforms besides messages: positions, observed messages, edits and deletions."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from arvis.domain.jobs import Done
from arvis.domain.messages import Address, FeedPosition
from arvis.domain.platforms import OverheardMessage
from arvis.ports.job_store import AddedJob
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import (
    NOW,
    PLACE,
    add,
    claim,
    claim_one,
    fold,
    get,
    message,
    next_due,
    said,
    settle,
    wake,
)
from tests.conformance.store.transactions import TransactionCases

PLATFORM, BOT = PLACE.platform, PLACE.connector
LATER = NOW + 1_500


def overheard(number: int, *, place: Address = PLACE, at: int = NOW) -> OverheardMessage:
    return OverheardMessage(place, f"e{number}", f"r{number}", "u1", "Ann", f"line {number}", at)


def observe(tx: Transaction, seen: OverheardMessage, keep: int = 20) -> bool:
    return tx.overheard.add(seen, keep)


def lines(tx: Transaction, since: int = 0, place: Address = PLACE, limit: int = 50) -> list[str]:
    return [each.content for each in tx.overheard.newest(place, since, limit)]


def keep(tx: Transaction, event_id: str, outcome: str, at: int = NOW) -> None:
    tx.events.keep(PLATFORM, BOT, event_id, SeenEvent(None, outcome), at)


def seen(tx: Transaction, event_id: str) -> SeenEvent | None:
    return tx.events.seen(PLATFORM, BOT, event_id)


def advance(tx: Transaction, feed: str, position: int) -> None:
    tx.events.advance(PLATFORM, BOT, FeedPosition(feed, position))


def defer(tx: Transaction, job: AddedJob, run_at: int = LATER) -> bool:
    return tx.jobs.defer(job.id, run_at)


class EventCases(TransactionCases):
    async def test_an_event_is_answered_as_the_first_time(self, store: Store) -> None:
        await store.write(keep, "c1", "yes")
        await store.write(keep, "c1", "no")
        assert await store.read(seen, "c1") == SeenEvent(None, "yes")
        assert await store.read(seen, "c2") is None

    async def test_old_events_are_forgotten_in_slices(self, store: Store) -> None:
        for number in range(5):
            await store.write(keep, f"c{number}", "", NOW + number)
        assert await store.write(lambda tx: tx.events.prune(NOW + 3, 2)) == 2
        assert await store.write(lambda tx: tx.events.prune(NOW + 3, 2)) == 1
        assert [await store.read(seen, f"c{number}") is None for number in range(5)] == [True] * 3 + [False] * 2

    async def test_a_position_only_grows(self, store: Store) -> None:
        await asyncio.gather(*(store.write(advance, "updates", number) for number in (3, 9, 1, 7)))
        await store.write(advance, "other", 2**62)
        assert await store.read(lambda tx: tx.events.position(PLATFORM, BOT, "updates")) == 9
        assert await store.read(lambda tx: tx.events.feeds(PLATFORM, BOT, 1)) == {"other": 2**62}
        assert await store.read(lambda tx: tx.events.feeds(PLATFORM, "another", 9)) == {}

    async def test_the_newest_of_a_place_are_read_along(self, store: Store) -> None:
        for number in range(6):
            assert await store.write(observe, overheard(number), 4)
        elsewhere = replace(PLACE, thread="t")
        await store.write(observe, overheard(9, place=elsewhere), 4)
        assert not await store.write(observe, overheard(5), 4)
        assert await store.read(lines) == [f"line {number}" for number in range(2, 6)]
        assert await store.read(lines, 0, elsewhere) == ["line 9"]
        assert await store.read(lines, 0, PLACE, 2) == ["line 4", "line 5"]
        assert await store.read(lines, NOW + 1) == []

    async def test_what_is_read_along_may_change_and_go(self, store: Store) -> None:
        for number in range(3):
            await store.write(observe, overheard(number, at=NOW + number))
        await store.write(lambda tx: tx.overheard.edit(PLACE, "r0", "new"))
        await store.write(lambda tx: tx.overheard.edit(PLACE, "r1", None))
        assert await store.read(lines) == ["new", "line 2"]
        assert await store.write(lambda tx: tx.overheard.prune(NOW + 2, 10)) == 1
        assert await store.read(lines) == ["line 2"]

    async def test_a_message_is_found_by_what_its_platform_calls_it(self, store: Store) -> None:
        def put(tx: Transaction, message_id: str, ref: str, album: str | None) -> None:
            row = replace(said(message_id, conversation=None), platform_ref=ref, album=album)
            tx.messages.add(row, event_id=f"event {ref}")

        await store.write(put, "1", "r1", "trip")
        await store.write(put, "2", "r2", "trip")
        found = await store.read(lambda tx: (tx.incoming.by_ref(PLACE, "r1"), tx.incoming.by_album(PLACE, "trip")))
        assert [each.id if each else None for each in found] == ["1", "2"]
        assert await store.read(lambda tx: tx.incoming.by_ref(replace(PLACE, channel="x"), "r1")) is None
        await store.write(lambda tx: tx.incoming.replace_text("1", "other words", 3))
        changed = await store.read(lambda tx: tx.messages.get("1"))
        assert changed is not None
        assert (changed.content, changed.tokens, changed.platform_ref) == ("other words", 3, "r1")

    # -- jobs that wait for more of their message ------------------------------------------------------------

    async def test_a_deferred_job_waits_and_is_told_of(self, store: Store) -> None:
        added = await store.write(add, message("a"))
        assert await store.write(defer, added)
        assert await store.write(claim) == []
        assert await store.read(next_due) == LATER
        await store.write(wake, LATER)
        assert [job.id for job in await store.write(claim, now=LATER)] == [added.id]

    async def test_one_that_stands_behind_waits_when_its_turn_comes(self, store: Store) -> None:
        await store.write(add, message("a"))
        behind = await store.write(add, message("a", principal="bob"))
        head = await store.write(claim_one)
        assert await store.write(defer, behind)
        await store.write(settle, head, Done())
        assert await store.write(claim) == []
        assert (await store.read(get, behind.id)).run_at == LATER

    async def test_what_has_begun_is_deferred_no_more(self, store: Store) -> None:
        added = await store.write(add, message("a"))
        job = await store.write(claim_one)
        assert not await store.write(defer, added)
        await store.write(settle, job, Done())
        assert not await store.write(defer, added)

    async def test_a_fold_ends_at_one_whose_time_has_not_come(self, store: Store) -> None:
        await store.write(add, message("a"))
        joins, waits, behind = [await store.write(add, message("a")) for _ in range(3)]
        await store.write(defer, waits)
        head = await store.write(claim_one)
        assert [job.id for job in await store.write(fold, head)] == [joins.id]
        assert (await store.read(get, behind.id)).merged_into is None

    async def test_a_fold_takes_those_from_before_the_clock_was_put_back(self, store: Store) -> None:
        await store.write(add, message("a"))
        ahead = await store.write(add, message("a"), LATER)
        head = await store.write(claim_one)
        assert [job.id for job in await store.write(fold, head)] == [ahead.id]
