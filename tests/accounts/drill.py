"""The drill: turns arrive while accounts fail as a script says, and each turn's answer is compared with its earliest
possible time.

Provider, runner, verdicts and retries are the real ones. In place of the queue, a turn sleeps until the time that its
verdict names.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from arvis.domain.jobs import Done, Fail, JobResult, Retry, Snooze
from arvis.domain.runs import Account, CallTimeouts, Cooldown, RunRequest, Turn
from arvis.llm.attempts import RunFailed, Trail
from arvis.llm.runner import Runner
from arvis.message_flow import result_of
from arvis.net.client import open_http_client
from arvis.ports.provider import Provider
from arvis.providers.openai import create
from arvis.testing.openai_server import openai_server
from arvis.testing.providers import GivenProviders, provider_services
from tests.accounts.script import LATENCY, Script, State, write_script
from tests.accounts.vendors import IDLE, DrillClock, JumpingLoop, ScriptedServer, ScriptedVendor

#: The percentiles in the report.
SHARES = (0.5, 0.9, 0.95, 0.99, 1.0)
NAMES = ("one", "two", "three")
FIRST_BYTE = 20.0
#: The attempts of a job, and the base of the wait between them, in seconds.
_ATTEMPTS, _UNIT = 3, 60.0
_REQUEST = RunRequest(system="", turns=(Turn("user", "Hello"),), model=None, agent_name="Helper")


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn that has ended."""

    at: float  # when it came, in seconds of the drill
    waited: float
    extra: float | None  # seconds beyond the earliest possible answer; None if the turn failed
    reason: str = ""


@dataclass(slots=True)
class Report:
    """All turns of a drill."""

    turns: list[Ended] = field(default_factory=list)

    @property
    def failed(self) -> list[Ended]:
        return [turn for turn in self.turns if turn.extra is None]

    def percentile(self, share: float) -> float:
        """Return this percentile of the extra waits of the answered turns, in seconds."""
        extras = sorted(turn.extra for turn in self.turns if turn.extra is not None)
        return extras[min(len(extras) - 1, int(share * len(extras)))]

    @property
    def held_up(self) -> int:
        """Count the turns that no account could have answered when they came."""
        return sum(turn.waited - (turn.extra or 0) > LATENCY + 0.1 for turn in self.turns)

    def figures(self) -> dict[str, float]:
        """Return the counts, and the percentiles of the seconds beyond the earliest possible answer."""
        shares = {f"extraSecondsP{share * 100:g}": round(self.percentile(share), 2) for share in SHARES}
        return {"turns": len(self.turns), "failed": len(self.failed), "heldUp": self.held_up, **shares}


