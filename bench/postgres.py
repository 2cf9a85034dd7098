"""The benchmark rows about the queue, on a PostgreSQL server that they start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from arvis.store.postgres.store import CONNECTIONS
from bench import cluster, draining, enqueuing, workers
from bench.places import Postgres, postgres_in
from bench.report import Figure
from bench.rounds import Setting

Row = Callable[[Setting], Awaitable[list[Figure]]]


def on_postgres(*rows: Row) -> Row:
    """Return a row that measures these rows on one server. Their targets apply to SQLite and are removed, except the
    targets for the order in lanes."""

    async def measure(setting: Setting) -> list[Figure]:
        with postgres_in(setting.folder) as place:
            on_server = replace(setting, place=place)
            figures = [figure for row in rows for figure in await row(on_server)]
        return [_renamed(figure) for figure in figures]

    measure.__doc__ = "On PostgreSQL: " + " ".join(row.__doc__ or "" for row in rows)
    return measure


def _renamed(figure: Figure) -> Figure:
    target = figure.target if figure.target == draining.NOTHING else None
    return replace(figure, name=f"PostgreSQL: {figure.name}", target=target)


async def raw(setting: Setting) -> list[Figure]:
    """Measure the maximum of the server: durable commits per second, on one connection and on several."""
    place = setting.place
    assert isinstance(place, Postgres)
    figures = []
    for connections in (1, CONNECTIONS):
        with place.commits(connections) as commits:
            rates = sorted(commits.rate(setting.scale.work) for _ in range(setting.scale.rounds))
        name = f"raw durable commits, {connections} connection{'s' if connections > 1 else ''}"
        figures.append(Figure(name, rates[len(rates) // 2], "/s"))
    return figures


ROWS: dict[str, Row] = {
    "pg-queue": on_postgres(raw, enqueuing.enqueue, enqueuing.pickup, draining.drain, draining.lanes),
    "pg-depth": on_postgres(draining.depth),
    "pg-workers": on_postgres(workers.workers),
    "pg-cluster": on_postgres(cluster.cluster),
}
