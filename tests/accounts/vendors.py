"""The vendors of a drill: in this process on a clock that jumps, or as servers on the loopback interface."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

from aiohttp import web

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.testing.openai_server import Failure, Hang, ReceivedRequest, Reply
from tests.accounts.script import LATENCY, Script, State

#: The start of a drill on the wall clock, in ms.
_BEGIN = 1_800_000_000_000
#: The longest wait for an account that does not answer, in seconds.
IDLE = 120.0


class DrillClock:
    """A `Clock` that runs `scale` times as fast as the event loop."""

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = scale
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    def monotonic(self) -> float:
        return (self._loop.time() - self._began) * self._scale

    def now(self) -> int:
        return _BEGIN + round(self.monotonic() * 1000)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._scale)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when no callback is ready, so hours pass in seconds, in a fixed
    order.

    Its tasks may wait only for one another and for timers.
    """

    def __init__(self) -> None:
        self.ahead = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.ahead


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout:
            self._loop.ahead += timeout
        return found


class ScriptedVendor:
    """A `StreamingProvider` whose accounts behave as the script says."""

    name = "openai"

    def __init__(self, script: Script, clock: DrillClock) -> None:
        self._script = script
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self.stream(request, account, lambda _: None)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        at = self._clock.monotonic()
        match self._script.state(account.name, at):
            case State.LIMITED:
                left = self._script.ends(account.name, at) - at
                raise ProviderError(ProviderErrorKind.RATE_LIMIT, "slow down", retry_after=left)
            case State.FAILING:
                raise ProviderError(ProviderErrorKind.OVERLOADED, "500")
            case State.BAD_KEY:
                raise ProviderError(ProviderErrorKind.AUTH, "401")
            case State.HANGING:
                await self._clock.sleep(min(request.begin_within or IDLE, IDLE))
                raise ProviderError(ProviderErrorKind.TIMEOUT, "no answer", silent=True)
        await self._clock.sleep(LATENCY)
        on_text("yes")
        return RunResult("yes", account.model, account.provider, account.name, input_tokens=3, output_tokens=1)


@dataclass(frozen=True, slots=True)
class ScriptedServer:
    """A model server that behaves as the script says for one account.

    Its rate limits name their end in seconds or as a date.
    """

    script: Script
    account: str
    clock: DrillClock
    scale: float

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        at = self.clock.monotonic()
        match self.script.state(self.account, at):
            case State.LIMITED:
                left = self.script.ends(self.account, at) - at
                return await Failure(429, headers=self._wait(left)).answer(received)
            case State.FAILING:
                return await Failure(500).answer(received)
            case State.BAD_KEY:
                return await Failure(401, "invalid_api_key").answer(received)
            case State.HANGING:
                return await Hang().answer(received)
        return await Reply(pieces=("yes",), delay=LATENCY / self.scale).answer(received)

    def _wait(self, left: float) -> dict[str, str]:
        ends = self.clock.now() / 1000 + left
        if round(ends) % 2 and left > 2:
            now = self.clock.now() / 1000
            return {"Retry-After": formatdate(now + left + 0.5, usegmt=True), "Date": formatdate(now, usegmt=True)}
        return {"Retry-After": f"{left:.3f}"}
