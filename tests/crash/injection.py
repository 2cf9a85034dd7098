"""Make system calls of the daemon fail, as on a full or failing disk.

Each call of the sweep's phases fails once or permanently, with EIO or ENOSPC. The daemon may continue or exit, but it
may not hang, report wrong results or show a traceback to a user. The restart on a healthy disk must recover
everything. The options and the names of points are those of the sweep.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tests.crash.campaign import judged, play_all
from tests.crash.daemon import PYTHON_ERRORS
from tests.crash.report import Report
from tests.crash.sweep import add_options, part_of, points_for, progress, run, sweep_report
from tests.crash.sweep_build import Outcome, SweptBuild, new_violations, swept_build
from tests.crash.sweep_daemon import sweep_daemon
from tests.crash.sweep_phases import PHASES, Ended, recover
from tests.crash.sweep_phases import play as play_phase
from tests.crash.sweep_points import Point
from tests.crash.verdict import Kind, Violation

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected(Outcome):
    """The result of a fault."""

    #: The exit code of the disturbed process, negative for a signal; None if it hung.
    code: int | None
    #: The errors that the users received.
    refused: Sequence[str]
    #: The tracebacks inside log lines.
    logged: Sequence[str]


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a fault before the judgement."""

    reached: bool
    ended: Ended
    refused: Sequence[str]
    recovered: Sequence[Violation]


def play(options: argparse.Namespace) -> Report:
    return run(inject, options)


async def inject(code: Path, options: argparse.Namespace) -> Report:
    started = time.monotonic()
    named = [Fault.parse(text) for text in options.point or ()]
    phases = {fault.point.phase for fault in named} or options.phase or PHASES
    async with swept_build(code) as build:
        counted = {name: await build.count(build.phases[name], CALLS) for name in PHASES if name in phases}
        every = faults_of(points_for(counted.values(), options))
        faults = named or part_of(every, options)
        print(f"{len(faults)} faults of {len(every)}", flush=True)
        known = {name: each.known for name, each in counted.items()}
        injections = (inject_fault(build, fault, known[fault.point.phase]) for fault in faults)
        injected = await play_all(injections, options.parallel, progress())
    return sweep_report(injected, time.monotonic() - started, **summary(injected))


def faults_of(points: Sequence[Point]) -> Sequence[Fault]:
    """Return a fault for each point, error and span.

    Calls of `openat` and `write` without a path are left out, because strace cannot distinguish them from calls on
    other files, such as pipes, whose failure is not a failure of the disk.
    """
    ours = [point for point in points if point.path is not None or point.call not in {"openat", "write"}]
    return [Fault(error, span, point) for point, error, span in product(ours, ERRORS, SPANS)]


async def inject_fault(build: SweptBuild, fault: Fault, known: frozenset[Violation] = frozenset()) -> Injected:
    """Run the daemon with the fault, stop it, restart it on a healthy disk, and judge the result."""
    return await judged(
        lambda folder: _inject(build, fault, folder),
        lambda effects, seconds: Injected(
            seed=str(fault),
            seconds=seconds,
            reached=effects.reached,
            violations=[
                *visible_faults(effects.ended),
                *not_from_failures(new_violations(effects.recovered, known)),
            ],
            code=effects.ended.code,
            refused=effects.refused,
            logged=tracebacks(effects.ended.log),
        ),
    )


async def _inject(build: SweptBuild, fault: Fault, folder: Path) -> Effects:
    async with sweep_daemon(build.code, folder) as daemon:
        ended = await play_phase(daemon, build.phases[fault.point.phase], fault.options(daemon.data), PATIENCE)
        refused = list(daemon.records.refusals)
        recovered = await recover(daemon, build.allowed)
    return Effects("(INJECTED)" in ended.trace.read_text(), ended, refused, recovered)


def summary(injected: Sequence[Injected]) -> dict[str, Any]:
    """Return how the disturbed processes ended, and the errors that users and operators saw."""
    return {
        "wentOn": sum(each.code == 0 for each in injected),
        "left": sum(each.code not in {0, None} for each in injected),
        "refusals": Counter(text for each in injected for text in set(each.refused)),
        "tracebacksInTheLog": Counter(text for each in injected for text in set(each.logged)),
    }


#: The beginning of an error's fix, in the output of the command line and in a line of the log.
FIX = ("  fix: ", '"fix": "')
#: A failed write may count as an attempt of a job, so this rule does not apply.
RETRIED = "a crash counts no attempt"
#: Number of lines at the end of the log that must contain the fix.
LAST = 6


def visible_faults(ended: Ended) -> list[Violation]:
    """Return the complaints about the end of a disturbed process."""
    lines = ended.log.read_text(errors="replace").splitlines()
    return [Violation(visible_faults.__name__, Kind.OTHER, text) for text in _wrong(ended.code, lines)]


def not_from_failures(found: Sequence[Violation]) -> list[Violation]:
    """Return the violations without those that a failed write may cause in a job."""
    return [each for each in found if not each.detail.startswith(f"{RETRIED}: ")]


def tracebacks(log: Path) -> list[str]:
    """Return the log lines with a traceback: their event and the last line of the exception."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{") and '"exception"' in line:
            entry = json.loads(line)
            found.append(f"{entry['event']}: {entry['exception'].strip().splitlines()[-1]}")
    return found


def _wrong(code: int | None, lines: Sequence[str]) -> Iterator[str]:
    if code is None:
        yield "it hung"
    elif code < 0:
        yield f"it was killed by signal {-code}"
    elif code > 0 and not any(word in line for word in FIX for line in lines[-LAST:]):
        yield f"it exited with {code} and named no fix: {' | '.join(lines[-LAST:])}"
    for line in lines:
        if line.startswith(PYTHON_ERRORS):
            yield f"it showed a traceback: {line} … {lines[-1]}"
            return
