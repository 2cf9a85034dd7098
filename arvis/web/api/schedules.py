"""Crons and heartbeats over HTTP, with the occurrences that the scheduler ran and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from starlette.responses import Response

from arvis.domain.agents import Agent
from arvis.domain.events import SchedulesChanged
from arvis.domain.schedules import Cause, MadeBy, Missed, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.scheduler.due import run_now
from arvis.services import schedules
from arvis.services.agents import slugs
from arvis.services.schedules import Rules
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    BOOLEAN,
    INTEGER,
    LABEL,
    OK,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import page_view

_Choice = TypeVar("_Choice", bound=StrEnum)

_SCRIPT: Schema = {"type": "object", "description": "For heartbeats: fetch a value and post it, without a model."}
_GRAPH: Schema = {
    **STRING,
    "description": "The graph: agent (also: general), heartbeat (also: overlord), planning, code, handover, or "
    "`workflow:SLUG`. Null: `agent` for crons, `heartbeat` for heartbeats.",
}
_GRACE: Schema = {
    **INTEGER,
    "minimum": 0,
    "description": "Missed times older than this (ms) are skipped. Null: no limit.",
}
_WRITABLE: dict[str, Schema] = {
    "name": LABEL,
    "schedule": {**STRING, "description": "`every 5 m`, a cron line, `@daily` or `at 2027-01-15 08:00`."},
    "timezone": {**STRING, "description": "Default or null: the agent's time zone, or else the daemon's."},
    "prompt": STRING,
    "platform": LABEL,
    "connector": {**STRING, "description": "The name of the bot; optional if there is only one."},
    "channelId": LABEL,
    "thread": {**STRING, "description": "The thread in the channel; empty: the channel itself."},
    "misfirePolicy": {
        **one_of(Missed),
        "description": "Missed times to run. `once`: the last one; `all`: the last 24; `skip`: none. Default: `once`.",
    },
    "misfireGraceMs": _GRACE,
    "graph": _GRAPH,
    "maxIterations": {
        **INTEGER,
        "minimum": 1,
        "maximum": 10,
        "description": "The maximum number of cycles in one run of a heartbeat.",
    },
    "script": _SCRIPT,
    "enabled": BOOLEAN,
}
SCHEDULE = object_schema(
    {
        "id": STRING,
        "kind": one_of(ScheduleKind),
        "agent": STRING,
        **_WRITABLE,
        "timezone": optional(STRING),
        "misfireGraceMs": optional(_GRACE),
        "graph": optional(STRING),
        "script": optional({"type": "object"}),
        "createdBy": one_of(MadeBy),
        "failures": {**INTEGER, "description": "Consecutive failures."},
        "pausedUntil": optional(TIME),
        "lastRun": optional(TIME),
        "nextRun": optional(TIME),
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
SCHEDULE_DETAIL = object_schema(
    {**SCHEDULE["properties"], "nextRuns": array({**INTEGER, "description": "The next five times in ms."})}
)
NEW_SCHEDULE = object_schema(
    {"kind": one_of(ScheduleKind), "agent": LABEL, **_WRITABLE},
    required=("kind", "agent", "schedule", "platform", "channelId"),
)
_TAKEN_AWAY = {
    name: {**optional(_WRITABLE[name]), "description": "Omitted: unchanged. Null: removed."}
    for name in ("timezone", "misfireGraceMs", "graph", "script")
}
CHANGED_SCHEDULE = object_schema({**_WRITABLE, **_TAKEN_AWAY}, required=())
UNDONE = object_schema(
    {"schedule": {**optional(SCHEDULE_DETAIL), "description": "Null: the undo removed a new schedule."}}
)
OCCURRENCE = object_schema(
    {
        "id": STRING,
        "dueAt": TIME,
        "cause": one_of(Cause),
        "status": one_of(OccurrenceStatus),
        "report": STRING,
        "executionId": optional(STRING),
        "createdAt": TIME,
        "endedAt": optional(TIME),
    }
)

#: The fields of the body, and the fields of `Schedule` to which they belong.
_TEXTS = {"name": "name", "schedule": "schedule", "prompt": "prompt", "platform": "platform", "channelId": "channel"}
#: The fields for which `null` means an empty text.
_EMPTIED = ("connector", "thread")


def changes_of(fields: Fields) -> dict[str, Any]:
    """Return the fields that the body sets, named as in `Schedule`. Null removes an optional field."""
    changes: dict[str, Any] = {}
    for name, field in _TEXTS.items():
        if (text := fields.text(name)) is not None:
            changes[field] = text
    changes |= {name: fields.text(name) or "" for name in _EMPTIED if fields.has(name)}
    absent: dict[str, Callable[[str], Any]] = {
        "timezone": fields.label,
        "script": fields.mapping,
        "graph": fields.label,
    }
    changes |= {name: read(name) for name, read in absent.items() if fields.has(name)}
    if fields.has("misfireGraceMs"):
        changes["grace"] = fields.whole("misfireGraceMs")
    if (cycles := fields.whole("maxIterations")) is not None:
        changes["max_cycles"] = cycles
    if (missed := choice_of(fields, "misfirePolicy", Missed)) is not None:
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
    """Return a schedule. A deleted agent is shown by its id."""
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
        "misfirePolicy": schedule.missed,
        "misfireGraceMs": schedule.grace,
        "graph": schedule.graph,
        "maxIterations": schedule.max_cycles,
        "script": schedule.script,
        "enabled": schedule.enabled,
        "createdBy": schedule.created_by,
        "failures": schedule.failures,
        "pausedUntil": schedule.cooldown_until,
        "lastRun": schedule.last_run,
        "nextRun": schedule.next_run,
        "createdAt": schedule.created_at,
        "updatedAt": schedule.updated_at,
    }


def occurrence_view(occurrence: Occurrence) -> dict[str, Any]:
    return {
        "id": occurrence.id,
        "dueAt": occurrence.due,
        "cause": occurrence.cause,
        "status": occurrence.status,
        "report": occurrence.report,
        "executionId": occurrence.execution_id,
        "createdAt": occurrence.created_at,
        "endedAt": occurrence.ended_at,
    }


_FILTERS = {"kind": one_of(ScheduleKind), "agent": LABEL, "createdBy": one_of(MadeBy), "enabled": FLAG}


class ScheduleRoutes:
    """Routes of schedules. `rules` come from the configuration."""

    def __init__(
        self, *, insights: Insights, store: Store, gate: Authorizer, bus: Bus, clock: Clock, rules: Rules
    ) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._bus = bus
        self._clock = clock
        self._rules = rules

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/schedules", "/api/schedules/{schedule}"
        listed, shown, made = {200: page_schema(SCHEDULE)}, {200: SCHEDULE_DETAIL}, {201: SCHEDULE_DETAIL}
        query, ran, begun = {**PAGING, **_FILTERS}, {200: page_schema(OCCURRENCE)}, {201: OCCURRENCE}
        return [
            Endpoint("GET", all_, "List crons and heartbeats, newest first", OPERATE, self._list, listed, query=query),
            Endpoint("POST", all_, "Create a cron or heartbeat", OPERATE, self._add, made, body=NEW_SCHEDULE),
            Endpoint("GET", one, "Show a schedule with its next five times", OPERATE, self._show, shown),
            Endpoint(
                "PATCH", one, "Change the fields in the body", OPERATE, self._change, shown, body=CHANGED_SCHEDULE
            ),
            Endpoint("DELETE", one, "Delete a schedule; undo restores it", OPERATE, self._remove, {200: OK}),
            Endpoint("POST", f"{one}/undo", "Restore the previous version", OPERATE, self._undo, {200: UNDONE}),
            Endpoint(
                "GET", f"{one}/runs", "List its occurrences, newest first", OPERATE, self._runs, ran, query=PAGING
            ),
            Endpoint("POST", f"{one}/run", "Run a schedule now; its times do not change", OPERATE, self._run, begun),
        ]

    async def _list(self, call: Call) -> Response:
        kind, created_by = call.choice("kind", ScheduleKind), call.choice("createdBy", MadeBy)
        page = await self._insights.schedules(
            kind=ScheduleKind(kind) if kind else None,
            agent=call.query("agent"),
            created_by=MadeBy(created_by) if created_by else None,
            enabled=None if call.query("enabled") is None else call.flag("enabled", default=True),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._store.read(slugs)
        return answer(page_view([schedule_view(schedule, agents) for schedule in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._gate.principal_id(call.identity)
        kind = choice_of(fields, "kind", ScheduleKind)
        if kind is None:
            raise unusable("kind", "is missing")
        for name in ("agent", "schedule", "platform", "channelId"):
            fields.required_text(name)
        blank = Schedule(
            id="", kind=kind, agent_id=fields.required_text("agent"), name="", schedule="", timezone=None, prompt="",
            platform="", connector="", channel="", script=None, missed=Missed.ONCE, enabled=True, principal_id=by,
            last_run=None, next_run=None, created_at=0, updated_at=0,
        )  # fmt: skip
        wanted = schedules.with_changes(blank, changes_of(fields))
        made = await self._store.write(schedules.add_schedule, wanted, self._rules, self._clock.now())
        self._bus.publish(SchedulesChanged())
        return await self._shown(made.id, status=201)

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("schedule"))

    async def _change(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._gate.principal_id(call.identity)
        changed = await self._store.write(
            schedules.change_schedule,
            call.id("schedule"),
            changes_of(fields),
            self._rules,
            self._clock.now(),
            by=by,
        )
        self._bus.publish(SchedulesChanged())
        return await self._shown(changed.id)

    async def _remove(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        await self._store.write(schedules.remove_schedule, call.id("schedule"), self._clock.now(), by=by)
        return answer({"ok": True})

    async def _undo(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        back = await self._store.write(
            schedules.undo_schedule, call.id("schedule"), self._rules, self._clock.now(), by=by
        )
        self._bus.publish(SchedulesChanged())
        return answer({"schedule": None if back is None else await self._detail(back.id)})

    async def _runs(self, call: Call) -> Response:
        """List the occurrences of a schedule, also of a deleted one until housekeeping removes them."""
        page = await self._insights.occurrences(call.id("schedule"), limit=call.limit, cursor=call.query("cursor"))
        if not page.items and call.query("cursor") is None:
            await self._store.read(schedules.find_schedule, call.id("schedule"))
        return answer(page_view([occurrence_view(occurrence) for occurrence in page.items], page.next_cursor))

    async def _run(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        begun = await self._store.write(run_now, call.id("schedule"), self._clock.now(), by=by)
        return answer(occurrence_view(begun), 201)

    async def _shown(self, schedule_id: str, *, status: int = 200) -> Response:
        return answer(await self._detail(schedule_id), status)

    async def _detail(self, schedule_id: str) -> dict[str, Any]:
        schedule, agent, times = await self._store.read(_look, schedule_id, self._rules, self._clock.now())
        agents = {agent.id: agent.slug} if agent is not None else {}
        return {**schedule_view(schedule, agents), "nextRuns": times}


def _look(tx: Transaction, schedule_id: str, rules: Rules, now: int) -> tuple[Schedule, Agent | None, list[int]]:
    schedule = schedules.find_schedule(tx, schedule_id)
    return schedule, tx.agents.get(schedule.agent_id), schedules.coming(tx, schedule, rules, now)
