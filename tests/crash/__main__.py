"""`python -m tests.crash --kills 1000`: kill the daemon repeatedly under load and count the messages that it loses or
repeats.

Other disturbances are stops (`--stops`), fast restarts (`--restarts`), sleeps past the lease (`--sleeps`) and a prompt
that kills the daemon (`--poison`). All of them also work on a cluster (`--workers 4 --webs 2`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.crash.blows import Aim, Blow
from tests.crash.campaign import CHECKOUT, Campaign, Case, cases_of, fresh_seed, pin, pinned
from tests.crash.cluster import Shape
from tests.crash.model import THINKING
from tests.crash.report import Result, explain, table, totals
from tests.crash.variants import VARIANTS
from tests.crash.variants.build import copied, edited
from tests.parts import find
from tests.postgres import running_postgres

KILLS = 200
#: In campaigns with kills, every second one of this many first pairs of chats works with tools.
WORKING = 4
#: The lease of campaigns with sleeps (seconds): with a short lease, short sleeps are long enough to exceed it.
LEASE = 1.0
#: Thinking times of the model in campaigns with stops (seconds): long ones make the drain wait for a turn.
SLOW = (0.02, 3.0)
#: Option for the number of blows -> the kind of the blow and its moment.
KINDS = {
    "kills": (Blow.KILL, Aim.RANDOM),
    "stops": (Blow.STOP, Aim.RANDOM),
    "restarts": (Blow.KILL, Aim.RESTARTS),
    "sleeps": (Blow.SLEEP, Aim.RANDOM),
}


def main() -> int:
    options = _options()
    shape = _shape(options)
    with _server(options.database, needed=shape != Shape()) as database:
        if options.variant is not None:
            return _control(options, database)
        kind = next((kind for kind in KINDS if getattr(options, kind) is not None), "kills")
        with copied(CHECKOUT) as code:
            return _play(_campaign(options, kind, shape, code, database), options, getattr(options, kind) or KILLS)


def _campaign(options: argparse.Namespace, kind: str, shape: Shape, code: Path, database: str | None) -> Campaign:
    blow, aim = KINDS[kind]
    return Campaign(
        code=code,
        blow=blow,
        aim=aim,
        poison=options.poison,
        shape=shape,
        window=options.window,
        working=WORKING if blow is Blow.KILL and not options.poison else 0,
        thinking=SLOW if blow is Blow.STOP else THINKING,
        lease=LEASE if blow is Blow.SLEEP else None,
        database=database,
        parallel=options.parallel,
    )


def _play(campaign: Campaign, options: argparse.Namespace, blows: int) -> int:
    seed = options.seed or fresh_seed()
    print(f"seed {seed}", flush=True)
    cases = [Case(seed, 0)] if campaign.poison else cases_of(seed, blows, options.episode)
    if options.seed is None and campaign.plain:
        cases = [*pinned(), *cases]
    results = asyncio.run(campaign.run(cases, _tell))
    if campaign.plain:
        pin(results)
    _write(options.report, seed, campaign, results)
    print(table(totals(results)))
    print(explain(results))
    return 1 if any(result.violations for result in results) else 0


def _control(options: argparse.Namespace, database: str | None) -> int:
    """Play a broken build. The harness fails if it finds nothing."""
    variant = VARIANTS[options.variant]
    case = Case(options.seed or fresh_seed(), options.kills or variant.blows)
    with _server(database, needed=variant.needs_server) as server, edited(variant.edits, CHECKOUT) as code:
        campaign = variant.campaign(code, database=server, random=options.random)
        result = asyncio.run(campaign.play(case))
    print(table(totals([result])))
    print(explain([result]))
    caught = variant.is_caught(result)
    print(f"{options.variant}: {'caught' if caught else 'NOT CAUGHT'} with {case.blows} blows, seed {case.seed}")
    return 0 if caught else 1


@contextmanager
def _server(named: str | None, *, needed: bool) -> Iterator[str | None]:
    """Yield the named server; without a name, start one if several processes need it."""
    if named is not None or not needed:
        yield named
        return
    initdb = find("initdb")
    if initdb is None:
        sys.exit("Several processes need PostgreSQL: install it, or name a server with --database")
    with running_postgres(initdb, durable=True) as server:
        yield server.url("postgres")


def _shape(options: argparse.Namespace) -> Shape:
    if options.workers or options.webs:
        return Shape(daemons=options.daemons or 0, webs=options.webs or 1, workers=options.workers or 1)
    return Shape(daemons=options.daemons or 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    blows = parser.add_mutually_exclusive_group()
    blows.add_argument("--kills", type=int, help=f"SIGKILL; default {KILLS}, or enough to catch the variant")
    blows.add_argument(
        "--stops", type=int, help="SIGTERM; the daemon must exit with 0 in time, lose nothing and repeat nothing"
    )
    blows.add_argument(
        "--restarts", type=int, help="SIGKILL in rows of fast restarts; each row also starts a second daemon"
    )
    blows.add_argument("--sleeps", type=int, help="SIGSTOP, often for longer than the lease, then SIGCONT")
    blows.add_argument("--poison", action="store_true", help="a prompt that kills the daemon whenever its job runs")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="a deliberately broken build, which must be caught")
    parser.add_argument("--random", action="store_true", help="use random blows on the variant, not aimed ones")
    parser.add_argument("--daemons", type=int, help="number of complete daemons on one database")
    parser.add_argument("--webs", type=int, help="cluster: number of web processes")
    parser.add_argument("--workers", type=int, help="cluster: number of worker processes")
    parser.add_argument("--seed", help="replay: the seed of an earlier run, or of one episode (SEED.NUMBER)")
    parser.add_argument("--episode", type=int, default=25, help="blows per data folder (default 25)")
    parser.add_argument("--window", type=float, default=2.0, help="maximum seconds from ready to a blow")
    parser.add_argument("--parallel", type=int, default=1, help="number of episodes at the same time")
    parser.add_argument("--database", help="URL of a PostgreSQL server; each episode creates its own database")
    parser.add_argument("--report", type=Path, default=Path("build/crash-report.json"))
    return parser.parse_args()


def _tell(result: Result) -> None:
    verdict = f"{len(result.violations)} violations, kept in {result.evidence}" if result.violations else "clean"
    print(
        f"seed {result.seed}: {result.kills} kills, {len(result.drains)} stops, {result.sleeps} sleeps, "
        f"{result.messages} messages, {result.seconds:.0f} s: {verdict}",
        flush=True,
    )


def _write(path: Path, seed: str, campaign: Campaign, results: Sequence[Result]) -> None:
    document = {
        "seed": seed,
        "python": platform.python_version(),
        "database": "sqlite" if campaign.database is None else "postgresql",
        "processes": [name for _, name in campaign.shape.places],
        "totals": totals(results),
        "episodes": [result.document() for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
