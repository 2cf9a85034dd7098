"""All cases of one provider against one daemon.

First each case is played once, alone, and its stall is measured; the server answers correctly at the second request.
Then many cases are played at the same time with a server that never recovers. The messages that a vendor asked to delay
come last.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.case import Case
from tests.hostile.cases import CLAUDE, cases_of
from tests.hostile.measure import left_behind, memory_of
from tests.hostile.scene import Scene, opened
from tests.hostile.verdict import FINAL, Played, violations

#: Maximum stall of the event loop (seconds) and growth of memory (megabytes).
MOST_STALL = 0.2
MOST_GROWTH = 64.0

#: A stall counts only if it is seen this many times in a row, because the machine may cause a single one.
_LOOKS = 3
#: Seconds.
_PATIENCE = 150.0
_BETWEEN = 0.15
_AT_ONCE = 16
_ENDING = 20
_FAR = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases of one provider."""

    provider: str
    seed: str
    #: Names of the cases.
    cases: Sequence[str]
    #: This many cases, in random order, meet a server that never recovers.
    always: int = 100
    parked: bool = True
    #: Whether stalls and growth of memory are violations. Otherwise they are only reported.
    figures: bool = True

    def case(self, name: str) -> Case:
        return cases_of(self.provider)[name]


@dataclass(slots=True)
class Result:
    """The results for one provider."""

    provider: str
    seed: str
    played: int = 0
    answered: int = 0
    failed: int = 0
    #: The violations, with the names of their cases.
    found: list[str] = field(default_factory=list)
    #: Case -> seconds.
    stalls: dict[str, float] = field(default_factory=dict)
    crowd_stall: float = 0.0
    #: Megabytes at the start, after each case was played alone, and at the end.
    memory: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orphans: list[str] = field(default_factory=list)
    seconds: float = 0.0
    evidence: str = ""

    @property
    def longest_stall(self) -> tuple[float, str]:
        return max(((stall, case) for case, stall in self.stalls.items()), default=(0.0, ""))

    @property
    def growth(self) -> float:
        """Return the growth of memory after the first round. The first round itself fills caches."""
        return self.memory[2] - self.memory[1]

    def take(self, played: Played) -> None:
        self.played += 1
        self.answered += played.timeline.get("status") == "answered"
        self.failed += played.timeline.get("status") == "failed"
        self.found += [f"{played.case} ({played.manner}): {what}" for what in violations(played)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A message that was sent. `stall` is the longest stall until its answer."""

    case: str
    manner: str
    channel: str
    message: str
    timeline: dict[str, Any] = field(default_factory=dict)
    stall: float = 0.0


async def run(plan: Plan, told: Callable[[str], None]) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="arvis-hostile-"))
    started = time.monotonic()
    result = Result(plan.provider, plan.seed)
    async with opened(plan.provider, folder, plan.seed, _channels(plan)) as scene:
        await _play(plan, scene, result, told)
        result.orphans = left_behind(folder, scene.pid)
        await scene.daemon.stop()
        _judge(plan, scene, result)
        result.found += [f"a key is in the file {file}" for file in scene.leaks()]
    result.seconds = time.monotonic() - started
    if result.found:
        result.evidence = str(folder)
    else:
        shutil.rmtree(folder)
    return result


async def _play(plan: Plan, scene: Scene, result: Result, told: Callable[[str], None]) -> None:
    players = _Players(scene)
    parked: list[Asked] = []
    cold = memory_of(scene.pid)
    for case in plan.cases:
        asked = await players.alone(case)
        result.stalls[case] = asked.stall
        told(f"{plan.provider} {case}: {asked.timeline.get('status')} {asked.timeline.get('reason') or ''} "
             f"{asked.stall * 1000:.0f} ms")  # fmt: skip
        if asked.timeline.get("status") in FINAL:
            result.take(await players.ended(asked))
        else:
            parked.append(asked)
    await asyncio.sleep(1)
    warm = memory_of(scene.pid)
    for played in await players.crowd(_crowd(plan)):
        result.take(played)
        result.crowd_stall = max(result.crowd_stall, played.stall)
    for asked in parked:
        result.take(await players.ended(await players.released(asked, wait=plan.parked)))
    await asyncio.sleep(1)
    result.memory = (cold, warm, memory_of(scene.pid))
    if await scene.asked("trap"):
        result.found.append("status-301 (once): it followed")


def _judge(plan: Plan, scene: Scene, result: Result) -> None:
    result.found += [f"the log says: {complaint}" for complaint in scene.daemon.complaints()]
    result.found += [f"left behind: {orphan}" for orphan in result.orphans]
    if plan.figures:
        slow = [(case, stall) for case, stall in result.stalls.items() if stall > MOST_STALL]
        result.found += [f"{case} (once): the event loop was blocked for {stall * 1000:.0f} ms" for case, stall in slow]
        if result.growth > MOST_GROWTH:
            result.found.append(f"memory grew by {result.growth:.0f} MB")


def _crowd(plan: Plan) -> list[str]:
    """Return the cases for a server that never recovers, in random order."""
    cases = [case for case in plan.cases if not plan.case(case).parks]
    Random(plan.seed).shuffle(cases)
    return cases[: plan.always]


def _channels(plan: Plan) -> list[str]:
    """Return the channels of the agent without tools."""
    names = [case for case in plan.cases if not plan.case(case).tools]
    return [_channel(case, manner, look) for case in names for manner in ("once", "always") for look in range(_LOOKS)]


def _channel(case: str, manner: str, look: int = 0) -> str:
    return f"{case}-{manner}-{look}"


class _Players:
    """Sends messages and watches their results."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def alone(self, case: str) -> Asked:
        """Play a case alone. If the stall is too long, repeat it and return the try with the smallest stall."""
        await self._scene.renew_account()
        asked = await self._ask(case, "once", 0)
        for look in range(1, _LOOKS):
            if asked.stall <= MOST_STALL:
                break
            await self._scene.renew_account()
            again = await self._ask(case, "once", look)
            asked = again if again.stall < asked.stall else asked
        return asked

    async def crowd(self, cases: Sequence[str]) -> list[Played]:
        """Play many cases at the same time, with short pauses between their starts."""
        await self._scene.renew_account()
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(number: int, case: str) -> Asked:
            await asyncio.sleep(number * _BETWEEN)
            async with places:
                return await self._ask(case, "always", 0)

        asked = await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
        return [await self.ended(each) for each in asked]

    async def ended(self, asked: Asked) -> Played:
        """Send a plain message after this one, and return the results of both with all messages of the channel."""
        text = f"case:plain id:{asked.channel}-plain manner:once"
        plain = await self._scene.post(text, asked.channel)
        after = await self._scene.timeline(plain, wait=20.0)
        return Played(
            asked.case,
            asked.manner,
            asked.message,
            asked.timeline,
            await self._scene.transcript(asked.channel),
            str(after.get("status")),
            asked.stall,
            await self._orphans() if self._scene.provider == CLAUDE else (),
        )

    async def _orphans(self) -> list[str]:
        """Return the processes that remain after a wait."""
        found = left_behind(self._scene.folder, self._scene.pid)
        for _ in range(_ENDING):
            if not found:
                break
            await asyncio.sleep(0.1)
            found = left_behind(self._scene.folder, self._scene.pid)
        return found

    async def released(self, asked: Asked, *, wait: bool) -> Asked:
        """Return the end of a delayed message. A message with a long delay is cancelled."""
        timeline = await self._scene.timeline(asked.message)
        job = timeline["job"]
        if timeline["status"] not in FINAL and (not wait or job["runAt"] / 1000 - time.time() > _FAR):
            await self._scene.cancel(job["id"])
        return Asked(
            asked.case,
            asked.manner,
            asked.channel,
            asked.message,
            await self._wait(asked.message, parks=False),
            asked.stall,
        )

    async def _ask(self, case: str, manner: str, look: int) -> Asked:
        channel = _channel(case, manner, look)
        self._scene.probe.take()
        message = await self._scene.post(f"case:{case} id:{channel} manner:{manner}", channel)
        timeline = await self._wait(message, parks=cases_of(self._scene.provider)[case].parks)
        return Asked(case, manner, channel, message, timeline, self._scene.probe.take().longest)

    async def _wait(self, message: str, *, parks: bool) -> dict[str, Any]:
        """Wait until the message has ended, or, if the case allows it, until it is delayed."""
        end = time.monotonic() + _PATIENCE
        while True:
            left = end - time.monotonic()
            timeline = await self._scene.timeline(message, 0.3 if parks else left)
            put_off = parks and any(step["step"] == "snoozed" for step in timeline["steps"])
            if timeline["status"] in {*FINAL, "cancelled"} or put_off or left <= 0:
                return timeline
