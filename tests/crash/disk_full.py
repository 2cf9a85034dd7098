"""`python -m tests.crash.disk_full --runs 30`: fill the daemon's disk under load and free it again.

Each run has its own small disk, which another program fills completely, twice. Meanwhile the daemon runs on, or is
stopped or killed and started again. Users and rules are those of the kills: no accepted message may be lost or answered
twice. In addition, refusals must name the reason and the fix, and the daemon must accept new work within 10 seconds
after the disk has room again. The program needs a mount namespace. If the machine does not allow one, it prints the
reason and exits with code 77.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

from tests.crash.campaign import ARVIS, CHECKOUT, Case, fresh_seed
from tests.crash.episode import Plan, play
from tests.crash.flood import SIZES, Flood, Gauge, Meanwhile, SmallDisk, SmallDiskDaemon
from tests.crash.history import History
from tests.crash.injection_judge import tracebacks
from tests.crash.namespace import REFUSED, Refused, enter, is_private
from tests.crash.outages import a_stop_interrupts_nothing
from tests.crash.report import Result, explain, result_of, table, totals
from tests.crash.rows import offending
from tests.crash.variants.build import copied
from tests.crash.verdict import Kind, Violation

#: The expected refusals over HTTP and over a socket while the disk is full: they have a code and a fix.
_TOLD = re.compile(r"""answered 503: .*"(disk_low|disk_full)".*"fix"|told: .*'(disk_low|disk_full)'.*'fix'""")


def main() -> int:
    options = _options()
    try:
        if not is_private():
            enter("tests.crash.disk_full", sys.argv[1:])
        try_a_disk()
    except Refused as refused:
        print(f"This machine does not allow the test to mount a small disk: {refused}")
        return REFUSED
    seed = options.seed or fresh_seed()
    cases = [Case(seed if options.runs == 1 else f"{seed}.{number}", options.floods) for number in range(options.runs)]
    print(f"seed {seed}", flush=True)
    gauge = Gauge()
    with copied(CHECKOUT) as code:
        results = asyncio.run(play_all(cases, code, options.meanwhile, gauge))
    return _judge(results, gauge, options)


async def play_all(cases: Sequence[Case], code: Path, meanwhile: Meanwhile | None, gauge: Gauge) -> list[Result]:
    results = []
    for case in cases:
        results.append(await play_one(case, code, meanwhile, gauge))
        print(f"seed {case.seed}: {gauge.floods} floods so far, {len(results[-1].violations)} violations", flush=True)
    return results


async def play_one(case: Case, code: Path, meanwhile: Meanwhile | None, gauge: Gauge) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="arvis-full-"))
    flood = Flood(floods=case.blows, meanwhile=meanwhile, gauge=gauge)
    plan = Plan(
        seed=case.seed,
        blows=0,
        command=ARVIS,
        code=code,
        folder=folder,
        daemon=partial(SmallDiskDaemon, megabytes=Random(case.seed).randint(*SIZES)),
        ordeal=flood,
        inspect=lambda data, database, *, unharmed: offending(data, database, unharmed=unharmed and not flood.stopped),
    )
    started = time.monotonic()
    history = await play(plan)
    result = result_of(case.seed, without_told_refusals(history, gauge), time.monotonic() - started)
    traces = [
        Violation("no_traceback_is_logged", Kind.OTHER, text) for text in tracebacks(folder / "daemon/daemon.log")
    ]
    found = [
        each for each in result.violations if not (flood.stopped and each.rule == a_stop_interrupts_nothing.__name__)
    ]
    result = replace(result, violations=(*found, *traces))
    if result.violations:
        return replace(result, evidence=str(folder))
    shutil.rmtree(folder)
    return result


def is_told(problem: str) -> bool:
    return _TOLD.search(problem) is not None


def without_told_refusals(history: History, gauge: Gauge) -> History:
    """Remove the refusals that name the full disk and a fix: they are not problems."""
    problems = [problem for problem in history.problems if not is_told(problem)]
    gauge.refusals += len(history.problems) - len(problems)
    return replace(history, problems=problems)


def try_a_disk() -> None:
    """Mount a disk and unmount it. Raise `Refused` if the machine does not allow it."""
    with tempfile.TemporaryDirectory(prefix="arvis-full-") as name:
        disk = SmallDisk(Path(name) / "data")
        disk.mount(1)
        disk.unmount()


def _judge(results: Sequence[Result], gauge: Gauge, options: argparse.Namespace) -> int:
    figures = {
        "runs": len(results),
        "floods": gauge.floods,
        "refusals": gauge.refusals,
        "refusedStarts": gauge.refused_starts,
        "worstResumptionSeconds": round(max(gauge.resumed, default=0.0), 2),
        **totals(results),
    }
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        document = {"totals": figures, "episodes": [result.document() for result in results]}
        options.report.write_text(json.dumps(document, indent=2) + "\n")
    print(table(figures))
    print(explain(results))
    return 1 if any(result.violations for result in results) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.disk_full", description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--floods", type=int, default=2, help="times that the disk fills up in each run (default 2)")
    parser.add_argument(
        "--meanwhile",
        type=Meanwhile,
        choices=list(Meanwhile),
        help="event while the disk is full (default: a random one)",
    )
    parser.add_argument("--seed", help="replay: the seed of an earlier run")
    parser.add_argument("--report", type=Path, help="write the figures to this JSON file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
