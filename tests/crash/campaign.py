"""A campaign: enough episodes for a number of blows, pinned seeds first.

Episodes are independent: each has its own data folder, model, users and seed. So a failed episode can be replayed
alone, in about a minute. The folder and the database of a failed episode are kept.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from tests.crash.blows import Aim, Blow
from tests.crash.cluster import Shape
from tests.crash.databases import create_database, drop_database
from tests.crash.episode import Plan, play
from tests.crash.model import THINKING
from tests.crash.report import Result, result_of

CHECKOUT = Path(__file__).resolve().parents[2]
PINNED = Path(__file__).with_name("pinned.json")
ARVIS = (sys.executable, "-m", "arvis")


@dataclass(frozen=True, slots=True)
class Case:
    """An episode that can be replayed."""

    seed: str
    blows: int


@dataclass(frozen=True, slots=True)
class Campaign:
    """The settings for all episodes of a campaign. `Plan` has the same fields for one episode."""

    code: Path
    command: Sequence[str] = ARVIS
    blow: Blow = Blow.KILL
    aim: Aim = Aim.RANDOM
    poison: bool = False
    shape: Shape = Shape()  # noqa: RUF009 frozen
    window: float = 2.0
    aimed_after: float = 0.0
    rate: float = 1.0
    working: int = 0
    thinking: tuple[float, float] = THINKING
    patience: float = 90.0
    lease: float | None = None
    #: A server on which each episode creates its own database.
    database: str | None = None
    #: Number of episodes at the same time.
    parallel: int = 1

    @property
    def plain(self) -> bool:
        """Return whether `make crash` can replay a seed of this campaign without further options."""
        names = {"blow", "aim", "poison", "shape", "lease", "database"}
        return all(getattr(self, field.name) == field.default for field in fields(self) if field.name in names)

    async def run(self, cases: Sequence[Case], told: Callable[[Result], None]) -> list[Result]:
        """Play all cases and call `told` with each result when its episode ends."""
        places = asyncio.Semaphore(self.parallel)

        async def one(case: Case) -> Result:
            async with places:
                result = await self.play(case)
            told(result)
            return result

        return await asyncio.gather(*(one(case) for case in cases))

    async def play(self, case: Case) -> Result:
        folder = Path(tempfile.mkdtemp(prefix="arvis-crash-"))
        database = None if self.database is None else create_database(self.database)
        plan = Plan(
            seed=case.seed,
            blows=case.blows,
            command=self.command,
            code=self.code,
            folder=folder,
            blow=self.blow,
            aim=self.aim,
            poison=self.poison,
            shape=self.shape,
            window=self.window,
            aimed_after=self.aimed_after,
            rate=self.rate,
            working=self.working,
            thinking=self.thinking,
            patience=self.patience,
            lease=self.lease,
            database=database,
        )
        started = time.monotonic()
        history = await play(plan)
        result = result_of(case.seed, history, time.monotonic() - started)
        if result.violations:
            (folder / "history.json").write_text(json.dumps(asdict(history), indent=1, default=sorted))
            return replace(result, evidence=str(folder))
        shutil.rmtree(folder)
        if self.database is not None and database is not None:
            drop_database(self.database, database)
        return result


def cases_of(seed: str, blows: int, episode: int) -> list[Case]:
    """Split a number of blows into episodes, each with its own seed."""
    sizes = [min(episode, blows - done) for done in range(0, blows, episode)]
    return [Case(seed if len(sizes) == 1 else f"{seed}.{number}", size) for number, size in enumerate(sizes)]


def fresh_seed() -> str:
    return secrets.token_hex(4)


def pinned(path: Path = PINNED) -> list[Case]:
    """Return the cases that failed in earlier campaigns."""
    return [Case(entry["seed"], entry["kills"]) for entry in json.loads(path.read_text())]


def pin(results: Sequence[Result], path: Path = PINNED) -> None:
    """Store the seeds of failed episodes permanently, with the rules that they broke.

    An episode whose daemon never accepted a message is not stored, because the kills are not the reason for its
    failure.
    """
    entries = json.loads(path.read_text())
    known = {entry["seed"] for entry in entries}
    new = [
        {
            "seed": result.seed,
            "kills": result.kills,
            "found": sorted({violation.rule for violation in result.violations}),
        }
        for result in results
        if result.violations and result.messages and result.seed not in known
    ]
    if new:
        path.write_text(json.dumps([*entries, *new], indent=2) + "\n")
