"""One case of the matrix: a complete bot (supervision, inbox, queue, delivery, a real SQLite database), and a server
that gives some wrong answers.

People write before, during and after the wrong answers. This module records; `judging.py` judges.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from arvis.bots.connectors import ConnectorFactory, ConnectorPool
from arvis.bots.registry import BotRegistry
from arvis.bots.supervisor import BotSupervisor, RunnerParts
from arvis.config.schema import BotEntry
from arvis.delivery import Pace
from arvis.domain.events import BotStateChanged
from arvis.domain.platforms import BotState, BotStatus
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.connector import ChecksSetup, CommandHint, ConnectorServices, SendError, ShowsDrafts
from arvis.ports.store import Transaction
from arvis.process.clock import SystemClock
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, Models, open_app
from tests.flows.scripted import said
from tests.platforms.faults.scenes import Scene, scene
from tests.platforms.faults.wire import Fault

_TOKEN = re.compile(r"t\d{4}")
_COMMANDS = (CommandHint("help", "What I can do"), CommandHint("new", "Begin a new conversation"))
_LOOK_SECONDS = 0.05
#: Characters of a long answer, which fits into one message on no platform.
_LONG = 15_000


@dataclass(frozen=True, slots=True)
class Case:
    """A case. The first wrong answer can come before the bot has started."""

    platform: str
    fault: Fault

    @property
    def label(self) -> str:
        how = "after" if self.fault.carried_out else "instead"
        return f"{self.platform} · {self.fault.call} · {self.fault.kind.value} · {how}"


@dataclass(slots=True)
class Record:
    """The record of a case."""

    case: Case
    hits: int = 0
    #: Token of each person's message -> number of answers.
    tokens: dict[str, int] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)
    #: The states of the bot in order, with their errors.
    states: list[tuple[BotState, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    #: Seconds; None if the bot never came up.
    up_after: float | None = None
    seconds: float = 0.0


class _Model:
    """Answers every text with its token, in two streamed pieces, so that a draft is shown."""

    name = "tokens"

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self.stream(request, account, lambda _: None)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        words = request.turns[-1].content
        tokens = _TOKEN.findall(words)
        begins, ends = f"Answer to {' and '.join(tokens)}: ", "here it is."
        if "long" in words:
            ends = "word " * (_LONG // 5)
        on_text(begins)
        await asyncio.sleep(0.1)
        on_text(ends)
        return replace(said(begins + ends), provider=self.name)


async def play(case: Case, patience: float) -> Record:
    """Play a case. Each wait may take `patience` seconds."""
    record = Record(case)
    started = time.monotonic()
    async with scene(case.platform) as world, _bot(world, record) as player:
        world.wire.spoil(case.fault)
        await player.perform(patience)
        record.hits, record.asked = world.wire.hits, sorted(world.wire.asked)
    record.seconds = time.monotonic() - started
    return record


@asynccontextmanager
async def _bot(world: Scene, record: Record) -> AsyncIterator[_Player]:
    async with AsyncExitStack() as exits:
        folder = Path(exits.enter_context(TemporaryDirectory(prefix="arvis-faults-", ignore_cleanup_errors=True)))
        models = Models({_Model.name: _Model()}, [Account(name="main", provider=_Model.name, model="tokens")])
        database = Database(folder / "arvis.db", None, folder)
        app = await exits.enter_async_context(open_app(database, models=models))
        app.pace = Pace(first=0, characters=5, status=3600, status_every=0, look=0.02)
        player = _Player(world, app, folder, record)
        exits.push_async_callback(player.stop)
        yield player


class _Player:
    def __init__(self, world: Scene, app: AppHarness, folder: Path, record: Record) -> None:
        self._world = world
        self._app = app
        self._record = record
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = 0
        self._over = False
        clock = SystemClock()
        box = SealedBox(file=secrets_key_file(folder), given=None, tell=lambda _: None)
        values = {"name": "main", "agent": "helper", **world.bot}
        places = dict.fromkeys(values, "config.yaml, line 1")
        entry = BotEntry(world.platform, "main", f"bots.{world.platform}[0]", values, places)
        self._book = BotRegistry(configured=[entry], store=app.store, secrets=box)
        services = ConnectorServices(clock=clock, commands=_COMMANDS, max_parts=1)
        self._fleet = ConnectorPool(registry=self._book, maker=ConnectorFactory(services=services))
        running = RunnerParts(
            inbox_for=lambda _: app.inbox, tell_owner=self._tell, owner="boot", node="node", random=lambda: 0.0
        )
        self._keeper = BotSupervisor(
            registry=self._book, fleet=self._fleet, store=app.store, bus=app.bus, clock=clock, running=running
        )
        app.bus.subscribe(BotStateChanged, lambda _: self._keep(self._note_state()))

    async def perform(self, patience: float) -> None:
        await self._start()
        await self._until_up(patience)
        tokens = [await self._write(way) for way in self._world.says]
        for act in [*self._world.acts.values(), self._show_a_draft, self._examine]:
            self._keep(self._do(act))
        await self._until_answered(tokens, patience)
        # A cut during a send would make its delivery unknown, which this case does not test.
        await self._until_idle(patience)
        await self._world.drop()
        behind = [await self._write("in a room"), await self._write("alone")]
        await self._until_answered(behind, patience)
        await self._until_idle(patience)
        last = [await self._write("alone"), await self._write("in a room")]
        self._record.late.update(last)
        await self._until_answered(last, patience)
        await self._until_idle(patience)
        await self._note_rows()
        self._over = True
        self._record.shown += self._world.texts()
        self._record.tokens = {token: self._times(token) for token in self._record.tokens}

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._app.queue.stop(0)
        await self._fleet.close()

    async def _do(self, act: Callable[[], Awaitable[object]]) -> None:
        """Run an act. An unexpected exception counts as a text that its caller would see."""
        try:
            await act()
        except (SendError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001  (each is reported)
            self._record.shown.append(f"raised: {error!r}")

    async def _show_a_draft(self) -> None:
        """Show a draft, change it and remove it."""
        connector = self._app.connectors[self._world.platform, "main"]
        if isinstance(connector, ShowsDrafts):
            place, key = self._world.place, self._app.new_id()
            shown = await connector.show_draft(place, key, "A draft", ())
            if shown is not None:
                await connector.change_draft(place, shown, "A longer draft", ())
                await connector.remove_draft(place, shown)

    async def _examine(self) -> None:
        """Check the setup, as `arvis doctor` does."""
        connector = self._app.connectors[self._world.platform, "main"]
        if isinstance(connector, ChecksSetup):
            self._record.shown += [f"{finding.text} {finding.fix}" for finding in await connector.check()]

    async def _start(self) -> None:
        await self._book.learn()
        await self._fleet.open()
        for bot in self._fleet.bots:
            assert bot.connector is not None
            self._app.connectors[bot.spec.key] = bot.connector
        ready = asyncio.Event()
        self._keep(self._app.build_presence().run(ready.set))
        await ready.wait()
        began = time.monotonic()

        def risen(event: BotStateChanged) -> None:
            if event.state is BotState.RUNNING and self._record.up_after is None:
                self._record.up_after = time.monotonic() - began

        self._app.bus.subscribe(BotStateChanged, risen)
        self._keep(self._keeper.run(lambda: None))

    async def _write(self, way: str) -> str:
        self._numbers += 1
        token = f"t{self._numbers:04}"
        self._record.tokens[token] = 0
        await self._world.says[way](f"please answer {token}")
        return token

    async def _until_up(self, patience: float) -> None:
        await self._until(lambda: self._record.up_after is not None, patience)

    async def _until_answered(self, tokens: list[str], patience: float) -> None:
        await self._until(lambda: all(map(self._times, tokens)), patience)

    async def _until(self, true: Callable[[], bool], patience: float) -> None:
        end = time.monotonic() + patience
        while not true() and time.monotonic() < end:  # noqa: ASYNC110  (the platform's state has no event)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _until_idle(self, patience: float) -> None:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            counts = await self._app.insights.counts(self._app.clock.now())
            if all(status == "failed" for _, status in counts.jobs):
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def _times(self, token: str) -> int:
        return sum(token in text for text in self._world.texts())

    async def _note_state(self) -> None:
        if self._over:
            return
        status = await self._status()
        self._record.states.append((status.state, status.error))

    async def _note_rows(self) -> None:
        await self._note_state()
        self._record.errors = [str(job.error) for job in await self._app.jobs() if job.error]

    async def _status(self) -> BotStatus:
        return next(iter(await self._app.store.read(lambda tx: tx.bots.statuses())))

    def _tell(self, tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str) -> None:
        self._record.notices.append(f"{cause}: {text}")

    def _keep(self, work: object) -> None:
        self._tasks.append(asyncio.create_task(work))  # type: ignore[arg-type]
