"""One episode: a fresh data folder, users who write without pause, so many kills, a drain, a clean stop.

Everything random comes from the seed of the episode. What the episode returns is a history; it judges nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

import aiohttp

from arvis.testing.openai_server import openai_server
from tests.crash.daemon import Daemon, DaemonFailed, free_port, write_config
from tests.crash.door import Door
from tests.crash.history import History, Sent, Shown, Timeline
from tests.crash.model import Model
from tests.crash.rows import offending
from tests.crash.trigger import Trigger
from tests.crash.users import HttpVoice, Refused, SocketVoice, User

API_KEY = "crash-campaign-key"
#: Share of the kills that come while the daemon starts, and the instants they are drawn from, in seconds.
DURING_START = 0.15
START = 1.2
#: An aimed kill that finds nothing to hit becomes an ordinary one after so many seconds.
AIM_WITHIN = 5.0


class Aim(StrEnum):
    """When a kill falls: at a random instant, right behind an acknowledgement, or while the model thinks."""

    RANDOM = "random"
    ACKNOWLEDGED = "acknowledged"
    AT_THE_MODEL = "at the model"


@dataclass(frozen=True, slots=True)
class Plan:
    """What an episode does. `window` (seconds after ready) bounds the random kills; `patience` is how long the
    drain may take (seconds): the longest rest after a fourth crash is 30 s. `command` starts the program,
    `code` is the folder that it is imported from, `database` a PostgreSQL URL or None for SQLite."""

    seed: str
    kills: int
    command: Sequence[str]
    code: Path
    folder: Path
    aim: Aim = Aim.RANDOM
    window: float = 2.0
    chats: int = 8
    rate: float = 1.0
    patience: float = 90.0
    database: str | None = None
    inspect: Callable[[Path, str | None], dict[str, list[str]]] = offending


async def play(plan: Plan) -> History:
    """Run the episode to its end. What fails on the way is a problem of the history, not an exception."""
    async with _stage(plan) as stage:
        await stage.perform()
        return stage.history()


@asynccontextmanager
async def _stage(plan: Plan) -> AsyncIterator[_Stage]:
    rng = Random(plan.seed)
    async with AsyncExitStack() as exits:
        config = plan.folder / "config.yaml"
        daemon = Daemon(command=plan.command, code=plan.code, folder=plan.folder, config=config)
        exits.push_async_callback(daemon.close)
        model = Model(rng=Random(rng.random()), boot=lambda: daemon.boot)
        server = await exits.enter_async_context(openai_server(default=model))
        port = free_port()
        write_config(config, port=port, api_key=API_KEY, model_url=server.base_url, database=plan.database)
        session = await exits.enter_async_context(aiohttp.ClientSession())
        door = Door(session, f"http://127.0.0.1:{port}", API_KEY, daemon.up)
        yield _Stage(plan=plan, rng=rng, daemon=daemon, model=model, door=door)


class _Stage:
    def __init__(self, *, plan: Plan, rng: Random, daemon: Daemon, model: Model, door: Door) -> None:
        self._plan = plan
        self._rng = rng
        self._daemon = daemon
        self._model = model
        self._door = door
        self._acked = Trigger()
        self._problems: list[str] = []
        self._sockets: dict[str, SocketVoice] = {}
        self._users = self._invite()
        self._timelines: dict[str, Timeline] = {}
        self._transcripts: dict[str, list[Shown]] = {}
        self._rows: dict[str, list[str]] = {}

    def _invite(self) -> list[User]:
        """Half of the users write over sockets, half over HTTP, each in its own channel."""
        numbers = itertools.count(1)
        users = []
        for chat in range(self._plan.chats):
            channel = f"chat-{chat}"
            rng = Random(self._rng.random())
            voice: SocketVoice | HttpVoice
            if chat % 2:
                voice = HttpVoice(door=self._door, channel=channel, problem=self._problems.append)
            else:
                voice = SocketVoice(door=self._door, channel=channel, rng=rng, problem=self._problems.append)
                self._sockets[channel] = voice
            users.append(
                User(
                    channel=channel,
                    voice=voice,
                    rng=rng,
                    rate=self._plan.rate,
                    number=lambda: next(numbers),
                    acked=self._acked,
                )
            )
        return users

    async def perform(self) -> None:
        over = asyncio.Event()
        listening = [asyncio.create_task(voice.listen()) for voice in self._sockets.values()]
        writing = [asyncio.create_task(user.write(over)) for user in self._users]
        try:
            for _ in range(self._plan.kills):
                await self._kill_once()
            await self._drain(over, writing)
            await self._daemon.stop()
            self._rows = await asyncio.to_thread(self._plan.inspect, self._plan.folder / "data", self._plan.database)
        except DaemonFailed as failure:
            self._problems.append(str(failure))
        except Refused as refused:
            self._problems.append(f"The drain met {refused!r}")
        finally:
            for task in (*writing, *listening):
                task.cancel()
            results = await asyncio.gather(*writing, *listening, return_exceptions=True)
        self._problems.extend(repr(each) for each in results if isinstance(each, Exception))
        self._problems.extend(self._daemon.complaints())

    async def _kill_once(self) -> None:
        await self._daemon.start()
        if self._plan.aim is Aim.RANDOM and self._rng.random() < DURING_START:
            await asyncio.sleep(self._rng.uniform(0, START))
        else:
            await self._daemon.ready()
            await self._strike()
        self._daemon.kill()
        await self._daemon.dead()

    async def _strike(self) -> None:
        """Wait for the instant of the kill. An aimed one falls by itself, in the very moment it is aimed at."""
        if self._plan.aim is Aim.RANDOM:
            await asyncio.sleep(self._rng.uniform(0, self._plan.window))
            return
        hit = asyncio.Event()

        def fall() -> None:
            self._daemon.kill()
            hit.set()

        trigger = self._acked if self._plan.aim is Aim.ACKNOWLEDGED else self._model.asked
        trigger.arm(fall)
        with suppress(TimeoutError):
            await asyncio.wait_for(hit.wait(), AIM_WITHIN)
        trigger.disarm()

    async def _drain(self, over: asyncio.Event, writing: Sequence[asyncio.Task[None]]) -> None:
        """One more life without a kill: everything is acknowledged, answered and shown, or patience ends."""
        over.set()
        end = time.monotonic() + self._plan.patience
        await self._daemon.start()
        await self._daemon.ready()
        await asyncio.wait(writing, timeout=self._plan.patience)
        for sent in self._sent():
            if sent.id is not None:
                self._timelines[sent.id] = await self._settled(sent.id, end)
        for channel in sorted({sent.channel for sent in self._sent()}):
            with suppress(*Refused):
                self._transcripts[channel] = await self._door.transcript(channel, within=10)
        await self._screens_caught_up()

    async def _settled(self, message_id: str, end: float) -> Timeline:
        while True:
            timeline = await self._door.timeline(message_id, wait=min(end - time.monotonic(), 25))
            if timeline.status not in {"accepted", "queued", "running", "waiting"} or time.monotonic() >= end:
                return timeline

    async def _screens_caught_up(self) -> None:
        """Give every screen a moment to show what its transcript holds."""
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if all(
                voice.last_seq >= len(self._transcripts.get(channel, ())) for channel, voice in self._sockets.items()
            ):
                return
            await asyncio.sleep(0.02)

    def _sent(self) -> list[Sent]:
        return [sent for user in self._users for sent in user.sent]

    def history(self) -> History:
        return History(
            sent=self._sent(),
            live={channel: voice.shown for channel, voice in self._sockets.items()},
            transcripts=self._transcripts,
            timelines=self._timelines,
            calls=self._model.calls,
            boots=self._daemon.boots,
            problems=tuple(self._problems),
            rows=self._rows,
        )
