"""A turn with four calls of tools, killed before and after each of its commits: no finished call is made again, and the
model is asked at most once more than was needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from arvis.agents.tool_node import ToolRules
from arvis.agents.turns import begin_turn
from arvis.app.graphs import GraphParts, build_graphs
from arvis.domain.agents import Agent
from arvis.domain.executions import ExecutionStatus, Wait
from arvis.domain.jobs import Done, Job, JobKind
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.domain.money import SpendingLimits
from arvis.domain.runs import Account, RunRequest, RunResult
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
from tests.flows.scripted import Answer, PlainBox, ScriptedProvider, ScriptedTools, asking, call
from tests.flows.senses import Senses, file_rules

TOOLS = ("look", "srv.dig", "pay", "rm")
HELPER = Agent(id="agent-errand", slug="errand", name="Helper", tools=TOOLS)
#: Two rounds of tools and an answer.
CALLS_NEEDED = 3


class Model(ScriptedProvider):
    """Answers by what it is shown, not by how often it was asked: a process that died has asked in vain."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[Answer] = [
            asking(call(1, "look", words="a"), call(2, "srv__dig", words="b"), call(3, "pay", words="c")),
            asking(call(4, "rm", words="d")),
            "All done.",
        ]

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        rounds = sum(bool(turn.calls) for turn in request.turns)
        self.script.append(self.replies[rounds])
        return await super().stream(request, account, on_text)


async def no_skills() -> list[Skill]:
    return []


class Errand:
    """What lives outside of the process: the model and the tools."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.model = Model()
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
            permit=Policy(rules={"exec": Permit.ASK, "pay": Permit.ALWAYS}).permit,
            sessions=Path("sessions"),
            secrets=PlainBox(),
        )
        purse = Purse(store=self._store, limits=SpendingLimits(), clock=SteppedClock())
        return build_graphs(
            GraphParts(
                store=self._store,
                runner=runner,
                purse=purse,
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
    if tx.agents.get(HELPER.id) is None:
        tx.agents.add(HELPER, 0)
    address = Address("chat", "main", tx.new_id())
    principal = tx.principals.seen("chat", "ann", "Ann", PrincipalRole.OWNER, 0)
    incoming = IncomingMessage(address=address, sender=Sender("ann", "Ann"), content="Go", event_id="1")
    message = begin_turn(tx, incoming, agent=HELPER, route="test", principal=principal, attachments=(), now=0)
    return message.execution_id or ""


def honest(errand: Errand, wait: Wait) -> dict[str, Any]:
    """Allows what is asked, and says of an interrupted call whether it happened."""
    if wait.subject is None:
        return {"decision": "approve"}
    tool = errand.tools.pay if "pay" in wait.subject else errand.tools.rm
    return {"decision": "answer", "text": SKIP if tool.calls else RUN_AGAIN}


async def play(store: Store, *cuts: Death) -> tuple[Errand, int]:
    """The turn to its end after these deaths; how many writes its last process made."""
    errand = Errand(store)
    scenario = Scenario("tools", errand.graphs, [], {}, people=lambda wait, _: honest(errand, wait))
    stage = TurnStage(store=store, scenario=scenario)
    await stage.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await stage.play(death)
    writes = await stage.play()
    execution = await stage.execution()
    assert execution.status is ExecutionStatus.DONE
    assert execution.result["content"] == "All done."
    return errand, writes


def made(errand: Errand) -> dict[str, int]:
    tools = errand.tools
    return {tool.spec.name: len(tool.calls) for tool in (tools.look, tools.dig, tools.pay, tools.rm)}


async def test_a_turn_with_four_calls_survives_a_cut_at_every_commit(either_store: Store) -> None:
    errand, writes = await play(either_store)
    assert made(errand) == dict.fromkeys(TOOLS, 1)
    assert len(errand.model.asked) == CALLS_NEEDED
    for death in deaths(writes):
        errand, _ = await play(either_store, death)
        times = made(errand)
        assert (times["pay"], times["rm"]) == (1, 1), death
        # What may be repeated is, when the process died before it could say that it was done.
        assert times["look"] <= 2, death
        assert times["srv.dig"] <= 2, death
        assert len(errand.model.asked) <= CALLS_NEEDED + 1, death


async def test_what_was_kept_is_not_done_again(store: Store) -> None:
    """Each call that was told to the model before the death was made exactly once."""
    _, writes = await play(store)
    for death in deaths(writes):
        errand, _ = await play(store, death)
        seen = [request for request in errand.model.asked if any(turn.outputs for turn in request.turns)]
        assert [output.content for turn in seen[0].turns for output in turn.outputs if not output.failed][:2] == [
            "look of a",
            "srv.dig of b",
        ]
