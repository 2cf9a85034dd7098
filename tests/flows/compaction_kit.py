"""A long conversation on a real store, a model with scripted summaries, and processes that may die at any commit."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast
from uuid import uuid4

from arvis.bus import EventBus
from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction
from arvis.domain.executions import Execution
from arvis.domain.jobs import Job
from arvis.domain.memory import Fact, principal_scope, room_scope
from arvis.domain.messages import (
    Address,
    Attachment,
    FileKind,
    MessageStatus,
    PastMessage,
    PrincipalRole,
    Role,
    StoredMessage,
)
from arvis.domain.money import SpendingLimits
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.engine.engine import Engine, nothing
from arvis.engine.graph import Graph
from arvis.graphs.compaction import scripts as rows
from arvis.graphs.compaction.graph import Compactor, Measures, compaction_graph
from arvis.graphs.model import ModelCaller
from arvis.llm.budgets import BudgetSession
from arvis.llm.runner import Runner
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from tests.flows.engine_kit import CuttingStore, Death
from tests.flows.scripted import Answer, ScriptedProvider

HELPER = Agent(
    id="agent-compacted", slug="compacted", name="Helper", model="scripted/own", fallbacks=("scripted/other",)
)
#: The limits of a small model: 2,000 tokens, of which 1,500 are usable.
CEILING, USABLE = 2000, 1500
ALL = 1000
TURNS = 40

#: Facts so different that none counts as a duplicate.
FACTS = (
    "[MEMORY:user_preference] Ann wants short answers without any greeting.",
    "[MEMORY:project_context] The heating pump in the cellar was replaced by a plumber.",
    "[MEMORY:learned_pattern] Backups before midnight collide with the nightly import.",
    "[MEMORY:sticky] Never call the customer on a Friday afternoon.",
    "[MEMORY:important_event] Their daughter starts school next September in Lisbon.",
)
_FIRST = re.compile(r"Question (\d+)")


def estimate(text: str) -> int:
    return math.ceil(len(text) / 4)


MEASURES = Measures(ceiling=lambda _: CEILING, usable=lambda _: USABLE, counter=lambda *_: estimate)


ROUNDS = (PastRound("", (PastCall("look", {"words": "all"}, Excerpt("Table. " * 40, 280)),)),)
NOTES = Attachment("notes.md", "text/markdown", 9, "1" * 64, kind=FileKind.DOCUMENT, content="A note. " * 30)


class Summarist(ScriptedProvider):
    """A model that answers memory and summary prompts. `during` runs before each answer. `flush` and `summary` replace
    the default replies. `refuse` returns an error for a request, or None."""

    def __init__(self) -> None:
        super().__init__()
        self.during: Callable[[bool], Awaitable[None]] | None = None
        self.flush: Answer | None = None
        self.summary: Answer | None = None
        self.refuse: Callable[[RunRequest], Answer | None] = lambda _: None

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        flushes = request.system.startswith("You keep the memory")
        if self.during is not None:
            await self.during(flushes)
        first = int(_FIRST.findall(request.turns[-1].content)[0])
        said = self.flush or FACTS[first % len(FACTS)] if flushes else self.summary or f"What was said from {first} on."
        self.script.append(self.refuse(request) or said)
        return await super().stream(request, account, on_text)


@dataclass
class Town:
    """One conversation, and processes that compact it one after the other."""

    store: Store
    model: Summarist = field(default_factory=Summarist)
    clock: SteppedClock = field(default_factory=SteppedClock)
    summarizer: str | None = None
    measures: Measures = MEASURES
    conversation: str = ""
    address: Address = field(default_factory=lambda: Address("chat", "main", uuid4().hex))
    #: The sent text of every message in an ended turn, by id.
    said: dict[str, str] = field(default_factory=dict)
    boots: int = 0
    #: The role of the people, and true if the conversation is a direct chat.
    role: PrincipalRole = PrincipalRole.OWNER
    direct: bool = False
    #: True if every third turn has a file and a tool call.
    rich: bool = False

    async def begin(self, turns: int = TURNS, people: tuple[str, ...] = ("ann",), *, queued: bool = True) -> None:
        self.conversation = await self.store.write(_open, self.address, self.direct)
        for number in range(1, turns + 1):
            await self.talk(number, people[number % len(people)])
        if queued:
            assert await self.enqueue()

    async def talk(self, number: int, person: str = "ann") -> None:
        """Add one more ended turn."""
        words = f"Question {number} {uuid4().hex}\nжизнь 漢字 🙂 " + "words " * 20
        said = await self.store.write(
            _end_turn,
            self.conversation,
            self.address,
            words,
            self._user(person),
            role=self.role,
            rich=self.rich and number % 3 == 1,
        )
        self.said |= said

    def _user(self, person: str) -> str:
        """Return an id that is unique to this town."""
        return f"{person}-{self.address.channel}"

    async def enqueue(self) -> bool:
        return await self.store.write(_enqueue, self.conversation, self.clock.now())

    async def play(self, death: Death | None = None, *, graph: Graph | None = None) -> int:
        """Run one process until no job is left, or to its death, and return the number of its writes."""
        self.boots += 1
        boot = f"{self.conversation}-{self.boots}"
        await self.store.write(queue.rescue, "node", boot, self.clock.now())
        cutting = CuttingStore(self.store, death)
        engine = self._engine(cast(Store, cutting), graph)
        while jobs := await self.store.write(_claim, boot, self.clock.now()):
            for job in jobs:
                await engine.advance(job, completion=nothing)
        return cutting.writes

    def compactor(self, store: Store, *, after: str | None = None) -> Compactor:
        account = Account(name="main", provider="scripted", model="model")
        runner = Runner(
            providers=GivenProviders({"scripted": self.model}),
            accounts=lambda: [account],
            clock=self.clock,
            new_id=lambda: uuid4().hex,
            random=lambda: 0.0,
        )
        budget = BudgetSession(store=store, limits=SpendingLimits, clock=self.clock)
        return Compactor(
            store=store,
            runner=runner,
            caller=ModelCaller(runner=runner, budget=budget),
            measures=self.measures,
            new_id=lambda: uuid4().hex,
            summarizer=self.summarizer,
            after=after,
        )

    def _engine(self, store: Store, graph: Graph | None) -> Engine:
        known = [compaction_graph(self.compactor(store)), *([graph] if graph else [])]
        graphs = {each.name: each for each in known}
        return Engine(store=store, graphs=graphs, clock=self.clock, bus=EventBus(), new_id=lambda: uuid4().hex)

    # -- stored data ---------------------------------------------------------------------------------------

    async def history(self) -> Sequence[PastMessage]:
        return await self.store.read(lambda tx: tx.messages.history(self.conversation, ALL))

    async def summaries(self) -> Sequence[Compaction]:
        return await self.store.read(lambda tx: tx.compactions.summaries(self.conversation, ALL))

    async def facts(self) -> Mapping[str, list[str]]:
        """Return the stored facts, each with its changes."""
        return await self.store.read(_facts, self.address, [self._user("ann"), self._user("bob")])

    async def execution(self) -> Execution:
        """Return the execution that compacted last."""
        [*_, newest] = await self.summaries()
        found = await self.store.read(lambda tx: tx.executions.get(newest.execution_id))
        assert found is not None
        return found

    async def check(self) -> None:
        """Check that each message of an ended turn is either unchanged in the history or in exactly one summary."""
        history, summaries = await self.history(), await self.summaries()
        shown = {message.id: message.content for message in history}
        assert shown.items() <= self.said.items()
        missing = self.said.keys() - shown.keys()
        found = await self.store.read(lambda tx: [tx.messages.get(each) for each in sorted(missing)])
        turns = [message.turn for message in found if message is not None and message.turn is not None]
        assert len(turns) == len(missing)
        for turn in turns:
            assert len([one for one in summaries if one.first_turn <= turn <= one.last_turn]) == 1, turn
        assert sum(one.messages_before - one.messages_after for one in summaries) == len(missing)
        assert all(one.summary for one in summaries)

    async def restore_all(self) -> None:
        """Restore all messages, and check that they equal the sent texts, in order."""
        for one in await self.summaries():
            await self.store.write(rows.restore_messages, one.id, self.clock.now())
        assert [(each.id, each.content) for each in await self.history()] == list(self.said.items())


def _open(tx: Transaction, address: Address, direct: bool) -> str:
    if tx.agents.get(HELPER.id) is None:
        tx.agents.add(HELPER, 0)
    return tx.conversations.open(HELPER.id, address, 0, direct=direct).id


def _end_turn(
    tx: Transaction,
    conversation_id: str,
    address: Address,
    words: str,
    user: str,
    *,
    role: PrincipalRole,
    rich: bool = False,
) -> dict[str, str]:
    execution, turn = tx.new_id(), tx.conversations.next_turn(conversation_id, 0)
    name = user.partition("-")[0].title()
    principal = tx.principals.seen("chat", user, name, role, 0)
    asked = StoredMessage(
        id=tx.new_id(),
        conversation_id=conversation_id,
        role=Role.USER,
        content=words,
        tokens=estimate(words),
        status=MessageStatus.ANSWERED,
        address=address,
        principal_id=principal.id,
        user_name=name,
        agent_id=HELPER.id,
        execution_id=execution,
        turn=turn,
        created_at=0,
    )
    answer = f"Answer to {words}"
    reply = replace(
        asked, id=tx.new_id(), role=Role.ASSISTANT, content=answer, tokens=estimate(answer), principal_id=None,
        user_name="Helper", position=1, reply_to=asked.id,
    )  # fmt: skip
    tx.messages.add(asked)
    tx.messages.add(replace(reply, rounds=ROUNDS) if rich else reply)
    if rich:
        tx.files.add(asked.id, [NOTES])
    return {asked.id: words, reply.id: answer}


def _enqueue(tx: Transaction, conversation_id: str, now: int) -> bool:
    conversation = tx.conversations.get(conversation_id)
    assert conversation is not None
    return rows.enqueue(tx, conversation, HELPER, now)


def _claim(tx: Transaction, boot: str, now: int) -> list[Job]:
    return tx.jobs.claim(Slots(8, 7, 8), boot, "node", now, now + 30_000)


def _facts(tx: Transaction, address: Address, users: list[str]) -> dict[str, list[str]]:
    people = [tx.principals.find("chat", user) for user in users]
    scopes = [room_scope(address), *(principal_scope(each.id) for each in people if each is not None)]
    found: list[Fact] = tx.facts.of(HELPER.id, scopes, limit=ALL)
    return {fact.content: [each.change for each in tx.facts.changes(fact.id, limit=ALL)] for fact in found}
