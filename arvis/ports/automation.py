"""Repositories of schedules, projects, web hooks and imported skills, and the queries of their pages. All times are
milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
        """Note a call (times in ms) and count it; return False if it was accepted before."""
        ...

    def taken(self, webhook_id: str, call_id: str) -> str | None:
        """Return the run that this call has started; None if the call was never accepted."""
        ...

    def note_run(self, webhook_id: str, call_id: str, execution_id: str) -> None:
        """Note the run that an accepted call has started."""
        ...

    def prune_calls(self, before: int, limit: int) -> int:
        """Delete up to `limit` calls that were accepted before this time; return their number."""
        ...


class WebhookInsights(Protocol):
    async def webhooks(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[Webhook]:
        """Return web hooks, newest first. `agent` is an id or a slug."""
        ...


class Projects(Protocol):
    def get(self, project_id: str) -> Project | None: ...

    def by_slug(self, slug: str) -> Project | None: ...

    def hold(self, project_id: str) -> Project | None:
        """Return the project and lock it until this commit."""
        ...

    def add(self, project: Project) -> None: ...

    def update(self, project: Project) -> None: ...

    def touch(self, project_id: str, now: int) -> None:
        """Note that an agent worked on the project, regardless of the result."""
        ...

    def remove(self, project_id: str) -> bool: ...

    def active(self, agent_id: str, limit: int) -> list[Project]:
        """Return the projects on which this agent may work, the longest untouched first."""
        ...


class ProjectInsights(Protocol):
    async def projects(
        self, *, agent: str | None, status: ProjectStatus | None, limit: int, cursor: str | None
    ) -> Page[Project]:
        """Return projects, newest first. `agent` is an id or a slug."""
        ...


@dataclass(frozen=True, slots=True)
class StoredSkill:
    """`text` is the whole Markdown file with its front matter, `source` the address of its origin, or `text`. Times
    in ms."""

    slug: str
    text: str
    source: str
    by_id: str
    created_at: int
    updated_at: int


class Skills(Protocol):
    def all(self) -> Sequence[StoredSkill]:
        """Return skills in the order of their slugs."""
        ...

    def stamps(self) -> Mapping[str, int]:
        """Return when each skill was last imported: a cheap check for changes."""
        ...

    def get(self, slug: str) -> StoredSkill | None: ...

    def put(self, skill: StoredSkill) -> None:
        """Store a skill, replacing one with the same slug; the creation time stays."""
        ...

    def remove(self, slug: str) -> bool:
        """Delete a skill; return False if none has this slug."""
        ...


class Schedules(Protocol):
    def get(self, schedule_id: str) -> Schedule | None: ...

    def add(self, schedule: Schedule) -> None: ...

    def update(self, schedule: Schedule, now: int) -> None: ...

    def remove(self, schedule_id: str) -> bool: ...

    def of_agent(self, agent_id: str, kind: ScheduleKind | None = None) -> list[Schedule]:
        """Return schedules in the order of their creation, at most 100."""
        ...

    def of_person(self, principal_id: str, limit: int) -> list[Schedule]:
        """Return the coming schedules that agents created for this person by their tool, in the order of their
        creation."""
        ...

    def count(self, agent_id: str, kind: ScheduleKind) -> int:
        """Count the schedules of an agent, without those that its tool created for people."""
        ...

    def named(self, agent_id: str, kind: ScheduleKind, name: str) -> Schedule | None:
        """Return the schedule of an agent and kind with this name."""
        ...

    def forget_reminders(self, principal_id: str, before: int) -> int:
        """Delete schedules that agents created for this person and whose last time was before; return their number."""
        ...

    def all(self, kind: ScheduleKind, limit: int) -> list[Schedule]: ...

    def due(self, now: int, limit: int) -> list[Schedule]:
        """Return schedules that are switched on, due and not running; the earliest first."""
        ...

    def next_due(self, after: int) -> int | None:
        """Return the earliest due time after this time; None if there is none."""
        ...

    def to_come(self, after: int, limit: int) -> list[Schedule]:
        """Return schedules that are switched on and due later than this time; the earliest first."""
        ...

    def advance(self, known: Schedule, *, last_run: int | None, next_run: int | None) -> bool:
        """Advance a schedule past its due time; return False if another process advanced it or it was changed
        meanwhile."""
        ...

    def remember(self, schedule_id: str, memo: Mapping[str, Any]) -> None:
        """Store the state of its script."""
        ...

    def rate(self, schedule_id: str, failures: int, cooldown_until: int | None) -> None:
        """Store the number of failures in a row, and the cooldown after them."""
        ...

    def ran(self, schedule_id: str, now: int) -> None:
        """Note a run that was not due."""
        ...


class Occurrences(Protocol):
    """Occurrences. A time with a row was handled."""

    def add(self, occurrence: Occurrence) -> bool:
        """Add an occurrence; return False if this time of the schedule was handled before."""
        ...

    def get(self, occurrence_id: str) -> Occurrence | None: ...

    def orphans(self, limit: int) -> list[Occurrence]:
        """Return occurrences that have begun and have neither a job nor an execution that could end them."""
        ...

    def of_execution(self, execution_id: str) -> Occurrence | None: ...

    def save(self, occurrence: Occurrence) -> None:
        """Update cause, status, execution, report and end time."""
        ...

    def running(self, schedule_id: str) -> list[Occurrence]:
        """Return occurrences that have begun and not ended."""
        ...

    def newest(self, schedule_id: str, limit: int) -> list[Occurrence]:
        """Return occurrences, newest first."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` occurrences that were created before this time and have ended; return their number."""
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
