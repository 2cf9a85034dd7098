"""Crons and heartbeats: what an agent is to do at given times (behaviour.md 1.12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ScheduleKind(StrEnum):
    CRON = "cron"
    HEARTBEAT = "heartbeat"


class Missed(StrEnum):
    """What becomes of times that passed while nobody was there."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Schedule:
    """`schedule` is a text that `arvis.calendar` reads, `timezone` a name (None: the agent's, else the daemon's). The
    answer goes to the channel (platform, connector, channel; an empty connector means the only one there is);
    `principal_id` is whom it acts for. Times in ms."""

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
