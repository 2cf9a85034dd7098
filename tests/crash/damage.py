"""Damage a file of a data folder at rest, start the daemon, and judge its data.

Either no value is lost, or the daemon reports the damage and continues with the backup or the undamaged part of the
log, value by value. The program keeps a folder that breaks this rule.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.builds import copied
from tests.crash.campaign import judged, play_all, seeds_of
from tests.crash.damage_judge import Outcome, judge
from tests.crash.damaged_daemon import damaged_daemon
from tests.crash.report import EpisodeResult, Report, report_of
from tests.crash.verdict import Kind, Violation

PAGE = 4096
#: File -> its weight in the choice. Most of the damage hits the data.
FILES = {"arvis.db": 5, "arvis.db-wal": 5, "arvis.db-shm": 1, "arvis.db-sums": 1}


@dataclass(frozen=True, slots=True)
class Damage:
    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.what} in {self.file}"


def damage(data: Path, rng: Random) -> Damage:
    """Damage one of the existing files in place, so that hard links to it still name the same file."""
    there = {name: weight for name, weight in FILES.items() if (data / name).exists() and (data / name).stat().st_size}
    [name] = rng.choices([*there], [*there.values()])
    path = data / name
    before = path.read_bytes()
    while (after := bytes(KINDS[kind := rng.choice([*KINDS])](bytearray(before), rng))) == before:
        pass
    with path.open("r+b") as file:
        file.write(after)
        file.truncate()
        os.fsync(file.fileno())
    return Damage(name, kind)


def _flip_bits(content: bytearray, rng: Random) -> bytearray:
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content


def _change_bytes(content: bytearray, rng: Random) -> bytearray:
    for _ in range(rng.randint(1, 64)):
        content[rng.randrange(len(content))] ^= rng.randint(1, 255)
    return content


def _overwrite_pages(content: bytearray, rng: Random) -> bytearray:
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(content)) // PAGE * PAGE
        length = len(content[start : start + PAGE])
        content[start : start + length] = rng.choice([bytes(length), rng.randbytes(length)])
    return content


def _swap_pages(content: bytearray, rng: Random) -> bytearray:
    pages = max(len(content) // PAGE, 1)
    one, other = (rng.randrange(pages) * PAGE for _ in range(2))
    first, second = content[one : one + PAGE], content[other : other + PAGE]
    if len(first) == len(second):
        content[one : one + PAGE], content[other : other + PAGE] = second, first
    return content


def _truncate(content: bytearray, rng: Random) -> bytearray:
    return content[: rng.randrange(len(content))]


KINDS: Mapping[str, Callable[[bytearray, Random], bytearray]] = {
    "flipped bits": _flip_bits,
    "changed bytes": _change_bytes,
    "overwritten pages": _overwrite_pages,
    "swapped pages": _swap_pages,
    "a cut": _truncate,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The result of one folder."""

    outcome: str

    @property
    def figures(self) -> Mapping[str, Any]:
        return {self.outcome: 1}


async def play_one(seed: str, code: Path) -> Result:
    """Play and judge one folder."""

    def run(folder: Path) -> tuple[Damage, Outcome, list[str]]:
        with damaged_daemon(folder, code, seed) as daemon:
            daemon.run_before_damage()
            done = damage(daemon.data, daemon.rng)
            return done, *judge(daemon)

    def result_of(judgement: tuple[Damage, Outcome, list[str]], seconds: float) -> Result:
        done, outcome, complaints = judgement
        violations = [Violation("damage", Kind.OTHER, text) for text in complaints]
        return Result(seed=seed, seconds=seconds, violations=violations, outcome=f"{done.file}: {outcome}")

    return await judged(lambda folder: asyncio.to_thread(run, folder), result_of)


def campaign(seeds: Sequence[str], code: Path) -> Report:
    """Play one folder for each seed and print each result."""
    results = asyncio.run(play_all(play_one(seed, code) for seed in seeds))
    outcomes = Counter(result.outcome for result in results)
    return report_of({"files": len(seeds), **dict(sorted(outcomes.items()))}, results)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=30)


def play(options: argparse.Namespace) -> Report:
    with copied() as code:
        return campaign(seeds_of(options.seed, options.files), code)
