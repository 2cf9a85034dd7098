"""Schedules, their occurrences, projects, webhooks and imported skills, over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.schedules import Cause, MadeBy, Missed, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.domain.webhooks import Preset, Webhook
from arvis.ports.automation import StoredSkill
from arvis.store.sql.session import Row, Session, dump
from arvis.store.sql.unreadable import lenient


class SqlWebhooks:
    """Implements the port `Webhooks` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, webhook_id: str) -> Webhook | None:
        row = self._session.one("get_webhook", id=webhook_id)
        return webhook_of(row) if row else None

    def by_path(self, path: str) -> Webhook | None:
        row = self._session.one("webhook_by_path", path=path)
        return webhook_of(row) if row else None

    def add(self, webhook: Webhook) -> None:
        fields = {name: getattr(webhook, name) for name in Webhook.__slots__}
        self._session.execute("add_webhook", **{**fields, "enabled": int(webhook.enabled)})

    def update(self, webhook: Webhook) -> None:
        names = set(Webhook.__slots__) - {"created_at", "last_triggered", "trigger_count"}
        fields = {name: getattr(webhook, name) for name in names}
        self._session.execute("update_webhook", **{**fields, "enabled": int(webhook.enabled)})

    def remove(self, webhook_id: str) -> bool:
        self._session.execute("forget_webhook_calls", webhook_id=webhook_id)
        return self._session.execute("remove_webhook", id=webhook_id) == 1

    def take(self, webhook_id: str, call_id: str, execution_id: str | None, now: int) -> bool:
        fields = {"webhook_id": webhook_id, "call_id": call_id, "execution_id": execution_id, "now": now}
        if self._session.execute("add_webhook_call", **fields) == 0:
            return False
        self._session.execute("count_webhook_call", id=webhook_id, now=now)
        return True

    def taken(self, webhook_id: str, call_id: str) -> str | None:
        row = self._session.one("get_webhook_call", webhook_id=webhook_id, call_id=call_id)
        return row["execution_id"] if row else None

    def note_run(self, webhook_id: str, call_id: str, execution_id: str) -> None:
        self._session.execute("note_webhook_run", webhook_id=webhook_id, call_id=call_id, execution_id=execution_id)

    def prune_calls(self, before: int, limit: int) -> int:
        return self._session.execute("prune_webhook_calls", before=before, limit=limit)


def webhook_of(row: Row) -> Webhook:
    """Return the webhook of a row. If the row is unreadable, return a disabled webhook."""
    return lenient("webhooks", "name", row, sound_webhook, _disabled_webhook)


def _disabled_webhook(row: Row) -> Webhook:
    fields = {name: row[name] for name in Webhook.__slots__}
    return Webhook(**{**fields, "preset": Preset.PLAIN, "enabled": False})


def sound_webhook(row: Row) -> Webhook:
    """Return the webhook of a row. Raise one of `UNREADABLE` if a value is malformed."""
    fields = {name: row[name] for name in Webhook.__slots__}
    return Webhook(**{**fields, "preset": Preset(row["preset"]), "enabled": bool(row["enabled"])})


