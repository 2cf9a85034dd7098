"""One of several worker processes over the same PostgreSQL: `python -m bench.worker URL`. The process prints a line when
it is ready, and works until its standard input ends."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from pathlib import Path

from arvis.domain.jobs import Job
from arvis.store.open import Database
from bench.bed import open_bed


async def work(url: str, *, workers: int, lengths: list[float]) -> None:
    """Run jobs that each take one of these lengths (seconds), at random."""
    chance = random.Random()

    async def on_job(_: Job) -> None:
        if any(lengths):
            await asyncio.sleep(chance.choice(lengths))

    async with open_bed(Database(Path("none.db"), url, Path())) as bed, bed.queue(on_job, workers=workers):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.worker", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--lengths", type=float, nargs="+", default=[0.0], metavar="SECONDS")
    given = parser.parse_args()
    asyncio.run(work(given.url, workers=given.workers, lengths=given.lengths))


if __name__ == "__main__":
    main()
