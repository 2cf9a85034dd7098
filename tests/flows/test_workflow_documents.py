"""Generated documents run through the compiler to their ends, and through the API. The long form is `python -m
tests.workflows`."""

from __future__ import annotations

from pathlib import Path

from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.fixtures.workflow_documents import document
from tests.flows.drawn_kit import START, Play, drawing, node, ran
from tests.workflows.by_api import differences_of_api
from tests.workflows.judging import judged
from tests.workflows.running import refusals, run_all

SEED = 5


async def test_what_has_no_errors_runs_to_an_end_and_says_why_where_it_fails(store: Store, figures: list[str]) -> None:
    outcome = await run_all(store, ((number, document(SEED, number)) for number in range(1_000)), SEED, most=60)
    figures.append(f"generated workflows: {', '.join(f'{status} {n}' for status, n in sorted(outcome.ends.items()))}")
    assert outcome.wrong == []
    assert outcome.ends[ExecutionStatus.DONE] > 40


async def test_the_compiler_refuses_what_has_errors_and_nothing_else(store: Store) -> None:
    parts = Play({}).node_parts(store)
    made = {number: document(SEED, number) for number in range(200)}
    assert [found for each in made.values() if (found := refusals(parts, each, judged(each).problems))] == []


async def test_the_api_finds_the_same_problems(tmp_path: Path) -> None:
    assert await differences_of_api(tmp_path, [(number, document(SEED, number)) for number in range(200)]) == []


async def test_parallels_within_one_another_come_together_in_every_round_of_a_loop(store: Store) -> None:
    """A generated document found this bug: each merge waited for the other's branches, because the loop connects
    them."""
    document = drawing(
        START,
        node("l", "loop", maxIterations=2),
        *(node(each, "parallel") for each in ("p", "q")),
        *(node(each, "wait", amount=0) for each in ("a", "b", "c", "done")),
        *(node(each, "merge") for each in ("m", "n")),
        ways=["start > l", "l:loop-start > p > q > a > n > b > m > @loop-back l", "p > c > m", "l:loop-exit > done"],
    )
    found = await ran(store, document)
    assert found.visited("m") == 2
    assert found.visited("done") == 1
