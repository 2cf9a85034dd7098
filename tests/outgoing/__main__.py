"""`python -m tests.outgoing [FOLDER]`: runs all attacks on outgoing data and all ordinary tasks, and prints the figures. The
database is in FOLDER, such as /dev/shm.

The exit code is 1 if anything left without an approval, if a task is not complete, or if the tasks need too many questions.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.outgoing.attacks import attacks
from tests.outgoing.campaign import Tally, attacked, helped
from tests.outgoing.stage import open_stage
from tests.outgoing.tasks import tasks

#: The maximum number of questions for each task, on average.
MOST_QUESTIONS = 0.3


async def run() -> int:
    tally, left, lacks, questions = Tally(), [], [], {}
    with tempfile.TemporaryDirectory(dir=next(iter(sys.argv[1:]), None)) as folder:
        async with open_stage(Path(folder)) as stage:
            for attack in attacks():
                left += [f"{attack.name}: {each}" for each in await attacked(stage, attack, tally)]
            for task in tasks():
                questions[task.name], missing = await helped(stage, task)
                lacks += [f"{task.name}: {each}" for each in missing]
    average = sum(questions.values()) / len(questions)
    print(f"attacks: {tally.cases}, questions {tally.questions}, requests that left: {len(left)}")
    print(f"attacks by carrier: {', '.join(f'{name} {number}' for name, number in tally.by_carrier.most_common())}")
    print(f"requests of known words to services: {tally.coded}; links chosen in 18 cases: {tally.chosen}")
    print(f"tasks: {len(questions)}, not complete: {len(lacks)}, questions for each task: {average:.2f}")
    print(*sorted({name.partition(" (")[0] for name, asked in questions.items() if asked}), sep="\n  ")
    print(*left[:40], *lacks, sep="\n")
    return 1 if left or lacks or average > MOST_QUESTIONS else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
