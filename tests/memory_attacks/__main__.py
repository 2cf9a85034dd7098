"""`python -m tests.memory_attacks [FOLDER]`: runs all attacks on memory and linked identities, and prints the leaks. The database is in
FOLDER, such as /dev/shm. The exit code is 1 if an attack has read or changed anything."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.memory_attacks.campaign import attacks, consolidations, open_stage


async def run() -> int:
    leaks, number = list[str](), 0
    with tempfile.TemporaryDirectory(dir=next(iter(sys.argv[1:]), None)) as folder:
        async with open_stage(Path(folder)) as stage:
            for attack in attacks([fact.number for fact in stage.victims]):
                number += 1
                leaks += [f"{attack.name}: {each}" for each in await stage.leaks(attack)]
            for reply, merges in consolidations(stage.victims):
                number += 1
                leaks += [f"consolidation: {reply}"] if merges is not None else []
    print(f"attacks: {number}, leaks: {len(leaks)}")
    print(*leaks[:40], sep="\n")
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
