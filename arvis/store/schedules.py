"""Crons and heartbeats over SQL."""

from __future__ import annotations

import json

from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.store.session import Row, Session, dump


class SqlSchedules:
    """`Schedules` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, schedule_id: str) -> Schedule | None:
        row = self._session.one("get_schedule", id=schedule_id)
        return schedule_of(row) if row else None

    def add(self, schedule: Schedule) -> None:
        made = {"kind": schedule.kind, "created_at": schedule.created_at, "updated_at": schedule.updated_at}
        self._session.execute("add_schedule", **_columns(schedule), **made)

    def update(self, schedule: Schedule, now: int) -> None:
        self._session.execute("update_schedule", **_columns(schedule), updated_at=now)

    def remove(self, schedule_id: str) -> bool:
        return self._session.execute("remove_schedule", id=schedule_id) == 1

    def of_agent(self, agent_id: str, kind: ScheduleKind | None = None) -> list[Schedule]:
        return [schedule_of(row) for row in self._session.rows("schedules_of_agent", agent_id=agent_id, kind=kind)]

    def all(self, kind: ScheduleKind, limit: int) -> list[Schedule]:
        return [schedule_of(row) for row in self._session.rows("schedules_of_kind", kind=kind, limit=limit)]


def schedule_of(row: Row) -> Schedule:
    fields = {name: row[name] for name in Schedule.__slots__}
    return Schedule(
        **{
            **fields,
            "kind": ScheduleKind(row["kind"]),
            "script": None if row["script"] is None else json.loads(row["script"]),
            "missed": Missed(row["missed"]),
            "enabled": bool(row["enabled"]),
        }
    )


def _columns(schedule: Schedule) -> dict[str, object]:
    """All but its kind and the times of the row, which the callers give."""
    names = set(Schedule.__slots__) - {"kind", "created_at", "updated_at"}
    return {
        **{name: getattr(schedule, name) for name in names},
        "script": None if schedule.script is None else dump(schedule.script),
        "enabled": int(schedule.enabled),
    }
