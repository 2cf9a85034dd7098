"""Running, waiting and failed work, and how fast messages were answered. A base class of `SqlInsights`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address
from arvis.domain.money import Budget
from arvis.ports.overview import Answers, Headline, Overview, RunningWork
from arvis.store.repositories.executions import wait_of
from arvis.store.repositories.jobs import job_of
from arvis.store.sql.session import Row
from arvis.store.sql.snapshots import Snapshot, Snapshots

#: The maximum length of each list.
_MOST_RUNNING, _MOST_WAITS, _MOST_FAILURES = 50, 10, 10


class SqlOverviewInsights:
    """`OverviewInsights` on either database."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def overview(self, now: int, day: str) -> Overview:
        async with self._snapshots.snapshot() as snapshot:
            agents = {row["id"]: row for row in await snapshot.rows("all_agents")}
            oldest = await snapshot.rows("oldest_head")
            work = await snapshot.rows("work_now", limit=_MOST_RUNNING)
            waits = await snapshot.rows("newest_open_waits", limit=_MOST_WAITS)
            failures = await snapshot.rows("newest_failures", limit=_MOST_FAILURES)
            return Overview(
                headline=await _headline(snapshot, day),
                oldest_ready_ms=max(0, now - oldest[0]["created_at"]) if oldest else 0,
                running=[_work_of(row, agents) for row in work],
                waits=[wait_of(row) for row in waits],
                failures=[job_of(row) for row in failures],
                agents={id_: row["slug"] for id_, row in agents.items()},
            )

    async def headline(self, day: str) -> Headline:
        async with self._snapshots.snapshot() as snapshot:
            return await _headline(snapshot, day)

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        bounds = {"first": first_id_at(since), "before": first_id_at(until)}
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("answers_by_minute", **bounds, minutes=minutes)
        return [Answers(row["minute"], bool(row["failed"]), max(0, row["latency"]), row["number"]) for row in rows]


async def _headline(snapshot: Snapshot, day: str) -> Headline:
    counted = (await snapshot.rows("count_queue"))[0]
    spent = await snapshot.rows("get_spending", scope=Budget.DAY, period=day, key="")
    return Headline(
        running=counted["running"],
        pending=counted["pending"],
        undelivered=counted["undelivered"],
        failed=counted["failed"],
        waiting=counted["waiting"],
        cost_micros=spent[0]["micros"] if spent else 0,
    )


def _work_of(row: Row, agents: Mapping[str, Row]) -> RunningWork:
    state: Mapping[str, Any] = json.loads(row["state"]) if row["state"] else {}
    agent = agents.get(row["agent_id"] or state.get("agent") or "")
    return RunningWork(
        job_id=row["id"],
        kind=row["kind"],
        since=row["started_at"] or 0,
        message_id=row["asked"],
        execution_id=row["execution_id"],
        agent=agent["slug"] if agent else None,
        agent_name=agent["name"] if agent else None,
        graph=row["graph"],
        node=row["node_now"],
        tool=row["effect_now"],
        note=str(state.get("status_note") or "") or None,
        conversation_id=row["conversation_id"] or state.get("conversation"),
        place=_place_of(row, state),
    )


def _place_of(row: Row, state: Mapping[str, Any]) -> Address | None:
    if row["platform"] is not None:
        return Address(row["platform"], row["connector"], row["channel"], row["thread"])
    parts = state.get("address")
    return Address.from_json(parts) if parts is not None else None