class SqlSkills:
    """Implements the port `Skills` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> Sequence[StoredSkill]:
        return sorted(map(skill_of, self._session.rows("all_skills")), key=lambda skill: skill.slug)

    def stamps(self) -> Mapping[str, int]:
        return {row["slug"]: row["updated_at"] for row in self._session.rows("skill_stamps")}

    def get(self, slug: str) -> StoredSkill | None:
        row = self._session.one("get_skill", slug=slug)
        return skill_of(row) if row else None

    def bundle(self, slug: str) -> bytes | None:
        row = self._session.one("get_skill_bundle", slug=slug)
        return bytes(row["bundle"]) if row and row["bundle"] is not None else None

    def put(self, skill: StoredSkill, bundle: bytes | None = None) -> None:
        files = dump({path: list(each) for path, each in skill.files.items()})
        self._session.execute("put_skill", **{**asdict(skill), "files": files}, bundle=bundle)

    def trust(self, slug: str, trusted: str, now: int) -> None:
        self._session.execute("trust_skill", slug=slug, trusted=trusted, now=now)

    def remove(self, slug: str) -> bool:
        return self._session.execute("remove_skill", slug=slug) == 1


def skill_of(row: Row) -> StoredSkill:
    return StoredSkill(**{**{name: row[name] for name in StoredSkill.__slots__}, "files": _files_of(row["files"])})


def _files_of(column: str) -> dict[str, tuple[int, str]]:
    """Return the files of a skill. If the column is malformed, return a file that does not exist. The skill then
    differs from the trusted version, so Arvis reports the skill and does not use it."""
    try:
        return {path: (int(size), str(digest)) for path, (size, digest) in json.loads(column).items()}
    except (ValueError, TypeError, AttributeError):
        return {"": (0, "")}


class SqlProjects:
    """Implements the port `Projects` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, project_id: str) -> Project | None:
        row = self._session.one("get_project", id=project_id)
        return project_of(row) if row else None

    def by_slug(self, slug: str) -> Project | None:
        row = self._session.one("project_by_slug", slug=slug)
        return project_of(row) if row else None

    def hold(self, project_id: str) -> Project | None:
        row = self._session.one("hold_project", id=project_id)
        return project_of(row) if row else None

    def add(self, project: Project) -> None:
        self._session.execute("add_project", **{name: getattr(project, name) for name in Project.__slots__})

    def update(self, project: Project) -> None:
        names = set(Project.__slots__) - {"created_at"}
        self._session.execute("update_project", **{name: getattr(project, name) for name in names})

    def touch(self, project_id: str, now: int) -> None:
        self._session.execute("touch_project", id=project_id, now=now)

    def remove(self, project_id: str) -> bool:
        return self._session.execute("remove_project", id=project_id) == 1

    def active(self, agent_id: str, limit: int) -> list[Project]:
        return [project_of(row) for row in self._session.rows("active_projects", agent_id=agent_id, limit=limit)]


def project_of(row: Row) -> Project:
    fields = {name: row[name] for name in Project.__slots__}
    return Project(**{**fields, "status": ProjectStatus(row["status"])})


class SqlSchedules:
    """Implements the port `Schedules` with the session of a transaction."""

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
    """Implements the port `Occurrences` with the session of a transaction."""

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
    """Return the schedule of a row. If the row is unreadable, return a disabled schedule."""
    return lenient("schedules", "name", row, sound_schedule, _disabled_schedule)


def sound_schedule(row: Row) -> Schedule:
    """Return the schedule of a row. Raise one of `UNREADABLE` if a value is malformed."""
    fields = {name: row[name] for name in Schedule.__slots__}
    memo = json.loads(row["memo"])
    if memo is not None and not isinstance(memo, dict):
        raise ValueError("its memo is not an object")
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


def _disabled_schedule(row: Row) -> Schedule:
    fields = {name: row[name] for name in Schedule.__slots__}
    kind = row["kind"] if row["kind"] in {each.value for each in ScheduleKind} else ScheduleKind.CRON
    unread: dict[str, Any] = {"kind": ScheduleKind(kind), "script": None, "missed": next(iter(Missed)), "memo": {}}
    return Schedule(**{**fields, **unread, "enabled": False, "created_by": next(iter(MadeBy))})


def occurrence_of(row: Row) -> Occurrence:
    fields = {name: row[name] for name in Occurrence.__slots__}
    return Occurrence(**{**fields, "cause": Cause(row["cause"]), "status": OccurrenceStatus(row["status"])})


def _columns(schedule: Schedule) -> dict[str, object]:
    """Return the columns that both an insert and an update set: all except `kind`, `created_at` and `updated_at`."""
    names = set(Schedule.__slots__) - {"kind", "created_at", "updated_at"}
    return {
        **{name: getattr(schedule, name) for name in names},
        "script": None if schedule.script is None else dump(schedule.script),
        "enabled": int(schedule.enabled),
        "memo": dump(schedule.memo),
    }
