"""`python -m tests.unit.markup_campaign --examples 1000000`: check the rules for every text on random texts that try
to break them."""

from __future__ import annotations

import random
import sys

from tests.unit.campaign import run_campaign
from tests.unit.markup_kit import FRAGMENTS, broken_rules, cut


def complaint(chance: random.Random) -> str | None:
    pieces = _example(chance)
    rules = broken_rules(pieces)
    return f"{'; '.join(rules)}: not for {pieces}" if rules else None


def _example(chance: random.Random) -> list[str]:
    """Return a text of a few different fragments, so that some of them belong together, in pieces."""
    few = chance.sample(FRAGMENTS, chance.randint(2, 12))
    text = "".join(chance.choices(few, k=chance.randint(1, 30)))
    longest = chance.choice([2, 9, 60])
    return list(cut(text, [chance.randint(1, longest) for _ in range(chance.randint(0, 40))]))


if __name__ == "__main__":
    sys.exit(run_campaign("tests.unit.markup_campaign", __doc__, complaint))
