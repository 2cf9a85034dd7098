"""`python -m tests.crash --kills 1000`: kill the daemon, again and again, and count what it lost."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.crash.campaign import CHECKOUT, Campaign, Case, cases_of, fresh_seed, pin, pinned
from tests.crash.report import Result, explain, table, totals
from tests.crash.variants import VARIANTS
from tests.crash.variants.build import broken, copied

KILLS = 200


def main() -> int:
    options = _options()
    if options.variant is not None:
        return _control(options)
    seed = options.seed or fresh_seed()
    print(f"seed {seed}", flush=True)
    cases = cases_of(seed, options.kills or KILLS, options.episode)
    if options.seed is None:
        cases = [*pinned(), *cases]
    with copied(CHECKOUT) as code:
        campaign = Campaign(code=code, window=options.window, database=options.database, parallel=options.parallel)
        results = asyncio.run(campaign.run(cases, _tell))
    pin(results)
    _write(options.report, seed, options, results)
    print(table(totals(results)))
    print(explain(results))
    return 1 if any(result.violations for result in results) else 0


def _control(options: argparse.Namespace) -> int:
    """Play a broken build; the harness itself has failed when nothing is found."""
    variant = VARIANTS[options.variant]
    with broken(variant, CHECKOUT) as code:
        campaign = Campaign(code=code, aim=variant.aim, patience=variant.patience, database=options.database)
        case = Case(options.seed or fresh_seed(), options.kills or variant.kills)
        result = asyncio.run(campaign.play(case))
    print(table(totals([result])))
    print(explain([result]))
    caught = variant.is_caught(result)
    print(f"{options.variant}: {'caught' if caught else 'NOT CAUGHT'} with {result.kills} kills, seed {case.seed}")
    return 0 if caught else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, help=f"default {KILLS}; for a variant, what is enough to catch it")
    parser.add_argument(
        "--seed", help="replay: the seed that an earlier run printed, or one of an episode (SEED.NUMBER)"
    )
    parser.add_argument("--episode", type=int, default=25, help="kills of one data folder (default 25)")
    parser.add_argument("--window", type=float, default=2.0, help="a kill falls this many seconds after ready at most")
    parser.add_argument("--parallel", type=int, default=1, help="episodes at once")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="a deliberately broken build, which must be caught")
    parser.add_argument("--database", help="a PostgreSQL server; each episode makes a database of its own on it")
    parser.add_argument("--report", type=Path, default=Path("build/crash-report.json"))
    return parser.parse_args()


def _tell(result: Result) -> None:
    verdict = f"{len(result.violations)} violations, kept in {result.evidence}" if result.violations else "clean"
    print(
        f"seed {result.seed}: {result.kills} kills, {result.messages} messages, {result.seconds:.0f} s: {verdict}",
        flush=True,
    )


def _write(path: Path, seed: str, options: argparse.Namespace, results: Sequence[Result]) -> None:
    document = {
        "seed": seed,
        "python": platform.python_version(),
        "database": "sqlite" if options.database is None else "postgresql",
        "totals": totals(results),
        "episodes": [result.document() for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
