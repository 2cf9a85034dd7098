"""Make system calls of the daemon fail, as on a full or failing disk.

Each call of the sweep's phases fails once or permanently, with EIO or ENOSPC. The daemon may continue or exit, but it
may not hang, report wrong results or show a traceback to a user. The restart on a healthy disk must recover
everything. The options and the names of points are those of the sweep.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tests.crash.injection_judge import not_from_failures, tracebacks, visible_faults
from tests.crash.report import Report
from tests.crash.sweep import add_options, at_once, part_of, points_for, report_of, run
from tests.crash.sweep_build import Outcome, SweptBuild, fresh_folder, new_violations, outcome, swept_build
from tests.crash.sweep_daemon import sweep_daemon
from tests.crash.sweep_phases import PHASES, Ended, recover
from tests.crash.sweep_phases import play as play_phase
from tests.crash.sweep_points import Point
from tests.crash.verdict import Violation

__all__ = ["add_options", "play"]

CALLS = ("openat", "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "rename", "mkdir")
ERRORS = ("EIO", "ENOSPC")
#: Each thread counts its own calls: only its N-th call fails, or that one and all later ones.
SPANS = ("once", "lasting")
#: How long the users try while calls fail (seconds).
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A system call that fails, with its error and its span."""

    error: str
    span: str
    point: Point

    def __str__(self) -> str:
        return f"{self.error}:{self.span}:{self.point}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        error, span, point = text.split(":", 2)
        return cls(error, span, Point.parse(point))

    def options(self, data: Path) -> list[str]:
        return self.point.options(data, f"error={self.error}", "+" if self.span == "lasting" else "")


@dataclass(frozen=True, slots=True)
class Injected:
    """The effects of a fault."""

    outcome: Outcome
    ended: Ended
    #: The errors that the users received.
    refused: Sequence[str]
    #: The tracebacks inside log lines.
    logged: Sequence[str]


def play(options: argparse.Namespace) -> Report:
    return run(inject, options)


async def inject(code: Path, options: argparse.Namespace) -> Report:
    started = time.monotonic()
    named = [Fault.parse(text) for text in options.point or ()]
    phases = {fault.point.phase for fault in named} or options.phase or PHASES
    injected: list[Injected] = []

    async def inject_one(fault: Fault) -> Outcome:
        injected.append(await inject_fault(build, fault, counted[fault.point.phase].known))
        return injected[-1].outcome

    async with swept_build(code) as build:
        counted = {name: await build.count(build.phases[name], CALLS) for name in PHASES if name in phases}
        every = faults_of(points_for(counted.values(), options))
        faults = named or part_of(every, options)
        print(f"{len(faults)} faults of {len(every)}", flush=True)
        outcomes = await at_once(map(inject_one, faults), options.parallel)
    return report_of(outcomes, time.monotonic() - started, **summary(injected))


def faults_of(points: Sequence[Point]) -> Sequence[Fault]:
    """Return a fault for each point, error and span.

    Calls of `openat` and `write` without a path are left out, because strace cannot distinguish them from calls on
    other files, such as pipes, whose failure is not a failure of the disk.
    """
    ours = [point for point in points if point.path is not None or point.call not in {"openat", "write"}]
    return [Fault(error, span, point) for point, error, span in product(ours, ERRORS, SPANS)]


async def inject_fault(build: SweptBuild, fault: Fault, known: frozenset[Violation] = frozenset()) -> Injected:
    """Run the daemon with the fault, stop it, restart it on a healthy disk, and judge the result."""
    started, folder = time.monotonic(), fresh_folder()
    async with sweep_daemon(build.code, folder) as daemon:
        ended = await play_phase(daemon, build.phases[fault.point.phase], fault.options(daemon.data), PATIENCE)
        refused = list(daemon.records.refusals)
        recovered = new_violations(await recover(daemon, build.allowed), known)
        found = [*visible_faults(ended), *not_from_failures(recovered)]
        reached = "(INJECTED)" in ended.trace.read_text()
        logged = tracebacks(ended.log)
    return Injected(outcome(fault, reached, started, found, folder), ended, refused, logged)


def summary(injected: Sequence[Injected]) -> dict[str, Any]:
    """Return how the disturbed processes ended, and the errors that users and operators saw."""
    return {
        "wentOn": sum(each.ended.code == 0 for each in injected),
        "left": sum(each.ended.code not in {0, None} for each in injected),
        "refusals": Counter(text for each in injected for text in set(each.refused)),
        "tracebacksInTheLog": Counter(text for each in injected for text in set(each.logged)),
    }
