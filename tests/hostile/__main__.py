"""`python -m tests.hostile`: the whole daemon against hostile model servers.

It exits with 1 if a message did not get exactly one reply or notice, if the event loop was blocked for more than 200
ms, or if memory grew by more than 64 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
from pathlib import Path

from tests.hostile.campaign import Plan, run
from tests.hostile.cases import CASES, CLAUDE, PROVIDERS, cases_of
from tests.hostile.report import document, explain, table


def main() -> int:
    options = _options()
    seed = options.seed or secrets.token_hex(4)
    print(f"seed {seed}", flush=True)
    results = []
    for provider in options.provider or PROVIDERS:
        cases = [case for case in options.case or cases_of(provider) if case in cases_of(provider)]
        plan = Plan(provider, seed, cases, always=options.always, parked=not options.quick)
        results.append(asyncio.run(run(plan, lambda line: print(line, flush=True))))
        print(table(results[-1:]), flush=True)
    if options.json:
        options.json.write_text(json.dumps([document(result) for result in results], indent=2) + "\n")
    print(table(results))
    print(explain(results))
    return 1 if any(result.found for result in results) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--provider", action="append", choices=PROVIDERS, help="only this provider; may be repeated")
    parser.add_argument(
        "--case",
        action="append",
        choices=sorted({*CASES, *cases_of(CLAUDE)}),
        metavar="NAME",
        help="only this case; may be repeated",
    )
    parser.add_argument("--seed", help="replay: the seed of an earlier run")
    parser.add_argument(
        "--always", type=int, default=100, help="number of cases with a server that never recovers (default 100)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="cancel messages that are delayed by a minute instead of waiting for them"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
