"""Crons, heartbeats and their times as requests and answers have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from arvis.domain.schedules import Cause, MadeBy, Missed, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.web.bodies import Fields, unusable
from arvis.web.schemas import BOOLEAN, INTEGER, LABEL, STRING, TIME, Schema, array, one_of, optional, record

_Choice = TypeVar("_Choice", bound=StrEnum)

_SCRIPT: Schema = {"type": "object", "description": "Of heartbeats: fetch a number and say it, without a model."}
_GRAPH: Schema = {
    **STRING,
    "description": "What runs it: agent, heartbeat, planning, code or converse (general and overlord are other names of the "
    "first two), or `workflow:SLUG`. Null: `agent` runs crons, `heartbeat` heartbeats.",
}
_GRACE: Schema = {
    **INTEGER,
    "minimum": 0,
    "description": "Older missed times (ms) are not made up for. Null: however old.",
}
_WRITABLE: dict[str, Schema] = {
    "name": LABEL,
    "schedule": {**STRING, "description": "`every 5 m`, a cron line, `@daily`, `at 2027-01-15 08:00`."},
    "timezone": {**STRING, "description": "Left out or null: the agent's, else the daemon's."},
    "prompt": STRING,
    "platform": LABEL,
    "connector": {**STRING, "description": "The name of the bot; left out where there is only one."},
    "channelId": LABEL,
    "thread": {**STRING, "description": "Within the channel; empty: the channel itself."},
    "missed": {**one_of(Missed), "description": "Times that passed meanwhile; default `once`."},
    "grace": _GRACE,
    "graph": _GRAPH,
    "maxCycles": {**INTEGER, "minimum": 1, "maximum": 10, "description": "How often a heartbeat goes on by itself."},
    "script": _SCRIPT,
    "enabled": BOOLEAN,
}
SCHEDULE = record(
    {
        "id": STRING,
        "kind": one_of(ScheduleKind),
        "agent": STRING,
        **_WRITABLE,
        "timezone": optional(STRING),
        "grace": optional(_GRACE),
        "graph": optional(STRING),
        "script": optional({"type": "object"}),
        "madeBy": one_of(MadeBy),
        "failures": {**INTEGER, "description": "In a row."},
        "restsUntil": optional(TIME),
        "lastRun": optional(TIME),
        "nextRun": optional(TIME),
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
SCHEDULE_DETAIL = record({**SCHEDULE["properties"], "nextRuns": array({**INTEGER, "description": "Five, in ms."})})
NEW_SCHEDULE = record(
    {"kind": one_of(ScheduleKind), "agent": LABEL, **_WRITABLE},
    required=("kind", "agent", "schedule", "platform", "channelId"),
)
_TAKEN_AWAY = {
    name: {**optional(_WRITABLE[name]), "description": "Left out: it stays. Null takes it away."}
    for name in ("timezone", "grace", "graph", "script")
}
CHANGED_SCHEDULE = record({**_WRITABLE, **_TAKEN_AWAY}, required=())
UNDONE = record({"schedule": {**optional(SCHEDULE_DETAIL), "description": "Null: it had just been made, and is gone."}})
OCCURRENCE = record(
    {
        "id": STRING,
        "due": TIME,
        "cause": one_of(Cause),
        "status": one_of(OccurrenceStatus),
        "report": STRING,
        "executionId": optional(STRING),
        "createdAt": TIME,
        "endedAt": optional(TIME),
    }
)

#: Fields of a body by those of a `Schedule`.
_TEXTS = {"name": "name", "schedule": "schedule", "prompt": "prompt", "platform": "platform", "channelId": "channel"}
#: What `null` makes empty.
_EMPTIED = ("connector", "thread")


def changes_of(fields: Fields) -> dict[str, Any]:
    """What the body names, by the fields of a `Schedule`; `null` takes away what may be absent."""
    changes: dict[str, Any] = {}
    for name, field in _TEXTS.items():
        if (text := fields.text(name)) is not None:
            changes[field] = text
    changes |= {name: fields.text(name) or "" for name in _EMPTIED if fields.has(name)}
    absent: dict[str, Callable[[str], Any]] = {
        "timezone": fields.label,
        "script": fields.mapping,
        "graph": fields.label,
        "grace": fields.whole,
    }
    changes |= {name: read(name) for name, read in absent.items() if fields.has(name)}
    if (cycles := fields.whole("maxCycles")) is not None:
        changes["max_cycles"] = cycles
    if (missed := choice_of(fields, "missed", Missed)) is not None:
        changes["missed"] = missed
    if (enabled := fields.raw("enabled")) is not None:
        if not isinstance(enabled, bool):
            raise unusable("enabled", "must be true or false")
        changes["enabled"] = enabled
    return changes


def choice_of(fields: Fields, name: str, kind: type[_Choice]) -> _Choice | None:
    text = fields.text(name)
    if text is not None and text not in set(kind):
        raise unusable(name, f"must be one of {', '.join(kind)}")
    return None if text is None else kind(text)


def schedule_view(schedule: Schedule, agents: Mapping[str, str]) -> dict[str, Any]:
    """An agent that is gone is shown by its id."""
    return {
        "id": schedule.id,
        "kind": schedule.kind,
        "agent": agents.get(schedule.agent_id, schedule.agent_id),
        "name": schedule.name,
        "schedule": schedule.schedule,
        "timezone": schedule.timezone,
        "prompt": schedule.prompt,
        "platform": schedule.platform,
        "connector": schedule.connector,
        "channelId": schedule.channel,
        "thread": schedule.thread,
        "missed": schedule.missed,
        "grace": schedule.grace,
        "graph": schedule.graph,
        "maxCycles": schedule.max_cycles,
        "script": schedule.script,
        "enabled": schedule.enabled,
        "madeBy": schedule.made_by,
        "failures": schedule.failures,
        "restsUntil": schedule.rests_until,
        "lastRun": schedule.last_run,
        "nextRun": schedule.next_run,
        "createdAt": schedule.created_at,
        "updatedAt": schedule.updated_at,
    }


def occurrence_view(occurrence: Occurrence) -> dict[str, Any]:
    return {
        "id": occurrence.id,
        "due": occurrence.due,
        "cause": occurrence.cause,
        "status": occurrence.status,
        "report": occurrence.report,
        "executionId": occurrence.execution_id,
        "createdAt": occurrence.created_at,
        "endedAt": occurrence.ended_at,
    }
