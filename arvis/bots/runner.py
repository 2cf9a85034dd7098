"""Runs one bot, and restarts it after each failure. The pauses between restarts are so long that no platform treats the
restarts as an attack.

A platform may reject a valid token for some seconds. Three rejections within five minutes count as final: the owners
are notified, because a person has to act, and the pauses grow to ten minutes. Every other failure counts as temporary;
the owners are notified if the bot is down for five minutes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from arvis.bots.registry import BotSpec
from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import LeaseLost, StoreError
from arvis.domain.events import BotStateChanged
from arvis.domain.platforms import BotState
from arvis.messaging.owner_alerts import resolve_bot_problems
from arvis.ports.clock import Clock
from arvis.ports.connector import BotUp, Connector, TokenRefused
from arvis.ports.inbox import Inbox
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

log = logging.getLogger(__name__)

#: The pause (s) before the failed write of a state is repeated, and the time limit (s) for writing the last state of a
#: bot that stops.
_AGAIN = 5.0
_LAST = 2.0

#: The maximum number of characters of an error that are stored.
_MOST = 500


class TellOwner(Protocol):
    def __call__(self, tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str) -> object:
        """Notify the owner about a bot, at most once an hour for the same cause."""
        ...


@dataclass(frozen=True, slots=True)
class StatusReport:
    """A state of a bot to store. `identity` is the bot's account on the platform (None: unchanged). `notice` is a text
    for the owner ("": no notice). `cause` is a code for the cause of the notice."""

    state: BotState
    error: str = ""
    identity: BotUp | None = None
    notice: str = ""
    cause: str = "down"


class StatusReporter:
    """Stores the states of one bot in order, without repetitions, and only while this process has the lease of the
    bot."""

    def __init__(
        self, *, platform: str, name: str, store: Store, bus: EventBus, clock: Clock, holding: Holding, tell: TellOwner
    ) -> None:
        self._platform = platform
        self._name = name
        self._store = store
        self._bus = bus
        self._clock = clock
        self._holding = holding
        self._tell_owner = tell
        self._waiting: asyncio.Queue[StatusReport] = asyncio.Queue()
        self._written: StatusReport | None = None

    def note(self, report: StatusReport) -> None:
        """Queue a state for writing."""
        self._waiting.put_nowait(report)

    async def run(self) -> None:
        """Write the queued states until cancelled, or until another process has the lease of the bot."""
        with suppress(LeaseLost):
            while True:
                await self._surely(await self._waiting.get())

    async def last(self, report: StatusReport) -> None:
        """Write the queued states and then `report`. Stop after `_LAST` seconds and drop the states that are left. Call
        this only after `run` has ended."""
        self.note(report)
        with suppress(LeaseLost, StoreError, TimeoutError):
            async with asyncio.timeout(_LAST):
                while not self._waiting.empty():
                    await self._write(self._waiting.get_nowait())

    async def _surely(self, report: StatusReport) -> None:
        while True:
            try:
                await self._write(report)
            except StoreError as error:
                log.warning("the state of the bot %s of %s is not written: %s", self._name, self._platform, error.what)
                await self._clock.sleep(_AGAIN)
            else:
                return

    async def _write(self, report: StatusReport) -> None:
        """Store a state and publish its event, unless it equals the last stored state."""
        if report == self._written:
            return
        await self._store.write(self._put, report, self._clock.now())
        self._written = report
        self._bus.publish(BotStateChanged(self._platform, self._name, report.state))

    def _put(self, tx: Transaction, report: StatusReport, now: int) -> None:
        self._holding.check(tx)
        tx.bots.put_status(self._platform, self._name, report.state, error=report.error[:_MOST], now=now)
        if (up := report.identity) is not None:
            tx.bots.put_identity(self._platform, self._name, user_id=up.user_id, user_name=up.user_name, now=now)
        if report.notice:
            text = f"The bot {self._name} of {self._platform} {report.notice}"
            self._tell_owner(tx, self._platform, self._name, text, now, cause=report.cause)
        if report.state is BotState.RUNNING:
            resolve_bot_problems(tx, self._platform, self._name, now)


#: The first and the longest pause (s) after a failure. Each pause is twice as long as the one before it. After a bot
#: was up for `_LONGEST_PAUSE`, the first pause is used again.
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
#: The pauses (s) after the first two rejections of a token.
_PROBES = (5.0, 20.0)
#: The first and the longest pause (s) after a final rejection of a token.
_FIRST_REFUSED_PAUSE = 60.0
_LONGEST_REFUSED_PAUSE = 600.0
#: The number of rejections of a token that count as final, and the time (s) within which they must occur.
_REJECTIONS = 3
_REJECTION_WINDOW = 300.0

#: The owner is notified if a bot is down for `_DOWN` seconds. This is checked every `_LOOK` seconds.
_DOWN = 300.0
_LOOK = 30.0

#: The time limit (s) for the end of a connector that was cancelled.
_ENDING = 10.0


class BotRun:
    """The run of one bot, with restarts after failures. `random` returns numbers from 0 to 1 for the variation of
    pauses."""

    def __init__(
        self,
        *,
        spec: BotSpec,
        connector: Connector,
        inbox: Inbox,
        reporter: StatusReporter,
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        self._spec = spec
        self._connector = connector
        self._inbox = inbox
        self._reporter = reporter
        self._clock = clock
        self._random = random
        self._up_since: float | None = None
        self._down_since: float | None = clock.monotonic()
        self._trouble = "The platform does not respond."
        self._owner_notified = False
        #: The times of the newest rejections of the token, and the next pause (s) after a final rejection.
        self._rejections: list[float] = []
        self._refused_pause = _FIRST_REFUSED_PAUSE

    @property
    def up(self) -> bool:
        return self._up_since is not None

    async def run(self) -> None:
        """Run the bot until cancelled. Its connector passes events to the inbox."""
        watching = [asyncio.create_task(work) for work in (self._reporter.run(), self._watch())]
        self._reporter.note(StatusReport(BotState.STARTING))
        try:
            await self._run_again_and_again()
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            self._up_since = None
            await self._reporter.last(StatusReport(BotState.STOPPED))

    async def _run_again_and_again(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            failure = await self._run_once()
            if isinstance(failure, TokenRefused):
                await self._clock.sleep(self._rejected(failure))
                continue
            if self._up_since is not None and self._clock.monotonic() - self._up_since >= _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            self._fell(self._describe(failure))
            # The pause is multiplied by a number from 0.5 to 1.5, so that bots that failed at the same time do not
            # reconnect at the same time.
            await self._clock.sleep(pause * (0.5 + self._random()))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _run_once(self) -> BaseException:
        """Run the connector once, and return the error that ended it. Every exception is caught, because a connector
        may be third-party code."""
        running = asyncio.create_task(self._connector.run(self._inbox, self._rose))
        try:
            await asyncio.wait({running})
        finally:
            running.cancel()
            await asyncio.wait({running}, timeout=_ENDING)
        if running.cancelled():
            return ConnectionError("The connector was cancelled")
        return running.exception() or ConnectionError("The connector ended without an error")

    def _rejected(self, failure: TokenRefused) -> float:
        """Record that the platform rejected the token, and return the pause in seconds."""
        now = self._clock.monotonic()
        self._rejections = [at for at in self._rejections if now - at < _REJECTION_WINDOW] + [now]
        if len(self._rejections) < _REJECTIONS and self._refused_pause == _FIRST_REFUSED_PAUSE:
            self._fell(str(failure))
            return _PROBES[len(self._rejections) - 1]
        self._fell(str(failure), notice=f"cannot log in: {self._shown(str(failure))}")
        pause = self._refused_pause
        self._refused_pause = min(pause * 2, _LONGEST_REFUSED_PAUSE)
        return pause

    def _describe(self, failure: BaseException) -> str:
        """Return the error as text for people. Only the text of a plain `ConnectionError` is written for people. Log
        every other error, and return a general text."""
        if type(failure) is ConnectionError and str(failure):
            return str(failure)
        if isinstance(failure, OSError):
            log.warning("the bot %s cannot reach its platform: %r", self._spec.label, failure)
            return "Its platform cannot be reached"
        log.error("the bot %s stopped unexpectedly", self._spec.label, exc_info=failure)
        return "The bot stopped because of a defect in its connector. Arvis restarts it. The log contains the details"

    def _rose(self, identity: BotUp) -> None:
        if self._up_since is None:
            self._up_since = self._clock.monotonic()
        self._down_since, self._owner_notified = None, False
        self._refused_pause = _FIRST_REFUSED_PAUSE
        self._reporter.note(StatusReport(BotState.RUNNING, identity=identity))

    def _fell(self, trouble: str, *, notice: str = "") -> None:
        self._trouble = self._shown(trouble)
        self._up_since = None
        if self._down_since is None:
            self._down_since = self._clock.monotonic()
        self._owner_notified = self._owner_notified or notice != ""
        self._reporter.note(StatusReport(BotState.ERROR, self._trouble, notice=notice, cause="token"))

    async def _watch(self) -> None:
        """Notify the owner once about each outage that has lasted for `_DOWN` seconds."""
        while True:
            await self._clock.sleep(_LOOK)
            if self._owner_notified or self._down_since is None or self._clock.monotonic() - self._down_since < _DOWN:
                continue
            self._owner_notified = True
            notice = f"has been down for five minutes: {self._trouble}"
            self._reporter.note(StatusReport(BotState.ERROR, self._trouble, notice=notice))

    def _shown(self, text: str) -> str:
        return self._spec.without_secrets(text)
