"""`python -m tests.unit.splitter_campaign --examples 1000000`: the rules for the parts of every text, on random texts made
to break them.

The seed is printed; with it, the same texts come again.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import time

from tests.unit.splitter_kit import broken_rules, example

#: So many broken texts are enough to look at.
_ENOUGH = 10
#: After so many examples it says how far it is.
_STEP = 20_000


def main() -> int:
    options = _options()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    started, broken = time.monotonic(), 0
    for number in range(1, options.examples + 1):
        text, limit, measure = example(chance)
        rules = broken_rules(text, limit, measure)
        if rules:
            broken += 1
            print(f"{'; '.join(rules)}: not for {text!r} by {limit} {measure}", flush=True)
        if broken == _ENOUGH:
            break
        if number % _STEP == 0 or number == options.examples:
            print(f"{number - broken} of {number} held, in {time.monotonic() - started:.0f} s", flush=True)
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.unit.splitter_campaign", description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
