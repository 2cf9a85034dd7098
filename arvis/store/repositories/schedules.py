"""Crons and heartbeats, and their occurrences, over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.domain.schedules import Cause, MadeBy, Missed, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.store.sql.session import Row, Session, dump
from arvis.store.sql.unreadable import lenient


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

    def of_person(self, principal_id: str, limit: int) -> list[Schedule]:
        rows = self._session.rows("schedules_of_person", principal_id=principal_id, limit=limit)
        return [schedule_of(row) for row in rows]

    def count(self, agent_id: str, kind: ScheduleKind) -> int:
        row = self._session.one("count_schedules", agent_id=agent_id, kind=kind)
        return int(row["number"]) if row else 0

    def named(self, agent_id: str, kind: ScheduleKind, name: str) -> Schedule | None:
        row = self._session.one("schedule_named", agent_id=agent_id, kind=kind, name=name)
        return schedule_of(row) if row else None

    def forget_reminders(self, principal_id: str, before: int) -> int:
        return self._session.execute("forget_reminders", principal_id=principal_id, before=before)

    def all(self, kind: ScheduleKind, limit: int) -> list[Schedule]:
        return [schedule_of(row) for row in self._session.rows("schedules_of_kind", kind=kind, limit=limit)]

    def due(self, now: int, limit: int) -> list[Schedule]:
        return [schedule_of(row) for row in self._session.rows("due_schedules", now=now, limit=limit)]

    def next_due(self, after: int) -> int | None:
        row = self._session.one("next_due_schedule", after=after)
        return row["next_run"] if row else None

    def to_come(self, after: int, limit: int) -> list[Schedule]:
        return [schedule_of(row) for row in self._session.rows("schedules_to_come", after=after, limit=limit)]

    def advance(self, known: Schedule, *, last_run: int | None, next_run: int | None) -> bool:
        taken = self._session.execute(
            "advance_schedule",
            id=known.id,
            was=known.next_run,
            updated_at=known.updated_at,
            last_run=last_run,
            next_run=next_run,
        )
        return taken == 1

    def remember(self, schedule_id: str, memo: Mapping[str, Any]) -> None:
        self._session.execute("remember_of_schedule", id=schedule_id, memo=dump(memo))

    def rate(self, schedule_id: str, failures: int, cooldown_until: int | None) -> None:
        self._session.execute("rate_schedule", id=schedule_id, failures=failures, cooldown_until=cooldown_until)

    def ran(self, schedule_id: str, now: int) -> None:
        self._session.execute("remember_run", id=schedule_id, now=now)


class SqlOccurrences:
    """`Occurrences` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, occurrence: Occurrence) -> bool:
        fields = {name: getattr(occurrence, name) for name in Occurrence.__slots__}
        return self._session.execute("add_occurrence", **fields) == 1

    def get(self, occurrence_id: str) -> Occurrence | None:
        row = self._session.one("get_occurrence", id=occurrence_id)
        return occurrence_of(row) if row else None

    def orphans(self, limit: int) -> list[Occurrence]:
        return [occurrence_of(row) for row in self._session.rows("orphaned_occurrences", limit=limit)]

    def of_execution(self, execution_id: str) -> Occurrence | None:
        row = self._session.one("occurrence_of_execution", execution_id=execution_id)
        return occurrence_of(row) if row else None

    def save(self, occurrence: Occurrence) -> None:
        self._session.execute(
            "save_occurrence",
            id=occurrence.id,
            cause=occurrence.cause,
            status=occurrence.status,
            execution_id=occurrence.execution_id,
            report=occurrence.report,
            ended_at=occurrence.ended_at,
        )

    def running(self, schedule_id: str) -> list[Occurrence]:
        return [occurrence_of(row) for row in self._session.rows("running_occurrences", schedule_id=schedule_id)]

    def newest(self, schedule_id: str, limit: int) -> list[Occurrence]:
        rows = self._session.rows("newest_occurrences", schedule_id=schedule_id, limit=limit)
        return [occurrence_of(row) for row in rows]

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_occurrences", before=before, limit=limit)


def schedule_of(row: Row) -> Schedule:
    """Return a schedule; one with an unreadable row is switched off."""
    return lenient("schedules", "name", row, sound_schedule, _switched_off)


def sound_schedule(row: Row) -> Schedule:
    """Raises what `UNREADABLE` names."""
    fields = {name: row[name] for name in Schedule.__slots__}
    memo = json.loads(row["memo"])
    if memo is not None and not isinstance(memo, dict):
        raise ValueError("its memo is no object")
    return Schedule(
        **{
            **fields,
            "kind": ScheduleKind(row["kind"]),
            "script": None if row["script"] is None else json.loads(row["script"]),
            "missed": Missed(row["missed"]),
            "enabled": bool(row["enabled"]),
            "created_by": MadeBy(row["created_by"]),
            "memo": memo,
        }
    )


def _switched_off(row: Row) -> Schedule:
    fields = {name: row[name] for name in Schedule.__slots__}
    kind = row["kind"] if row["kind"] in {each.value for each in ScheduleKind} else ScheduleKind.CRON
    unread: dict[str, Any] = {"kind": ScheduleKind(kind), "script": None, "missed": next(iter(Missed)), "memo": {}}
    return Schedule(**{**fields, **unread, "enabled": False, "created_by": next(iter(MadeBy))})


def occurrence_of(row: Row) -> Occurrence:
    fields = {name: row[name] for name in Occurrence.__slots__}
    return Occurrence(**{**fields, "cause": Cause(row["cause"]), "status": OccurrenceStatus(row["status"])})


def _columns(schedule: Schedule) -> dict[str, object]:
    """Return all columns except its kind and the times of the row, which the callers add."""
    names = set(Schedule.__slots__) - {"kind", "created_at", "updated_at"}
    return {
        **{name: getattr(schedule, name) for name in names},
        "script": None if schedule.script is None else dump(schedule.script),
        "enabled": int(schedule.enabled),
        "memo": dump(schedule.memo),
    }
