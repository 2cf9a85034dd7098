"""Cases for the times of schedules: each is taken once, skipped while the previous one runs, and found if no process
ended it."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.jobs import JobKind, NewJob
from arvis.domain.schedules import Cause, Occurrence, OccurrenceStatus, Schedule
from arvis.ports.store import Store, Transaction
from tests.conformance.store.schedules import DAILY
from tests.conformance.store.scripts import NOW, add_agent
from tests.conformance.store.transactions import TransactionCases

LATER = replace(DAILY, id="s4", name="later", next_run=NOW + 5_000)
OFF = replace(DAILY, id="s5", name="off", enabled=False)
RUNNING = Occurrence("o1", DAILY.id, NOW, Cause.DUE, OccurrenceStatus.RUNNING, None, "", NOW)


def add_three(tx: Transaction) -> None:
    add_agent(tx)
    for schedule in (LATER, DAILY, OFF):
        tx.schedules.add(schedule)


def ids(found: list[Schedule]) -> list[str]:
    return [schedule.id for schedule in found]


class TimingCases(TransactionCases):
    async def test_what_is_due_comes_in_the_order_of_its_times(self, store: Store) -> None:
        await store.write(add_three)
        assert await store.read(lambda tx: ids(tx.schedules.due(NOW + 999, 10))) == []
        assert await store.read(lambda tx: ids(tx.schedules.due(NOW + 9_000, 10))) == ["s1", "s4"]
        assert await store.read(lambda tx: ids(tx.schedules.due(NOW + 9_000, 1))) == ["s1"]
        assert await store.read(lambda tx: ids(tx.schedules.to_come(NOW + 1_000, 10))) == ["s4"]
        assert await store.read(lambda tx: tx.schedules.next_due(NOW)) == NOW + 1_000
        assert await store.read(lambda tx: tx.schedules.next_due(NOW + 1_000)) == NOW + 5_000
        assert await store.read(lambda tx: tx.schedules.next_due(NOW + 5_000)) is None

    async def test_a_time_is_taken_once_and_as_it_was_read(self, store: Store) -> None:
        await store.write(add_three)

        def take(tx: Transaction, known: Schedule) -> bool:
            return tx.schedules.advance(known, last_run=NOW + 1_000, next_run=None)

        changed = replace(DAILY, updated_at=NOW + 1)
        assert [await store.write(take, known) for known in (changed, DAILY, DAILY, OFF)] == [False, True, False, False]
        after = replace(DAILY, last_run=NOW + 1_000, next_run=None)
        assert await store.read(lambda tx: tx.schedules.get("s1")) == after

    async def test_failures_are_counted_beside_what_people_wrote(self, store: Store) -> None:
        await store.write(add_three)
        await store.write(lambda tx: tx.schedules.rate("s1", 3, NOW + 60_000))
        await store.write(lambda tx: tx.schedules.ran("s1", NOW + 7))
        after = replace(DAILY, failures=3, cooldown_until=NOW + 60_000, last_run=NOW + 7)
        assert await store.read(lambda tx: tx.schedules.get("s1")) == after

    async def test_one_that_runs_is_not_due(self, store: Store) -> None:
        await store.write(add_three)
        await store.write(lambda tx: tx.occurrences.add(RUNNING))
        assert await store.read(lambda tx: ids(tx.schedules.due(NOW + 9_000, 10))) == ["s4"]
        ended = replace(RUNNING, cause=Cause.CONDITION, status=OccurrenceStatus.DONE, ended_at=NOW + 5)
        await store.write(lambda tx: tx.occurrences.save(ended))
        assert await store.read(lambda tx: ids(tx.schedules.due(NOW + 9_000, 10))) == ["s1", "s4"]
        assert await store.read(lambda tx: tx.occurrences.get("o1")) == ended
        assert await store.read(lambda tx: tx.occurrences.get("o2")) is None

    async def test_what_has_neither_job_nor_execution_is_an_orphan(self, store: Store) -> None:
        await store.write(add_three)
        await store.write(lambda tx: tx.occurrences.add(RUNNING))
        assert await store.read(lambda tx: tx.occurrences.orphans(10)) == [RUNNING]
        job = NewJob(JobKind.HEARTBEAT, 10, lane=DAILY.key, key=DAILY.key, key_live=True)
        added = await store.write(lambda tx: tx.jobs.add(job, NOW))
        assert await store.read(lambda tx: tx.occurrences.orphans(10)) == []
        await store.write(lambda tx: tx.jobs.cancel(added.id, NOW))
        assert await store.read(lambda tx: tx.occurrences.orphans(10)) == [RUNNING]
