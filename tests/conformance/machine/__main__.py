"""`python -m tests.conformance.machine --steps 100000`: run random histories until this number of steps, and print the
result.

On PostgreSQL, it first races the two transactions of every meeting, with a pause before each statement.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.conformance.machine.machine import Tally
from tests.conformance.machine.meetings import MEETINGS, hold
from tests.conformance.machine.running import run_histories
from tests.conformance.machine.town import Town
from tests.parts import find
from tests.postgres import running_postgres

#: The histories between two lines of progress, and the steps of each. More steps reach deeper states, more histories
#: cover more.
BATCH, LENGTH = 50, 60


def main() -> int:
    options, tally = _options(), Tally()
    began = time.monotonic()
    with _database(options.database) as url:
        if url is not None:
            _hold_meetings(url, tally)
        seed = options.seed
        while tally.steps < options.steps:
            print(f"seed {seed}: {tally.steps} steps, {time.monotonic() - began:.0f} s", flush=True)
            # This raises an error that shows the failed history.
            run_histories(url, tally, histories=BATCH, steps=LENGTH, seed=seed)
            seed += 1
    happened = ", ".join(f"{what} {times}" for what, times in sorted(tally.happened.items()))
    print(f"{tally.steps} steps, 0 violations, {time.monotonic() - began:.0f} s\n{happened}")
    return 0


def _hold_meetings(url: str, tally: Tally) -> None:
    for meet in MEETINGS:
        with closing(Town(url, safe_resend=False)) as town:
            town.start_all()
            hold(town, meet, 1)
            races, deadlocks = town.records.calls["race"], town.records.calls["deadlock"]
            print(f"{meet.__name__}: {races} races, {deadlocks} deadlocks", flush=True)
            tally.happened.update(town.records.calls)


@contextmanager
def _database(name: str | None) -> Iterator[str | None]:
    if name != "new":
        yield name
        return
    program = find("initdb")
    if program is None:
        sys.exit("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with running_postgres(program) as server, server.database("machine") as url:
        yield url


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.machine", description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(1_000_000), help="the seed of the first histories"
    )
    parser.add_argument(
        "--database", help="the address of a PostgreSQL database, which is emptied; `new`: start a server"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
