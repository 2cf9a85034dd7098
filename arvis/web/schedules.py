"""Crons and heartbeats over HTTP (interfaces.md §4): rows, which the scheduler runs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from starlette.responses import Response

from arvis.agents import timetable
from arvis.agents.timetable import Rules
from arvis.domain.agents import Agent
from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.bodies import Fields, unusable
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import OPERATE
from arvis.web.schemas import (
    BOOLEAN,
    INTEGER,
    LABEL,
    OK,
    STRING,
    TIME,
    Schema,
    array,
    listing,
    one_of,
    optional,
    record,
)
from arvis.web.views import page_view

_Choice = TypeVar("_Choice", bound=StrEnum)

_SCRIPT: Schema = {"type": "object", "description": "Of heartbeats: fetch a number and say it, without a model."}
_WRITABLE: dict[str, Schema] = {
    "name": LABEL,
    "schedule": {**STRING, "description": "`every 5 m`, a cron line, `@daily`, `at 2027-01-15 08:00`."},
    "timezone": {**STRING, "description": "Left out or null: the agent's, else the daemon's."},
    "prompt": STRING,
    "platform": LABEL,
    "connector": {**STRING, "description": "The name of the bot; left out where there is only one."},
    "channelId": LABEL,
    "missed": {**one_of(Missed), "description": "Times that passed meanwhile; default `once`."},
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
        "script": optional({"type": "object"}),
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
CHANGED_SCHEDULE = record(_WRITABLE, required=())
UNDONE = record({"schedule": {**optional(SCHEDULE_DETAIL), "description": "Null: it had just been made, and is gone."}})

#: Fields of a body by those of a `Schedule`.
_TEXTS = {"name": "name", "schedule": "schedule", "prompt": "prompt", "platform": "platform", "channelId": "channel"}


class ScheduleRoutes:
    """`zone` is the daemon's own."""

    def __init__(self, *, insights: Insights, store: Store, gate: Gate, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._rules = Rules(zone=zone)

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/schedules", "/api/schedules/{schedule}"
        listed, shown, made = {200: listing(SCHEDULE)}, {200: SCHEDULE_DETAIL}, {201: SCHEDULE_DETAIL}
        query = {**PAGING, "kind": one_of(ScheduleKind), "agent": LABEL}
        return [
            Endpoint("GET", all_, "Crons and heartbeats, newest first", OPERATE, self._list, listed, query=query),
            Endpoint("POST", all_, "Make a cron or heartbeat", OPERATE, self._add, made, body=NEW_SCHEDULE),
            Endpoint("GET", one, "One with the next five times", OPERATE, self._show, shown),
            Endpoint("PATCH", one, "Change what the body names", OPERATE, self._change, shown, body=CHANGED_SCHEDULE),
            Endpoint("DELETE", one, "Remove one; undo brings it back", OPERATE, self._remove, {200: OK}),
            Endpoint("POST", f"{one}/undo", "Back to the version before", OPERATE, self._undo, {200: UNDONE}),
        ]

    async def _list(self, call: Call) -> Response:
        kind = call.choice("kind", ScheduleKind)
        page = await self._insights.schedules(
            kind=ScheduleKind(kind) if kind else None,
            agent=call.query("agent"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._store.read(_slugs)
        return answer(page_view([_view(schedule, agents) for schedule in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._person(call)
        _refuse_graph(fields)
        kind = _choice(fields, "kind", ScheduleKind)
        if kind is None:
            raise unusable("kind", "is missing")
        for name in ("agent", "schedule", "platform", "channelId"):
            fields.required_text(name)
        blank = Schedule(
            id="", kind=kind, agent_id=fields.required_text("agent"), name="", schedule="", timezone=None, prompt="",
            platform="", connector="", channel="", script=None, missed=Missed.ONCE, enabled=True, principal_id=by,
            last_run=None, next_run=None, created_at=0, updated_at=0,
        )  # fmt: skip
        wanted = timetable.with_changes(blank, _changes(fields))
        made = await self._store.write(timetable.add_schedule, wanted, self._rules, self._clock.now())
        return await self._shown(made.id, status=201)

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("schedule"))

    async def _change(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._person(call)
        _refuse_graph(fields)
        changed = await self._store.write(
            timetable.change_schedule,
            call.id("schedule"),
            _changes(fields),
            self._rules,
            self._clock.now(),
            by=by,
        )
        return await self._shown(changed.id)

    async def _remove(self, call: Call) -> Response:
        by = await self._person(call)
        await self._store.write(timetable.remove_schedule, call.id("schedule"), self._clock.now(), by=by)
        return answer({"ok": True})

    async def _undo(self, call: Call) -> Response:
        by = await self._person(call)
        back = await self._store.write(
            timetable.undo_schedule, call.id("schedule"), self._rules, self._clock.now(), by=by
        )
        return answer({"schedule": None if back is None else await self._detail(back.id)})

    async def _shown(self, schedule_id: str, *, status: int = 200) -> Response:
        return answer(await self._detail(schedule_id), status)

    async def _detail(self, schedule_id: str) -> dict[str, Any]:
        schedule, agent, times = await self._store.read(_look, schedule_id, self._rules, self._clock.now())
        agents = {agent.id: agent.slug} if agent is not None else {}
        return {**_view(schedule, agents), "nextRuns": times}

    async def _person(self, call: Call) -> str:
        """Whom it acts for."""
        principal = await self._gate.principal(self._gate.sender(call.identity))
        return principal.id


def _changes(fields: Fields) -> dict[str, Any]:
    """What the body names, by the fields of a `Schedule`; `null` takes away what may be absent."""
    changes: dict[str, Any] = {}
    for name, field in _TEXTS.items():
        if (text := fields.text(name)) is not None:
            changes[field] = text
    if fields.has("timezone"):
        changes["timezone"] = fields.label("timezone")
    if fields.has("connector"):
        changes["connector"] = fields.text("connector") or ""
    if fields.has("script"):
        changes["script"] = fields.mapping("script")
    if (missed := _choice(fields, "missed", Missed)) is not None:
        changes["missed"] = missed
    if (enabled := fields.raw("enabled")) is not None:
        if not isinstance(enabled, bool):
            raise unusable("enabled", "must be true or false")
        changes["enabled"] = enabled
    return changes


def _choice(fields: Fields, name: str, kind: type[_Choice]) -> _Choice | None:
    text = fields.text(name)
    if text is not None and text not in set(kind):
        raise unusable(name, f"must be one of {', '.join(kind)}")
    return None if text is None else kind(text)


def _refuse_graph(fields: Fields) -> None:
    """Said, and not dropped in silence."""
    if fields.raw("graph") is not None:
        raise unusable("graph", "cannot be chosen yet: a schedule asks its agent")


def _look(tx: Transaction, schedule_id: str, rules: Rules, now: int) -> tuple[Schedule, Agent | None, list[int]]:
    schedule = timetable.find_schedule(tx, schedule_id)
    return schedule, tx.agents.get(schedule.agent_id), timetable.coming(tx, schedule, rules, now)


def _slugs(tx: Transaction) -> Mapping[str, str]:
    return {agent.id: agent.slug for agent in tx.agents.all()}


def _view(schedule: Schedule, agents: Mapping[str, str]) -> dict[str, Any]:
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
        "missed": schedule.missed,
        "script": schedule.script,
        "enabled": schedule.enabled,
        "lastRun": schedule.last_run,
        "nextRun": schedule.next_run,
        "createdAt": schedule.created_at,
        "updatedAt": schedule.updated_at,
    }
