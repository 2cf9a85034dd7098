"""Damage to a file at rest, as a disk or a person could cause it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

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
