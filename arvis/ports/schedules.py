"""Repositories of schedules and of their occurrences. All times are milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from arvis.domain.schedules import MadeBy, Occurrence, Schedule, ScheduleKind
from arvis.ports.pages import Page


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
