"""Bots whose platform is the test: tests put the platform's next events into a queue."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arvis.bots.connectors import ConnectorFactory, ConnectorPool
from arvis.bots.registry import BotRegistry, BotSpec, seal_all
from arvis.bots.service import BotService
from arvis.bots.supervisor import BotSupervisor, InboxFor, RunnerParts
from arvis.bus import EventBus
from arvis.config.schema import BotEntry
from arvis.domain.events import BotsChanged, BotStateChanged
from arvis.domain.messages import Delivery
from arvis.domain.platforms import BotState, BotStatus, Part, Piece, StoredBot
from arvis.ports.clock import Clock
from arvis.ports.connector import (
    BadSetting,
    BotUp,
    Capabilities,
    Connector,
    ConnectorServices,
    Receipt,
    SetupFinding,
    WebhookAnswer,
)
from arvis.ports.inbox import Inbox
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.process.leases import Pace
from arvis.process.secrets import SealedBox, secrets_key_file
from tests.flows.web_script import ScriptedInbox, ScriptedInsights

ANN = BotUp("7", "Arvis")
TOKEN = "canary-token-5Lm31"


class Puppet:
    """A connector. Tests put the next event of its platform into `play`: a `BotUp`, an error, or None for an end."""

    def __init__(self, spec: BotSpec, opening: Sequence[BotUp | Exception | None]) -> None:
        self.platform = spec.platform
        self.name = spec.name
        self.values = dict(spec.values)
        self.capabilities = Capabilities()
        self.play: asyncio.Queue[BotUp | Exception | None] = asyncio.Queue()
        for event in opening:
            self.play.put_nowait(event)
        self.inbox: Inbox | None = None
        self.runs = 0
        self.running = False
        self.closed = False

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        self.inbox, self.running = inbox, True
        self.runs += 1
        try:
            while (event := await self.play.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                up(event)
        finally:
            self.running = False

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return [Piece(delivery.content)]

    async def send(self, part: Part) -> Receipt:
        return Receipt(part.key)

    async def close(self) -> None:
        assert not self.running, "a bot is closed after it stopped"
        self.closed = True


class HookPuppet(Puppet):
    """A puppet that accepts webhooks and reports the result of a check."""

    hooks: list[tuple[Mapping[str, str], bytes]]

    def __init__(self, spec: BotSpec, opening: Sequence[BotUp | Exception | None]) -> None:
        super().__init__(spec, opening)
        self.hooks = []

    async def webhook(self, headers: Mapping[str, str], body: bytes, inbox: Inbox) -> WebhookAnswer:
        if headers.get("x-signature") != "right":
            return WebhookAnswer(401, b"who are you?")
        self.hooks.append((headers, body))
        return WebhookAnswer(200, b'{"taken": true}', "application/json")

    async def check(self) -> Sequence[SetupFinding]:
        return [SetupFinding("warning", "A scope is missing", "Add it.")]


class Workshop(ConnectorFactory):
    """A factory of puppets. Bots of the platform `hooked` accept webhooks; a setting `bad` is refused."""

    def __init__(self) -> None:
        super().__init__(services=ConnectorServices(clock=SystemClock(), commands=()))
        self.made: list[Puppet] = []
        self.opening: Sequence[BotUp | Exception | None] = [ANN]

    async def make(self, spec: BotSpec) -> Connector:
        if "bad" in spec.values:
            raise BadSetting("bad", "is wrong", fix="Take it away.")
        kind = HookPuppet if spec.platform == "hooked" else Puppet
        self.made.append(kind(spec, self.opening))
        return self.made[-1]

    @property
    def last(self) -> Puppet:
        return self.made[-1]


@dataclass
class Troupe:
    """A running bot supervisor with its surroundings. `told` lists the cause and text of each notice to the owner."""

    store: Store
    bus: EventBus
    box: SecretBox
    workshop: Workshop
    book: BotRegistry
    fleet: ConnectorPool
    desk: BotService
    keeper: BotSupervisor
    task: asyncio.Task[None]
    told: list[tuple[str, str]] = field(default_factory=list)
    states: asyncio.Queue[BotStateChanged] = field(default_factory=asyncio.Queue)

    async def until(self, *states: BotState) -> None:
        """Wait until a bot has gone through these states, in order."""
        for state in states:
            async with asyncio.timeout(5):
                while (await self.states.get()).state is not state:
                    pass

    async def status(self, name: str = "main") -> BotStatus:
        found = await self.store.read(lambda tx: tx.bots.statuses())
        return next(status for status in found if status.name == name)

    async def put(self, bot: StoredBot) -> None:
        """Store a bot as another process would: first the row, then the notice."""
        await self.store.write(put_bot, bot)
        self.bus.publish(BotsChanged())

    def stored(self, name: str = "main", *, enabled: bool = True, at: int = 1, **settings: object) -> StoredBot:
        secrets = seal_all(self.box, {"token": TOKEN})
        return StoredBot(f"id-{name}", "plain", name, json.dumps(settings), secrets, enabled, 1, at)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def put_bot(tx: Transaction, bot: StoredBot) -> None:
    if not tx.bots.add(bot):
        tx.bots.update(bot)


def entry(name: str = "main", **values: object) -> BotEntry:
    places = {key: f"config.yaml, line {number}" for number, key in enumerate(values, 3)}
    return BotEntry("plain", name, "bots.plain[0]", {"name": name, **values}, places)


def simple_inbox(_fence: Callable[[Transaction], None]) -> Inbox:
    return ScriptedInbox(ScriptedInsights(), EventBus())


@contextlib.asynccontextmanager
async def playing(
    store: Store,
    folder: Path,
    *,
    configured: Sequence[BotEntry] = (),
    clock: Clock | None = None,
    workshop: Workshop | None = None,
    inbox_for: InboxFor = simple_inbox,
    owner: str = "boot-1",
    pace: Pace | None = None,
) -> AsyncIterator[Troupe]:
    bus, workshop, clock = EventBus(), workshop or Workshop(), clock or SystemClock()
    box = SealedBox(file=secrets_key_file(folder), given=None, tell=lambda _: None)
    told: list[tuple[str, str]] = []

    def tell(tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str) -> None:
        told.append((cause, text))

    book = BotRegistry(configured=configured, store=store, secrets=box)
    fleet = ConnectorPool(registry=book, maker=workshop)
    running = RunnerParts(inbox_for=inbox_for, tell_owner=tell, owner=owner, node=owner, random=lambda: 0.5, pace=pace)
    keeper = BotSupervisor(registry=book, fleet=fleet, store=store, bus=bus, clock=clock, running=running)
    desk = BotService(registry=book, maker=workshop, store=store, secrets=box, bus=bus, clock=clock)
    await book.learn()
    await fleet.open()
    up = asyncio.Event()
    task = asyncio.create_task(keeper.run(up.set))
    troupe = Troupe(store, bus, box, workshop, book, fleet, desk, keeper, task, told)
    bus.subscribe(BotStateChanged, troupe.states.put_nowait)
    try:
        await up.wait()
        yield troupe
    finally:
        await troupe.stop()
        await fleet.close()


class TurnedClock:
    """A clock that the test turns. `asleep` waits for a sleep whose length fits, and returns that length."""

    def __init__(self) -> None:
        self._seconds = 1_800_000_000.0
        self._sleepers: list[tuple[float, float, asyncio.Future[None]]] = []
        self._news = asyncio.Event()

    def now(self) -> int:
        return round(self._seconds * 1000)

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._seconds + seconds, seconds, woken))
        self._news.set()
        await woken

    async def asleep(self, fits: Callable[[float], bool]) -> float:
        async with asyncio.timeout(5):
            while not (found := [s for _, s, woken in self._sleepers if fits(s) and not woken.done()]):
                self._news.clear()
                await self._news.wait()
        return found[0]

    def turn(self, seconds: float) -> None:
        self._seconds += seconds
        for due, _, woken in self._sleepers:
            if due <= self._seconds and not woken.done():
                woken.set_result(None)
