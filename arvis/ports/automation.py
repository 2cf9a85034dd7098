"""Repositories of schedules, projects, webhooks and imported skills, and queries for the dashboard pages about them.
All times are in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.schedules import MadeBy, Occurrence, Schedule, ScheduleKind
from arvis.domain.webhooks import Webhook
from arvis.ports.pages import Page


class Webhooks(Protocol):
    def get(self, webhook_id: str) -> Webhook | None: ...

    def by_path(self, path: str) -> Webhook | None: ...

    def add(self, webhook: Webhook) -> None: ...

    def update(self, webhook: Webhook) -> None: ...

    def remove(self, webhook_id: str) -> bool: ...

    def take(self, webhook_id: str, call_id: str, execution_id: str | None, now: int) -> bool:
        """Store a call and count it; return False and change nothing if a call with this id was stored before."""
        ...

    def taken(self, webhook_id: str, call_id: str) -> str | None:
        """Return the execution that this call started; None if the call is unknown or started no execution."""
        ...

    def note_run(self, webhook_id: str, call_id: str, execution_id: str) -> None:
        """Store the execution that a stored call started."""
        ...

    def prune_calls(self, before: int, limit: int) -> int:
        """Delete up to `limit` calls that were stored before this time; return their number."""
        ...


class WebhookInsights(Protocol):
    async def webhooks(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[Webhook]:
        """Return webhooks, newest first. `agent` is an id or a slug."""
        ...


class Projects(Protocol):
    def get(self, project_id: str) -> Project | None: ...

    def by_slug(self, slug: str) -> Project | None: ...

    def hold(self, project_id: str) -> Project | None:
        """Lock the project until this commit, and return it."""
        ...

    def add(self, project: Project) -> None: ...

    def update(self, project: Project) -> None: ...

    def touch(self, project_id: str, now: int) -> None:
        """Store that an agent worked on the project now, with or without a result."""
        ...

    def remove(self, project_id: str) -> bool: ...

    def active(self, agent_id: str, limit: int) -> list[Project]:
        """Return the active projects on which this agent may work, ordered by the time of their last change or work,
        oldest first."""
        ...


class ProjectInsights(Protocol):
    async def projects(
        self, *, agent: str | None, status: ProjectStatus | None, limit: int, cursor: str | None
    ) -> Page[Project]:
        """Return projects, newest first. `agent` is an id or a slug."""
        ...


@dataclass(frozen=True, slots=True)
class StoredSkill:
    """An imported skill. Times in ms."""

    slug: str
    #: The whole Markdown file with its front matter.
    text: str
    #: The address from which the skill was imported, or the word `text` if a person entered it.
    source: str
    by_id: str
    created_at: int
    updated_at: int
    #: The hash of the text and files that an owner has trusted; None if no owner has trusted the skill.
    trusted: str | None
    #: The size and the SHA-256 of each file by its path; empty: the skill is only the text.
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)


#: The value of `StoredSkill.trusted` of skills that were imported before contents had hashes.
TRUSTED_BEFORE_HASHES = "imported"


class Skills(Protocol):
    def all(self) -> Sequence[StoredSkill]:
        """Return the imported skills in the order of their slugs."""
        ...

    def stamps(self) -> Mapping[str, int]:
        """Return the time of the last import of each skill, by slug. A caller compares these times to notice
        changes."""
        ...

    def get(self, slug: str) -> StoredSkill | None: ...

    def bundle(self, slug: str) -> bytes | None:
        """Return the files of a skill as a zip archive; None if there is no such skill or it is only a text."""
        ...

    def put(self, skill: StoredSkill, bundle: bytes | None = None) -> None:
        """Store a skill with its files (`bundle`, a zip archive). If a skill has the same slug, replace it, but keep its
        creation time."""
        ...

    def trust(self, slug: str, trusted: str, now: int) -> None:
        """Store the hash that an owner has trusted."""
        ...

    def remove(self, slug: str) -> bool:
        """Delete a skill; return False if no skill has this slug."""
        ...


class Schedules(Protocol):
    def get(self, schedule_id: str) -> Schedule | None: ...

    def add(self, schedule: Schedule) -> None: ...

    def update(self, schedule: Schedule, now: int) -> None: ...

    def remove(self, schedule_id: str) -> bool: ...

    def of_agent(self, agent_id: str, kind: ScheduleKind | None = None) -> list[Schedule]:
        """Return the schedules of an agent in the order of their creation, at most 100."""
        ...

    def of_person(self, principal_id: str, limit: int) -> list[Schedule]:
        """Return the reminders of this person that are switched on and have a next time, in the order of their
        creation. Reminders are schedules that agents created by their tool."""
        ...

    def count(self, agent_id: str, kind: ScheduleKind) -> int:
        """Count the schedules of this agent and kind, without reminders."""
        ...

    def named(self, agent_id: str, kind: ScheduleKind, name: str) -> Schedule | None:
        """Return the schedule of this agent and kind with this name; reminders are not searched."""
        ...

    def forget_reminders(self, principal_id: str, before: int) -> int:
        """Delete the reminders of this person that are switched on, have no next time and last ran before `before`.
        Return their number."""
        ...

    def all(self, kind: ScheduleKind, limit: int) -> list[Schedule]: ...

    def due(self, now: int, limit: int) -> list[Schedule]:
        """Return the due schedules that are switched on and have no running occurrence, earliest first."""
        ...

    def next_due(self, after: int) -> int | None:
        """Return the earliest time after `after` at which a schedule is due; None if there is none."""
        ...

    def to_come(self, after: int, limit: int) -> list[Schedule]:
        """Return the schedules that are switched on and due later than `after`, earliest first."""
        ...

    def advance(self, known: Schedule, *, last_run: int | None, next_run: int | None) -> bool:
        """Set the last and the next time of a due schedule. Return False and change nothing if the schedule differs
        from `known`, because another process advanced it or a person changed it."""
        ...

    def remember(self, schedule_id: str, memo: Mapping[str, Any]) -> None:
        """Store the state of the schedule's script."""
        ...

    def rate(self, schedule_id: str, failures: int, cooldown_until: int | None) -> None:
        """Store the number of failures in a row, and the end of the resulting cooldown (None: no cooldown)."""
        ...

    def ran(self, schedule_id: str, now: int) -> None:
        """Store the time of a run that was not due, for example because a person started it."""
        ...


