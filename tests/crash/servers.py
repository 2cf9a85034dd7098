"""`python -m tests.crash.servers --kills 300 --server-kills 30`: kill the processes of a cluster, and the PostgreSQL
server itself.

The rules are those of the other campaigns. In addition, an outage of the server does not count as an attempt of a job,
causes no repeated model call, and everything is answered within 30 seconds after the server's return.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

import psycopg

from tests.crash.campaign import ARVIS, CHECKOUT, Case, fresh_seed
from tests.crash.cluster import Cluster, Shape
from tests.crash.databases import create_database
from tests.crash.episode import Plan, play
from tests.crash.report import Result, explain, result_of, table, totals
from tests.crash.rows import offending
from tests.crash.variants.build import copied
from tests.parts import find
from tests.unsteady_postgres import UnsteadyPostgres, unsteady_postgres

#: Everything is answered within this time after the server is back and the processes run (seconds).
BACK_WITHIN = 30.0
#: Seconds between two blows, and lengths of the server's outages. Some outages are longer than a lease.
BETWEEN = (0.3, 2.5)
AWAY = (0.0, 0.2, 1.0, 4.0)
LEASE = 3.0
#: Number of blows in an episode.
EPISODE = 10


@dataclass(frozen=True, slots=True)
class Blows:
    """The number of kills of processes and of the server in an episode. The last kill is the server's."""

    kills: int
    servers: int


def ordeal(unsteady: UnsteadyPostgres, blows: Blows) -> Callable[[Cluster, Random], Awaitable[None]]:
    async def suffer(cluster: Cluster, rng: Random) -> None:
        await cluster.start()
        await cluster.ready()
        acts = ["process"] * blows.kills + ["server"] * max(0, blows.servers - 1)
        rng.shuffle(acts)
        for act in (*acts, *["server"][: blows.servers]):
            await asyncio.sleep(rng.uniform(*BETWEEN))
            if act == "server":
                await asyncio.to_thread(unsteady.kill)
                await asyncio.sleep(rng.choice(AWAY))
                await asyncio.to_thread(unsteady.start)
            else:
                daemon = rng.choice(cluster.daemons)
                daemon.kill()
                await daemon.dead()
                await cluster.start()

    return suffer


def inspected(data: Path, database: str | None, *, unharmed: bool) -> dict[str, list[str]]:
    """Return the rows that break a rule, including jobs for which an outage counted as an attempt."""
    assert database is not None
    found = offending(data, database, unharmed=unharmed)
    with psycopg.connect(database) as connection:
        charged = connection.execute("SELECT id, kind, attempts, error FROM jobs WHERE attempts > 0").fetchall()
        crashed = connection.execute("SELECT id, kind, crashes FROM jobs WHERE crashes > 0").fetchall()
    if charged:
        found["no attempt is charged for an outage"] = [str(row) for row in charged]
    if crashed and unharmed:
        found["no crash is charged for an outage"] = [str(row) for row in crashed]
    return found


async def episode(unsteady: UnsteadyPostgres, code: Path, case: Case, blows: Blows, shape: Shape) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="arvis-crash-"))
    database = await asyncio.to_thread(create_database, unsteady.server.url("postgres"))
    plan = Plan(
        seed=case.seed,
        blows=0,
        command=ARVIS,
        code=code,
        folder=folder,
        shape=shape,
        patience=BACK_WITHIN,
        database=database,
        lease=LEASE,
        inspect=inspected,
        ordeal=ordeal(unsteady, blows),
    )
    started = time.monotonic()
    history = await play(plan)
    # During an outage, clients must get these errors.
    promised = ("was answered 503", "'message': 'The database is not available.'")
    refusals = [problem for problem in history.problems if any(words in problem for words in promised)]
    history = replace(history, problems=tuple(each for each in history.problems if each not in refusals))
    result = result_of(case.seed, history, time.monotonic() - started)
    if result.violations:
        (folder / "history.json").write_text(json.dumps(asdict(history), indent=1))
        return replace(result, evidence=str(folder))
    shutil.rmtree(folder)
    return result


async def campaign(
    unsteady: UnsteadyPostgres,
    code: Path,
    plans: Sequence[tuple[str, Blows]],
    shape: Shape,
    told: Callable[[str], None],
) -> list[Result]:
    results = []
    for seed, blows in plans:
        result = await episode(unsteady, code, Case(seed, 0), blows, shape)
        told(
            f"seed {result.seed}: {result.kills} kills, {blows.servers} of the server, {result.messages} messages, "
            f"{result.seconds:.0f} s: {len(result.violations)} violations {result.evidence or ''}"
        )
        results.append(result)
    return results


def plans_of(kills: int, servers: int) -> list[Blows]:
    """Divide the blows among episodes.

    Every third episode kills only the server: then no crash may be counted, and no message may be asked again.
    """
    plans: list[Blows] = []
    while kills > 0 or servers > 0:
        alone = len(plans) % 3 == 0 or kills <= 0
        mine = min(servers, 3 if alone else 1)
        plans.append(Blows(0 if alone else min(kills, EPISODE), mine))
        kills, servers = kills - plans[-1].kills, servers - mine
    return plans


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.servers", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="kills of processes (default 300)")
    parser.add_argument("--server-kills", type=int, default=30, help="kills of the server (default 30)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--webs", type=int, default=1)
    parser.add_argument("--seed", default=None)
    options = parser.parse_args()
    initdb = find("initdb")
    if initdb is None:
        sys.exit("This campaign needs PostgreSQL's server (Debian: apt-get install postgresql)")
    seed = options.seed or fresh_seed()
    print(f"seed {seed}", flush=True)
    shape = Shape(0, webs=options.webs, workers=options.workers)
    plans = [(f"{seed}.{number}", each) for number, each in enumerate(plans_of(options.kills, options.server_kills))]
    with unsteady_postgres(initdb, durable=True) as unsteady, copied(CHECKOUT) as code:
        results = asyncio.run(campaign(unsteady, code, plans, shape, lambda line: print(line, flush=True)))
    print(table(totals(results)))
    print(explain(results))
    return 1 if any(result.violations for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
