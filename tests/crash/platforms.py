"""Repeatedly kill a daemon with bots on Discord, Telegram and Slack.

The campaign counts the messages that are lost and the replies that are shown twice.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.crash import campaign
from tests.crash import platform_rows as rows
from tests.crash.builds import copied
from tests.crash.campaign import cases_of
from tests.crash.episode import Episode, Plan
from tests.crash.model import WritingModel
from tests.crash.platform_history import History, Kill, broken, with_failures
from tests.crash.platform_oracle import RULES, every_message_is_answered, placeholders, telegram_copies
from tests.crash.platform_people import People, cut_connections, fail_sends, until
from tests.crash.platform_servers import ANSWER_DELAY, PlatformServer, servers
from tests.crash.report import EpisodeResult, Report, by_kind, report_of
from tests.crash.verdict import judge

#: Time for an undisturbed daemon to answer the first message of each person (seconds).
FIRST_ANSWERED = 60.0
#: If nothing is sent in this time, the kill of `kill_at_send_on` comes anyway (seconds).
SEND_WITHIN = 10.0
#: A platform answers every send within this time (seconds).
ANSWERED = ANSWER_DELAY[1] + 0.3


@dataclass(frozen=True, slots=True)
class PlatformPlan(Plan):
    """The settings of an episode with platforms."""

    window: float = 5.0
    #: Messages per second of each of the twelve people, on average.
    rate: float = 0.25
    patience: float = 120.0
    #: Telegram's delivery guarantee.
    delivery: str = "at_least_once"
    #: Whether the platforms and the network fail.
    failures: bool = True
    #: A platform: every kill comes just as something is sent there. None: kills come at random times.
    kill_at_send_on: str | None = None


class PlatformEpisode(Episode[PlatformPlan, History]):
    _platforms: Sequence[PlatformServer] = ()
    _people: People

    def __init__(self, plan: PlatformPlan) -> None:
        super().__init__(plan)
        self._kills: list[Kill] = []
        self._unknown: list[str] = []

    def model(self) -> WritingModel:
        return WritingModel(rng=Random(self.rng.random()))

    async def settings(self, exits: AsyncExitStack) -> Mapping[str, Any]:
        self._platforms = await exits.enter_async_context(servers(Random(self.rng.random())))
        bots = {each.platform: [{"name": "main", "agent": "helper", **each.bot}] for each in self._platforms}
        return {
            "bots": bots,
            "owners": {each.platform: each.owners for each in self._platforms},
            "delivery": {"telegram": self.plan.delivery, "answer_within": "24h", "late_after": "24h"},
            # A failed send is retried after seconds, not minutes.
            "queue": {"retry_base_seconds": 1, "max_attempts": 20},
        }

    async def start_load(self) -> None:
        self._people = People(servers=self._platforms, rng=Random(self.rng.random()), rate=self.plan.rate)
        await self.cluster.start()
        await self.cluster.ready()
        if not await until(lambda: all(server.is_connected for server in self._platforms), FIRST_ANSWERED):
            self.problems.append("Not every bot listened before any kill")
        await self._people.write_first()
        if not await until(self._is_answered, FIRST_ANSWERED):
            self.problems.append("The first messages were not answered before any kill")
        self.in_background(self._people.write(self.over), writes=True)
        if self.plan.failures:
            for work in (fail_sends, cut_connections):
                self.in_background(work(self._platforms, Random(self.rng.random()), self.over), writes=True)

    async def disturb(self) -> None:
        if (platform := self.plan.kill_at_send_on) is None:
            await super().disturb()
            return
        [daemon] = self.cluster.daemons
        for _ in range(self.plan.disturbances):
            await self.cluster.start()
            await self.cluster.ready()
            await self._until_sent(platform)
            daemon.kill()
            await daemon.killed()
            await self.record_disturbance()

    async def record_disturbance(self) -> None:
        """Record the sends in progress at the kill."""
        killed_at = self.boot_log.boots[-1].ended
        assert killed_at is not None
        self._kills.append(Kill(killed_at, await asyncio.to_thread(rows.under_way, self.data)))

    async def _until_sent(self, platform: str) -> None:
        """Wait up to `SEND_WITHIN` for the next send on the platform, which has not answered it yet."""
        server = next(server for server in self._platforms if server.platform == platform)
        before = len(server.sends())
        await until(lambda: len(server.sends()) > before, SEND_WITHIN, every=0.005)

    async def drain(self, end: float) -> None:
        """Wait until everything is answered and no job is left."""
        await until(lambda: self._is_done() and rows.live_jobs(self.data) == 0, end - time.monotonic())

    def inspect(self) -> dict[str, list[str]]:
        self._unknown = rows.unknown(self.data)
        return rows.offending(self.data, self.plan.delivery)

    def _is_done(self) -> bool:
        """Return whether every message is answered, except those whose delivery is unknown."""
        self._unknown = rows.unknown(self.data)
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
            delivery=self.plan.delivery,
            written=tuple(self._people.written),
            seen={place: seen for server in self._platforms for place, seen in server.seen().items()},
            sends=sends,
            kills=tuple(self._kills),
            boots=self.boot_log.boots,
            unknown=tuple(self._unknown),
            problems=tuple(self.problems),
            rows=self.rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The figures of an episode with platforms."""

    kills_in_start: int
    messages: Mapping[str, int]
    redelivered: int
    failures: Mapping[str, int]
    sends: int
    #: Sends that were recorded as being in progress at a kill.
    under_way: int
    #: Superfluous copies of replies on Telegram.
    copies: int
    placeholders: int
    unknown: int
    #: Seconds from each start to ready.
    starts: Sequence[float]

    @property
    def figures(self) -> Mapping[str, Any]:
        return totals([self])


