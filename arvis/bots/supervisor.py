"""Starts, stops and restarts bots when the registry changes. Each bot runs in one process at a time. Every other
process has only the connector of the bot, and sends with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from arvis.bots.connectors import Bot, ConnectorPool
from arvis.bots.registry import BotRegistry, BotSpec, Key
from arvis.bots.runner import BotRun, StatusReport, StatusReporter, TellOwner
from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.domain.events import BotsChanged, NoticesMissed
from arvis.domain.platforms import BotState
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding, Pace, RoleLeaseManager

log = logging.getLogger(__name__)

#: The interval (s) at which the registry is read again on a shared database, because the notification of a change by
#: another process may be lost.
_LOOK_AGAIN = 30.0

#: Returns an inbox that calls the given function in every commit. The function raises `LeaseLost` if this process no
#: longer has the lease of the bot.
InboxFor = Callable[[Callable[[Transaction], None]], Inbox]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerParts:
    """The parts that a process needs to run bots. `owner` is the id of this start of the process, and `node` the id of
    its data folder. `random` returns numbers from 0 to 1."""

    inbox_for: InboxFor
    tell_owner: TellOwner
    owner: str
    node: str
    random: Callable[[], float]
    pace: Pace | None = None


class BotSupervisor:
    """The supervisor that runs bots under leases. `running` is None in a process that runs no bots."""

    def __init__(
        self,
        *,
        registry: BotRegistry,
        fleet: ConnectorPool,
        store: Store,
        bus: EventBus,
        clock: Clock,
        running: RunnerParts | None,
    ) -> None:
        self._registry = registry
        self._fleet = fleet
        self._store = store
        self._bus = bus
        self._clock = clock
        self._running = running
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._runs: dict[Key, BotRun] = {}

    def health(self) -> Mapping[str, bool]:
        """Return the bots that this process runs or waits to take over. The value of a bot is True if it is up in this
        process."""
        return {f"{platform}/{name}": self._is_up((platform, name)) for platform, name in self._tasks}

    async def run(self, up: Callable[[], None]) -> None:
        """Run the pool's bots and apply changes of the registry until cancelled. When this returns, all bots of this
        process have stopped."""
        with self._bus.signal(BotsChanged, NoticesMissed) as changed:
            try:
                for bot in self._fleet.bots:
                    await self._begin(bot)
                up()
                while True:
                    await self._follow()
                    await changed.wait(_LOOK_AGAIN if self._store.shared else None)
            finally:
                await asyncio.gather(*(self._end(key) for key in list(self._tasks)))

    async def _follow(self) -> None:
        """Read the registry again, and restart or remove the bots that have changed. If the database cannot be read,
        nothing changes."""
        try:
            await self._registry.learn()
        except StoreError as error:
            log.warning("the stored bots cannot be read: %s", error.what)
            return
        wanted = {spec.key: spec for spec in self._registry.specs}
        gone = [bot.spec.key for bot in self._fleet.bots if bot.spec.key not in wanted]
        known = {bot.spec.key: bot.spec for bot in self._fleet.bots}
        renewed = [spec for key, spec in wanted.items() if known.get(key) != spec]
        await asyncio.gather(*(self._remove(key) for key in gone), *(self._renew(spec) for spec in renewed))

    async def _renew(self, spec: BotSpec) -> None:
        await self._end(spec.key)
        await self._begin(await self._fleet.put(spec))

    async def _remove(self, key: Key) -> None:
        await self._end(key)
        await self._fleet.drop(key)

    async def _begin(self, bot: Bot) -> None:
        if (running := self._running) is None:
            return
        if not bot.spec.enabled:
            # The bot is off, but its stored state may be the last state that a crashed process wrote. So the state is
            # corrected.
            with suppress(StoreError):
                await self._store.write(_stopped, bot.spec.key, self._clock.now())
            return
        role = RoleLeaseManager(
            name=f"bot:{bot.spec.platform}:{bot.spec.name}",
            store=self._store,
            clock=self._clock,
            owner=running.owner,
            node=running.node,
            pace=running.pace,
        )
        task = asyncio.create_task(role.run(lambda holding: self._work(bot, running, holding)))
        task.add_done_callback(_tell_of_defect)
        self._tasks[bot.spec.key] = task

    async def _work(self, bot: Bot, running: RunnerParts, holding: Holding) -> None:
        """Run a bot while this process has its lease. If the bot has no connector, only store the reason."""
        reporter = StatusReporter(
            platform=bot.spec.platform,
            name=bot.spec.name,
            store=self._store,
            bus=self._bus,
            clock=self._clock,
            holding=holding,
            tell=running.tell_owner,
        )
        if bot.connector is None:
            notice = f"cannot be used: {bot.trouble}"
            await reporter.last(StatusReport(BotState.ERROR, bot.trouble, notice=notice, cause="setup"))
            return
        run = self._runs[bot.spec.key] = BotRun(
            spec=bot.spec,
            connector=bot.connector,
            inbox=running.inbox_for(holding.check),
            reporter=reporter,
            clock=self._clock,
            random=running.random,
        )
        await run.run()

    async def _end(self, key: Key) -> None:
        """Stop a bot in this process and release its lease, so that another process can take it over."""
        if (task := self._tasks.pop(key, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._runs.pop(key, None)

    def _is_up(self, key: Key) -> bool:
        run = self._runs.get(key)
        return run is not None and run.up


def _stopped(tx: Transaction, key: Key, now: int) -> None:
    tx.bots.put_status(*key, BotState.STOPPED, error="", now=now)


def _tell_of_defect(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (defect := task.exception()) is not None:
        log.error("a bot ended because of a defect", exc_info=defect)
