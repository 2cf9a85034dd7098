"""`python -m tests.crash.platforms --kills 300`: repeatedly kill a daemon with bots on Discord, Telegram and Slack.

It counts the messages that are lost and the replies that are shown twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.crash.campaign import CHECKOUT, Case, cases_of, fresh_seed
from tests.crash.platform_episode import Plan, play
from tests.crash.platform_report import Result, explain, result_of, totals
from tests.crash.report import table
from tests.crash.variants.build import copied

KILLS = 300
DELIVERIES = ("at_least_once", "at_most_once", "reserve_then_fill")


@dataclass(frozen=True, slots=True)
class Campaign:
    """The settings for all episodes of a campaign, with the fields of `Plan`. `parallel` episodes run at the same
    time."""

    code: Path
    delivery: str = DELIVERIES[0]
    window: float = 5.0
    rate: float = 0.25
    patience: float = 120.0
    troubles: bool = True
    aim: str | None = None
    parallel: int = 1

    async def run(self, cases: Sequence[Case], told: Callable[[Result], None]) -> list[Result]:
        places = asyncio.Semaphore(self.parallel)

        async def one(case: Case) -> Result:
            async with places:
                result = await self.play(case)
            told(result)
            return result

        return await asyncio.gather(*(one(case) for case in cases))

    async def play(self, case: Case) -> Result:
        """Play one episode. Keep the folder if it fails."""
        folder = Path(tempfile.mkdtemp(prefix="arvis-platforms-"))
        plan = Plan(
            seed=case.seed,
            kills=case.blows,
            code=self.code,
            folder=folder,
            delivery=self.delivery,
            window=self.window,
            rate=self.rate,
            patience=self.patience,
            troubles=self.troubles,
            aim=self.aim,
        )
        started = time.monotonic()
        history = await play(plan)
        result = result_of(case.seed, history, time.monotonic() - started)
        if result.violations:
            (folder / "history.json").write_text(json.dumps(asdict(history), indent=1))
            return replace(result, evidence=str(folder))
        shutil.rmtree(folder)
        return result


def main() -> int:
    options = _options()
    # A request that a kill has cut is not a failure of the server.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    seed = options.seed or fresh_seed()
    print(f"seed {seed}", flush=True)
    with copied(CHECKOUT) if options.code is None else nullcontext(options.code) as code:
        campaign = Campaign(
            code=code,
            delivery=options.telegram,
            window=options.window,
            rate=options.rate,
            troubles=not options.calm,
            parallel=options.parallel,
        )
        results = asyncio.run(campaign.run(cases_of(seed, options.kills, options.episode), _tell))
    options.report.parent.mkdir(parents=True, exist_ok=True)
    document = {"seed": seed, "telegram": options.telegram, "totals": totals(results)}
    options.report.write_text(
        json.dumps(document | {"episodes": [each.document() for each in results]}, indent=2) + "\n"
    )
    print(table(totals(results)))
    print(explain(results))
    return 1 if any(result.violations for result in results) else 0


def _tell(result: Result) -> None:
    verdict = f"{len(result.violations)} violations, kept in {result.evidence}" if result.violations else "clean"
    messages = sum(result.messages.values())
    print(
        f"seed {result.seed}: {result.kills} kills, {messages} messages, {result.seconds:.0f} s: {verdict}", flush=True
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.platforms", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, help=f"default {KILLS}")
    parser.add_argument("--telegram", choices=DELIVERIES, default=DELIVERIES[0], help="delivery guarantee of Telegram")
    parser.add_argument("--seed", help="replay: the seed of an earlier run, or of one episode (SEED.NUMBER)")
    parser.add_argument("--episode", type=int, default=25, help="kills per data folder (default 25)")
    parser.add_argument("--window", type=float, default=5.0, help="maximum seconds from ready to a kill")
    parser.add_argument("--rate", type=float, default=0.25, help="messages per second of each of the twelve people")
    parser.add_argument("--calm", action="store_true", help="platforms and network do not fail")
    parser.add_argument("--parallel", type=int, default=1, help="number of episodes at the same time")
    parser.add_argument("--code", type=Path, help="use this copy of the program")
    parser.add_argument("--report", type=Path, default=Path("build/platforms-report.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
