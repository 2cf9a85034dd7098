"""`python -m tests.platforms.faults`: every call of every connector, with every kind of wrong answer.

`--platform discord --call typing --kind HTML` selects some cases. This is the kind `faults` of `python -m tests.crash`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import structlog

from tests.crash.__main__ import main
from tests.crash.report import Report
from tests.platforms.faults.matrix import Outcome, cases, run
from tests.platforms.faults.platforms import PLATFORMS

#: Column of the report -> the beginnings of its problems.
COLUMNS = {"down": ("down", "delayed"), "twice": ("twice",), "lost": ("not",), "Python": ("Python",)}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--platform", action="append", choices=PLATFORMS, help="default: all")
    parser.add_argument("--call", default="", help="a part of the call's name")
    parser.add_argument("--kind", default="", help="a part of the fault's name")
    parser.add_argument("--patience", type=float, default=240, help="maximum seconds for each wait (default 240)")
    parser.add_argument("--parallel", type=int, default=8, help="number of cases at the same time (default 8)")


def play(options: argparse.Namespace) -> Report:
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    found = asyncio.run(_run(options))
    complaints = [str(outcome) for outcome in found if outcome.problems]
    document = {"cases": [outcome.document() for outcome in found]}
    return Report(_figures(found), complaints, document, failed=bool(complaints))


async def _run(options: argparse.Namespace) -> list[Outcome]:
    chosen = [
        case
        for platform in options.platform or PLATFORMS
        for case in await cases(platform)
        if options.call in case.fault.call and options.kind in case.fault.kind.value
    ]
    print(f"{len(chosen)} cases", flush=True)
    return await run(chosen, patience=options.patience, parallel=options.parallel, show=_show)


def _show(outcome: Outcome) -> None:
    if outcome.problems:
        print(f"{outcome} ({outcome.record.seconds:.0f} s)", flush=True)


def _figures(found: Sequence[Outcome]) -> Mapping[str, int]:
    figures: dict[str, int] = {}
    for platform in PLATFORMS:
        if not (own := [outcome for outcome in found if outcome.record.case.platform == platform]):
            continue
        counts = Counter(problem.split(":")[0].split(" ")[0].split("'")[0] for each in own for problem in each.problems)
        figures |= {f"{platform} cases": len(own), f"{platform} hit": sum(each.record.hits > 0 for each in own)}
        figures |= {f"{platform} {name}": sum(counts[word] for word in words) for name, words in COLUMNS.items()}
    return figures


if __name__ == "__main__":
    raise SystemExit(main(["faults", *sys.argv[1:]]))
