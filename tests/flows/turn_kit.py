"""A real turn of a conversation that is killed at chosen commits, with a scripted model and tools that count their
calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from arvis.app.graphs import GraphParts
from arvis.domain.agents import Agent
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.jobs import Done, Job, JobKind
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.domain.money import SpendingLimits
from arvis.domain.runs import Account
from arvis.domain.tools import Permit
from arvis.graphs.agent.tools import ToolRules
from arvis.llm.budgets import BudgetSession
from arvis.llm.runner import Runner
from arvis.ports.store import Store, Transaction
from arvis.skills import Skill
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from arvis.tools.registry import Policy, Registry
from arvis.turns.turns import begin_turn
from tests.flows.engine_kit import Cut, Death, Scenario, Stage
from tests.flows.scripted import PlainBox, ScriptedProvider, ScriptedTools
from tests.flows.senses import Senses, file_rules


async def no_skills() -> list[Skill]:
    return []


def parts_with(
    store: Store,
    model: ScriptedProvider,
    tools: ScriptedTools,
    *,
    permits: Mapping[str, Permit],
    sessions: Path = Path("sessions"),
    skills: Callable[[], Awaitable[Sequence[Skill]]] = no_skills,
    **more: Any,
) -> GraphParts:
    """Return the parts from which graphs are built; `more` replaces some of them."""
    account = Account(name="main", provider="scripted", model="model")
    runner = Runner(
        providers=GivenProviders({"scripted": model}),
        accounts=lambda: [account],
        clock=SteppedClock(),
        new_id=lambda: uuid4().hex,
        random=lambda: 0.0,
    )
    rules = ToolRules(
        registry=Registry(sources=[tools]), permit=Policy(rules=permits).permit, sessions=sessions, secrets=PlainBox()
    )
    return GraphParts(
        store=store,
        runner=runner,
        budget=BudgetSession(store=store, limits=SpendingLimits, clock=SteppedClock()),
        tools=rules,
        skills=skills,
        new_id=lambda: uuid4().hex,
        files=file_rules(Senses(sessions), {}),
        **more,
    )


class TurnStage(Stage):
    """A turn in which Ann asks the first agent; deliveries count as sent."""

    def __init__(self, *, store: Store, scenario: Scenario, agents: Sequence[Agent], words: str = "Go") -> None:
        super().__init__(store=store, scenario=scenario)
        self._plain = store
        self._agents = agents
        self._words = words

    async def begin(self) -> None:
        self.execution_id = await self._plain.write(_ask, self._agents, self._words)

    def _worker(self, store: Store) -> Callable[[Job], Awaitable[None]]:
        work = super()._worker(store)

        async def take(job: Job) -> None:
            if job.kind is JobKind.DELIVER:
                await self._plain.write(lambda tx: tx.jobs.settle(job, Done(), 0))
            else:
                await work(job)

        return take


async def outlive(stage: Stage, cuts: Sequence[Death]) -> tuple[Execution, int]:
    """Return the execution at its end after these deaths, and the number of writes of its last process."""
    await stage.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await stage.play(death)
    writes = await stage.play()
    execution = await stage.execution()
    assert execution.status is ExecutionStatus.DONE, execution
    return execution, writes


def _ask(tx: Transaction, agents: Sequence[Agent], words: str) -> str:
    for agent in agents:
        (tx.agents.add if tx.agents.get(agent.id) is None else tx.agents.update)(agent, 0)
    address = Address("chat", "main", tx.new_id())
    principal = tx.principals.seen("chat", "ann", "Ann", PrincipalRole.OWNER, 0)
    incoming = IncomingMessage(address=address, sender=Sender("ann", "Ann"), content=words, event_id="1")
    message = begin_turn(tx, incoming, agent=agents[0], route="test", principal=principal, attachments=(), now=0)
    return message.execution_id or ""
