"""The phases of the scenario: the initial folder of a process, its conversation, and the kind of disturbance.

Together they cover every kind of write: a first start with all migrations, an upgrade of a database that is in use, a
conversation, and the restart of a daemon that was killed during one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.daemon import CHECKOUT, HELPER, log_entry, text_of_entry
from tests.crash.oracle import RULES
from tests.crash.sweep_daemon import SweepDaemon, sweep_daemon, traced_process
from tests.crash.sweep_state import Schema, damage, lost_files
from tests.crash.sweep_users import GREETING, PATIENCE, SCRIPT
from tests.crash.verdict import Kind, Violation, judge

#: Names of the phases, in the order of the list of points.
PHASES = ("creation", "seeding", "upgrade", "conversation", "recovery")
KEPT = CHECKOUT / "tests" / "fixtures" / "databases"
#: An agent that the next start creates, so that a start on an up-to-date database also writes something.
SECOND_AGENT = {"slug": "second", "name": "Second"}
#: The model request during which the process before `recovery` is killed: some messages are answered then, some are not.
CUT_AT = 3


@dataclass(frozen=True, slots=True)
class Phase:
    """A situation in which a process is disturbed."""

    name: str
    #: The folder in which the disturbed process begins; None: an empty one.
    base: Path | None = None
    #: The base is an old database made by hand, which breaks some rules itself.
    kept: bool = False
    #: The users write in this process.
    writes: bool = False
    #: An earlier process was killed while the users wrote.
    cut: bool = False
    #: strace attaches when the process is ready, not at its beginning.
    late: bool = False


async def phases(code: Path, bases: Path) -> list[Phase]:
    """Return all phases. Their initial folders are created in `bases`."""
    return [
        Phase("creation"),
        Phase("seeding", base=await _migrated(code, bases / "migrated")),
        Phase("upgrade", base=_kept_database(bases / "kept"), kept=True),
        Phase("conversation", base=await _created(code, bases / "created"), writes=True, late=True),
        Phase("recovery", writes=True, cut=True),
    ]


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the disturbed process: its exit code (negative for a signal, None if it hung), its log and strace's
    output."""

    code: int | None
    log: Path
    trace: Path


async def play(daemon: SweepDaemon, phase: Phase, strace: Sequence[str], patience: float = PATIENCE) -> Ended:
    """Run the processes up to the end of the disturbed one, during which the users try for `patience` seconds."""
    await _prepare(daemon, phase)
    try:
        await _disturb(daemon, phase, strace, patience)
        code: int | None = await daemon.stop()
    except TimeoutError:
        await daemon.kill()
        code = None
    return Ended(code, daemon.log, daemon.trace)


async def _prepare(daemon: SweepDaemon, phase: Phase) -> None:
    if phase.base is not None:
        shutil.copytree(phase.base, daemon.data)
    if phase.writes:
        daemon.begin_conversation(SCRIPT)
    if phase.cut:
        await daemon.start()
        daemon.open()
        await daemon.kill_at_model_call(CUT_AT)
    daemon.configure(agents=[HELPER, SECOND_AGENT])


async def _disturb(daemon: SweepDaemon, phase: Phase, strace: Sequence[str], patience: float) -> None:
    ready = await daemon.start(None if phase.late else strace)
    if ready and phase.late:
        await daemon.attach_strace(strace)
    if ready and phase.writes:
        daemon.open()
        await daemon.wait_for_conversation(patience)


async def recover(daemon: SweepDaemon, allowed: Collection[Schema]) -> list[Violation]:
    """Restart without strace, let the daemon drain, and judge everything except times.

    Times are left out because other processes and strace use the same machine.
    """
    found, earlier = damage(daemon.data, allowed), len(daemon.records.refusals)
    await daemon.finish(GREETING)
    found += [*complaints(daemon.log), *refusals(daemon.records.refusals[earlier:])]
    judged = [violation for violation in judge(RULES, daemon.history()) if violation.kind is not Kind.LATE]
    return [*found, *judged, *lost_files(daemon.data)]


def refusals(texts: Sequence[str]) -> list[Violation]:
    """Return a violation for each refusal of a daemon that has no reason to refuse."""
    return [Violation(refusals.__name__, Kind.OTHER, text) for text in dict.fromkeys(texts)]


def complaints(log: Path) -> list[Violation]:
    """Return a violation for each entry of the log about an error or damage, and for each text of Python itself."""
    entries = [log_entry(line) for line in log.read_text(errors="replace").splitlines()]
    bad = [entry for entry in entries if entry.get("level") in {"error", "critical"} or _reports_damage(entry)]
    return [Violation(complaints.__name__, Kind.OTHER, text) for text in dict.fromkeys(map(text_of_entry, bad))]


def _reports_damage(entry: Mapping[str, Any]) -> bool:
    """Return whether the entry reports damage. A killed process does not damage files, so the report would be wrong."""
    return str(entry.get("event")).endswith("_damaged")


async def _created(code: Path, folder: Path) -> Path:
    """Return the data folder of a daemon that was started and stopped once."""
    await asyncio.to_thread(folder.mkdir)
    async with sweep_daemon(code, folder) as daemon:
        await daemon.start()
        await daemon.stop()
    return folder / "data"


async def _migrated(code: Path, folder: Path) -> Path:
    """Return the folder of a database that has the schema and no rows."""
    await asyncio.to_thread(folder.mkdir)
    process = await traced_process(code, ["upgrade", "--data", str(folder / "data")], folder, folder / "upgrade.log")
    await process.begin()
    await process.close()
    return folder / "data"


def _kept_database(folder: Path) -> Path:
    """Return a folder with the oldest database that Arvis must still open."""
    folder.mkdir(mode=0o700)
    shutil.copy(min(KEPT.glob("*.db")), folder / "arvis.db")
    return folder
