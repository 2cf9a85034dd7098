"""Benchmark rows about several worker processes over one PostgreSQL: their combined speed, and the order inside
lanes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from arvis.store.open import Database
from arvis.store.postgres.store import CONNECTIONS
from bench.bed import Bed, open_bed
from bench.draining import LENGTHS, MANY_WORKERS, order_figures, produce
from bench.order import Stay, disorder
from bench.places import Postgres
from bench.report import Figure
from bench.rounds import Setting, in_turn
from bench.servers import ROOT

#: The seconds between two checks whether all jobs are done.
_LOOK = 0.02


async def workers(setting: Setting) -> list[Figure]:
    """Measure the speed with each number of processes. The control is the rate of plain commits on as many connections
    as one store has."""
    place = setting.place
    assert isinstance(place, Postgres)
    figures = [await _drain(setting, place, processes) for processes in setting.scale.processes]
    return [*figures, *await _order(place, setting.scale.lanes, setting.scale.processes[-1])]


async def _drain(setting: Setting, place: Postgres, processes: int) -> Figure:
    work, database = setting.scale.work, place.fresh(f"drain-{processes}")
    with place.commits(CONNECTIONS) as commits, working(database, processes, workers=MANY_WORKERS):
        async with open_bed(database) as bed:

            async def control() -> float:
                return commits.rate(work)

            async def measure() -> float:
                return await _drained(database, bed, work)

            paired = await in_turn(setting.scale.rounds, control, measure)
    return Figure(
        f"drain by {processes} worker process{'es' if processes > 1 else ''}",
        paired.value,
        "/s",
        paired.control,
        f"one insert a durable commit, {CONNECTIONS} connections in plain loops",
        paired.ratio,
    )


async def _drained(database: Database, bed: Bed, count: int) -> float:
    """Return jobs per second between the end of the first job and the end of the last, from the times in their rows."""
    await bed.add(count, slice_size=count)
    await all_done(database)
    with connected(database) as connection:
        row = connection.execute("SELECT max(finished_at) - min(finished_at) AS ms FROM jobs").fetchone()
        connection.execute("DELETE FROM jobs")
    assert row is not None
    milliseconds: int = max(row[0], 1)  # in a smoke test all jobs may end in the same millisecond
    return (count - 1) / milliseconds * 1000


async def _order(place: Postgres, lanes: int, processes: int) -> list[Figure]:
    """Check the order with the same lanes and producers as for one process. The times of the jobs are read from their
    rows."""
    database = place.fresh("lanes-of-many")
    with working(database, processes, lengths=LENGTHS):
        async with open_bed(database) as bed:
            await produce(bed, lanes)
            await all_done(database)
    with connected(database) as connection:
        rows = connection.execute("SELECT lane, (payload::json ->> 'number')::int, started_at, finished_at FROM jobs")
        found = disorder(Stay(*row) for row in rows)
    return order_figures(found, lanes, f", {processes} worker processes")


async def all_done(database: Database) -> None:
    with connected(database) as connection:
        # Poll, because no event reports the work of other processes.
        while connection.execute(  # noqa: ASYNC110
            "SELECT 1 FROM jobs WHERE status IN ('pending', 'running') LIMIT 1"
        ).fetchone():
            await asyncio.sleep(_LOOK)


@contextmanager
def connected(database: Database) -> Iterator[psycopg.Connection]:
    assert database.url is not None
    with psycopg.connect(database.url, autocommit=True) as connection:
        yield connection


@contextmanager
def working(
    database: Database, processes: int, *, workers: int = 8, lengths: tuple[float, ...] = (0.0,)
) -> Iterator[None]:
    """Run this number of processes that work on this database, during the context."""
    with ExitStack() as stack:
        started = [stack.enter_context(_worker(database, workers, lengths)) for _ in range(processes)]
        for process in started:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("a worker process did not start")
        yield


@contextmanager
def _worker(database: Database, workers: int, lengths: tuple[float, ...]) -> Iterator[subprocess.Popen[str]]:
    assert database.url is not None
    command = [sys.executable, "-m", "bench.worker", database.url, "--workers", str(workers), "--lengths"]
    process = subprocess.Popen(
        [*command, *map(str, lengths)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.communicate()  # closes the standard input, which ends the process
