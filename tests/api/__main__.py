"""`python -m tests.api`: Schemathesis calls every operation of the API as every role, and without a credential.

The exit code is 1 if an answer was a server error, differed from /openapi.json, or allowed access that it must refuse.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.api.bed import NOBODY, ROLES, made_bed
from tests.api.report import explain, left_out, table
from tests.api.trial import Plan, Tally, run

#: Roles other than the owner are tried with this fraction of the cases, because most of their answers are refusals.
_PART = 10


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else secrets.randbits(31)
    print(f"seed {seed}", flush=True)
    results: dict[str, dict[str, Tally]] = {}
    for role in options.role or (*ROLES, NOBODY):
        first = role == ROLES[0]
        cases = options.cases if first else max(1, options.cases // _PART)
        plan = Plan(role, cases, seed, thorough=first, chains=first, only=options.only)
        with tempfile.TemporaryDirectory() as folder, made_bed(Path(folder)) as bed:
            results[role] = run(bed, plan, bed.document(), _say)
        print(table({role: results[role]}), flush=True)
    print(table(results))
    print(left_out())
    found = explain(results)
    print(found)
    return 1 if found else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.api", description=__doc__)
    parser.add_argument("--cases", type=int, default=50, help="cases for each operation as an owner (default 50)")
    parser.add_argument("--role", action="append", choices=(*ROLES, NOBODY), help="try only this role; may be repeated")
    parser.add_argument("--only", metavar="PATTERN", help="try only operations whose path matches")
    parser.add_argument("--seed", type=int, help="replay: the seed that an earlier run printed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
