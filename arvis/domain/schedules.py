"""Crons and heartbeats: work of an agent at given times, and the result of each time (behaviour.md 1.12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from arvis.domain.messages import Address


class ScheduleKind(StrEnum):
    CRON = "cron"
    HEARTBEAT = "heartbeat"


class Missed(StrEnum):
    """The handling of times that passed while the daemon did not run."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class MadeBy(StrEnum):
    """The creator of a schedule, which decides about the quota: `tool` counts for the person for whom the tool
    created it, the others for the agent."""

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
    #: A text that `arvis.calendar` parses.
    schedule: str
    #: A name; None: the agent's, else the daemon's.
    timezone: str | None
    prompt: str
    #: The answer goes to this platform, connector, channel and thread. An empty connector means the only one of
    #: the platform.
    platform: str
    connector: str
    channel: str
    script: Mapping[str, Any] | None
    missed: Missed
    enabled: bool
    #: The person for whom it acts.
    principal_id: str | None
    last_run: int | None
    next_run: int | None
    created_at: int
    updated_at: int
    thread: str = ""
    created_by: MadeBy = MadeBy.API
    #: The graph that runs it; None: by its kind and agent.
    graph: str | None = None
    #: The maximum number of cycles of a heartbeat in one run.
    max_cycles: int = 1
    #: The age (ms) up to which a missed time is made up for; None: no limit.
    grace: int | None = None
    #: The number of failures in a row.
    failures: int = 0
    #: After failures the schedule is not run before this time.
    cooldown_until: int | None = None
    #: The last state of its script.
    memo: Mapping[str, Any] = field(default_factory=dict)
    #: The principal who wrote the text that is executed; None: `principal_id`.
    author_id: str | None = None

    @property
    def author(self) -> str | None:
        """The principal who wrote the text that is executed."""
        return self.author_id or self.principal_id

    @property
    def address(self) -> Address:
        return Address(self.platform, self.connector, self.channel, self.thread)

    @property
    def key(self) -> str:
        """The lane of the schedule, and the key of its one live job."""
        return f"schedule:{self.id}"

    @property
    def source(self) -> str:
        """The mark of messages that this schedule caused."""
        return f"schedule:{self.id}"


class Cause(StrEnum):
    """The reason for a run of a schedule: its time came, the time had been missed, a person asked for it, or the condition of its
    script held."""

    DUE = "due"
    MISSED = "missed"
    MANUAL = "manual"
    CONDITION = "condition"


class OccurrenceStatus(StrEnum):
    """`silent`: it ran and had nothing to report; `idle`: there was nothing to do, and no model was called;
    `skipped`: it did not run, for the reason in its report."""

    RUNNING = "running"
    DONE = "done"
    SILENT = "silent"
    IDLE = "idle"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time of a schedule, identified by its instant `due`. `report` is a short result for people. Times in ms."""

    id: str
    schedule_id: str
    due: int
    cause: Cause
    status: OccurrenceStatus
    execution_id: str | None
    report: str
    created_at: int
    ended_at: int | None = None
