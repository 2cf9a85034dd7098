"""Common parts of the commands `sweep` and `injection`: options, parallel play, and the report."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.crash.campaign import CHECKOUT
from tests.crash.sweep_acts import ACTS
from tests.crash.sweep_lives import StraceRefused
from tests.crash.sweep_play import Counted, Outcome
from tests.crash.sweep_points import Point
from tests.crash.variants.build import copied

T = TypeVar("T")

#: Number of points between two lines of progress.
PROGRESS = 100
MISSING = (
    "strace cannot attach to a process ({}). Install it (Debian: apt-get install strace); in a container add SYS_PTRACE"
)


def run(
    description: str, report: Path, work: Callable[[Path, argparse.Namespace], Coroutine[Any, Any, Mapping[str, Any]]]
) -> int:
    """Play `work` on a copy of the program, write and print its report, and return the exit code."""
    options = _options(description, report)
    try:
        with copied(options.code) as code:
            found = asyncio.run(work(code, options))
    except StraceRefused as refused:
        print(MISSING.format(refused), file=sys.stderr)
        return 2
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(found, indent=2) + "\n")
    for name, figure in found.items():
        if isinstance(figure, int):
            print(f"{name:<12}{figure:>6}")
    return 1 if found["violations"] else 0


def points_for(counted: Iterable[Counted], options: argparse.Namespace) -> list[Point]:
    """Return the points of these acts with the requested system calls."""
    every = [point for each in counted for point in each.points]
    return [point for point in every if not options.call or point.call in options.call]


def part_of(found: Sequence[T], options: argparse.Namespace) -> Sequence[T]:
    """Return the requested part of the list."""
    return found[options.first - 1 : options.last : options.every]


async def at_once(work: Iterable[Awaitable[Outcome]], parallel: int) -> list[Outcome]:
    """Play up to `parallel` points at the same time, and print the violations of each when it ends."""
    places, numbers = asyncio.Semaphore(parallel), itertools.count(1)

    async def one(play: Awaitable[Outcome]) -> Outcome:
        async with places:
            outcome = await play
        if (number := next(numbers)) % PROGRESS == 0:
            print(f"{number} played", flush=True)
        for violation in outcome.violations:
            text = f"{outcome.point}: {violation.rule.replace('_', ' ')}: {violation.detail}"
            print(f"{text} (kept in {outcome.evidence})", flush=True)
        return outcome

    return await asyncio.gather(*map(one, work))


def report_of(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """Return the figures. Only a point that was reached can be clean."""
    reached = [outcome for outcome in outcomes if outcome.reached]
    return {
        "points": len(outcomes),
        "reached": len(reached),
        "clean": sum(not outcome.violations for outcome in reached),
        "violations": sum(bool(outcome.violations) for outcome in outcomes),
        "seconds": round(seconds),
        "outcomes": [outcome.document() for outcome in outcomes],
    }


def _options(description: str, report: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--act", action="append", choices=ACTS, help="only this act; may be repeated")
    parser.add_argument("--call", action="append", metavar="NAME", help="only this system call; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th point")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="N", help="begin with the N-th point")
    parser.add_argument("--to", type=int, default=None, dest="last", metavar="N", help="end with the N-th point")
    parser.add_argument(
        "--point", action="append", help="only the point of this name, as printed with a failure; may be repeated"
    )
    parser.add_argument("--parallel", type=int, default=2, help="number of points at the same time")
    parser.add_argument("--code", type=Path, default=CHECKOUT, help="checkout with the program under test")
    parser.add_argument("--report", type=Path, default=report)
    return parser.parse_args()
