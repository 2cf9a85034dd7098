"""Crons and heartbeats: what an agent is to do at given times, and what came of each time (behaviour.md 1.12)."""

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
    """What becomes of times that passed while nobody was there."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class MadeBy(StrEnum):
    """Whose quota a schedule counts in: that of its agent, or, made by an agent's tool, that of the person it is for."""

    API = "api"
    TAG = "tag"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Schedule:
    """`schedule` is a text that `arvis.calendar` reads, `timezone` a name (None: the agent's, else the daemon's). The
    answer goes to the channel (platform, connector, channel, thread; an empty connector means the only one there is);
    `principal_id` is whom it acts for. Times in ms.

    `graph` is what runs it (None: by its kind and agent), `max_cycles` how often a heartbeat goes on by itself in one run,
    `grace` for how long (ms) a missed time may be made up for (None: for ever). It failed `failures` times in a row, and is
    left alone until `cooldown_until` therefore. `memo` is what its script last found. `author_id` is who wrote the words that are
    executed (None: `principal_id`)."""

    id: str
    kind: ScheduleKind
    agent_id: str
    name: str
    schedule: str
    timezone: str | None
    prompt: str
    platform: str
    connector: str
    channel: str
    script: Mapping[str, Any] | None
    missed: Missed
    enabled: bool
    principal_id: str | None
    last_run: int | None
    next_run: int | None
    created_at: int
    updated_at: int
    thread: str = ""
    created_by: MadeBy = MadeBy.API
    graph: str | None = None
    max_cycles: int = 1
    grace: int | None = None
    failures: int = 0
    cooldown_until: int | None = None
    memo: Mapping[str, Any] = field(default_factory=dict)
    author_id: str | None = None

    @property
    def author(self) -> str | None:
        """The principal who wrote the words that are executed."""
        return self.author_id or self.principal_id

    @property
    def address(self) -> Address:
        return Address(self.platform, self.connector, self.channel, self.thread)

    @property
    def key(self) -> str:
        """Its lane, and the key of its one live job."""
        return f"schedule:{self.id}"

    @property
    def source(self) -> str:
        """How messages are marked that it had an agent say."""
        return f"schedule:{self.id}"


class Cause(StrEnum):
    """Why a time of a schedule was dealt with: it came, it had been missed, somebody asked for it, or a script's condition
    held."""

    DUE = "due"
    MISSED = "missed"
    MANUAL = "manual"
    CONDITION = "condition"


class OccurrenceStatus(StrEnum):
    """`silent`: it ran, and there was nothing to say; `idle`: there was nothing to do, and no model was asked; `skipped`:
    it was not run at all, as its report says."""

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
    """One time of a schedule, named by its instant `due`. `report` is what came of it, in a few words for people. Times in
    ms."""

    id: str
    schedule_id: str
    due: int
    cause: Cause
    status: OccurrenceStatus
    execution_id: str | None
    report: str
    created_at: int
    ended_at: int | None = None
