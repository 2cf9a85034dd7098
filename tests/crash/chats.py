"""Kill the daemon repeatedly while users chat, and count the messages that it loses or repeats.

Other disturbances are stops (`--stops`), fast restarts (`--restarts`), suspensions past the lease (`--suspensions`) and
a prompt that kills the daemon (`--poison`). All of them also work on a cluster (`--workers 4 --webs 2`).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.crash import chat_episode
from tests.crash.builds import copied
from tests.crash.campaign import Case, cases_of, pin, pinned, play_all
from tests.crash.chat_episode import ChatPlan
from tests.crash.cluster import Shape
from tests.crash.disturbances import Disturbance, Instant
from tests.crash.model import THINKING
from tests.crash.namespace import Refused
from tests.crash.report import Report, report_of, totals
from tests.crash.variants import VARIANTS
from tests.parts import find
from tests.postgres import running_postgres

KILLS = 200
#: In campaigns with kills, every second one of this many first pairs of chats works with tools.
WORKING = 4
#: The lease of campaigns with suspensions (seconds): with a short lease, short suspensions are long enough to exceed it.
LEASE = 1.0
#: Thinking times of the model in campaigns with stops (seconds): long ones make the drain wait for a turn.
SLOW = (0.02, 3.0)
#: Option for the number of disturbances -> the kind of the disturbance and its instant.
KINDS = {
    "kills": (Disturbance.KILL, Instant.RANDOM),
    "stops": (Disturbance.STOP, Instant.RANDOM),
    "restarts": (Disturbance.KILL, Instant.RESTARTS),
    "suspensions": (Disturbance.SUSPEND, Instant.RANDOM),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    disturbances = parser.add_mutually_exclusive_group()
    disturbances.add_argument("--kills", type=int, help=f"SIGKILL; default {KILLS}, or enough to catch the variant")
    disturbances.add_argument(
        "--stops", type=int, help="SIGTERM; the daemon must exit with 0 in time, lose nothing and repeat nothing"
    )
    disturbances.add_argument(
        "--restarts", type=int, help="SIGKILL in rows of fast restarts; each row also starts a second daemon"
    )
    disturbances.add_argument(
        "--suspensions", "--sleeps", type=int, help="SIGSTOP, often for longer than the lease, then SIGCONT"
    )
    disturbances.add_argument(
        "--poison", action="store_true", help="a prompt that kills the daemon whenever its job runs"
    )
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="a deliberately broken build, which must be caught")
    parser.add_argument(
        "--random", action="store_true", help="use random disturbances on the variant, not those of the variant"
    )
    parser.add_argument("--daemons", type=int, help="number of complete daemons on one database")
    parser.add_argument("--webs", type=int, help="cluster: number of web processes")
    parser.add_argument("--workers", type=int, help="cluster: number of worker processes")
    parser.add_argument("--episode", type=int, default=25, help="disturbances per data folder (default 25)")
    parser.add_argument("--window", type=float, default=2.0, help="maximum seconds from ready to a disturbance")
    parser.add_argument("--parallel", type=int, default=1, help="number of episodes at the same time")
    parser.add_argument("--database", help="URL of a PostgreSQL server; each episode creates its own database")


def play(options: argparse.Namespace) -> Report:
    shape = _shape(options)
    with _server(options.database, needed=shape != Shape()) as server:
        if options.variant is not None:
            return _control(options, server)
        with copied() as code:
            return _play(replace(_plan(options), code=code, shape=shape, server=server), options)


def _plan(options: argparse.Namespace) -> ChatPlan:
    disturbance, instant = KINDS[_kind(options)]
    return ChatPlan(
        disturbance=disturbance,
        instant=instant,
        poison=options.poison,
        window=options.window,
        working=WORKING if disturbance is Disturbance.KILL and not options.poison else 0,
        thinking=SLOW if disturbance is Disturbance.STOP else THINKING,
        lease=LEASE if disturbance is Disturbance.SUSPEND else None,
    )


def _kind(options: argparse.Namespace) -> str:
    return next((kind for kind in KINDS if getattr(options, kind) is not None), "kills")


def _play(plan: ChatPlan, options: argparse.Namespace) -> Report:
    disturbances = getattr(options, _kind(options)) or KILLS
    cases = [Case(options.seed, 0)] if plan.poison else cases_of(options.seed, disturbances, options.episode)
    if not options.replays and plan.plain:
        cases = [*pinned(), *cases]
    plans = [replace(plan, seed=case.seed, disturbances=case.disturbances) for case in cases]
    results = asyncio.run(play_all(map(chat_episode.play, plans), options.parallel))
    if plan.plain:
        pin(results)
    database = "sqlite" if plan.server is None else "postgresql"
    return report_of(totals(results), results, database=database, processes=[name for _, name in plan.shape.places])


def _control(options: argparse.Namespace, named: str | None) -> Report:
    """Play a broken build. The campaign fails if it finds nothing."""
    variant = VARIANTS[options.variant]
    with _server(named, needed=variant.needs_server) as server, copied(*variant.edits) as code:
        plan = replace(variant.plan, seed=options.seed, code=code, server=server)
        plan = replace(
            plan,
            disturbances=options.kills or plan.disturbances,
            instant=Instant.RANDOM if options.random else plan.instant,
        )
        results = asyncio.run(play_all([chat_episode.play(plan)]))
    caught = variant.is_caught(results[0])
    print(
        f"{variant.name}: {'caught' if caught else 'NOT CAUGHT'} with {plan.disturbances} disturbances, seed {plan.seed}"
    )
    return report_of(totals(results), results, failed=not caught)


@contextmanager
def _server(named: str | None, *, needed: bool) -> Iterator[str | None]:
    """Yield the named server; without a name, start one if several processes need it."""
    if named is not None or not needed:
        yield named
        return
    initdb = find("initdb")
    if initdb is None:
        raise Refused("several processes need PostgreSQL: install it, or name a server with --database")
    with running_postgres(initdb, durable=True) as server:
        yield server.url("postgres")


def _shape(options: argparse.Namespace) -> Shape:
    if options.workers or options.webs:
        return Shape(daemons=options.daemons or 0, webs=options.webs or 1, workers=options.workers or 1)
    return Shape(daemons=options.daemons or 1)
