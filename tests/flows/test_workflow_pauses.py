"""Runs that wait for people: branches that wait, branches that continue, and their order afterwards (seed 002)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.executions import ExecutionStatus, Wait
from arvis.ports.store import Store
from tests.flows.drawn_kit import START, Play, Played, WorkflowStage, drawing, node, pause, saying
from tests.flows.engine_kit import World


def ask(node_id: str) -> dict[str, Any]:
    return node(node_id, "approval", node_id.upper(), prompt=f"May {node_id}?")


class Asked:
    """A person who ignores `patience` questions, then approves, and records the questions."""

    def __init__(self, *, patience: int = 0) -> None:
        self.open: list[list[str]] = []
        self._patience = patience

    def __call__(self, wait: Wait, _world: World) -> dict[str, Any] | None:
        self.open.append([wait.prompt])
        if len(self.open) <= self._patience:
            return None
        return {"decision": "approve", "text": None}

    @property
    def order(self) -> list[str]:
        return list(dict.fromkeys(prompt for prompts in self.open for prompt in prompts))


async def ran_with(store: Store, document: dict[str, Any], asked: Asked) -> Played:
    stage = WorkflowStage(store, Play(document, people=asked))
    await stage.begin()
    await stage.play()
    return Played(stage, await stage.execution(), await stage.log())


def before(order: Sequence[tuple[str, str]], one: tuple[str, str], other: tuple[str, str]) -> bool:
    return order.index(one) < order.index(other)


def events(found: Played) -> list[tuple[str, str]]:
    return [(each.node_id, each.type) for each in found.log]


async def test_l3_of_two_approvals_the_second_is_asked_after_the_first(store: Store) -> None:
    """Two parallel approvals, approve the first: paused again on the second; deferred nodes of both run later."""
    asked = Asked()
    ways = ["start > a", "start > b", "a:approve > after_a", "b:approve > after_b"]
    document = drawing(START, ask("a"), ask("b"), pause("after_a"), pause("after_b"), ways=ways)
    found = await ran_with(store, document, asked)
    assert asked.order == ["May a?", "May b?"]
    order = events(found)
    assert before(order, ("a", "input_received"), ("b", "wait_input"))
    assert (found.visited("after_a"), found.visited("after_b")) == (1, 1)


async def test_running_branches_finish_their_node_and_their_followers_wait(store: Store) -> None:
    """Running branches finish, their followers are deferred."""
    ways = ["start > a", "a:approve > after", "start > slow > next"]
    document = drawing(START, ask("a"), pause("slow", 3), pause("next"), pause("after"), ways=ways)
    found = await ran_with(store, document, Asked(patience=10))
    answered = found.at("a", "input_received")
    assert answered >= 9_000
    assert 3_000 <= found.at("slow", "step_end") < 5_000
    assert found.at("next", "step_start") >= answered


async def test_where_the_document_says_so_other_branches_go_on(store: Store) -> None:
    ways = ["start > a", "a:approve > after", "start > slow > next"]
    document = drawing(START, ask("a"), pause("slow", 3), pause("next"), pause("after"), ways=ways, pauses="branch")
    found = await ran_with(store, document, Asked(patience=10))
    assert found.at("next", "step_end") < 5_000 < found.at("a", "input_received")


async def test_the_branch_of_the_decision_is_taken(store: Store) -> None:
    """Resume follows outgoing branch where sourceHandle === decision."""
    ways = ["start > a", "a:approve > yes", "a:reject > no"]
    document = drawing(START, ask("a"), pause("yes"), pause("no"), ways=ways)
    stage = WorkflowStage(store, Play(document, people=saying(May="reject")))
    await stage.begin()
    await stage.play()
    found = Played(stage, await stage.execution(), await stage.log())
    assert (found.visited("yes"), found.visited("no")) == (0, 1)
    assert found.execution.state["a_approval"]["decision"] == "reject"


async def test_a_run_that_waits_has_no_job(store: Store) -> None:
    """Pauses execution with status = paused: no job, no memory."""
    document = drawing(START, ask("a"), pause("after"), ways=["start > a", "a:approve > after"])
    stage = WorkflowStage(store, Play(document))
    await stage.begin()
    await stage.walk()
    execution = await stage.execution()
    assert execution.status is ExecutionStatus.PAUSED
    assert await store.read(lambda tx: tx.jobs.live_of_execution(execution.id)) == []
