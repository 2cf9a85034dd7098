"""The acts of the scenario: in which folder a life begins, what is said in it, and that it is the one to be disturbed.

Together they hold every kind of write that there is: a first start with all migrations, an upgrade of a database that
is in use, a conversation, and the return of a daemon that died in the middle of one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.campaign import CHECKOUT
from tests.crash.daemon import _entry, _told
from tests.crash.oracle import judge
from tests.crash.sweep_lives import Nursery
from tests.crash.sweep_stage import Stage, staged
from tests.crash.sweep_state import Schema, damage, lost_files
from tests.crash.sweep_talk import GREETING, PATIENCE, SCRIPT
from tests.crash.verdict import Kind, Violation

#: Their names, in the order of the list of points.
ACTS = ("birth", "seed", "upgrade", "talk", "return")
KEPT = CHECKOUT / "tests" / "fixtures" / "databases"
HELPER = {"slug": "helper", "name": "Helper"}
#: Created at the next start, so that a start on a database that is up to date writes something, too.
NEWCOMER = {"slug": "second", "name": "Second"}
#: The request during which the life before a `return` is killed: some are answered, some not.
CUT_AT = 3


@dataclass(frozen=True, slots=True)
class Act:
    """`base` is the folder that the disturbed life begins in (None: an empty one), `kept`: that was made by hand and
    breaks rules of its own, `talks`: the users speak in this life, `cut`: a life before it was killed while they did,
    `late`: strace comes when it is ready."""

    name: str
    base: Path | None = None
    kept: bool = False
    talks: bool = False
    cut: bool = False
    late: bool = False


async def acts(nursery: Nursery, bases: Path) -> list[Act]:
    """All acts; the folders that they begin in are made in `bases`."""
    return [
        Act("birth"),
        Act("seed", base=await _migrated(nursery, bases / "migrated")),
        Act("upgrade", base=_kept_database(bases / "kept"), kept=True),
        Act("talk", base=await _born(nursery, bases / "born"), talks=True, late=True),
        Act("return", talks=True, cut=True),
    ]


@dataclass(frozen=True, slots=True)
class Ended:
    """How the disturbed life ended: its exit code, negative for a signal, None: it hung; what it and strace wrote."""

    code: int | None
    log: Path
    trace: Path


async def play(stage: Stage, act: Act, strace: Sequence[str], patience: float = PATIENCE) -> Ended:
    """The lives up to the end of the disturbed one; `patience` is how long the users try in it, in seconds."""
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
    """Restart without strace, let it drain, judge everything but times: two lives share the machine with strace."""
    found, earlier = damage(stage.data, allowed), len(stage.notes.refusals)
    await stage.finish(GREETING)
    found += [*complaints(stage.log), *refusals(stage.notes.refusals[earlier:])]
    judged = [violation for violation in judge(stage.history()) if violation.kind is not Kind.LATE]
    return [*found, *judged, *lost_files(stage.data)]


def refusals(told: Sequence[str]) -> list[Violation]:
    """What users were refused by a daemon that has no reason to."""
    return [Violation(refusals.__name__, Kind.OTHER, text) for text in dict.fromkeys(told)]


def complaints(log: Path) -> list[Violation]:
    """What a log calls an error or damage, and what Python wrote into it by itself."""
    entries = [_entry(line) for line in log.read_text(errors="replace").splitlines()]
    bad = [entry for entry in entries if entry.get("level") in {"error", "critical"} or _tells_of_damage(entry)]
    return [Violation(complaints.__name__, Kind.OTHER, text) for text in dict.fromkeys(map(_told, bad))]


def _tells_of_damage(entry: Mapping[str, Any]) -> bool:
    """A process that dies harms no file, so a start that finds one harmed is wrong."""
    return str(entry.get("event")).endswith("_damaged")


async def _born(nursery: Nursery, folder: Path) -> Path:
    """The data folder of a daemon that was started and stopped once."""
    await asyncio.to_thread(folder.mkdir)
    async with staged(nursery, folder) as stage:
        await stage.start()
        await stage.stop()
    return folder / "data"


async def _migrated(nursery: Nursery, folder: Path) -> Path:
    """A database that has its schema and nothing else."""
    await asyncio.to_thread(folder.mkdir)
    life = await nursery.bear(["migrate", "--data", str(folder / "data")], folder, folder / "migrate.log")
    await life.begin()
    await life.close()
    return folder / "data"


def _kept_database(folder: Path) -> Path:
    """The oldest database that Arvis must still open."""
    folder.mkdir(mode=0o700)
    shutil.copy(min(KEPT.glob("*.db")), folder / "arvis.db")
    return folder
