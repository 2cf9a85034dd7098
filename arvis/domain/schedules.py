"""Schedules (crons and heartbeats), which give an agent work at given times, and their occurrences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address


class ScheduleKind(StrEnum):
    CRON = "cron"
    HEARTBEAT = "heartbeat"


class Missed(StrEnum):
    """The ways to handle missed times. A schedule misses the times that pass while the daemon does not run."""

    #: Do no work for missed times.
    SKIP = "skip"
    #: Do the work once, for the last missed time.
    ONCE = "once"
    #: Do the work for each missed time.
    ALL = "all"


class MadeBy(StrEnum):
    """The way in which a schedule was created. A schedule that a `tool` created counts against the quota of the person
    for whom the tool was called; all other schedules count against the quota of the agent."""

    API = "api"
    TAG = "tag"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron or a heartbeat. Times in ms."""

    id: str
    kind: ScheduleKind
    agent_id: str
    name: str
    #: The times, as a text that `arvis.calendar` parses.
    schedule: str
    #: The name of a time zone. If None, the agent's zone applies, or the daemon's zone if the agent has none.
    timezone: str | None
    prompt: str
    #: The answer is sent to this platform, connector, channel and thread. An empty connector means the only bot of the
    #: platform.
    platform: str
    connector: str
    channel: str
    script: Mapping[str, Any] | None
    missed: Missed
    enabled: bool
    #: The person with whose rights the work runs.
    principal_id: str | None
    last_run: int | None
    next_run: int | None
    created_at: int
    updated_at: int
    thread: str = ""
    created_by: MadeBy = MadeBy.API
    #: The graph that does the work. If None, the schedule's kind and the agent decide.
    graph: str | None = None
    #: The maximum number of cycles of a heartbeat in one run.
    max_cycles: int = 1
    #: The maximum age (ms) of a missed time for which the work is still done. None means no limit.
    grace: int | None = None
    #: The number of failed runs in a row.
    failures: int = 0
    #: The schedule does not run before this time, because runs failed.
    cooldown_until: int | None = None
    #: The state that the script stored at its last run.
    memo: Mapping[str, Any] = field(default_factory=dict)
    #: The principal who wrote the prompt or script. If None, it is `principal_id`.
    author_id: str | None = None
    #: The model and the reasoning effort of the agent's work. None means the values of the agent.
    model: str | None = None
    effort: str | None = None

    @property
    def author(self) -> str | None:
        """The principal who wrote the prompt or script."""
        return self.author_id or self.principal_id

    @property
    def address(self) -> Address:
        return Address(self.platform, self.connector, self.channel, self.thread)

    @property
    def key(self) -> str:
        """The lane of the schedule's jobs. It is also the key of these jobs, so that only one of them waits or runs."""
        return f"schedule:{self.id}"

    @property
    def source(self) -> str:
        """The value of `StoredMessage.source` for messages that this schedule caused."""
        return f"schedule:{self.id}"


class Cause(StrEnum):
    """The reason for a run of a schedule."""

    #: The schedule was due.
    DUE = "due"
    #: The work was done later, for a missed time.
    MISSED = "missed"
    #: A person requested the run.
    MANUAL = "manual"
    #: The condition of the schedule's script was true.
    CONDITION = "condition"


class OccurrenceStatus(StrEnum):
    """The status of an occurrence."""

    RUNNING = "running"
    DONE = "done"
    #: The agent had nothing to report.
    SILENT = "silent"
    #: There was nothing to do, and no model was called.
    IDLE = "idle"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: The work did not run, for the reason in `report`.
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time of a schedule, with the result of the work. `schedule_id` and `due` identify an occurrence. Times in
    ms."""

    id: str
    schedule_id: str
    due: int
    cause: Cause
    status: OccurrenceStatus
    execution_id: str | None
    #: A short result for people.
    report: str
    created_at: int
    ended_at: int | None = None
