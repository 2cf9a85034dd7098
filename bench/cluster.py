"""The benchmark row about a whole cluster: simulated people write to a web process, worker processes and a scheduler
over one PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from arvis.store.open import Database
from arvis.store.postgres.store import CONNECTIONS
from bench.controls import RawCommits
from bench.draining import NOTHING
from bench.order import Stay, disorder
from bench.people import Load, Server, chat
from bench.places import Postgres
from bench.processes import cpu_seconds_of_family, memory_mb
from bench.report import Figure
from bench.rounds import Scale, Setting
from bench.servers import PLAIN, STARTER, server_of
from bench.talking import CHATS
from bench.workers import connected
from tests.acceptance.daemon import Daemon, running_daemon
from tests.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster. `server` has its address for people, and the ids of the web process and the workers."""

    server: Server
    web: Daemon
    workers: list[Daemon]


@dataclass(frozen=True, slots=True)
class Round:
    """One round."""

    load: Load
    #: The PostgreSQL server's processor time per message, in ms.
    database_ms: float
    #: The control: plain commits per second.
    commits: float


async def cluster(setting: Setting) -> list[Figure]:
    """Measure 16 chats with the demo model, one web process and 1, 2 and 4 worker processes."""
    place = setting.place
    assert isinstance(place, Postgres)
    return [figure for number in setting.scale.processes for figure in await _with_workers(setting, place, number)]


async def _with_workers(setting: Setting, place: Postgres, number: int) -> list[Figure]:
    database, scale = place.fresh(f"cluster-{number}"), setting.scale
    with (
        place.commits(CONNECTIONS) as commits,
        running_cluster(setting.folder / f"{number}", database, number) as running,
    ):
        rounds = [await _round(scale, place.server, running, commits) for _ in range(scale.rounds + 1)][1:]
        one = [await chat(running.server, people=1, messages=scale.messages) for _ in range(3)]
        memory = [memory_mb(process.pid) for process in (running.web, running.workers[0])]
    name = f"web + {number} worker{'s' if number > 1 else ''}"
    return [*_figures(name, rounds, one, memory), _overlaps(name, database)]


async def _round(scale: Scale, server: PostgresServer, running: Cluster, raw: RawCommits) -> Round:
    commits = raw.rate(scale.work)
    before = cpu_seconds_of_family(server.pid)
    load = await chat(running.server, people=CHATS, messages=scale.messages)
    used = cpu_seconds_of_family(server.pid) - before
    return Round(load, used / (CHATS * scale.messages) * 1000, commits)


def _figures(name: str, rounds: list[Round], one: list[Load], memory: list[float]) -> list[Figure]:
    return [
        Figure(
            f"{name}, {CHATS} chats",
            median(each.load.rate for each in rounds),
            "messages/s",
            median(each.commits for each in rounds),
            f"one insert a durable commit, {CONNECTIONS} connections in plain loops",
            median(each.load.rate / each.commits for each in rounds),
        ),
        Figure(f"{name}, CPU of Arvis", median(each.load.cpu_ms for each in rounds), "ms/message"),
        Figure(f"{name}, CPU of PostgreSQL", median(each.database_ms for each in rounds), "ms/message"),
        Figure(f"{name}, 1 chat, p50", median(each.p50_ms for each in one), "ms"),
        Figure(f"{name}, memory of the web process", memory[0], "MB"),
        Figure(f"{name}, memory of a worker process", memory[1], "MB"),
    ]


def _overlaps(name: str, database: Database) -> Figure:
    """Count how often two jobs of a lane ran at the same time, in all rounds. Each conversation has a lane for its
    messages, and each channel has a lane for its deliveries."""
    with connected(database) as connection:
        rows = connection.execute("SELECT lane, 0, started_at, finished_at FROM jobs WHERE finished_at IS NOT NULL")
        overlaps, _ = disorder(Stay(*row) for row in rows)
    return Figure(f"{name}, overlaps in a lane", overlaps, "", target=NOTHING)


@contextmanager
def running_cluster(folder: Path, database: Database, workers: int) -> Iterator[Cluster]:
    """Run a cluster. Each process has its own data folder, as docs/how-to/scale-out.md recommends."""
    assert database.url is not None
    with ExitStack() as stack:
        settings = {**PLAIN, "ARVIS__DATABASE": database.url}

        def started(name: str, roles: str) -> Daemon:
            place = folder / name
            place.mkdir(parents=True)
            return stack.enter_context(
                running_daemon(place, settings={**settings, "ARVIS__ROLES": roles}, under=STARTER)
            )

        web = started("web", "web,scheduler")
        working = [started(f"worker-{number}", "workers") for number in range(workers)]
        entrance = server_of(web)
        yield Cluster(Server(entrance.endpoints, [web.pid, *(worker.pid for worker in working)]), web, working)
        for daemon in (web, *working):
            daemon.stop()
