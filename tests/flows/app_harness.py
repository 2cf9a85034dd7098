"""The complete path of a message in one process: real store, queue, engine, flow and bus; only the model and the chat
platform are scripted."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from arvis.app.graphs import GraphParts, build_graphs, drawn_graphs
from arvis.bus import EventBus
from arvis.config.sections import Routing
from arvis.delivery import Deliverer, LateReplies, Pace, Presence
from arvis.domain.agents import Agent
from arvis.domain.errors import DiskLow
from arvis.domain.events import Changed, Delta, Event, JobSettled, MessageReceived, StatusChanged, TypingRequested
from arvis.domain.jobs import Job, JobKind
from arvis.domain.messages import Address, Delivery, DeliveryState, IncomingMessage, MessageStatus, Sender, Upload
from arvis.domain.money import SpendingLimits
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.domain.runs import Account
from arvis.domain.tools import Permit
from arvis.engine import lifecycle
from arvis.engine.engine import Engine
from arvis.engine.graph import Graph
from arvis.graphs.agent.outgoing import OutgoingRules
from arvis.graphs.agent.tools import ToolRules
from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService
from arvis.llm.budgets import BudgetSession
from arvis.llm.model_limits import ModelLimits
from arvis.llm.prices import Prices
from arvis.llm.runner import Runner
from arvis.message_flow import MessageFlow
from arvis.operations import StoreOperations
from arvis.plugins import NoPlugins, Plugins
from arvis.ports.connector import Connector
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.inbox import Received
from arvis.ports.insights import Insights, MessageTimeline
from arvis.ports.provider import Provider
from arvis.ports.transcriber import Speaker, Transcriber
from arvis.process.clock import IdMaker, SystemClock
from arvis.queue.outages import RetryingStore
from arvis.queue.queue import Handler, Queue, RetryPolicy
from arvis.routing import Router
from arvis.services.people import new_code
from arvis.skills import Skill
from arvis.store.open import Database, open_store
from arvis.testing.providers import GivenProviders
from arvis.tools.read_again import PastTurns
from arvis.tools.registry import Policy, Registry
from tests.conformance.databases import migrated
from tests.flows.app_parts import MovableClock, ObservedStore, add_agents
from tests.flows.scripted import (
    BOT,
    PATIENCE_SECONDS,
    PLATFORM,
    PlainBox,
    RecordingConnector,
    ScriptedProvider,
    ScriptedTools,
)
from tests.flows.senses import Senses, file_rules

T = TypeVar("T")

UNIT_SECONDS = 60
HELPER = Agent(id="agent-helper", slug="helper", name="Helper")


@dataclass(frozen=True, slots=True)
class Models:
    """The models that replace the scripted one; `windows` are the context windows of the configuration."""

    providers: Mapping[str, Provider]
    accounts: Sequence[Account]
    windows: Mapping[str, int] = field(default_factory=dict)


class AppHarness:
    """An app with all parts that a test needs, and helpers for frequent steps."""

    def __init__(
        self,
        *,
        store: ObservedStore,
        insights: Insights,
        graphs: Iterable[Graph],
        safe_resend: bool,
        workers: int,
        lease_seconds: float,
        limits: SpendingLimits,
        prices: Prices | None,
        models: Models | None,
        connector: RecordingConnector | None,
        senses: Senses,
        plugins: Plugins | None = None,
        continuations: int = 0,
    ) -> None:
        self.senses = senses
        self._continuations = continuations
        self.plugins = plugins or NoPlugins()
        self.store = store
        self._limits, self._prices = limits, prices
        self.full = False
        self.insights = insights
        self.clock = MovableClock()
        self.new_id = IdMaker(clock=self.clock, random_bits=secrets.randbits)
        self.bus = EventBus()
        self.provider = ScriptedProvider()
        scripted = Account(name="main", provider="scripted", model="model")
        self._models = models or Models({"scripted": self.provider}, [scripted])
        self.tools = ScriptedTools()
        self.rules: dict[str, Permit] = {}
        self.ruled: set[str] = set()
        self.known_hosts: set[str] = set()
        self.begin_login: Callable[[str], Awaitable[str | None]] | None = None
        self.handlers: dict[JobKind, Handler] = {}  # instead of the flow, from the next restart on
        self.skills: list[Skill] = []
        self.connector = connector or RecordingConnector(safe_resend=safe_resend)
        self.connectors: dict[tuple[str, str], Connector] = {(PLATFORM, BOT): self.connector}
        self.late_replies = LateReplies()
        self.pace = Pace(first=0, characters=5, status=3600, status_every=0, look=0.01)
        self.presence: Presence | None = None
        self.events: list[Event] = []
        self.told = asyncio.Event()
        for kind in (MessageReceived, TypingRequested, StatusChanged, Delta):
            self.bus.subscribe(kind, self._listen)
        self._patient = RetryingStore(store=store, clock=self.clock)
        self.flow = self._flow(graphs)
        self.inbox = self.inbox_with(InboxRules(commands=self.plugins.hints))
        self.operations = StoreOperations(store=store, bus=self.bus, clock=self.clock)
        self._workers, self._lease_seconds = workers, lease_seconds
        self.queue = self._queue("boot-0")
        self._boots = 0
        self.bus.subscribe(JobSettled, lambda event: self.queue.abandon(event.job_id))

    def _admit(self) -> None:
        if self.full:
            raise DiskLow("There is little room left", why="a test said so", fix="set `full` to False")

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        self.told.set()

    def _flow(self, graphs: Iterable[Graph]) -> MessageFlow:
        self.runner = Runner(
            providers=GivenProviders(self._models.providers),
            accounts=lambda: self._models.accounts,
            clock=self.clock,
            new_id=self.new_id,
            random=lambda: 0.0,
            prices=self._prices,
            limits=ModelLimits(windows=self._models.windows),
            sees=lambda _provider, _model: self.senses.sighted,
        )
        tools = ToolRules(
            registry=Registry(sources=[self.tools, PastTurns(store=self.store)]),
            permit=Policy(rules=self.rules).permit,
            outgoing=OutgoingRules(
                hosts=self.known_hosts,
                private_hosts=(),
                ruled=lambda tool: tool.spec.name in self.ruled,
                links_bare_hosts=lambda place: place.channel != "plain",
            ),
            sessions=self.senses.sessions,
            secrets=PlainBox(),
            begin_login=self._begin_login,
        )
        self.budget = BudgetSession(store=self.store, limits=lambda: self._limits, clock=self.clock)
        parts = GraphParts(
            store=self.store,
            runner=self.runner,
            budget=self.budget,
            tools=tools,
            skills=self._current_skills,
            new_id=self.new_id,
            files=file_rules(self.senses, self.connectors),
            speaker=self.senses.speaker,
            plugins=self.plugins,
            continuations=self._continuations,
            insights=self.insights,
        )
        engine = Engine(
            store=self._patient,
            graphs={**build_graphs(parts), **{graph.name: graph for graph in graphs}},
            clock=self.clock,
            bus=self.bus,
            new_id=self.new_id,
            drawn=drawn_graphs(parts).find,
        )
        return MessageFlow(store=self.store, engine=engine, bus=self.bus, clock=self.clock)

    async def _begin_login(self, server: str) -> str | None:
        return None if self.begin_login is None else await self.begin_login(server)

    def inbox_with(self, rules: InboxRules, meaning: MeaningOf = no_meaning) -> InboxService:
        return InboxService(
            admit=self._admit,
            store=self.store,
            router=Router(rules=Routing, owners={PLATFORM: {"owner"}}),
            bus=self.bus,
            clock=self.clock,
            rules=rules,
            new_code=lambda: new_code(secrets.randbits),
            meaning=meaning,
        )

    async def _current_skills(self) -> list[Skill]:
        return self.skills

    def _queue(self, boot: str) -> Queue:
        deliverer = Deliverer(
            store=self._patient,
            connector_of=lambda address: self.connectors.get((address.platform, address.connector)),
            clock=self.clock,
            bus=self.bus,
            late_replies=self.late_replies,
            release=self._release,
        )
        flow_kinds = set(JobKind) - {JobKind.DELIVER}
        handlers: dict[JobKind, Handler] = {**dict.fromkeys(flow_kinds, self.flow), JobKind.DELIVER: deliverer}
        return Queue(
            store=self.store,
            clock=self.clock,
            policy=RetryPolicy(3, UNIT_SECONDS * 1000, lambda: 0.0),
            handlers={**handlers, **self.handlers},
            expire=lifecycle.expire,
            rescued=self.budget.book_left,
            workers=self._workers,
            delivery_workers=2,
            lease_seconds=self._lease_seconds,
            boot=boot,
            node="node",
            sent=deliverer.show,
            changed=self._announce,
        )

    def _announce(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.bus.publish(Changed(topic))

    async def _release(self, execution_id: str, address: Address) -> None:
        if self.presence is not None:
            await self.presence.release(execution_id, address)

    def build_presence(self) -> Presence:
        """Build the part that shows typing and drafts, and use it from now on."""
        self.presence = Presence(
            store=self.store,
            bus=self.bus,
            connector_of=lambda address: self.connectors.get((address.platform, address.connector)),
            clock=self.clock,
            pace=self.pace,
        )
        return self.presence

    # -- start and restart ---------------------------------------------------------------------------------

    async def start(self) -> None:
        await self.queue.start()

    async def restart(self, *, drain_seconds: float = 0.0) -> None:
        """Drain, and start again as another boot."""
        await self.queue.stop(drain_seconds)
        self._boots += 1
        self.queue = self._queue(f"boot-{self._boots}")
        await self.queue.start()

    async def pass_time(self, seconds: float) -> None:
        """Advance the clock and let the queue see what is due."""
        self.clock.put_forward(seconds)
        self.queue.look()

    # -- actions of people ---------------------------------------------------------------------------------

    def message(self, text: str, *, user: str = "ann", channel: str = "room", **changes: Any) -> IncomingMessage:
        changes.setdefault("event_id", self.new_id())
        changes.setdefault("assigned_agent", "helper")
        changes.setdefault("is_direct", True)
        if changes.pop("forwarded", False):
            changes["quotations"] = (Quotation(QuotationKind.FORWARD, Writer.OTHER, author="Mallory"),)
        return IncomingMessage(
            address=Address(PLATFORM, BOT, channel), sender=Sender(user, user.title()), content=text, **changes
        )

    async def say(self, text: str, **more: Any) -> Received:
        return await self.inbox.receive(self.message(text, **more))

    async def ask(self, text: str, **more: Any) -> MessageTimeline:
        """Send a message and wait for the answer."""
        received = await self.say(text, **more)
        return await self.until_status(received.message_id, MessageStatus.ANSWERED)

    # -- waiting -------------------------------------------------------------------------------------------

    async def until(self, check: Callable[[], Awaitable[T | None]]) -> T:
        """Return the result of `check` once it is true; it is called after every commit."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                self.store.changed.clear()
                if (found := await check()) is not None:
                    return found
                await self.store.changed.wait()

    async def until_status(self, message_id: str, *statuses: MessageStatus) -> MessageTimeline:
        async def check() -> MessageTimeline | None:
            timeline = await self.timeline(message_id)
            return timeline if timeline.status in statuses else None

        return await self.until(check)

    async def until_noted(self, message_id: str, step: str, times: int = 1) -> MessageTimeline:
        """Wait until the timeline has this step this many times."""

        async def check() -> MessageTimeline | None:
            timeline = await self.timeline(message_id)
            return timeline if steps_of(timeline).count(step) >= times else None

        return await self.until(check)

    async def until_sent(self, number: int, channel: str = "room") -> list[str]:
        """Wait until this many deliveries to a channel are recorded as sent, and return all texts that reached the
        platform."""

        async def check() -> list[str] | None:
            sent = [one for one in await self.deliveries(channel) if one.state is DeliveryState.SENT]
            return self.connector.texts if len(sent) >= number else None

        return await self.until(check)

    async def until_idle(self) -> None:
        """Wait until no job waits or runs."""

        async def check() -> bool | None:
            counts = await self.insights.counts(self.clock.now())
            return None if any(status != "failed" for _, status in counts.jobs) else True

        await self.until(check)

    async def until_told(self, message_id: str, *statuses: str) -> None:
        """Wait until the bus has published this many events about a message, and check that they are exactly these,
        in this order."""
        while len(self.statuses(message_id)) < len(statuses):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.told.wait()
                self.told.clear()
        assert self.statuses(message_id) == list(statuses)

    # -- stored data ---------------------------------------------------------------------------------------

    async def timeline(self, message_id: str) -> MessageTimeline:
        timeline = await self.insights.message(message_id)
        assert timeline is not None, f"no message {message_id}"
        return timeline

    async def deliveries(self, channel: str = "room") -> list[Delivery]:
        """Return the deliveries in the order of their numbers."""
        return list(await self.insights.deliveries_after(Address(PLATFORM, BOT, channel), 0, 100))

    async def jobs(self, kind: str | None = None) -> list[Job]:
        """Return the jobs, newest first."""
        return list((await self.insights.jobs(kind=kind, status=None, agent=None, limit=100, cursor=None)).items)

    def statuses(self, message_id: str) -> list[str]:
        """Return the statuses that the bus published about a message, in order."""
        changes = [event for event in self.events if isinstance(event, StatusChanged)]
        return [change.status.value for change in changes if change.message_id == message_id]


