"""A random history of the job store does what plain dictionaries do, on both databases (reliability.md R6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from psycopg.rows import DictRow, dict_row

from arvis.domain.jobs import Done, Failed, HandedBack, Job, JobKind, NewJob, Outcome, Retry, Snooze
from arvis.ports.job_store import Slots
from arvis.ports.store import Transaction
from arvis.store.migrations import available, migrate
from arvis.store.opening import Database
from arvis.store.postgres import PostgresSession
from arvis.store.session import PostgresDialect, SqliteDialect, load_queries
from arvis.store.sqlite_migration import SqliteTarget
from arvis.store.sqlite_session import SqliteSession, connect
from arvis.store.transaction import SqlTransaction
from tests.conformance.databases import NOW, emptied
from tests.conformance.job_model import LIVE, JobModel, ModelJob

P = ParamSpec("P")
R = TypeVar("R")

LANES = st.sampled_from(["a", "a", "a", "b", None])
KINDS = st.sampled_from([JobKind.MESSAGE, JobKind.MESSAGE, JobKind.MESSAGE, JobKind.DELIVER, JobKind.CRON])
PEOPLE = st.sampled_from(["ann", "ann", "ann", "bob"])
KEYS = st.sampled_from([None, None, None, ("k", True), ("l", False)])
BOOTS = st.sampled_from([("boot-1", "node-1"), ("boot-2", "node-1"), ("boot-3", "node-2")])
DELAYS = st.sampled_from([0, 0, 0, 1, 5_000, 40_000])
WHICH = st.integers(min_value=0, max_value=10_000)
LEASE = 30_000


class Backend(Protocol):
    """One database, one transaction at a time."""

    def run(self, script: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    def rows(self, query: str) -> list[Any]: ...

    def close(self) -> None: ...


class SqliteBackend:
    def __init__(self) -> None:
        self._connection = connect(Path(":memory:"), writing=True)
        migrate(SqliteTarget(connection=self._connection, now=NOW, back_up=print), available())
        self._ids = count()
        session = SqliteSession(
            connection=self._connection, queries=load_queries(SqliteDialect()), new_id=lambda: f"{next(self._ids):026d}"
        )
        self._transaction = SqlTransaction(session)

    def run(self, script: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            return script(self._transaction, *args, **kwargs)

    def rows(self, query: str) -> list[sqlite3.Row]:
        return self._connection.execute(query).fetchall()

    def close(self) -> None:
        self._connection.close()


class PostgresBackend:
    def __init__(self, url: str) -> None:
        emptied(Database(Path("unused"), url, Path("unused")))
        self._connection: psycopg.Connection[DictRow] = psycopg.connect(url, row_factory=dict_row)
        self._ids = count()
        queries = load_queries(PostgresDialect())
        session = PostgresSession(
            connection=self._connection, queries=queries, new_id=lambda: f"{next(self._ids):026d}"
        )
        self._transaction = SqlTransaction(session)

    def run(self, script: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._connection.transaction():
            return script(self._transaction, *args, **kwargs)

    def rows(self, query: str) -> list[DictRow]:
        return self._connection.execute(query.encode()).fetchall()

    def close(self) -> None:
        self._connection.close()


class JobMachine(RuleBasedStateMachine):
    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.backend = backend
        self.model = JobModel()
        self.claims: list[Job] = []
        self.known: list[str] = []
        self.now = NOW

    def teardown(self) -> None:
        self.backend.close()

    # -- what happens --------------------------------------------------------------------------------------

    @rule(
        lane=LANES,
        kind=KINDS,
        principal_id=PEOPLE,
        key=KEYS,
        delay=DELAYS,
        priority=st.sampled_from([1, 5, 10]),
        tokens=st.sampled_from([10, 10, 3_000]),
    )
    def add(self, *, key: tuple[str, bool] | None, delay: int, **fields: Any) -> None:
        self._add(key, delay, fields)

    @rule(lane=LANES, people=st.lists(PEOPLE, min_size=2, max_size=4))
    def talk(self, lane: str | None, people: list[str]) -> None:
        """Several messages in a row: what lanes and folds live on."""
        for person in people:
            self._add(None, 0, {"kind": JobKind.MESSAGE, "priority": 5, "lane": lane, "principal_id": person})

    def _add(self, key: tuple[str, bool] | None, delay: int, fields: dict[str, Any]) -> None:
        name, live = key or (None, False)
        new = NewJob(**fields, key=name, key_live=live, run_at=self.now + delay if delay else None)
        known = self.model.keyed(new.key)
        added = self.backend.run(lambda tx: tx.jobs.add(new, self.now))
        assert added.created == (known is None)
        if known is None:
            self.known.append(added.id)
            self.model.add(added.id, new, self.now)
        else:
            assert added.id == known.id

    @rule(boot=BOOTS, work=st.integers(0, 3), background=st.integers(0, 2), delivery=st.integers(0, 2))
    def claim(self, boot: tuple[str, str], work: int, background: int, delivery: int) -> None:
        slots = Slots(work, min(work, background), delivery)
        picked = self.model.to_claim(slots)
        behind = [len(self.model.lanes[job.lane]) - 1 for job in picked]
        claimed = self.backend.run(lambda tx: tx.jobs.claim(slots, *boot, self.now, self.now + LEASE))
        self.model.claim(picked, *boot, self.now + LEASE)
        assert [(job.id, job.claim) for job in claimed] == [(job.id, job.claim) for job in picked]
        assert [job.followers for job in claimed] == behind
        self.claims += claimed

    @precondition(lambda self: self.claims)
    @rule(which=WHICH, kind=st.sampled_from([Done, Done, Failed, Retry, Snooze, HandedBack]), delay=DELAYS)
    def settle(self, which: int, kind: type[Outcome], delay: int) -> None:
        claim, outcome = self._claim(which), _outcome(kind, self.now + delay)
        held = self.model.jobs[claim.id].held_by(claim) if claim.id in self.model.jobs else False
        assert self.backend.run(lambda tx: tx.jobs.held(claim)) == held
        settled = self.backend.run(lambda tx: tx.jobs.settle(claim, outcome, self.now))
        assert settled == held == self.model.settle(claim, outcome, self.now)

    @precondition(lambda self: self.claims)
    @rule(which=WHICH, max_jobs=st.sampled_from([1, 2, 10]))
    def fold(self, which: int, max_jobs: int) -> None:
        claim = self._claim(which)
        expected = self.model.foldable(claim, max_jobs, 8_000)
        folded = self.backend.run(lambda tx: tx.jobs.fold(claim, max_jobs, 8_000, self.now))
        assert [job.id for job in folded] == [job.id for job in expected]
        self.model.fold(expected, claim.id, self.now)

    @precondition(lambda self: self.claims)
    @rule(boot=BOOTS, renewed=st.lists(WHICH, max_size=3))
    def sweep(self, boot: tuple[str, str], renewed: list[int]) -> None:
        """Renew some leases, rescue the rest, as the queue does."""
        owner, node = boot
        ids = {self._claim(which).id for which in renewed}
        running = {job.id for job in self.model.jobs.values() if job.id in ids and job.owner == owner}
        assert self.backend.run(lambda tx: tx.jobs.extend(sorted(ids), owner, self.now + LEASE)) == running
        for job_id in running:
            self.model.jobs[job_id].lease_until = self.now + LEASE
        rescued = self.backend.run(lambda tx: tx.jobs.rescue(node, owner, self.now))
        assert {job.id for job in rescued} == self.model.rescue(node, owner, self.now)

    @precondition(lambda self: self.known)
    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        job_id = self.known[which % len(self.known)]
        cancelled = self.backend.run(lambda tx: tx.jobs.cancel(job_id, self.now))
        assert (cancelled is not None) == self.model.cancel(job_id, self.now)

    @precondition(lambda self: self.known)
    @rule(which=WHICH)
    def requeue(self, which: int) -> None:
        job_id = self.known[which % len(self.known)]
        requeued = self.backend.run(lambda tx: tx.jobs.requeue(job_id, self.now))
        assert (requeued is not None) == self.model.requeue(job_id, self.now)

    @precondition(lambda self: self.known)
    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        job_id = self.known[which % len(self.known)]
        assert self.backend.run(lambda tx: tx.jobs.delete(job_id)) == self.model.delete(job_id)

    @rule(step=st.sampled_from([0, 1, 1_000, 5_000, 31_000]))
    def wake(self, step: int) -> None:
        self.now += step
        assert self.backend.run(lambda tx: tx.jobs.wake(self.now)) == self.model.wake(self.now)

    # -- what holds ----------------------------------------------------------------------------------------

    @invariant()
    def the_rows_are_the_models(self) -> None:
        rows = {row["id"]: row for row in self.backend.rows("SELECT * FROM jobs ORDER BY position")}
        assert rows.keys() == self.model.jobs.keys()
        for job in self.model.jobs.values():
            row = rows[job.id]
            assert (row["status"], row["attempts"], row["crashes"]) == (job.status, job.attempts, job.crashes)
            assert (row["owner"], row["claim"], row["key"]) == (job.owner, job.claim, job.key)
            assert (row["ready"], row["merged_into"]) == (self._ready(job), job.merged_into)
            assert row["run_at"] == job.run_at
        for lane, jobs in self.model.lanes.items():
            live = [row["id"] for row in rows.values() if row["lane"] == lane and row["status"] in LIVE]
            assert live == [job.id for job in jobs]

    @invariant()
    def each_lane_counts_what_lives_in_it(self) -> None:
        counted = {row["lane"]: row["live"] for row in self.backend.rows("SELECT lane, live FROM lanes")}
        assert counted == {lane: len(jobs) for lane, jobs in self.model.lanes.items()}

    @invariant()
    def the_soonest_head_is_known(self) -> None:
        assert self.backend.run(lambda tx: tx.jobs.next_due()) == self.model.next_due()

    def _ready(self, job: ModelJob) -> int:
        if job.status not in LIVE or self.model.lanes[job.lane][0] is not job:
            return 0
        return 3 if job.status == "running" else 1 if job.claimable else 2

    def _claim(self, which: int) -> Job:
        """One of the last claims, lost or not."""
        return self.claims[-1 - which % min(len(self.claims), 4)]


def _outcome(kind: type[Outcome], run_at: int) -> Outcome:
    if kind is Retry:
        return Retry(run_at, "no")
    if kind is Snooze:
        return Snooze(run_at, "busy")
    return Failed("x", "x") if kind is Failed else Done() if kind is Done else HandedBack()


def _history(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


def test_sqlite_does_what_the_model_does() -> None:
    class Machine(JobMachine):
        def __init__(self) -> None:
            super().__init__(SqliteBackend())

    run_state_machine_as_test(Machine, settings=_history(60, 40))


def test_postgres_does_what_the_model_does(postgres_url: str) -> None:
    class Machine(JobMachine):
        def __init__(self) -> None:
            super().__init__(PostgresBackend(postgres_url))

    run_state_machine_as_test(Machine, settings=_history(10, 40))


@pytest.mark.parametrize("status", ["pending", "running"])
def test_the_model_can_be_contradicted(status: str) -> None:
    """A machine that compares nothing would pass everything."""
    machine = JobMachine(SqliteBackend())
    machine.add(lane="a", kind=JobKind.MESSAGE, principal_id="ann", key=None, delay=0, priority=5, tokens=10)
    if status == "running":
        machine.claim(("boot-1", "node-1"), 1, 0, 0)
    machine.the_rows_are_the_models()
    machine.backend.run(lambda tx: tx.jobs.cancel(machine.known[0], NOW))
    with pytest.raises(AssertionError):
        machine.the_rows_are_the_models()
    with pytest.raises(AssertionError):
        machine.each_lane_counts_what_lives_in_it()
    machine.teardown()
