"""Counts points in undisturbed runs, then plays them one by one, each in its own folder.

Violations in undisturbed runs are known and not caused by a kill; for example, a kept database has rows that no daemon
wrote. Every other violation counts, and so does a known one that has disappeared.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.campaign import judged
from tests.crash.report import EpisodeResult
from tests.crash.sweep_daemon import SweepDaemon, prove_strace, sweep_daemon
from tests.crash.sweep_phases import PHASES, Ended, Phase, complaints, phases, play, recover, refusals
from tests.crash.sweep_points import WRITES, Operation, Point, counting, operations, points_of
from tests.crash.sweep_state import Schema, schemas
from tests.crash.verdict import Kind, Violation

KILL = "signal=SIGKILL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(EpisodeResult):
    """The result of one point, whose name is the seed."""

    #: Whether the call was made and disturbed.
    reached: bool

    @property
    def figures(self) -> Mapping[str, Any]:
        return {"reached": self.reached, "seconds": round(self.seconds, 2)}


@dataclass(frozen=True, slots=True)
class Counted:
    """The points of a phase, the calls without a usable name, and the violations in undisturbed runs."""

    points: Sequence[Point]
    shadowed: Sequence[Operation]
    known: frozenset[Violation]


@dataclass(frozen=True, slots=True)
class SweptBuild:
    """Plays phases and points of one build of the program. `allowed` are the schemas that a database may have."""

    code: Path
    phases: Mapping[str, Phase]
    allowed: frozenset[Schema]

    async def count(self, phase: Phase, calls: Sequence[str] = WRITES) -> Counted:
        """Return the points of a phase. It is run twice at the same time; if the runs differ, the longer one counts."""
        one, other = await asyncio.gather(self._undisturbed(phase, calls), self._undisturbed(phase, calls))
        traces = sorted((one[0], other[0]), key=len)
        points, shadowed = points_of(phase.name, *traces)
        return Counted(points, shadowed, one[1] & other[1])

    async def kill_at(self, point: Point, known: frozenset[Violation] = frozenset()) -> Outcome:
        """Kill the daemon at this call, restart it and judge the result."""

        def outcome_of(killed: tuple[bool, list[Violation]], seconds: float) -> Outcome:
            reached, found = killed
            return Outcome(seed=str(point), seconds=seconds, reached=reached, violations=new_violations(found, known))

        return await judged(lambda folder: self._kill_at(point, folder), outcome_of)

    async def _kill_at(self, point: Point, folder: Path) -> tuple[bool, list[Violation]]:
        """Return whether the call was reached, and the violations."""
        async with sweep_daemon(self.code, folder) as daemon:
            ended = await play(daemon, self.phases[point.phase], point.options(daemon.data, KILL))
            found = [*_of_killed_process(daemon, ended), *await recover(daemon, self.allowed)]
        if ended.code not in {0, -signal.SIGKILL}:
            found.append(Violation("a_process_ends_by_the_kill", Kind.OTHER, f"this process ended with {ended.code}"))
        return ended.code != 0, found

    async def _undisturbed(self, phase: Phase, calls: Sequence[str]) -> tuple[list[Operation], frozenset[Violation]]:
        folder = Path(tempfile.mkdtemp(prefix="arvis-sweep-"))
        async with sweep_daemon(self.code, folder) as daemon:
            ended = await play(daemon, phase, counting(calls))
            trace = operations(ended.trace.read_text(), daemon.data)
            found = [*_of_killed_process(daemon, ended), *await recover(daemon, self.allowed)]
        if ended.code != 0 or (found and not phase.kept):
            raise RuntimeError(f"The undisturbed phase {phase.name} ended with {ended.code} in {folder}: {found}")
        shutil.rmtree(folder)
        return trace, frozenset(found)


@asynccontextmanager
async def swept_build(code: Path) -> AsyncIterator[SweptBuild]:
    """Yield the program in `code` with the phases that it can play. Raise `StraceRefused` if strace cannot be used."""
    with tempfile.TemporaryDirectory(prefix="arvis-sweep-") as bases:
        await prove_strace(code, Path(bases))
        found = {phase.name: phase for phase in await phases(code, Path(bases))}
        assert tuple(found) == PHASES
        yield SweptBuild(code, found, schemas(code))


def _of_killed_process(daemon: SweepDaemon, ended: Ended) -> list[Violation]:
    """Return the complaints and refusals of a process that was killed. There must be none."""
    return [*complaints(ended.log), *refusals(daemon.records.refusals)]


def new_violations(found: Sequence[Violation], known: frozenset[Violation]) -> list[Violation]:
    """Return the violations that undisturbed runs do not have, and those that only they have."""
    before, now = {_identity(each) for each in known}, {_identity(each) for each in found}
    gone = [
        Violation("nothing_is_lost", Kind.LOST, f"gone: {each.detail}") for each in known if _identity(each) not in now
    ]
    return [*(each for each in found if _identity(each) not in before), *gone]


def _identity(violation: Violation) -> tuple[str, ...]:
    """Return the identity of a violation. For a row this is its id, because a kill may change a counter in it."""
    rule, _, row = violation.detail.partition(": ")
    return (violation.rule, rule, row.split(" ")[0])
