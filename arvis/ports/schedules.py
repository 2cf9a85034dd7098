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
        """In the order in which they were made, at most 100."""
        ...

    def of_person(self, principal_id: str, limit: int) -> list[Schedule]:
        """Those to come that agents made for this person by their tool, in the order in which they were made."""
        ...

    def count(self, agent_id: str, kind: ScheduleKind) -> int:
        """Count the schedules of an agent, without those that its tool created for people."""
        ...

    def named(self, agent_id: str, kind: ScheduleKind, name: str) -> Schedule | None:
        """The one of these that has this name."""
        ...

    def forget_reminders(self, principal_id: str, before: int) -> int:
        """Delete those that agents made for this person and that came for the last time before; how many."""
        ...

    def all(self, kind: ScheduleKind, limit: int) -> list[Schedule]: ...

    def due(self, now: int, limit: int) -> list[Schedule]:
        """Switched on, their time has come, and nothing of them runs; the soonest first."""
        ...

    def next_due(self, after: int) -> int | None:
        """When the next one of all is due later than this time; None when none is."""
        ...

    def to_come(self, after: int, limit: int) -> list[Schedule]:
        """Switched on, and due later than this time; the soonest first."""
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
        """It ran without being due."""
        ...


class Occurrences(Protocol):
    """A time that has a row was dealt with."""

    def add(self, occurrence: Occurrence) -> bool:
        """False when this time of the schedule was dealt with before."""
        ...

    def get(self, occurrence_id: str) -> Occurrence | None: ...

    def orphans(self, limit: int) -> list[Occurrence]:
        """Those that have begun and have neither a job nor an execution that could end them."""
        ...

    def of_execution(self, execution_id: str) -> Occurrence | None: ...

    def save(self, occurrence: Occurrence) -> None:
        """Write back cause, status, execution, report and the time of its end."""
        ...

    def running(self, schedule_id: str) -> list[Occurrence]:
        """Those that have begun and not ended."""
        ...

    def newest(self, schedule_id: str, limit: int) -> list[Occurrence]:
        """The newest first."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` that were made before this time and have ended; how many."""
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
        """Newest first. `agent` is an id or a slug."""
        ...

    async def occurrences(self, schedule_id: str, *, limit: int, cursor: str | None) -> Page[Occurrence]:
        """Return the occurrences of one schedule, newest first."""
        ...
