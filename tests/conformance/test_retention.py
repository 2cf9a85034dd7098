"""Rows past their retention are deleted in slices; live and recent rows stay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.domain.workflows import Workflow, WorkflowRun
from arvis.engine import lifecycle
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker
from arvis.store.open import Database, open_store
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import migrated

DAY_MS = 86_400_000


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppedClock) -> AsyncIterator[Store]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    migrated(database, clock.now())
    async with open_store(database, boot="test", new_id=IdMaker(clock=clock, random_bits=lambda _: 0)) as (store, _):
        yield store


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


def begin(tx: Transaction, status: ExecutionStatus, now: int) -> str:
    execution = lifecycle.begin(tx, tx.new_id(), "agent", {}, lane="lane", priority=5, principal_id=None, now=now)
    tx.executions.set_status(execution.id, status, None, now)
    tx.timeline.note([execution.id], "retried", {}, now)
    return execution.id


def prune(tx: Transaction, before: int) -> tuple[int, int]:
    return tx.executions.prune(before, 10), tx.timeline.prune(before, 10)


def known(tx: Transaction, execution_id: str) -> bool:
    return tx.executions.get(execution_id) is not None


def positions(tx: Transaction, execution_id: str) -> int:
    return len(tx.executions.cursors(execution_id))


async def test_ended_executions_leave_with_all_their_parts(store: Store, clock: SteppedClock) -> None:
    old = [await store.write(begin, status, clock.now()) for status in ExecutionStatus]
    await clock.sleep(2 * DAY_MS / 1000)
    young = await store.write(begin, ExecutionStatus.DONE, clock.now())
    gone = await store.write(prune, clock.now() - DAY_MS)
    assert gone == (3, 5)
    assert await store.write(prune, clock.now() - DAY_MS) == (0, 0)
    left = [each for each in (*old, young) if await store.read(known, each)]
    lively = [each for each, status in zip(old, ExecutionStatus, strict=True) if status in {"running", "paused"}]
    assert left == [*lively, young]
    assert [await store.read(positions, each) for each in (*old, young)].count(1) == len(left)


async def test_slices_are_bounded(store: Store, clock: SteppedClock) -> None:
    for _ in range(12):
        await store.write(begin, ExecutionStatus.DONE, clock.now())
    await clock.sleep(2 * DAY_MS / 1000)
    slices = [await store.write(prune, clock.now() - DAY_MS) for _ in range(3)]
    assert slices == [(10, 10), (2, 2), (0, 0)]


async def test_a_run_of_a_workflow_leaves_with_its_log(store: Store, clock: SteppedClock) -> None:
    def run(tx: Transaction, status: ExecutionStatus, now: int) -> str:
        if tx.workflows.get("w1") is None:
            tx.workflows.add(Workflow("w1", "digest", "Digest", "", True, 1, 1, None, now, now))
        run_id = begin(tx, status, now)
        tx.workflow_runs.add(WorkflowRun(run_id, "w1", 1, "api", "s", None, None, now))
        tx.workflow_runs.log(run_id, [("s", "step_end", "")] * 3, now)
        return run_id

    old = [await store.write(run, status, clock.now()) for status in ExecutionStatus]
    await clock.sleep(2 * DAY_MS / 1000)
    young = await store.write(run, ExecutionStatus.DONE, clock.now())
    assert (await store.write(prune, clock.now() - DAY_MS))[0] == 3
    for each in (*old, young):
        left = await store.read(known, each)
        assert await store.read(logged, each) == ((True, 3) if left else (False, 0))


def logged(tx: Transaction, run_id: str) -> tuple[bool, int]:
    return tx.workflow_runs.get(run_id) is not None, len(tx.workflow_runs.entries(run_id, 0, 9))
