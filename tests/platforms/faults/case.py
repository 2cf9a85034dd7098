"""One case of the matrix: a complete bot (supervision, inbox, queue, delivery, a real SQLite database), and a server
that gives some wrong answers.

People write before, during and after the wrong answers. This module records; `rules.py` judges.
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
from tests.platforms.faults.platforms import Platform, opened
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
    async with opened(case.platform) as platform, _bot(platform, record) as running:
        platform.wire.spoil(case.fault)
        await running.run(patience)
        record.hits, record.asked = platform.wire.hits, sorted(platform.wire.asked)
    record.seconds = time.monotonic() - started
    return record


@asynccontextmanager
async def _bot(platform: Platform, record: Record) -> AsyncIterator[_BotRun]:
    async with AsyncExitStack() as exits:
        folder = Path(exits.enter_context(TemporaryDirectory(prefix="arvis-faults-", ignore_cleanup_errors=True)))
        models = Models({_Model.name: _Model()}, [Account(name="main", provider=_Model.name, model="tokens")])
        database = Database(folder / "arvis.db", None, folder)
        app = await exits.enter_async_context(open_app(database, models=models))
        app.pace = Pace(first=0, characters=5, status=3600, status_every=0, look=0.02)
        running = _BotRun(platform, app, folder, record)
        exits.push_async_callback(running.stop)
        yield running


class _BotRun:
    def __init__(self, platform: Platform, app: AppHarness, folder: Path, record: Record) -> None:
        self._platform = platform
        self._app = app
        self._record = record
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = 0
        self._over = False
        clock = SystemClock()
        box = SealedBox(file=secrets_key_file(folder), given=None, tell=lambda _: None)
        values = {"name": "main", "agent": "helper", **platform.bot}
        places = dict.fromkeys(values, "config.yaml, line 1")
        entry = BotEntry(platform.platform, "main", f"bots.{platform.platform}[0]", values, places)
        self._registry = BotRegistry(configured=[entry], store=app.store, secrets=box)
        services = ConnectorServices(clock=clock, commands=_COMMANDS, max_parts=1)
        self._pool = ConnectorPool(registry=self._registry, maker=ConnectorFactory(services=services))
        parts = RunnerParts(
            inbox_for=lambda _: app.inbox, tell_owner=self._record_notice, owner="boot", node="node", random=lambda: 0.0
        )
        self._supervisor = BotSupervisor(
            registry=self._registry, fleet=self._pool, store=app.store, bus=app.bus, clock=clock, running=parts
        )
        app.bus.subscribe(BotStateChanged, lambda _: self._in_background(self._record_state()))

    async def run(self, patience: float) -> None:
        await self._start()
        await self._until_up(patience)
        tokens = [await self._write(way) for way in self._platform.writes]
        for act in [*self._platform.acts.values(), self._show_a_draft, self._check_setup]:
            self._in_background(self._do(act))
        await self._until_answered(tokens, patience)
        # A cut during a send would make its delivery unknown, which this case does not test.
        await self._until_idle(patience)
        await self._platform.drop()
        behind = [await self._write("in a room"), await self._write("alone")]
        await self._until_answered(behind, patience)
        await self._until_idle(patience)
        last = [await self._write("alone"), await self._write("in a room")]
        self._record.late.update(last)
        await self._until_answered(last, patience)
        await self._until_idle(patience)
        await self._record_rows()
        self._over = True
        self._record.shown += self._platform.texts()
        self._record.tokens = {token: self._times(token) for token in self._record.tokens}

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._app.queue.stop(0)
        await self._pool.close()

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
        connector = self._app.connectors[self._platform.platform, "main"]
        if isinstance(connector, ShowsDrafts):
            place, key = self._platform.place, self._app.new_id()
            shown = await connector.show_draft(place, key, "A draft", ())
            if shown is not None:
                await connector.change_draft(place, shown, "A longer draft", ())
                await connector.remove_draft(place, shown)

    async def _check_setup(self) -> None:
        """Check the setup, as `arvis doctor` does."""
        connector = self._app.connectors[self._platform.platform, "main"]
        if isinstance(connector, ChecksSetup):
            self._record.shown += [f"{finding.text} {finding.fix}" for finding in await connector.check()]

    async def _start(self) -> None:
        await self._registry.learn()
        await self._pool.open()
        for bot in self._pool.bots:
            assert bot.connector is not None
            self._app.connectors[bot.spec.key] = bot.connector
        ready = asyncio.Event()
        self._in_background(self._app.build_presence().run(ready.set))
        await ready.wait()
        began = time.monotonic()

        def record_up(event: BotStateChanged) -> None:
            if event.state is BotState.RUNNING and self._record.up_after is None:
                self._record.up_after = time.monotonic() - began

        self._app.bus.subscribe(BotStateChanged, record_up)
        self._in_background(self._supervisor.run(lambda: None))

    async def _write(self, way: str) -> str:
        self._numbers += 1
        token = f"t{self._numbers:04}"
        self._record.tokens[token] = 0
        await self._platform.writes[way](f"please answer {token}")
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
        return sum(token in text for text in self._platform.texts())

    async def _record_state(self) -> None:
        if self._over:
            return
        status = await self._status()
        self._record.states.append((status.state, status.error))

    async def _record_rows(self) -> None:
        await self._record_state()
        self._record.errors = [str(job.error) for job in await self._app.jobs() if job.error]

    async def _status(self) -> BotStatus:
        return next(iter(await self._app.store.read(lambda tx: tx.bots.statuses())))

    def _record_notice(self, tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str) -> None:
        self._record.notices.append(f"{cause}: {text}")

    def _in_background(self, work: object) -> None:
        self._tasks.append(asyncio.create_task(work))  # type: ignore[arg-type]
