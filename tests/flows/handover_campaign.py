"""Random towns of agents that hand over and delegate: `python -m tests.flows.handover_campaign --graphs 10000`.

Each town gets one question and works, without queue workers, until no job is left. Every question must end within its
limits, and no agent may run that the asking person cannot use. The seed is printed; it reproduces the towns.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from arvis.app.graphs import GraphParts, build_graphs
from arvis.bus import EventBus
from arvis.domain.agents import AgentStatus
from arvis.domain.errors import ExecutionError
from arvis.domain.executions import Execution
from arvis.domain.jobs import Done, Fail, Job, JobKind, JobResult
from arvis.domain.messages import FINAL_STATUSES, IncomingMessage, Sender
from arvis.domain.money import Budget, Pot, SpendingLimits
from arvis.domain.runs import Account
from arvis.engine import lifecycle
from arvis.engine.engine import Engine
from arvis.graphs.agent.tools import ToolRules
from arvis.llm.budgets import BudgetSession
from arvis.llm.prices import Price, Prices
from arvis.llm.runner import Runner
from arvis.message_flow import MessageFlow
from arvis.ports.changes import Delegation
from arvis.ports.insights import Insights
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from arvis.queue.queue import RetryPolicy
from arvis.skills import Skill
from arvis.store.open import Database, bring_up_to_date, open_store
from arvis.store.sqlite.errors import ALONE
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from arvis.tools.registry import Policy, Registry
from arvis.turns.turns import begin_turn
from tests.conformance.databases import NOW, id_maker
from tests.flows.handover_kit import Babbler, Record, Town, build, complaints
from tests.flows.scripted import PlainBox, ScriptedTools
from tests.flows.senses import Senses, file_rules

#: The number of towns that share one database.
PER_DATABASE = 200
#: A question that needs more jobs never ends: 21 turns of 63 speakers with a few jobs each need fewer.
MOST_JOBS = 20_000
SLOTS = Slots(8, 7, 8)
BOOT = "boot"


async def no_skills() -> list[Skill]:
    return []


class Drive:
    """One town on a store that it shares with other towns."""

    def __init__(self, *, store: Store, insights: Insights, town: Town) -> None:
        self._store = store
        self._insights = insights
        self._town = town
        self._clock = SteppedClock()
        self.model = Babbler(town)
        self._flow = self._build()
        self._policy = RetryPolicy(3, 1000, lambda: 0.0)

    def _build(self) -> MessageFlow:
        clock, store = self._clock, self._store
        account = Account(name="main", provider="scripted", model="model")
        runner = Runner(
            providers=GivenProviders({"scripted": self.model}),
            accounts=lambda: [account],
            clock=clock,
            new_id=lambda: uuid4().hex,
            random=lambda: 0.0,
            prices=Prices(own={"model": Price(1, 0)}),
        )
        tools = ToolRules(
            registry=Registry(sources=[ScriptedTools()]),
            permit=Policy(rules={}).permit,
            sessions=Path("sessions"),
            secrets=PlainBox(),
        )
        parts = GraphParts(
            store=store,
            runner=runner,
            budget=BudgetSession(store=store, limits=lambda: SpendingLimits(per_turn=self._town.limit), clock=clock),
            tools=tools,
            skills=no_skills,
            new_id=lambda: uuid4().hex,
            files=file_rules(Senses(Path("sessions")), {}),
        )
        engine = Engine(store=store, graphs=build_graphs(parts), clock=clock, bus=EventBus(), new_id=id_maker())
        return MessageFlow(store=store, engine=engine, bus=EventBus(), clock=clock)

    async def run(self) -> Record:
        root_id = await self._store.write(_ask, self._town, self._clock.now())
        jobs, idle = 0, 0
        while idle < 2 and jobs < MOST_JOBS:
            claimed = await self._store.write(_claim, self._clock.now())
            for job in claimed:
                await self._work(job)
            jobs += len(claimed)
            idle = 0 if claimed else idle + 1
            if not claimed:
                # A day later, unanswered approvals expire.
                await self._clock.sleep(90_000)
                await self._store.write(queue.wake, lifecycle.expire, self._clock.now())
        tasks = list(await self._insights.delegations(root_id))
        record = await self._store.read(_look, root_id, tasks)
        await self._store.write(_leave, self._town, self._clock.now())
        return record

    async def _work(self, job: Job) -> None:
        if job.kind is JobKind.DELIVER:
            await self._store.write(lambda tx: tx.jobs.settle(job, Done(), self._clock.now()))
            return
        try:
            verdict: JobResult = await self._flow.run(job)
        except ExecutionError as broken:
            verdict = Fail("broken", broken.what)
        if not isinstance(verdict, Done):
            outcome = self._policy.scheduled(job, verdict, self._clock.now())
            await self._store.write(queue.postpone, job, outcome, self._flow.postponed, self._clock.now())


def _ask(tx: Transaction, town: Town, now: int) -> str:
    for agent in town.agents:
        tx.agents.add(agent, now)
    person, address = town.person, replace(town.person.address, thread=town.first.slug)
    sender = Sender(person.user_id, person.user_id, paired=person.paired, agents=person.agents)
    principal = tx.principals.seen(address.platform, f"{person.user_id}", person.user_id, person.role, now)
    incoming = IncomingMessage(address=address, sender=sender, content="Go", event_id=town.first.slug, is_direct=True)
    asked = begin_turn(tx, incoming, agent=town.first, route="test", principal=principal, attachments=(), now=now)
    return asked.execution_id or ""


def _claim(tx: Transaction, now: int) -> list[Job]:
    return tx.jobs.claim(SLOTS, BOOT, "node", now, now + 30_000)


def _leave(tx: Transaction, town: Town, now: int) -> None:
    """Archive the agents, so that the next town does not see them."""
    for agent in town.agents:
        tx.agents.update(replace(agent, status=AgentStatus.ARCHIVED), now)


def _look(tx: Transaction, root_id: str, tasks: list[Delegation]) -> Record:
    ids = [root_id, *(task.execution_id for task in tasks)]
    turns = [execution for each in ids if (execution := tx.executions.get(each)) is not None]
    children = {turn.id: tx.executions.children_of(turn.id) for turn in turns}
    everything: list[Execution] = [*turns, *(child for some in children.values() for child in some)]
    ended = [message for turn in turns for message in tx.messages.of_turn(turn.id) if message.status in FINAL_STATUSES]
    return Record(
        turns=turns,
        children=children,
        tasks=tasks,
        spent=tx.spending.get(Pot(Budget.TURN, "", root_id)).micros,
        live=sum(execution.status in lifecycle.LIVE for execution in everything),
        answers=len(ended),
    )


@dataclass(slots=True)
class Sums:
    """The sums and maxima of a campaign."""

    broken: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)

    def add(self, town: Town, record: Record, calls: int) -> None:
        wrong = complaints(town, record)
        if wrong:
            self.broken.append(f"{town.first.slug}: {'; '.join(wrong)}")
        talks = [turn.state["progress"] for turn in record.turns if "progress" in turn.state]
        figures = {
            "calls": calls,
            "hops": max((talk["hops"] for talk in talks), default=0),
            "speakers": max((len(some) for some in record.children.values()), default=0),
            "tasks": len(record.tasks),
            "depth": max((task.depth for task in record.tasks), default=0),
            "spent": record.spent,
        }
        self.counts.update(figures | {"towns": 1, "talks": len(talks)})
        self.most |= Counter(figures)
        if town.limit is not None:
            self.most |= Counter(overspent=record.spent - town.limit)


async def play(folder: Path, numbers: range, seed: int, sums: Sums, tell: Callable[[str], None] = print) -> None:
    """Run the towns with these numbers on databases in this folder."""
    for start in range(numbers.start, numbers.stop, PER_DATABASE):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            database = Database(Path(place) / "arvis.db", None, Path(place))
            bring_up_to_date(database, NOW)
            async with open_store(database, boot=BOOT, new_id=id_maker(), emergency=ALONE) as (store, insights):
                for number in range(start, min(start + PER_DATABASE, numbers.stop)):
                    town = build(number, seed)
                    drive = Drive(store=store, insights=insights, town=town)
                    sums.add(town, await drive.run(), len(drive.model.asked))
        tell(f"{sums.counts['towns']} towns, {len(sums.broken)} broken; at most {dict(sums.most)}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flows.handover_campaign", description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    sums, started = Sums(), time.monotonic()
    tell = partial(print, flush=True)
    tell(f"seed {options.seed}")
    asyncio.run(play(options.folder, range(options.first, options.first + options.graphs), options.seed, sums, tell))
    for line in sums.broken[:20]:
        tell(line)
    tell(f"in all {dict(sums.counts)}, in {time.monotonic() - started:.0f} s")
    return 1 if sums.broken else 0


if __name__ == "__main__":
    sys.exit(main())
