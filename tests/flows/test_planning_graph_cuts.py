"""Planning runs, one of them twice through most of the nodes, killed at each of their commits: the end is the same, nothing that
must not be repeated is, and the model is asked at most once more than was needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from arvis.agents.tool_node import ToolRules
from arvis.agents.turns import begin_turn
from arvis.app.graphs import GraphParts, build_graphs
from arvis.domain.executions import ExecutionStatus, Wait
from arvis.domain.jobs import Done, Job, JobKind
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.domain.money import SpendingLimits
from arvis.domain.runs import Account, RunRequest
from arvis.domain.tools import Permit
from arvis.graph.questions import RUN_AGAIN, SKIP
from arvis.ports.store import Store, Transaction
from arvis.runner import Runner
from arvis.runner.purse import Purse
from arvis.skills import Skill
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from arvis.tools.policy import Policy
from arvis.tools.registry import Registry
from tests.flows.engine_kit import Cut, Death, Graphs, Scenario, Stage, World, deaths
from tests.flows.planning_kit import PLANNER, REQUEST, PlanningModel, Play, brief, done, judged, prd, shown, verdict
from tests.flows.scripted import Answer, PlainBox, ScriptedTools, asking, call
from tests.flows.senses import Senses, file_rules


def plan(request: RunRequest) -> Answer:
    """Looks first; the second plan knows what the critic missed."""
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


async def no_skills() -> list[Skill]:
    return []


class Planned:
    """What lives outside of the process: the model and the tools."""

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self.model = PlanningModel(**PATHS[path])
        self.tools = ScriptedTools()

    def graphs(self, _world: World) -> Graphs:
        account = Account(name="main", provider="scripted", model="model")
        runner = Runner(
            providers=GivenProviders({"scripted": self.model}),
            accounts=lambda: [account],
            clock=SteppedClock(),
            new_id=lambda: uuid4().hex,
            random=lambda: 0.0,
        )
        rules = ToolRules(
            registry=Registry(sources=[self.tools]),
            permit=Policy(rules={"pay": Permit.ALWAYS}).permit,
            sessions=Path("sessions"),
            secrets=PlainBox(),
        )
        return build_graphs(
            GraphParts(
                store=self._store,
                runner=runner,
                purse=Purse(store=self._store, limits=SpendingLimits(), clock=SteppedClock()),
                tools=rules,
                skills=no_skills,
                new_id=lambda: uuid4().hex,
                files=file_rules(Senses(Path("sessions")), {}),
            )
        )


class TurnStage(Stage):
    """A real turn of a conversation; its deliveries are taken as sent."""

    def __init__(self, *, store: Store, scenario: Scenario) -> None:
        super().__init__(store=store, scenario=scenario)
        self._plain = store

    async def begin(self) -> None:
        self.execution_id = await self._plain.write(_ask)

    def _worker(self, store: Store) -> Callable[[Job], Awaitable[None]]:
        work = super()._worker(store)

        async def take(job: Job) -> None:
            if job.kind is JobKind.DELIVER:
                await self._plain.write(lambda tx: tx.jobs.settle(job, Done(), 0))
            else:
                await work(job)

        return take


def _ask(tx: Transaction) -> str:
    if tx.agents.get(PLANNER.id) is None:
        tx.agents.add(PLANNER, 0)
    address = Address("chat", "main", tx.new_id())
    principal = tx.principals.seen("chat", "ann", "Ann", PrincipalRole.OWNER, 0)
    incoming = IncomingMessage(address=address, sender=Sender("ann", "Ann"), content=REQUEST, event_id="1")
    message = begin_turn(tx, incoming, agent=PLANNER, route="test", principal=principal, attachments=(), now=0)
    return message.execution_id or ""


async def play(store: Store, path: str, *cuts: Death) -> tuple[Planned, dict[str, Any], int]:
    """The turn to its end after these deaths: what is left of it, and how many writes its last process made."""
    planned = Planned(store, path)

    def honest(wait: Wait, _world: World) -> dict[str, Any]:
        return {"decision": "answer", "text": SKIP if _was_paid(wait, planned) else RUN_AGAIN}

    stage = TurnStage(store=store, scenario=Scenario(path, planned.graphs, [], {}, people=honest))
    await stage.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await stage.play(death)
    writes = await stage.play()
    execution = await stage.execution()
    assert execution.status is ExecutionStatus.DONE, execution
    said = await store.read(lambda tx: [each.content for each in tx.messages.progress(stage.execution_id)])
    kept = ("plan", "prd", "brief", "rounds", "feedbacks", "stopped", "taint")
    left = {key: execution.state.get(key) for key in kept}
    return planned, left | {"said": said, "content": execution.result["content"]}, writes


def _was_paid(wait: Wait, planned: Planned) -> bool:
    """The question tells what it is about: which of the payments."""
    return any(str(arguments["words"]) in wait.prompt for arguments in planned.tools.pay.calls)


@pytest.mark.parametrize("path", PATHS)
async def test_every_path_survives_a_cut_at_every_commit(either_store: Store, path: str) -> None:
    planned, whole, writes = await play(either_store, path)
    assert len(planned.model.asked) == CALLS[path]
    # A commit whose end nobody heard of is the same on both; on the slower one it is left out.
    for death in [each for each in deaths(writes) if not (each.committed and either_store.shared)]:
        planned, left, _ = await play(either_store, path, death)
        assert left == whole, death
        assert len(planned.model.asked) <= CALLS[path] + 1, death
        assert [each["words"] for each in planned.tools.pay.calls] == ["one", "two"][: PAID[path]], death
