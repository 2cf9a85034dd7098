"""Queries for reports about usage, and for the accounts of customers. `SqlInsights` inherits from the class of this
module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from arvis.domain.ids import first_id_at
from arvis.domain.money import Charge, Client, ClientChannel, day_of
from arvis.ports.insights import ClientSums, UsageBy, UsageGroup, UsagePoint, UsageReport, UsageSums
from arvis.ports.pages import Page
from arvis.store.repositories.money import channel_of, charge_of, client_of
from arvis.store.sql.session import LAST, Row, Snapshot, Snapshots, page

#: A quarter of an hour in ms. SQL adds up the usage of each quarter of an hour. Python adds these sums up to days,
#: because the start of a day depends on the time zone.
_QUARTER_MS = 900_000

#: The maximum number of keys, such as agents, that a report by day and key shows separately. All others are added up
#: under the key `OTHERS`.
_SPLIT = 8
OTHERS = "*"

#: The maximum number of groups that a report lists. Its total includes all groups.
_SHOWN = 1000


class SqlMoneyInsights:
    """Implements the part of `Insights` for usage and customers, on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def usage(self, by: UsageBy, since: int, until: int, zone: str) -> UsageReport:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("usage_report", by=by, first=first_id_at(since), before=first_id_at(until))
            sums = _by_day(rows, zone) if by is UsageBy.DAY else {row["name"]: _sums(row) for row in rows}
            ranked = sorted(sums.items(), key=_by_key if by is UsageBy.DAY else _dearest_first)
            shown = ranked[-_SHOWN:] if by is UsageBy.DAY else ranked[:_SHOWN]
            names = await _names(snapshot, by, [key for key, _ in shown])
        groups = [UsageGroup(key, names.get(key, key), of) for key, of in shown]
        return UsageReport(groups, _added(sums.values()))

    async def usage_by_day(self, split: UsageBy, since: int, until: int, zone: str) -> Sequence[UsagePoint]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("usage_by_time", by=split, first=first_id_at(since), before=first_id_at(until))
            by_name: dict[str, list[UsageSums]] = defaultdict(list)
            for row in rows:
                by_name[row["name"]].append(_sums(row))
            ranked = sorted(((name, _added(sums)) for name, sums in by_name.items()), key=_dearest_first)
            order = {name: number for number, (name, _) in enumerate(ranked[:_SPLIT])}
            names = {**await _names(snapshot, split, list(order)), OTHERS: "others"}
        points: dict[tuple[str, int, str], list[UsageSums]] = defaultdict(list)
        for row in rows:
            key = row["name"] if row["name"] in order else OTHERS
            day = day_of(row["quarter"] * _QUARTER_MS, zone)
            points[day, order.get(key, _SPLIT), key].append(_sums(row))
        return [
            UsagePoint(day, key, names.get(key, key), _added(sums)) for (day, _, key), sums in sorted(points.items())
        ]

    async def clients(self, *, limit: int, cursor: str | None) -> Page[Client]:
        async with self._snapshots.snapshot() as snapshot:
            return page(await snapshot.rows("list_clients", before=cursor or LAST, limit=limit + 1), client_of, limit)

    async def client(self, client_id: str) -> Client | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_client", id=client_id)
        return client_of(rows[0]) if rows else None

    async def client_channels(self, client_id: str) -> Sequence[ClientChannel]:
        async with self._snapshots.snapshot() as snapshot:
            return [channel_of(row) for row in await snapshot.rows("channels_of_client", client_id=client_id)]

    async def charges(
        self, client_id: str, *, since: int, until: int | None, limit: int, cursor: str | None
    ) -> Page[Charge]:
        end = LAST if until is None else first_id_at(until)
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_charges",
                client_id=client_id,
                first=first_id_at(since),
                before=min(cursor or LAST, end),
                limit=limit + 1,
            )
        return page(rows, charge_of, limit)

    async def client_sums(self, client_id: str, since: int, until: int) -> ClientSums:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "sum_charges", client_id=client_id, first=first_id_at(since), before=first_id_at(until)
            )
        return ClientSums(rows[0]["charged"], rows[0]["paid"])


def _sums(row: Row) -> UsageSums:
    return UsageSums(**{field.name: row[field.name] for field in fields(UsageSums)})


def _added(sums: Iterable[UsageSums]) -> UsageSums:
    every = list(sums)
    return UsageSums(**{field.name: sum(getattr(each, field.name) for each in every) for field in fields(UsageSums)})


def _by_day(rows: Sequence[Row], zone: str) -> Mapping[str, UsageSums]:
    days: dict[str, list[UsageSums]] = defaultdict(list)
    for row in rows:
        days[day_of(int(row["name"]) * _QUARTER_MS, zone)].append(_sums(row))
    return {day: _added(sums) for day, sums in days.items()}


def _by_key(group: tuple[str, UsageSums]) -> tuple[int, int, str]:
    return 0, 0, group[0]


def _dearest_first(group: tuple[str, UsageSums]) -> tuple[int, int, str]:
    key, sums = group
    return -sums.cost_micros, -sums.calls, key


async def _names(snapshot: Snapshot, by: UsageBy, keys: Sequence[str]) -> Mapping[str, str]:
    """Return the names to show for the keys of a report. There is no name for a deleted agent, customer or person."""
    queries = {UsageBy.AGENT: "get_agent", UsageBy.CLIENT: "get_client", UsageBy.PRINCIPAL: "get_principal"}
    if (query := queries.get(by)) is None:
        return {}
    found: dict[str, str] = {}
    for key in filter(None, keys):
        rows = await snapshot.rows(query, id=key)
        found |= {row["id"]: _name(by, row) for row in rows}
    return found


def _name(by: UsageBy, row: Row) -> str:
    match by:
        case UsageBy.AGENT:
            return str(row["slug"])
        case UsageBy.PRINCIPAL:
            return f"{row['name']} ({row['platform']})"
        case _:
            return str(row["name"])
