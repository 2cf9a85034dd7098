"""Kill the daemon at every system call that writes, syncs or renames.

The points of all phases are in one list. `--every 10` plays every tenth of them, `--from` and `--to` a part of the
list, `--point` a single one by its name, which is printed with every failure.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.crash.builds import copied
from tests.crash.campaign import play_all
from tests.crash.daemon import CHECKOUT
from tests.crash.namespace import Refused
from tests.crash.report import Report, explain, report_of
from tests.crash.sweep_build import Counted, Outcome, swept_build
from tests.crash.sweep_daemon import StraceRefused
from tests.crash.sweep_phases import PHASES
from tests.crash.sweep_points import Point

T = TypeVar("T")

#: Number of points between two lines of progress.
PROGRESS = 100
MISSING = (
    "strace cannot attach to a process ({}). Install it (Debian: apt-get install strace); in a container add SYS_PTRACE"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--phase", "--act", action="append", choices=PHASES, help="only this phase; may be repeated")
    parser.add_argument("--call", action="append", metavar="NAME", help="only this system call; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th point")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="N", help="begin with the N-th point")
    parser.add_argument("--to", type=int, default=None, dest="last", metavar="N", help="end with the N-th point")
    parser.add_argument(
        "--point", action="append", help="only the point of this name, as printed with a failure; may be repeated"
    )
    parser.add_argument("--parallel", type=int, default=2, help="number of points at the same time")
    parser.add_argument("--code", type=Path, default=CHECKOUT, help="checkout with the program under test")


def play(options: argparse.Namespace) -> Report:
    return run(sweep, options)


def run(work: Callable[[Path, argparse.Namespace], Coroutine[Any, Any, Report]], options: argparse.Namespace) -> Report:
    """Play `work` on a copy of the program."""
    try:
        with copied(checkout=options.code) as code:
            return asyncio.run(work(code, options))
    except StraceRefused as refused:
        raise Refused(MISSING.format(refused)) from refused


async def sweep(code: Path, options: argparse.Namespace) -> Report:
    started = time.monotonic()
    named = [Point.parse(text) for text in options.point or ()]
    phases = {point.phase for point in named} or options.phase or PHASES
    async with swept_build(code) as build:
        counted = {name: await build.count(build.phases[name]) for name in PHASES if name in phases}
        points = named or part_of(points_for(counted.values(), options), options)
        print(f"{len(points)} points of {sum(len(each.points) for each in counted.values())}", flush=True)
        outcomes = await play_all(
            (build.kill_at(point, counted[point.phase].known) for point in points), options.parallel, progress()
        )
    shadowed = {
        name: dict(Counter(f"{call.call} {' '.join(call.paths)}" for call in each.shadowed))
        for name, each in counted.items()
    }
    return sweep_report(outcomes, time.monotonic() - started, shadowed=shadowed)


def points_for(counted: Iterable[Counted], options: argparse.Namespace) -> list[Point]:
    """Return the points of these phases with the requested system calls."""
    every = [point for each in counted for point in each.points]
    return [point for point in every if not options.call or point.call in options.call]


def part_of(found: Sequence[T], options: argparse.Namespace) -> Sequence[T]:
    """Return the requested part of the list."""
    return found[options.first - 1 : options.last : options.every]


def progress() -> Callable[[Outcome], None]:
    """Return a function that prints failures, and the number of points so far after every `PROGRESS` of them."""
    numbers = itertools.count(1)

    def show(outcome: Outcome) -> None:
        if outcome.violations:
            print(f"{explain(outcome)} (kept in {outcome.evidence})", flush=True)
        if (number := next(numbers)) % PROGRESS == 0:
            print(f"{number} played", flush=True)

    return show


def sweep_report(outcomes: Sequence[Outcome], seconds: float, **further: Any) -> Report:
    """Return the figures. Only a point that was reached can be clean."""
    reached = [outcome for outcome in outcomes if outcome.reached]
    figures = {
        "points": len(outcomes),
        "reached": len(reached),
        "clean": sum(not outcome.violations for outcome in reached),
        "violations": sum(bool(outcome.violations) for outcome in outcomes),
        "seconds": round(seconds),
    }
    return report_of(figures, outcomes, **further)