class Occurrences(Protocol):
    """The handled occurrences of schedules. Each occurrence has one row."""

    def add(self, occurrence: Occurrence) -> bool:
        """Add an occurrence; return False if the schedule already has one for this time."""
        ...

    def get(self, occurrence_id: str) -> Occurrence | None: ...

    def orphans(self, limit: int) -> list[Occurrence]:
        """Return the unfinished occurrences that neither a job nor a live execution can end."""
        ...

    def of_execution(self, execution_id: str) -> Occurrence | None: ...

    def save(self, occurrence: Occurrence) -> None:
        """Update cause, status, execution, report and end time of an occurrence."""
        ...

    def running(self, schedule_id: str) -> list[Occurrence]:
        """Return the occurrences of a schedule that have not ended."""
        ...

    def newest(self, schedule_id: str, limit: int) -> list[Occurrence]:
        """Return the occurrences of a schedule, newest first."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` ended occurrences that were created before this time; return their number."""
        ...


class ScheduleInsights(Protocol):
    async def schedules(
        self,
        *,
        kind: ScheduleKind | None,
        agent: str | None,
        limit: int,
        cursor: str | None,
        created_by: MadeBy | None = None,
        enabled: bool | None = None,
    ) -> Page[Schedule]:
        """Return schedules, newest first. `agent` is an id or a slug."""
        ...

    async def occurrences(self, schedule_id: str, *, limit: int, cursor: str | None) -> Page[Occurrence]:
        """Return the occurrences of one schedule, newest first."""
        ...
