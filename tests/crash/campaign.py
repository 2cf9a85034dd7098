"""A campaign: enough episodes for a number of disturbances, pinned seeds first.

Episodes are independent: each has its own data folder, model, users and seed. So a failed episode can be replayed
alone, in about a minute. The folder and the database of a failed episode are kept.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.crash.episode import Episode, Plan
from tests.crash.report import EpisodeResult, Result

PINNED = Path(__file__).with_name("pinned.json")

P = TypeVar("P", bound=Plan)
H = TypeVar("H")
T = TypeVar("T")
R = TypeVar("R", bound=EpisodeResult)


@dataclass(frozen=True, slots=True)
class Case:
    """An episode that can be replayed."""

    seed: str
    disturbances: int


async def play(plan: P, episode: type[Episode[P, H]], result_of: Callable[[str, H, float], R]) -> R:
    """Play and judge one episode in a folder and database of its own."""
    database = None if plan.server is None else await asyncio.to_thread(create_database, plan.server)
    result = await judged(
        lambda folder: episode(replace(plan, folder=folder, database=database)).play(),
        lambda history, seconds: result_of(plan.seed, history, seconds),
    )
    if plan.server is not None and database is not None and not result.violations:
        await asyncio.to_thread(drop_database, plan.server, database)
    return result


async def judged(perform: Callable[[Path], Awaitable[H]], judge: Callable[[H, float], R]) -> R:
    """Return the result of an episode. If there are violations, its folder is kept with its history."""
    folder, started = Path(tempfile.mkdtemp(prefix="arvis-crash-")), time.monotonic()
    history = await perform(folder)
    result = judge(history, time.monotonic() - started)
    if not result.violations:
        shutil.rmtree(folder)
        return result
    (folder / "history.json").write_text(json.dumps(history, indent=1, default=_jsonable))
    return replace(result, evidence=str(folder))


def _print(result: object) -> None:
    print(result, flush=True)


async def play_all(episodes: Iterable[Awaitable[T]], parallel: int = 1, show: Callable[[T], None] = _print) -> list[T]:
    """Play up to `parallel` episodes at the same time, and show each result."""
    places = asyncio.Semaphore(parallel)

    async def one(playing: Awaitable[T]) -> T:
        async with places:
            result = await playing
        show(result)
        return result

    return await asyncio.gather(*map(one, episodes))


def cases_of(seed: str, disturbances: int, episode: int) -> list[Case]:
    """Split a number of disturbances into episodes, each with its own seed."""
    sizes = [min(episode, disturbances - done) for done in range(0, disturbances, episode)]
    return [Case(each, size) for each, size in zip(seeds_of(seed, len(sizes)), sizes, strict=True)]


def _jsonable(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else sorted(value)


def seeds_of(seed: str, episodes: int) -> list[str]:
    return [seed] if episodes == 1 else [f"{seed}.{number}" for number in range(episodes)]


def fresh_seed() -> str:
    return secrets.token_hex(4)


def create_database(server: str) -> str:
    """Create an empty database on the server and return its URL. Other databases on it are not changed."""
    name = f"arvis_crash_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    address = urlsplit(server)
    # `urlunsplit` would drop the slashes of an address without a host.
    return f"{address.scheme}://{address.netloc}/{name}?{address.query}"


def drop_database(server: str, database: str) -> None:
    name = urlsplit(database).path.removeprefix("/")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


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
