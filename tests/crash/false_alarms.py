"""Kill a process that constantly writes and checkpoints its log.

A start after a kill must not report damage, and no committed value may be missing. This module is also the program of
the process that is killed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from arvis.domain.errors import StoreError
from arvis.ports.store import Transaction
from arvis.store.integrity.repair import make_sound
from arvis.store.location import Database
from arvis.store.open import bring_up_to_date, open_store
from arvis.store.sqlite import store as sqlite_store
from tests.conformance.databases import id_maker
from tests.crash.report import Report

KILLS = 200
#: Maximum seconds from the beginning of the work to the kill. Some kills come during the start instead.
WINDOW = 0.4
START = 1.0
DURING_START = 0.2
WRITERS = 16


def campaign(kills: int, seed: str) -> Report:
    """Kill processes that all use one data folder, and collect the complaints."""
    rng = Random(seed)
    stored = 0
    complaints: list[str] = []
    with tempfile.TemporaryDirectory(prefix="arvis-alarms-") as folder:
        for number in range(kills):
            lines = _boot(Path(folder), rng)
            complaints += [f"before kill {number}: {line}" for line in _judge(lines, stored)]
            stored = max([stored, *(int(line.split()[1]) for line in lines if line.startswith("stored "))])
    return Report({"kills": kills, "commits": stored}, complaints, failed=bool(complaints))


def _boot(folder: Path, rng: Random) -> list[str]:
    """Return the lines that the process wrote until it was killed, without a last line that was cut."""
    out = folder.with_name(f"{folder.name}.out")
    command = [sys.executable, "-m", "tests.crash.false_alarms", str(folder)]
    with out.open("wb") as file:
        process = subprocess.Popen(command, stdout=file)
    if rng.random() < DURING_START:
        time.sleep(rng.uniform(0, START))
    else:
        while b"holds" not in out.read_bytes() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, WINDOW))
    process.kill()
    code = process.wait()
    lines = out.read_text().split("\n")[:-1]
    out.unlink()
    return lines if code == -signal.SIGKILL else [*lines, f"finding: it ended by itself with {code}"]


def _judge(found: list[str], stored: int) -> list[str]:
    bad = [line for line in found if line.startswith("finding")]
    held = [int(line.split()[1]) for line in found if line.startswith("holds")]
    return bad + [f"it holds {number} of {stored}" for number in held if number < stored]


# -- the process -------------------------------------------------------------------------------------------


async def write(folder: Path) -> None:
    """Print the finding of the start and the stored number, then count on without end."""
    database = Database(folder / "arvis.db", None, folder)
    try:
        finding = make_sound(database, 0)
    except StoreError as refusal:
        sys.exit(refusal.what)
    # A finding of the level `info` is correct: a kill during the first start may have prevented the first checksums.
    if finding is not None and finding.level != "info":
        _report("finding", finding.what)
    bring_up_to_date(database, 0)
    sqlite_store.CHECKPOINT_BUSY = 400
    sqlite_store.CHECKPOINT_IDLE = 100
    async with open_store(database, boot="boot", new_id=id_maker()) as (store, _):
        held = int(await store.read(_held) or 0)
        _report("holds", held)
        numbers = iter(range(held + 1, sys.maxsize))
        rng = Random(held)

        async def count() -> None:
            for number in numbers:
                await store.write(_hold, number, rng.randrange(200), rng.randrange(3000))
                _report("stored", number)
                if rng.random() < 0.002:
                    await asyncio.sleep(0.05)

        await asyncio.gather(*(count() for _ in range(WRITERS)))


def _held(tx: Transaction) -> str | None:
    return tx.settings.get("held")


def _hold(tx: Transaction, number: int, slot: int, length: int) -> None:
    tx.settings.put(f"slot-{slot}", f"{number} " * (length // 5), number)
    tx.settings.put("held", str(max(number, int(tx.settings.get("held") or 0))), number)


def _report(kind: str, what: object) -> None:
    os.write(sys.stdout.fileno(), f"{kind} {what}\n".encode())


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=KILLS)


def play(options: argparse.Namespace) -> Report:
    return campaign(options.kills, options.seed)


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
