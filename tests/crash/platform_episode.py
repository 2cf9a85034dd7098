"""One episode with three platforms: a daemon with a bot on each, people who write continuously, kills, a drain, a clean
stop.

All random values come from the seed. An episode returns a history and does not judge it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml

from arvis.testing.openai_server import openai_server
from tests.crash import platform_rows as rows
from tests.crash.boots import BootLog
from tests.crash.daemon import Daemon, DaemonFailed, write_config
from tests.crash.platform_history import History, Kill, broken, with_failures
from tests.crash.platform_model import WritingModel
from tests.crash.platform_oracle import every_message_is_answered
from tests.crash.platform_people import People, cut_connections, fail_sends, until
from tests.crash.platform_servers import ANSWER_DELAY, PlatformServer, servers

#: Share of the kills during the start of the daemon, and their latest time after it (seconds).
DURING_START = 0.15
START = 1.5
#: Time for an undisturbed daemon to answer the first message of each person (seconds).
FIRST_ANSWERED = 60.0
#: If nothing is sent in this time, the kill of `kill_at_send_on` comes anyway (seconds).
SEND_WITHIN = 10.0
#: A platform answers every send within this time (seconds).
ANSWERED = ANSWER_DELAY[1] + 0.3


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of an episode."""

    seed: str
    kills: int
    #: The folder from which the program is imported.
    code: Path
    folder: Path = Path()
    #: Telegram's delivery guarantee.
    delivery: str = "at_least_once"
    #: Maximum seconds from ready to a kill.
    window: float = 5.0
    #: Messages per second of each of the twelve people, on average.
    rate: float = 0.25
    #: Maximum length of the drain (seconds). After its fourth crash, a job pauses for 30 s.
    patience: float = 120.0
    #: Whether the platforms and the network fail.
    failures: bool = True
    #: A platform: every kill comes just as something is sent there. None: kills come at random times.
    kill_at_send_on: str | None = None


async def play(plan: Plan) -> History:
    """Run the episode to its end. A failure becomes a problem of the history, not an exception."""
    async with _open(plan) as running:
        await running.run()
        return running.history()


@asynccontextmanager
async def _open(plan: Plan) -> AsyncIterator[_Episode]:
    rng = Random(plan.seed)
    async with AsyncExitStack() as exits:
        model = await exits.enter_async_context(openai_server(default=WritingModel(rng=Random(rng.random()))))
        platforms = await exits.enter_async_context(servers(Random(rng.random())))
        config = plan.folder / "config.yaml"
        write_config(config, port=0, api_key="crash-key", model_url=model.base_url, database=None)
        _add_bots(config, platforms, plan.delivery)
        daemon = Daemon(code=plan.code, folder=plan.folder, config=config, boot_log=BootLog())
        exits.push_async_callback(daemon.close)
        yield _Episode(plan=plan, rng=rng, daemon=daemon, platforms=platforms)


def _add_bots(path: Path, platforms: Sequence[PlatformServer], delivery: str) -> None:
    config = yaml.safe_load(path.read_text())
    config["bots"] = {server.platform: [{"name": "main", "agent": "helper", **server.bot}] for server in platforms}
    config["owners"] = {server.platform: server.owners for server in platforms}
    config["delivery"] = {"telegram": delivery, "answer_within": "24h", "late_after": "24h"}
    # A failed send is retried after seconds, not minutes.
    config["queue"] = {"retry_base_seconds": 1, "max_attempts": 20}
    path.write_text(yaml.safe_dump(config))


class _Episode:
    def __init__(self, *, plan: Plan, rng: Random, daemon: Daemon, platforms: Sequence[PlatformServer]) -> None:
        self._plan = plan
        self._rng = rng
        self._daemon = daemon
        self._platforms = platforms
        self._data = plan.folder / "data"
        self._people = People(servers=platforms, rng=Random(rng.random()), rate=plan.rate)
        self._kills: list[Kill] = []
        self._problems: list[str] = []
        self._rows: dict[str, list[str]] = {}
        self._unknown: list[str] = []

    async def run(self) -> None:
        over = asyncio.Event()
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._open()
            tasks.append(asyncio.create_task(self._people.write(over)))
            if self._plan.failures:
                tasks += [
                    asyncio.create_task(work(self._platforms, Random(self._rng.random()), over))
                    for work in (fail_sends, cut_connections)
                ]
            for _ in range(self._plan.kills):
                await self._kill()
            await self._drain(over, tasks)
            await self._daemon.stop()
            self._rows = rows.offending(self._data, self._plan.delivery)
            self._unknown = rows.unknown(self._data)
        except DaemonFailed as failure:
            self._problems.append(str(failure))
        finally:
            over.set()
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            self._problems += [f"The harness failed: {end!r}" for end in ends if isinstance(end, Exception)]
            self._problems += self._daemon.complaints()

    async def _open(self) -> None:
        await self._daemon.start()
        await self._daemon.ready()
        if not await until(lambda: all(server.is_connected for server in self._platforms), FIRST_ANSWERED):
            self._problems.append("Not every bot listened before any kill")
        await self._people.write_first()
        if not await until(self._is_answered, FIRST_ANSWERED):
            self._problems.append("The first messages were not answered before any kill")

    async def _kill(self) -> None:
        """Start the daemon if it is not running, kill it, and record the sends in progress."""
        if not self._daemon.alive:
            await self._daemon.start()
        if self._plan.kill_at_send_on is not None:
            await self._daemon.ready()
            await self._until_sent(self._plan.kill_at_send_on)
        elif self._kills and self._rng.random() < DURING_START:
            await asyncio.sleep(self._rng.uniform(0, START))
        else:
            await self._daemon.ready()
            await asyncio.sleep(self._rng.uniform(0, self._plan.window))
        at = time.monotonic()
        self._daemon.kill()
        await self._daemon.killed()
        self._kills.append(Kill(at, await asyncio.to_thread(rows.under_way, self._data)))

    async def _until_sent(self, platform: str) -> None:
        """Wait up to `SEND_WITHIN` for the next send on the platform, which has not answered it yet."""
        server = next(server for server in self._platforms if server.platform == platform)
        before = len(server.sends())
        await until(lambda: len(server.sends()) > before, SEND_WITHIN, every=0.005)

    async def _drain(self, over: asyncio.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Start the daemon once more. Wait until everything is answered and no job is left, or patience ends."""
        over.set()
        await self._daemon.start()
        await self._daemon.ready()
        await asyncio.wait(tasks, timeout=self._plan.patience)
        await until(lambda: self._is_done() and rows.live_jobs(self._data) == 0, self._plan.patience)

    def _is_done(self) -> bool:
        """Return whether every message is answered, except those whose delivery is unknown."""
        self._unknown = rows.unknown(self._data)
        return not any(every_message_is_answered(self.history()))

    def _is_answered(self) -> bool:
        history = self.history()
        return all(history.copies(written) for written in history.written)

    def history(self) -> History:
        sends = [send for server in self._platforms for send in server.sends()]
        sends = with_failures(sends, [each for server in self._platforms for each in server.failures])
        for server in self._platforms:
            sends = broken(sends, server.platform, server.cuts, ANSWERED)
        return History(
            delivery=self._plan.delivery,
            written=tuple(self._people.written),
            seen={place: seen for server in self._platforms for place, seen in server.seen().items()},
            sends=sends,
            kills=tuple(self._kills),
            boots=self._daemon.boots,
            unknown=tuple(self._unknown),
            problems=tuple(self._problems),
            rows=self._rows,
        )
