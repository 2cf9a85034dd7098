"""Benchmark rows about a daemon with a bot on each chat platform. The platforms' servers and the model run in this
process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from bench.bare_install import settings_without_extras
from bench.controls import interpreter_start
from bench.model import Model, running_model
from bench.people import chat
from bench.processes import cpu_seconds, memory_mb
from bench.report import Figure, Target
from bench.rounds import Setting, in_turn
from bench.servers import STARTER, echo
from tests.acceptance.daemon import Daemon
from tests.acceptance.town import Chats, settle_in, town, until

AGENT = {"slug": "helper", "name": "Helper"}

#: The seconds before each message in which the daemon finishes the previous one.
_PAUSE = 0.03

_WAIT = Target(10, 6, lower=True)
_BARE_ECHO = "a message and its echo over a bare asyncio and websockets server"


async def start(setting: Setting) -> list[Figure]:
    """Measure the time from the command to the ready line with three connectors, and the time until all three have
    connected. The first start does not count."""
    listening: list[float] = []

    async def control() -> float:
        return interpreter_start()

    async with town() as chats, _daemon(setting.folder, chats) as (daemon, _):

        async def measure() -> float:
            begun = time.perf_counter()
            await asyncio.to_thread(daemon.start)
            seconds = time.perf_counter() - begun
            await _all_connected(chats)
            listening.append(time.perf_counter() - begun)
            await asyncio.to_thread(daemon.stop)
            for here in chats.values():
                here.forget_connections()
            return seconds

        paired = await in_turn(setting.scale.rounds, control, measure)
    against, target = "start and end of a bare interpreter", Target(0.9, 0.7, lower=True)
    return [
        Figure("start to ready, 3 connectors", paired.value, "s", paired.control, against, paired.ratio, target),
        Figure("start until 3 bots listen", median(listening[1:]), "s"),
    ]


async def idle(setting: Setting) -> list[Figure]:
    """Measure memory and processor time of a daemon whose three bots are connected and idle."""
    async with town() as chats, _daemon(setting.folder, chats) as (daemon, _):
        await _started(daemon, chats)
        # The daemon may do some work of its start after the ready line.
        await asyncio.sleep(2)
        begun, used = time.perf_counter(), cpu_seconds(daemon.pid)
        await asyncio.sleep(setting.scale.idle_seconds)
        percent = (cpu_seconds(daemon.pid) - used) / (time.perf_counter() - begun) * 100
        memory = memory_mb(daemon.pid)
        await asyncio.to_thread(daemon.stop)
    return [
        Figure("idle CPU, 3 connectors", percent, "%", target=Target(0.3, 0.05, lower=True)),
        Figure("idle memory, 3 connectors", memory, "MB", target=Target(100, 85, lower=True)),
    ]


async def event(setting: Setting) -> list[Figure]:
    """Measure the time from a message on a platform to the model call, one message at a time, with a new person in each
    round. The result includes the time of the platform's server, which is also written in Python."""
    people = [f"person{number}" for number in range(setting.scale.rounds + 1)]
    waits: dict[str, list[float]] = {}
    async with town() as chats, _daemon(setting.folder, chats, owners=people) as (daemon, model):
        await _started(daemon, chats)
        with echo() as control:
            bare = [(await chat(control, people=1, messages=setting.scale.messages * 10)).p50_ms for _ in people][1:]
            for person in people:
                for name, here in chats.items():
                    waits.setdefault(name, []).append(await _wait_of(here, person, model, setting.scale.messages * 2))
        memory = memory_mb(daemon.pid)
        await asyncio.to_thread(daemon.stop)
    messages = len(people) * len(chats) * setting.scale.messages * 2
    return [
        *(_figure(name, seen[1:], bare) for name, seen in waits.items()),
        Figure(f"memory after {messages:,} messages, 3 connectors", memory, "MB"),
    ]


def _figure(platform: str, waits: Sequence[float], bare: Sequence[float]) -> Figure:
    ratio = median(wait / control for wait, control in zip(waits, bare, strict=True))
    name = f"{platform} event → model request, p50"
    return Figure(name, median(waits), "ms", median(bare), _BARE_ECHO, ratio, _WAIT)


async def _wait_of(here: Chats, person: str, model: Model, messages: int) -> float:
    """Return the median wait over this number of messages, in ms."""
    waits = []
    place = here.direct(person)
    for number in range(messages):
        await asyncio.sleep(_PAUSE)
        model.arrived.clear()
        begun = time.perf_counter()
        await here.stage.say(f"hello, number {number}", user=person)
        await model.arrived.wait()
        waits.append((model.at - begun) * 1000)
        await until(lambda: len(here.shown(place)) > number, "the answer")  # noqa: B023 - awaited at once
    return median(waits)


@asynccontextmanager
async def _daemon(
    folder: Path, chats: Mapping[str, Chats], *, owners: Sequence[str] = ("ann",)
) -> AsyncIterator[tuple[Daemon, Model]]:
    """Prepare a daemon with the extras of three platforms, a bot on each, and a model of the OpenAI type; the caller
    starts it."""
    settle_in(folder, chats, AGENT, owners=owners)
    async with running_model() as model:
        account = {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": model.base_url}
        plain = settings_without_extras(folder, "discord", "telegram", "slack")
        daemon = Daemon(folder, settings={**account, **plain}, under=STARTER)
        try:
            yield daemon, model
        finally:
            await asyncio.to_thread(daemon.close)


async def _started(daemon: Daemon, chats: Mapping[str, Chats]) -> None:
    await asyncio.to_thread(daemon.start)
    await _all_connected(chats)


async def _all_connected(chats: Mapping[str, Chats]) -> None:
    for here in chats.values():
        await here.connected()


ROWS = {"platforms-start": start, "platforms-idle": idle, "platforms-event": event}