@asynccontextmanager
async def open_app(
    database: Database,
    *,
    agents: Iterable[Agent] = (HELPER,),
    graphs: Iterable[Graph] = (),
    safe_resend: bool = True,
    workers: int = 4,
    lease_seconds: float = 30,
    started: bool = True,
    limits: SpendingLimits | None = None,
    prices: Prices | None = None,
    models: Models | None = None,
    connector: RecordingConnector | None = None,
    transcriber: Transcriber | None = None,
    speaker: Speaker | None = None,
    plugins: Plugins | None = None,
    continuations: int = 0,
) -> AsyncIterator[AppHarness]:
    await asyncio.to_thread(migrated, database, (clock := SystemClock()).now())
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    async with open_store(database, boot="app", new_id=new_id) as (store, insights):
        app = AppHarness(
            store=ObservedStore(store),
            insights=insights,
            graphs=graphs,
            safe_resend=safe_resend,
            workers=workers,
            lease_seconds=lease_seconds,
            limits=limits or SpendingLimits(),
            prices=prices,
            models=models,
            connector=connector,
            senses=Senses(database.folder / "sessions", transcriber, speaker),
            plugins=plugins,
            continuations=continuations,
        )
        await store.write(add_agents, list(agents), clock.now())
        if started:
            await app.start()
        try:
            yield app
        finally:
            await app.queue.stop(0)


def upload(name: str, data: bytes) -> Upload:
    return Upload(name, "text/plain", data)


def steps_of(timeline: MessageTimeline) -> list[str]:
    return [step.step for step in timeline.steps]


def agent_with(**changes: Any) -> Agent:
    return replace(HELPER, **changes)