class Drill:
    """`turns` questions, `rate` of them per second of the drill."""

    def __init__(
        self, script: Script, runner: Runner, clock: DrillClock, *, turns: int, rate: float, seed: object
    ) -> None:
        self._script = script
        self._runner = runner
        self._clock = clock
        self._turns = turns
        self._rate = rate
        self._chance = random.Random(f"{seed}:turns")
        self._report = Report()
        self._recovered = asyncio.Event()

    async def run(self) -> Report:
        async with asyncio.TaskGroup() as group:
            people = [asyncio.create_task(self._person(name)) for name in self._script.accounts]
            at = 0.0
            for _ in range(self._turns):
                at += self._chance.expovariate(self._rate)
                await self._clock.sleep(max(0.0, at - self._clock.monotonic()))
                group.create_task(self._turn())
        for person in people:
            person.cancel()
        return self._report

    async def _turn(self) -> None:
        came, attempts = self._clock.monotonic(), 0
        could = self._script.answerable(came) + LATENCY
        while True:
            verdict = await self._ask()
            match verdict:
                case Done():
                    now = self._clock.monotonic()
                    self._report.turns.append(Ended(came, now - came, max(0.0, now - could)))
                    return
                case Snooze(run_at=run_at):
                    await self._wait(run_at / 1000)
                case Retry(error=error):
                    attempts += 1
                    if attempts == _ATTEMPTS:
                        self._fail(came, error)
                        return
                    attempts -= await self._wait(2**attempts * _UNIT)
                case Fail(reason=reason):
                    self._fail(came, reason)
                    return

    async def _ask(self) -> JobResult:
        trail = Trail()
        try:
            await self._runner.run(_REQUEST, model=None, on_text=lambda _offset, _text: None, trail=trail)
        except RunFailed as failed:
            return result_of(failed, now=0)
        finally:
            if any(not rest.refusals for rest in trail.rests):
                self._recover()
        return Done()

    async def _wait(self, seconds: float) -> bool:
        """Sleep for this time, and return True if an account answered again before; then the queue would resume its
        jobs, too."""
        recovered = asyncio.create_task(self._recovered.wait())
        slept = asyncio.create_task(self._clock.sleep(seconds))
        await asyncio.wait({recovered, slept}, return_when=asyncio.FIRST_COMPLETED)
        recovered.cancel()
        slept.cancel()
        return not slept.done()

    def _recover(self) -> None:
        self._recovered.set()
        self._recovered = asyncio.Event()

    def _fail(self, came: float, reason: str) -> None:
        self._report.turns.append(Ended(came, self._clock.monotonic() - came, None, reason))

    async def _person(self, account: str) -> None:
        """Repair a bad key when its phase ends, as a person does by changing the key."""
        for phase, after in itertools.pairwise(self._script.phases_of(account)):
            if phase.state is State.BAD_KEY:
                await self._clock.sleep(max(0.0, after.begins - self._clock.monotonic()))
                now = self._clock.now()
                self._runner.learn([Cooldown(account, "m", now, 0, "auth", now)])
                self._recover()


def jump(*, turns: int, rate: float = 5.0, seed: object = 0) -> Report:
    """Run the drill in this process on a clock that jumps: equal arguments give equal results."""

    async def run() -> Report:
        clock, script = DrillClock(), _script(turns, rate, seed)
        vendor = ScriptedVendor(script, clock)
        runner = _runner(vendor, [Account(name, "openai", "m") for name in NAMES], clock, FIRST_BYTE, seed)
        return await Drill(script, runner, clock, turns=turns, rate=rate, seed=seed).run()

    with asyncio.Runner(loop_factory=JumpingLoop) as loop:
        return loop.run(run())


async def over_http(*, turns: int, rate: float, scale: float, seed: object = 0) -> Report:
    """Run the drill with the real provider and servers on the loopback interface, `scale` times as fast as real
    time."""
    clock, script = DrillClock(scale), _script(turns, rate, seed)
    timeouts = CallTimeouts(total=600 / scale, silence=IDLE / scale)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(open_http_client())
        accounts = []
        for name in NAMES:
            behaviour = ScriptedServer(script, name, clock, scale)
            server = await stack.enter_async_context(openai_server(default=behaviour))
            accounts.append(Account(name, "openai", "m", api_key="key", base_url=server.base_url))
        provider = create("openai", provider_services(http, clock, timeouts=timeouts))
        runner = _runner(provider, accounts, clock, FIRST_BYTE / scale, seed)
        return await Drill(script, runner, clock, turns=turns, rate=rate, seed=seed).run()


def _script(turns: int, rate: float, seed: object) -> Script:
    return write_script(NAMES, turns / rate, random.Random(f"{seed}:script"))


def _runner(
    provider: Provider, accounts: Sequence[Account], clock: DrillClock, first_byte: float, seed: object
) -> Runner:
    ids = map(str, itertools.count())
    return Runner(
        providers=GivenProviders({"openai": provider}),
        accounts=lambda: accounts,
        clock=clock,
        new_id=lambda: next(ids),
        random=random.Random(f"{seed}:runner").random,
        first_byte=first_byte,
    )
