"""`python -m tests.platforms.faults`: every call of every connector, with every kind of wrong answer.

`--platform discord --call typing --kind HTML` selects some cases; `--parallel 8` is the number of cases at the same
time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import structlog

from tests.platforms.faults.matrix import Outcome, cases, run
from tests.platforms.faults.scenes import PLATFORMS


def main() -> int:
    options = _options()
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    started = time.monotonic()
    found = asyncio.run(_run(options))
    bad = [outcome for outcome in found if outcome.problems]
    for outcome in bad:
        print(f"{outcome.record.case.label}: {'; '.join(outcome.problems)}")
    print(table(found))
    print(f"{len(found)} cases, {len(bad)} with problems, {time.monotonic() - started:.0f} s")
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps([outcome.document() for outcome in found], indent=1) + "\n")
    return 1 if bad else 0


async def _run(options: argparse.Namespace) -> list[Outcome]:
    chosen = [
        case
        for platform in options.platform or PLATFORMS
        for case in await cases(platform)
        if options.call in case.fault.call and options.kind in case.fault.kind.value
    ]
    print(f"{len(chosen)} cases", flush=True)
    return await run(chosen, patience=options.patience, parallel=options.parallel, told=_told)


def _told(outcome: Outcome) -> None:
    if outcome.problems:
        print(f"! {outcome.record.case.label} ({outcome.record.seconds:.0f} s): {outcome.problems}", flush=True)


def table(found: Sequence[Outcome]) -> str:
    lines = [f"{'platform':10} {'cases':>6} {'hit':>6} {'down':>6} {'twice':>6} {'lost':>6} {'Python':>6}"]
    for platform in PLATFORMS:
        of = [outcome for outcome in found if outcome.record.case.platform == platform]
        counts = Counter(
            problem.split(":")[0].split(" ")[0].partition("'")[0] for outcome in of for problem in outcome.problems
        )
        hit = sum(outcome.record.hits > 0 for outcome in of)
        lost = counts["not"]
        down = counts["down"] + counts["delayed"]
        lines.append(f"{platform:10} {len(of):6} {hit:6} {down:6} {counts['twice']:6} {lost:6} {counts['Python']:6}")
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.platforms.faults", description=__doc__)
    parser.add_argument("--platform", action="append", choices=PLATFORMS, help="default: all")
    parser.add_argument("--call", default="", help="a part of the call's name")
    parser.add_argument("--kind", default="", help="a part of the fault's name")
    parser.add_argument("--patience", type=float, default=240, help="maximum seconds for each wait (default 240)")
    parser.add_argument("--parallel", type=int, default=8, help="number of cases at the same time (default 8)")
    parser.add_argument("--report", type=Path, default=Path("build/faults-report.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
