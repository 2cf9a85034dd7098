"""The acts of the scenario: the initial folder of a life, its conversation, and the kind of disturbance.

Together they cover every kind of write: a first start with all migrations, an upgrade of a database that is in use, a
conversation, and the restart of a daemon that died during one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.daemon import CHECKOUT, _entry, _told
from tests.crash.oracle import judge
from tests.crash.sweep_lives import new_life
from tests.crash.sweep_stage import Stage, staged
from tests.crash.sweep_state import Schema, damage, lost_files
from tests.crash.sweep_talk import GREETING, PATIENCE, SCRIPT
from tests.crash.verdict import Kind, Violation

#: Names of the acts, in the order of the list of points.
ACTS = ("birth", "seed", "upgrade", "talk", "return")
KEPT = CHECKOUT / "tests" / "fixtures" / "databases"
HELPER = {"slug": "helper", "name": "Helper"}
#: An agent that the next start creates, so that a start on an up-to-date database also writes something.
NEWCOMER = {"slug": "second", "name": "Second"}
#: The model request during which the life before a `return` is killed: some messages are answered then, some are not.
CUT_AT = 3


@dataclass(frozen=True, slots=True)
class Act:
    """A situation in which a life is disturbed."""

    name: str
    #: The folder in which the disturbed life begins; None: an empty one.
    base: Path | None = None
    #: The base is an old database made by hand, which breaks some rules itself.
    kept: bool = False
    #: The users write in this life.
    talks: bool = False
    #: An earlier life was killed while the users wrote.
    cut: bool = False
    #: strace attaches when the life is ready, not at its beginning.
    late: bool = False


async def acts(code: Path, bases: Path) -> list[Act]:
    """Return all acts. Their initial folders are created in `bases`."""
    return [
        Act("birth"),
        Act("seed", base=await _migrated(code, bases / "migrated")),
        Act("upgrade", base=_kept_database(bases / "kept"), kept=True),
        Act("talk", base=await _born(code, bases / "born"), talks=True, late=True),
        Act("return", talks=True, cut=True),
    ]


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the disturbed life: its exit code (negative for a signal, None if it hung), its log and strace's
    output."""

    code: int | None
    log: Path
    trace: Path


async def play(stage: Stage, act: Act, strace: Sequence[str], patience: float = PATIENCE) -> Ended:
    """Play the lives up to the end of the disturbed one. In that life, the users try for `patience` seconds."""
    await _prepare(stage, act)
    try:
        await _disturb(stage, act, strace, patience)
        code: int | None = await stage.stop()
    except TimeoutError:
        await stage.kill()
        code = None
    return Ended(code, stage.log, stage.trace)


async def _prepare(stage: Stage, act: Act) -> None:
    if act.base is not None:
        shutil.copytree(act.base, stage.data)
    if act.talks:
        stage.begin_talk(SCRIPT)
    if act.cut:
        await stage.start()
        stage.open()
        await stage.kill_at_the_model(CUT_AT)
    stage.configure(agents=[HELPER, NEWCOMER])


async def _disturb(stage: Stage, act: Act, strace: Sequence[str], patience: float) -> None:
    ready = await stage.start(None if act.late else strace)
    if ready and act.late:
        await stage.hold(strace)
    if ready and act.talks:
        stage.open()
        await stage.talk_or_end(patience)


async def recover(stage: Stage, allowed: Collection[Schema]) -> list[Violation]:
    """Restart without strace, let the daemon drain, and judge everything except times.

    Times are left out because other processes and strace use the same machine.
    """
    found, earlier = damage(stage.data, allowed), len(stage.notes.refusals)
    await stage.finish(GREETING)
    found += [*complaints(stage.log), *refusals(stage.notes.refusals[earlier:])]
    judged = [violation for violation in judge(stage.history()) if violation.kind is not Kind.LATE]
    return [*found, *judged, *lost_files(stage.data)]


def refusals(told: Sequence[str]) -> list[Violation]:
    """Return a violation for each refusal of a daemon that has no reason to refuse."""
    return [Violation(refusals.__name__, Kind.OTHER, text) for text in dict.fromkeys(told)]


def complaints(log: Path) -> list[Violation]:
    """Return a violation for each entry of the log about an error or damage, and for each text of Python itself."""
    entries = [_entry(line) for line in log.read_text(errors="replace").splitlines()]
    bad = [entry for entry in entries if entry.get("level") in {"error", "critical"} or _tells_of_damage(entry)]
    return [Violation(complaints.__name__, Kind.OTHER, text) for text in dict.fromkeys(map(_told, bad))]


def _tells_of_damage(entry: Mapping[str, Any]) -> bool:
    """Return whether the entry reports damage. A killed process does not damage files, so the report would be wrong."""
    return str(entry.get("event")).endswith("_damaged")


async def _born(code: Path, folder: Path) -> Path:
    """Return the data folder of a daemon that was started and stopped once."""
    await asyncio.to_thread(folder.mkdir)
    async with staged(code, folder) as stage:
        await stage.start()
        await stage.stop()
    return folder / "data"


async def _migrated(code: Path, folder: Path) -> Path:
    """Return the folder of a database that has the schema and no rows."""
    await asyncio.to_thread(folder.mkdir)
    life = await new_life(code, ["migrate", "--data", str(folder / "data")], folder, folder / "migrate.log")
    await life.begin()
    await life.close()
    return folder / "data"


def _kept_database(folder: Path) -> Path:
    """Return a folder with the oldest database that Arvis must still open."""
    folder.mkdir(mode=0o700)
    shutil.copy(min(KEPT.glob("*.db")), folder / "arvis.db")
    return folder
