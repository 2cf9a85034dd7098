"""Long runs of random examples that try to break a rule.

Each run prints its seed; the same seed gives the same examples.
"""

from __future__ import annotations

import argparse
import random
import secrets
import time
from collections.abc import Callable

#: The number of broken examples after which a run stops.
_ENOUGH = 10
#: The number of examples between two lines of progress.
_STEP = 20_000


def run_campaign(program: str, about: str | None, complaint: Callable[[random.Random], str | None]) -> int:
    """Run a campaign and return the exit code, 1 if an example broke a rule.

    `complaint` makes one example and returns its problem, or None.
    """
    options = _options(program, about)
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    started, broken = time.monotonic(), 0
    for number in range(1, options.examples + 1):
        if wrong := complaint(chance):
            broken += 1
            print(wrong, flush=True)
        if broken == _ENOUGH:
            break
        if number % _STEP == 0 or number == options.examples:
            print(f"{number - broken} of {number} held, in {time.monotonic() - started:.0f} s", flush=True)
    return 1 if broken else 0


def _options(program: str, about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=about)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    return parser.parse_args()