def result_of(seed: str, history: History, seconds: float) -> Result:
    killed = [boot for boot in history.boots if boot.killed]
    met = [send.failure.kind for send in history.sends if send.failure is not None]
    return Result(
        seed=seed,
        kills=len(killed),
        kills_in_start=sum(boot.ready is None for boot in killed),
        messages=Counter(written.platform for written in history.written),
        redelivered=sum(written.times - 1 for written in history.written),
        failures=Counter(met),
        sends=len(history.sends),
        under_way=sum(len(kill.under_way) for kill in history.kills),
        copies=telegram_copies(history),
        placeholders=placeholders(history),
        unknown=len(history.unknown),
        starts=[boot.ready - boot.spawned for boot in history.boots if boot.ready is not None],
        seconds=seconds,
        violations=judge(RULES, history),
    )


def totals(results: Sequence[Result]) -> dict[str, Any]:
    """Return the sums over all episodes, with one figure for each kind of violation."""
    messages = sum((Counter(result.messages) for result in results), Counter[str]())
    failures = sum((Counter(result.failures) for result in results), Counter[str]())
    starts = sorted(each for result in results for each in result.starts)
    kills = sum(result.kills for result in results)
    return {
        "kills": kills,
        "killsDuringStart": sum(result.kills_in_start for result in results),
        **{f"messages {platform}": count for platform, count in sorted(messages.items())},
        "redelivered": sum(result.redelivered for result in results),
        **{f"answered {kind}": count for kind, count in sorted(failures.items())},
        "sends": sum(result.sends for result in results),
        "underWayAtKills": sum(result.under_way for result in results),
        "furtherCopiesTelegram": sum(result.copies for result in results),
        "placeholdersTelegram": sum(result.placeholders for result in results),
        "unknownTelegram": sum(result.unknown for result in results),
        **by_kind(results),
        "startSecondsP50": round(starts[len(starts) // 2], 2) if starts else 0.0,
        "startSecondsWorst": round(starts[-1], 2) if starts else 0.0,
        "secondsPerKill": round(sum(result.seconds for result in results) / kills, 2) if kills else 0.0,
    }


KILLS = 300
DELIVERIES = ("at_least_once", "at_most_once", "reserve_then_fill")


async def play_one(plan: PlatformPlan) -> Result:
    """Play and judge one episode."""
    return await campaign.play(plan, PlatformEpisode, result_of)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=KILLS, help=f"default {KILLS}")
    parser.add_argument("--telegram", choices=DELIVERIES, default=DELIVERIES[0], help="delivery guarantee of Telegram")
    parser.add_argument("--episode", type=int, default=25, help="kills per data folder (default 25)")
    parser.add_argument("--window", type=float, default=5.0, help="maximum seconds from ready to a kill")
    parser.add_argument("--rate", type=float, default=0.25, help="messages per second of each of the twelve people")
    parser.add_argument("--calm", action="store_true", help="platforms and network do not fail")
    parser.add_argument("--parallel", type=int, default=1, help="number of episodes at the same time")
    parser.add_argument("--code", type=Path, help="use this copy of the program")


def play(options: argparse.Namespace) -> Report:
    # A request that a kill has cut is not a failure of the server.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    with copied() if options.code is None else nullcontext(options.code) as code:
        plans = [
            PlatformPlan(
                seed=case.seed,
                disturbances=case.disturbances,
                code=code,
                delivery=options.telegram,
                window=options.window,
                rate=options.rate,
                failures=not options.calm,
            )
            for case in cases_of(options.seed, options.kills, options.episode)
        ]
        results = asyncio.run(campaign.play_all(map(play_one, plans), options.parallel))
    return report_of(totals(results), results, telegram=options.telegram)
