"""`python -m tests.unit.splitter_campaign --examples 1000000`: check the rules for the parts of every text on random
texts that try to break them."""

from __future__ import annotations

import random
import sys

from tests.unit.campaign import run_campaign
from tests.unit.splitter_kit import broken_rules, example


def complaint(chance: random.Random) -> str | None:
    text, limit, measure = example(chance)
    rules = broken_rules(text, limit, measure)
    return f"{'; '.join(rules)}: not for {text!r} by {limit} {measure}" if rules else None


if __name__ == "__main__":
    sys.exit(run_campaign("tests.unit.splitter_campaign", __doc__, complaint))
