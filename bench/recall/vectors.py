"""`python -m bench.recall.vectors`: measure the search for similar vectors: its times, and how many of the ten most similar vectors
it finds. The vectors are sums of some subjects and noise, as those of texts are: several texts share a subject.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from operator import add
from pathlib import Path
from statistics import mean, quantiles

import psycopg

from arvis.domain.embeddings import Meaning, SubjectKind, Vector
from arvis.domain.ids import encode, moment_of
from arvis.process.clock import SystemClock
from arvis.store.open import Database, bring_up_to_date
from arvis.store.postgres.session import PostgresSnapshots
from arvis.store.sql.session import Snapshots
from arvis.store.sqlite.store import SqliteSnapshots
from arvis.store.views.nearest import nearest_vectors
from bench.places import Files, Place, postgres_in

_SUBJECTS, _OF_EACH, _PEOPLE = 400, 4, 100
_BATCH = 2_000
_MODEL = "custom/bench"
_BEGIN = 1_500_000_000_000


class _Texts:
    """A source of vectors of this size."""

    def __init__(self, size: int) -> None:
        self._chance = random.Random(1)
        self._size = size
        self._subjects = [self._noise() for _ in range(_SUBJECTS)]

    def next(self) -> Vector:
        numbers: Sequence[int] = self._noise()
        for subject in self._chance.choices(self._subjects, k=_OF_EACH):
            numbers = [*map(add, numbers, subject)]
        return Vector.of(numbers)

    def _noise(self) -> Sequence[int]:
        # The difference of two uniform distributions is close enough to a normal distribution.
        one, other = self._chance.randbytes(self._size), self._chance.randbytes(self._size)
        return [a - b for a, b in zip(one, other, strict=True)]


def _rows(texts: _Texts, count: int) -> Iterator[tuple[str, str, Vector]]:
    for number in range(count):
        yield encode(moment_of(_BEGIN + number)), f"person{number % _PEOPLE}", texts.next()


def _fill(database: Database, texts: _Texts, count: int) -> list[Vector]:
    """Add this number of vectors to an empty database. Return those of the first 10,000 rows."""
    bring_up_to_date(database, SystemClock().now())
    kept: list[Vector] = []
    rows = _rows(texts, count)
    while batch := [*islice(rows, _BATCH)]:
        kept += [vector for _, _, vector in batch][: max(0, 10_000 - len(kept))]
        if database.url is None:
            values = [("message", each, _MODEL, person, vector.signs, vector.numbers) for each, person, vector in batch]
            with closing(sqlite3.connect(database.file)) as connection, connection:
                connection.executemany("INSERT INTO embeddings VALUES (?, ?, ?, ?, ?, ?)", values)
        else:
            with psycopg.connect(database.url) as connected, connected.cursor() as cursor:
                cursor.execute("SET synchronous_commit = off")
                with cursor.copy("COPY embeddings (kind, subject, model, area, signs, vector) FROM STDIN") as copy:
                    for each, person, vector in batch:
                        bits = f"{int.from_bytes(vector.signs):0{len(vector.signs) * 8}b}"
                        copy.write_row(("message", each, _MODEL, person, bits, vector.numbers))
    if database.url is not None:
        with psycopg.connect(database.url, autocommit=True) as connected:
            connected.execute("VACUUM (ANALYZE) embeddings")
    return kept


async def _measure(snapshots: Snapshots, questions: Sequence[Vector], areas: Sequence[str] | None) -> str:
    times = []
    async with snapshots.snapshot() as snapshot:
        for vector in questions:
            begun = time.perf_counter()
            await nearest_vectors(snapshot, SubjectKind.MESSAGE, Meaning(_MODEL, vector), areas)
            times.append((time.perf_counter() - begun) * 1_000)
    return f"{mean(times):8.1f} ms mean, {quantiles(times, n=20)[-1]:8.1f} ms p95"


def _found(known: Sequence[Vector], question: Vector, candidates: int) -> float:
    """Return the part of the ten most similar vectors that is among the candidates with the fewest differing signs."""
    signs = int.from_bytes(question.signs)
    exact = sorted(range(len(known)), key=lambda each: -question.similarity(known[each]))[:10]
    by_signs = sorted(range(len(known)), key=lambda each: (signs ^ int.from_bytes(known[each].signs)).bit_count())
    return len({*exact} & {*by_signs[:candidates]}) / len(exact)


async def measure(database: Database, count: int, size: int, questions: int) -> None:
    texts = _Texts(size)
    known = _fill(database, texts, count)
    asked = [texts.next() for _ in range(questions)]
    snapshots: Snapshots = SqliteSnapshots(database.file) if database.url is None else PostgresSnapshots(database.url)
    try:
        kind = "SQLite" if database.url is None else "PostgreSQL"
        for title, areas in (("all", None), ("one person", ["person1"])):
            print(
                f"{kind}, {count:9,} vectors of {size}, {title:10} {await _measure(snapshots, asked, areas)}",
                flush=True,
            )
    finally:
        await snapshots.close()
    if len(known) == count:
        for candidates in (20, 40, 80, 160):
            recall = mean(_found(known, each, candidates) for each in asked[:10])
            print(f"{candidates:4} candidates contain {recall:.3f} of the ten most similar vectors", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recall.vectors", description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--vectors", type=int, nargs="+", default=[1_000, 10_000], metavar="N")
    parser.add_argument("--size", type=int, default=1_536, help="the numbers of a vector")
    parser.add_argument("--questions", type=int, default=40, metavar="N")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-vectors-")))
        place: Place = stack.enter_context(postgres_in(folder)) if given.database == "postgres" else Files(folder)
        for count in given.vectors:
            asyncio.run(measure(place.fresh(f"vectors-{count}"), count, given.size, given.questions))


if __name__ == "__main__":
    main()
