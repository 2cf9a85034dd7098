"""Repeatedly kill a daemon with bots on Discord, Telegram and Slack.

The campaign counts the messages that are lost and the replies that are shown twice.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from contextlib import nullcontext
from pathlib import Path

from tests.crash import platform_episode
from tests.crash.campaign import cases_of, play_all
from tests.crash.platform_episode import PlatformPlan
from tests.crash.platform_report import totals
from tests.crash.report import Report, report_of
from tests.crash.variants.build import copied

KILLS = 300
DELIVERIES = ("at_least_once", "at_most_once", "reserve_then_fill")


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
        results = asyncio.run(play_all(map(platform_episode.play, plans), options.parallel))
    return report_of(totals(results), results, telegram=options.telegram)
