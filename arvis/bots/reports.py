"""How a bot is, on its way into the database: in order, each state once, and only while this process holds the bot."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.errors import LeaseLost, StoreError
from arvis.domain.events import BotStateChanged
from arvis.domain.platforms import BotState
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.connector import BotUp
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

log = logging.getLogger(__name__)

#: Seconds: between two tries to write, and for the last word of a bot that stops.
_AGAIN = 5.0
_LAST = 2.0

#: Characters of an error that are kept.
_MOST = 500


class TellOwner(Protocol):
    def __call__(self, tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str) -> object:
        """Say to the owner what became of a bot, once an hour about the same cause."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """`identity` is None where it is not known anew; `notice` is what the owner is told ("": nothing), `cause` one word for
    it."""

    state: BotState
    error: str = ""
    identity: BotUp | None = None
    notice: str = ""
    cause: str = "down"


class Reporter:
    """Writes what it is told of one bot."""

    def __init__(
        self, *, platform: str, name: str, store: Store, bus: Bus, clock: Clock, holding: Holding, tell: TellOwner
    ) -> None:
        self._platform = platform
        self._name = name
        self._store = store
        self._bus = bus
        self._clock = clock
        self._holding = holding
        self._tell = tell
        self._waiting: asyncio.Queue[Report] = asyncio.Queue()
        self._written: Report | None = None

    def note(self, report: Report) -> None:
        """Have it written soon."""
        self._waiting.put_nowait(report)

    async def run(self) -> None:
        """Write until cancelled, or until another process holds the bot."""
        with suppress(LeaseLost):
            while True:
                await self._surely(await self._waiting.get())

    async def last(self, report: Report) -> None:
        """Write what is left, and this, if it can be done at once. Not together with `run`."""
        self.note(report)
        with suppress(LeaseLost, StoreError, TimeoutError):
            async with asyncio.timeout(_LAST):
                while not self._waiting.empty():
                    await self._write(self._waiting.get_nowait())

    async def _surely(self, report: Report) -> None:
        while True:
            try:
                await self._write(report)
            except StoreError as error:
                log.warning("the state of the bot %s of %s is not written: %s", self._name, self._platform, error.what)
                await self._clock.sleep(_AGAIN)
            else:
                return

    async def _write(self, report: Report) -> None:
        """The row first, the event second."""
        if report == self._written:
            return
        await self._store.write(self._put, report, self._clock.now())
        self._written = report
        self._bus.publish(BotStateChanged(self._platform, self._name, report.state))

    def _put(self, tx: Transaction, report: Report, now: int) -> None:
        self._holding.check(tx)
        tx.bots.put_status(self._platform, self._name, report.state, error=report.error[:_MOST], now=now)
        if (up := report.identity) is not None:
            tx.bots.put_identity(self._platform, self._name, user_id=up.user_id, user_name=up.user_name, now=now)
        if report.notice:
            text = f"The bot {self._name} of {self._platform} {report.notice}"
            self._tell(tx, self._platform, self._name, text, now, cause=report.cause)
