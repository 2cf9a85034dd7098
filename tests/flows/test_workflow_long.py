"""Runs of many steps: their effect on other work, and the size of their rows."""

from __future__ import annotations

from arvis.domain.executions import Step
from arvis.engine.engine import MOST_UNCOMMITTED
from arvis.ports.store import Store, Transaction
from arvis.store.repositories.executions import SqlExecutions, step_of
from tests.flows.drawn_kit import START, Play, drawing, node, pause, played

ROUNDS = 150
LARGE = 100_000


def looping(*body: str) -> Play:
    document = drawing(
        START,
        node("l", "loop", maxIterations=ROUNDS),
        *(pause(each) for each in body),
        ways=["start > l", " > ".join(["l:loop-start", *body, "@loop-back l"])],
        maxSteps=10_000,
        maxVisits=ROUNDS + 1,
    )
    return Play(document, input="x" * LARGE)


def _steps(tx: Transaction, execution_id: str) -> list[Step]:
    executions = tx.executions
    assert isinstance(executions, SqlExecutions)
    return [step_of(row) for row in executions._session.rows("steps_of", execution_id=execution_id)]


async def test_a_long_way_is_committed_in_parts(store: Store) -> None:
    found, writes = await played(store, looping("a", "b"))
    assert found.output == "x" * LARGE
    assert writes >= found.execution.steps // MOST_UNCOMMITTED > 3


async def test_the_history_of_a_loop_does_not_hold_its_output_again_and_again(store: Store) -> None:
    found, _ = await played(store, looping("a"))
    steps = await store.read(_steps, found.execution.id)
    assert [each.number for each in steps] == list(range(1, found.execution.steps + 1))
    assert sum(len(each.changes) for each in steps) < 20 * LARGE
    assert found.of("a") == "x" * LARGE


async def test_what_is_kept_last_stands_last(store: Store) -> None:
    found, _ = await played(store, looping("a", "b"))
    kept = [key for key in found.execution.state if key.startswith("out:")]
    assert kept == ["out:start", "out:a", "out:b", "out:l"]
