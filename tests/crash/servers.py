"""Kill the processes of a cluster, and the PostgreSQL server itself.

The rules are those of the chats. In addition, an outage of the server does not count as an attempt of a job, causes no
repeated model call, and everything is answered within 30 seconds after the server's return.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psycopg

from tests.crash import chat_episode
from tests.crash.builds import copied
from tests.crash.campaign import play_all
from tests.crash.chat_episode import ChatPlan
from tests.crash.cluster import Cluster, Shape
from tests.crash.namespace import Refused
from tests.crash.report import Report, report_of, totals
from tests.crash.rows import offending
from tests.parts import find
from tests.unsteady_postgres import UnsteadyPostgres, unsteady_postgres

#: Everything is answered within this time after the server is back and the processes run (seconds).
BACK_WITHIN = 30.0
#: Seconds between two disturbances, and lengths of the server's outages. Some outages are longer than a lease.
BETWEEN = (0.3, 2.5)
AWAY = (0.0, 0.2, 1.0, 4.0)
LEASE = 3.0
#: Clients must get these errors during an outage.
PROMISED = ("was answered 503", "'message': 'The database is not available.'")
#: Number of disturbances in an episode.
EPISODE = 10


@dataclass(frozen=True, slots=True)
class Disturbances:
    """The number of kills of processes and of the server in an episode. The last kill is the server's."""

    kills: int
    servers: int


def scenario(unsteady: UnsteadyPostgres, disturbances: Disturbances) -> Callable[[Cluster, Random], Awaitable[bool]]:
    async def disturb(cluster: Cluster, rng: Random) -> bool:
        await cluster.start()
        await cluster.ready()
        victims = ["process"] * disturbances.kills + ["server"] * max(0, disturbances.servers - 1)
        rng.shuffle(victims)
        for victim in (*victims, *["server"][: disturbances.servers]):
            await asyncio.sleep(rng.uniform(*BETWEEN))
            if victim == "server":
                await asyncio.to_thread(unsteady.kill)
                await asyncio.sleep(rng.choice(AWAY))
                await asyncio.to_thread(unsteady.start)
            else:
                daemon = rng.choice(cluster.daemons)
                daemon.kill()
                await daemon.killed()
                await cluster.start()
        return False

    return disturb


def inspected(data: Path, database: str | None, *, undisturbed: bool) -> dict[str, list[str]]:
    """Return the rows that break a rule, including jobs for which an outage counted as an attempt."""
    assert database is not None
    found = offending(data, database, undisturbed=undisturbed)
    with psycopg.connect(database) as connection:
        charged = connection.execute("SELECT id, kind, attempts, error FROM jobs WHERE attempts > 0").fetchall()
        crashed = connection.execute("SELECT id, kind, crashes FROM jobs WHERE crashes > 0").fetchall()
    if charged:
        found["no attempt is charged for an outage"] = [str(row) for row in charged]
    if crashed and undisturbed:
        found["no crash is charged for an outage"] = [str(row) for row in crashed]
    return found


def plan_of(unsteady: UnsteadyPostgres, code: Path, seed: str, disturbances: Disturbances, shape: Shape) -> ChatPlan:
    return ChatPlan(
        seed=seed,
        code=code,
        shape=shape,
        patience=BACK_WITHIN,
        server=unsteady.server.url("postgres"),
        lease=LEASE,
        inspect=inspected,
        scenario=scenario(unsteady, disturbances),
        allowed=lambda problem: any(words in problem for words in PROMISED),
    )


def plans_of(kills: int, servers: int) -> list[Disturbances]:
    """Divide the disturbances among episodes.

    Every third episode kills only the server: then no crash may be counted, and no message may be asked again.
    """
    plans: list[Disturbances] = []
    while kills > 0 or servers > 0:
        alone = len(plans) % 3 == 0 or kills <= 0
        mine = min(servers, 3 if alone else 1)
        plans.append(Disturbances(0 if alone else min(kills, EPISODE), mine))
        kills, servers = kills - plans[-1].kills, servers - mine
    return plans


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=300, help="kills of processes (default 300)")
    parser.add_argument("--server-kills", type=int, default=30, help="kills of the server (default 30)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--webs", type=int, default=1)


def play(options: argparse.Namespace) -> Report:
    initdb = find("initdb")
    if initdb is None:
        raise Refused("it needs PostgreSQL's server (Debian: apt-get install postgresql)")
    shape = Shape(0, webs=options.webs, workers=options.workers)
    disturbances = plans_of(options.kills, options.server_kills)
    with unsteady_postgres(initdb, durable=True) as unsteady, copied() as code:
        plans = [
            plan_of(unsteady, code, f"{options.seed}.{number}", each, shape) for number, each in enumerate(disturbances)
        ]
        results = asyncio.run(play_all(map(chat_episode.play, plans)))
    return report_of({"serverKills": sum(each.servers for each in disturbances), **totals(results)}, results)
