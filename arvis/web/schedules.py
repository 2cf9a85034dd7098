"""Crons and heartbeats over HTTP (interfaces.md §4): rows, which the scheduler runs, and what came of their times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from arvis.agents import timetable
from arvis.agents.timetable import Rules
from arvis.domain.agents import Agent
from arvis.domain.events import SchedulesChanged
from arvis.domain.schedules import MadeBy, Missed, Schedule, ScheduleKind
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.scheduler.due import run_now
from arvis.web.bodies import unusable
from arvis.web.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import OPERATE
from arvis.web.schedule_shapes import (
    CHANGED_SCHEDULE,
    NEW_SCHEDULE,
    OCCURRENCE,
    SCHEDULE,
    SCHEDULE_DETAIL,
    UNDONE,
    changes_of,
    choice_of,
    occurrence_view,
    schedule_view,
)
from arvis.web.schemas import LABEL, OK, listing, one_of
from arvis.web.views import page_view

_FILTERS = {"kind": one_of(ScheduleKind), "agent": LABEL, "madeBy": one_of(MadeBy), "enabled": FLAG}


class ScheduleRoutes:
    """`rules` are those of the configuration."""

    def __init__(self, *, insights: Insights, store: Store, gate: Gate, bus: Bus, clock: Clock, rules: Rules) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._bus = bus
        self._clock = clock
        self._rules = rules

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/schedules", "/api/schedules/{schedule}"
        listed, shown, made = {200: listing(SCHEDULE)}, {200: SCHEDULE_DETAIL}, {201: SCHEDULE_DETAIL}
        query, ran, begun = {**PAGING, **_FILTERS}, {200: listing(OCCURRENCE)}, {201: OCCURRENCE}
        return [
            Endpoint("GET", all_, "Crons and heartbeats, newest first", OPERATE, self._list, listed, query=query),
            Endpoint("POST", all_, "Make a cron or heartbeat", OPERATE, self._add, made, body=NEW_SCHEDULE),
            Endpoint("GET", one, "One with the next five times", OPERATE, self._show, shown),
            Endpoint("PATCH", one, "Change what the body names", OPERATE, self._change, shown, body=CHANGED_SCHEDULE),
            Endpoint("DELETE", one, "Remove one; undo brings it back", OPERATE, self._remove, {200: OK}),
            Endpoint("POST", f"{one}/undo", "Back to the version before", OPERATE, self._undo, {200: UNDONE}),
            Endpoint(
                "GET", f"{one}/runs", "What came of its times, newest first", OPERATE, self._runs, ran, query=PAGING
            ),
            Endpoint("POST", f"{one}/run", "Run it now; its own times stay", OPERATE, self._run, begun),
        ]

    async def _list(self, call: Call) -> Response:
        kind, made_by = call.choice("kind", ScheduleKind), call.choice("madeBy", MadeBy)
        page = await self._insights.schedules(
            kind=ScheduleKind(kind) if kind else None,
            agent=call.query("agent"),
            made_by=MadeBy(made_by) if made_by else None,
            enabled=None if call.query("enabled") is None else call.flag("enabled", default=True),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._store.read(_slugs)
        return answer(page_view([schedule_view(schedule, agents) for schedule in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._person(call)
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
        wanted = timetable.with_changes(blank, changes_of(fields))
        made = await self._store.write(timetable.add_schedule, wanted, self._rules, self._clock.now())
        self._bus.publish(SchedulesChanged())
        return await self._shown(made.id, status=201)

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("schedule"))

    async def _change(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._person(call)
        changed = await self._store.write(
            timetable.change_schedule,
            call.id("schedule"),
            changes_of(fields),
            self._rules,
            self._clock.now(),
            by=by,
        )
        self._bus.publish(SchedulesChanged())
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
        self._bus.publish(SchedulesChanged())
        return answer({"schedule": None if back is None else await self._detail(back.id)})

    async def _runs(self, call: Call) -> Response:
        """Also of one that is gone: what it did is kept for a while."""
        page = await self._insights.occurrences(call.id("schedule"), limit=call.limit, cursor=call.query("cursor"))
        if not page.items and call.query("cursor") is None:
            await self._store.read(timetable.find_schedule, call.id("schedule"))
        return answer(page_view([occurrence_view(occurrence) for occurrence in page.items], page.next_cursor))

    async def _run(self, call: Call) -> Response:
        by = await self._person(call)
        begun = await self._store.write(run_now, call.id("schedule"), self._clock.now(), by=by)
        return answer(occurrence_view(begun), 201)

    async def _shown(self, schedule_id: str, *, status: int = 200) -> Response:
        return answer(await self._detail(schedule_id), status)

    async def _detail(self, schedule_id: str) -> dict[str, Any]:
        schedule, agent, times = await self._store.read(_look, schedule_id, self._rules, self._clock.now())
        agents = {agent.id: agent.slug} if agent is not None else {}
        return {**schedule_view(schedule, agents), "nextRuns": times}

    async def _person(self, call: Call) -> str:
        """Whom it acts for."""
        principal = await self._gate.principal(self._gate.sender(call.identity))
        return principal.id


def _look(tx: Transaction, schedule_id: str, rules: Rules, now: int) -> tuple[Schedule, Agent | None, list[int]]:
    schedule = timetable.find_schedule(tx, schedule_id)
    return schedule, tx.agents.get(schedule.agent_id), timetable.coming(tx, schedule, rules, now)


def _slugs(tx: Transaction) -> Mapping[str, str]:
    return {agent.id: agent.slug for agent in tx.agents.all()}
