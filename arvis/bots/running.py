"""One bot at work: run again after each failure, with pauses that no platform takes for a storm.

A refused token is not tried again for ten minutes, for only a person can mend it; anything else is weather. Who owns the
daemon hears of a refused token at once, and of weather that lasts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from arvis.bots.book import BotSpec
from arvis.bots.reports import Report, Reporter
from arvis.domain.platforms import BotState
from arvis.ports.clock import Clock
from arvis.ports.connector import BotUp, Connector, TokenRefused
from arvis.ports.inbox import Inbox

#: Seconds. A bot that was up for the longest pause begins again with the first one.
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_REFUSED_PAUSE = 600.0

#: Seconds for which a bot may be down before its owner is told, and between two looks at that.
_DOWN = 300.0
_LOOK = 30.0

#: Seconds in which a connector must have ended once it is told to.
_ENDING = 10.0


class BotRun:
    """`random` gives numbers from 0 to 1 for the jitter of pauses."""

    def __init__(
        self,
        *,
        spec: BotSpec,
        connector: Connector,
        inbox: Inbox,
        reporter: Reporter,
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
        self._trouble = "it gives no sign of life"
        self._told = False

    @property
    def up(self) -> bool:
        return self._up_since is not None

    async def run(self) -> None:
        """Bring events to the inbox until cancelled."""
        watching = [asyncio.create_task(work) for work in (self._reporter.run(), self._watch())]
        self._reporter.note(Report(BotState.STARTING))
        try:
            await self._run_again_and_again()
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            self._up_since = None
            await self._reporter.last(Report(BotState.STOPPED))

    async def _run_again_and_again(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            failure = await self._run_once()
            if isinstance(failure, TokenRefused):
                self._fell(str(failure), notice=f"cannot log in: {self._shown(str(failure))}")
                await self._clock.sleep(_REFUSED_PAUSE)
                continue
            if self._up_since is not None and self._clock.monotonic() - self._up_since >= _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            self._fell(f"{type(failure).__name__}: {failure}")
            # Half to one and a half times as long: bots that fell together do not come back together.
            await self._clock.sleep(pause * (0.5 + self._random()))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _run_once(self) -> BaseException:
        """What it ended with. A connector may be anybody's code: whatever it raises is an end and no more."""
        running = asyncio.create_task(self._connector.run(self._inbox, self._rose))
        try:
            await asyncio.wait({running})
        finally:
            running.cancel()
            await asyncio.wait({running}, timeout=_ENDING)
        if running.cancelled():
            return ConnectionError("it was cut off")
        return running.exception() or ConnectionError("it ended by itself")

    def _rose(self, identity: BotUp) -> None:
        if self._up_since is None:
            self._up_since = self._clock.monotonic()
        self._down_since, self._told = None, False
        self._reporter.note(Report(BotState.RUNNING, identity=identity))

    def _fell(self, trouble: str, *, notice: str = "") -> None:
        self._trouble = self._shown(trouble)
        self._up_since = None
        if self._down_since is None:
            self._down_since = self._clock.monotonic()
        self._told = self._told or notice != ""
        self._reporter.note(Report(BotState.ERROR, self._trouble, notice=notice, cause="token"))

    async def _watch(self) -> None:
        """Tell of an outage once it has lasted, and once."""
        while True:
            await self._clock.sleep(_LOOK)
            if self._told or self._down_since is None or self._clock.monotonic() - self._down_since < _DOWN:
                continue
            self._told = True
            notice = f"has been out of reach for five minutes: {self._trouble}"
            self._reporter.note(Report(BotState.ERROR, self._trouble, notice=notice))

    def _shown(self, text: str) -> str:
        return self._spec.without_secrets(text)
