"""Fill the daemon's disk under load and free it again.

Each run has its own small disk, which another program fills completely, twice. Meanwhile the daemon runs on, or is
stopped or killed and started again. Users and rules are those of the chats. In addition, refusals must name the reason
and the fix, no traceback is logged, and the daemon must accept new work within 10 seconds after the disk has room
again. The campaign needs a mount namespace.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from functools import partial
from pathlib import Path
from random import Random

from tests.crash import chat_episode
from tests.crash.campaign import play_all, seeds_of
from tests.crash.chat_episode import ChatPlan
from tests.crash.injection_judge import tracebacks
from tests.crash.namespace import enter
from tests.crash.report import Report, report_of, totals
from tests.crash.rows import offending
from tests.crash.small_disk import SIZES, FillDisk, Gauge, Meanwhile, SmallDisk, SmallDiskDaemon
from tests.crash.variants.build import copied

#: The expected refusals over HTTP and over a socket while the disk is full: they have a code and a fix.
_EXPECTED = re.compile(
    r"""answered 503: .*"(disk_low|disk_full)".*"fix"|received an error: .*'(disk_low|disk_full)'.*'fix'"""
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--floods", type=int, default=2, help="times that the disk fills up in each run (default 2)")
    parser.add_argument(
        "--meanwhile",
        type=Meanwhile,
        choices=list(Meanwhile),
        help="event while the disk is full (default: a random one)",
    )


def play(options: argparse.Namespace) -> Report:
    enter(options.seed)
    try_a_disk()
    gauge = Gauge()
    with copied() as code:
        plans = [
            ChatPlan(
                seed=seed,
                code=code,
                daemon=partial(SmallDiskDaemon, megabytes=Random(seed).randint(*SIZES)),
                scenario=FillDisk(floods=options.floods, meanwhile=options.meanwhile, gauge=gauge),
                inspect=inspected,
                allowed=is_expected,
            )
            for seed in seeds_of(options.seed, options.runs)
        ]
        results = asyncio.run(play_all(map(chat_episode.play, plans)))
    figures = {
        "runs": len(results),
        "floods": gauge.floods,
        "refusedStarts": gauge.refused_starts,
        "worstResumptionSeconds": round(max(gauge.resumed, default=0.0), 2),
        **totals(results),
    }
    return report_of(figures, results)


def inspected(data: Path, database: str | None, *, undisturbed: bool) -> dict[str, list[str]]:
    """Return the rows that break a rule, and the tracebacks in the daemon's log."""
    found, logged = offending(data, database, undisturbed=undisturbed), tracebacks(data.with_name("daemon.log"))
    return found | ({"no traceback is logged": logged} if logged else {})


def is_expected(problem: str) -> bool:
    return _EXPECTED.search(problem) is not None


def try_a_disk() -> None:
    """Mount a disk and unmount it. Raise `Refused` if the machine does not allow it."""
    with tempfile.TemporaryDirectory(prefix="arvis-full-") as name:
        disk = SmallDisk(Path(name) / "data")
        disk.mount(1)
        disk.unmount()
