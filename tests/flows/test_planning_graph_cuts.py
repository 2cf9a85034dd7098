"""Planning runs, one of which passes most nodes twice, killed at each of their commits: the end is always the same, no
unrepeatable effect repeats, and the model is called at most once more than needed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from arvis.app.graphs import build_graphs
from arvis.domain.executions import Wait
from arvis.domain.runs import RunRequest
from arvis.domain.tools import Permit
from arvis.engine.engine import RUN_AGAIN, SKIP
from arvis.ports.store import Store
from tests.flows.engine_kit import Death, Graphs, Scenario, World, deaths
from tests.flows.planning_kit import PLANNER, REQUEST, PlanningModel, Play, brief, done, judged, prd, shown, verdict
from tests.flows.scripted import Answer, ScriptedTools, asking, call
from tests.flows.turn_kit import TurnStage, outlive, parts_with

#: An agent with its own slug, since all cuts share one database.
BUILDER = replace(PLANNER, id="agent-builder", slug="builder")


def plan(request: RunRequest) -> Answer:
    """Call a tool first; the second plan contains what the critic missed."""
    if "p the address" in shown(request):
        return prd("build the page", "tell the address", title="Second")
    if not any(turn.outputs for turn in request.turns):
        return asking(call(1, "look", words="around"))
    return prd("build the page", before="A plan is made. ")


def next_brief(request: RunRequest) -> Answer:
    return brief("two" if "- [x] 1. build the page" in shown(request) else "one")


def act(request: RunRequest) -> Answer:
    number = "two" if "brief: two" in shown(request) else "one"
    if any(turn.outputs for turn in request.turns):
        return done(f"{number} is paid")
    return asking(call(2, "pay", words=number))


def check(request: RunRequest) -> Answer:
    if "brief: two" in shown(request):
        return verdict(technical=True, project=True, steps=(2,))
    return verdict(technical=True, project=False, steps=(1,), missing="the address")


PATHS: dict[str, dict[str, Play]] = {
    "low": {"plan_retrieval": judged("low")},
    "medium": {
        "plan_retrieval": judged("medium"),
        "action": act,
        "skill_critic": verdict(technical=True, project=True),
    },
    "high": {"planner": plan, "reasoning": next_brief, "action": act, "skill_critic": check},
}
CALLS = {"low": 2, "medium": 5, "high": 13}
PAID = {"low": 0, "medium": 1, "high": 2}


class Planned:
    """The world outside the process: the model and the tools."""

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self.model = PlanningModel(**PATHS[path])
        self.tools = ScriptedTools()

    def graphs(self, _world: World) -> Graphs:
        return build_graphs(parts_with(self._store, self.model, self.tools, permits={"pay": Permit.ALWAYS}))


async def play(store: Store, path: str, *cuts: Death) -> tuple[Planned, dict[str, Any], int]:
    """Run the turn to its end through these deaths. Return it, and the number of writes of its last process."""
    planned = Planned(store, path)

    def honest(wait: Wait, _world: World) -> dict[str, Any]:
        return {"decision": "answer", "text": SKIP if _was_paid(wait, planned) else RUN_AGAIN}

    scenario = Scenario(path, planned.graphs, [], {}, people=honest)
    stage = TurnStage(store=store, scenario=scenario, agents=[BUILDER], words=REQUEST)
    execution, writes = await outlive(stage, cuts)
    said = await store.read(lambda tx: [each.content for each in tx.messages.progress(stage.execution_id)])
    kept = ("plan", "prd", "brief", "rounds", "feedbacks", "stopped", "taint")
    left = {key: execution.state.get(key) for key in kept}
    return planned, left | {"said": said, "content": execution.result["content"]}, writes


def _was_paid(wait: Wait, planned: Planned) -> bool:
    """Return true if the payment that the question names was made."""
    return any(re.search(rf"\b{arguments['words']}\b", wait.prompt) for arguments in planned.tools.pay.calls)


@pytest.mark.parametrize("path", ["low", "medium"])
async def test_a_short_path_survives_a_cut_at_every_commit(either_store: Store, path: str) -> None:
    await survives(either_store, path)


async def test_the_long_path_survives_a_cut_at_every_commit(store: Store) -> None:
    await survives(store, "high")


async def survives(store: Store, path: str) -> None:
    planned, whole, writes = await play(store, path)
    assert len(planned.model.asked) == CALLS[path]
    for death in deaths(writes, store):
        planned, left, _ = await play(store, path, death)
        assert left == whole, death
        assert len(planned.model.asked) <= CALLS[path] + 1, death
        assert [each["words"] for each in planned.tools.pay.calls] == ["one", "two"][: PAID[path]], death
