"""Crons and heartbeats over HTTP, with the occurrences that the scheduler ran and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.bus import EventBus
from arvis.domain.agents import Agent
from arvis.domain.effort import EFFORTS
from arvis.domain.events import SchedulesChanged
from arvis.domain.schedules import Cause, MadeBy, Missed, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.scheduler.due import run_now
from arvis.services import schedules
from arvis.services.agents import slugs
from arvis.services.schedules import Rules
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import FLAG, PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import CLEARING, MEMBER, About, AnyObject, Body, Label, OkView, Page, Time, View, Whole
from arvis.web.http.schema import LABEL, one_of

_SCHEDULE = "`every 5 m`, a cron line, `@daily` or `at 2027-01-15 08:00`."
_CONNECTOR = "The name of the bot; optional if there is only one."
_THREAD = "The thread in the channel; empty: the channel itself."
_MISSED = "Missed times to run. `once`: the last one; `all`: the last 24; `skip`: none. Default: `once`."
_CLEARED = "Omitted: unchanged. Null: removed."
_Name = Annotated[str, About(minLength=1, maxLength=200)]
_Cycles = About("The maximum number of cycles in one run of a heartbeat.", minimum=1, maximum=10)
_ZONE = "Default or null: the agent's time zone, or else the daemon's."
_GRACE = "Missed times older than this (ms) are skipped. Null: no limit."
_GRAPH = (
    "The graph: agent (also: general), heartbeat (also: overlord), planning, code, handover, or `workflow:SLUG`. Null: "
    "`agent` for crons, `heartbeat` for heartbeats."
)
_MODEL = "The model of the agent's work, as provider/model. Null: the model of the agent."
_EFFORT = "The reasoning effort of the agent's work. Null: the effort of the agent."
_Effort = Annotated[str, About(**one_of(EFFORTS))]
_SCRIPT = "For heartbeats: fetch a value and post it, without a model."


class ScheduleView(View):
    id: str
    kind: ScheduleKind
    agent: str
    name: _Name
    schedule: Annotated[str, About(_SCHEDULE)]
    timezone: str | None
    prompt: str
    platform: _Name
    connector: Annotated[str, About(_CONNECTOR)]
    channel_id: _Name
    thread: Annotated[str, About(_THREAD)]
    misfire_policy: Annotated[Missed, About(_MISSED)]
    misfire_grace_ms: Annotated[int, About(_GRACE, minimum=0)] | None
    graph: str | None
    max_iterations: Annotated[int, _Cycles]
    model: Annotated[str | None, About(_MODEL)]
    effort: Annotated[_Effort | None, About(_EFFORT)]
    script: AnyObject | None
    enabled: bool
    created_by: MadeBy
    failures: Annotated[int, About("Consecutive failures.")]
    paused_until: Time | None
    last_run: Time | None
    next_run: Time | None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, schedule: Schedule, agents: Mapping[str, str], /, **others: Any) -> Self:
        """Return a schedule. A deleted agent is shown by its id."""
        return cls.showing(
            schedule,
            agent=agents.get(schedule.agent_id, schedule.agent_id),
            channel_id=schedule.channel,
            misfire_policy=schedule.missed,
            misfire_grace_ms=schedule.grace,
            max_iterations=schedule.max_cycles,
            paused_until=schedule.cooldown_until,
            **others,
        )


class ScheduleDetailView(ScheduleView):
    next_runs: list[Annotated[int, About("The next five times in ms.")]]


class UndoneScheduleView(View):
    schedule: Annotated[ScheduleDetailView | None, About("Null: the undo removed a new schedule.")]


class OccurrenceView(View):
    id: str
    due_at: Time
    cause: Cause
    status: OccurrenceStatus
    report: str
    execution_id: str | None
    created_at: Time
    ended_at: Time | None

    @classmethod
    def of(cls, occurrence: Occurrence) -> Self:
        return cls.showing(occurrence, due_at=occurrence.due)


class ChangedSchedule(Body):
    name: _Name | None = None
    schedule: Annotated[str | None, About(_SCHEDULE)] = None
    timezone: Annotated[Annotated[Label, About(_ZONE)] | None, CLEARING, About(_CLEARED)] = None
    prompt: str | None = None
    platform: _Name | None = None
    connector: Annotated[str | None, CLEARING, About(_CONNECTOR)] = None
    channel_id: _Name | None = None
    thread: Annotated[str | None, CLEARING, About(_THREAD)] = None
    misfire_policy: Annotated[Missed | None, MEMBER, About(_MISSED)] = None
    misfire_grace_ms: Annotated[Annotated[Whole, About(_GRACE)] | None, CLEARING, About(_CLEARED)] = None
    graph: Annotated[Annotated[Label, About(_GRAPH)] | None, CLEARING, About(_CLEARED)] = None
    max_iterations: Annotated[Whole | None, _Cycles] = None
    model: Annotated[Annotated[Label, About(_MODEL)] | None, CLEARING, About(_CLEARED)] = None
    effort: Annotated[Annotated[_Effort, About(_EFFORT)] | None, CLEARING, About(_CLEARED)] = None
    script: Annotated[Annotated[AnyObject, About(_SCRIPT)] | None, CLEARING, About(_CLEARED)] = None
    enabled: bool | None = None

    def written(self) -> dict[str, Any]:
        """Return the fields that the body sets, named as in `Schedule`. Null removes an optional field, and empties a
        text."""
        changes = {_OTHERS.get(name, name): value for name, value in self.sent().items()}
        return changes | {name: changes[name] or "" for name in ("connector", "thread") if name in changes}


#: The fields of the body that have another name in `Schedule`.
_OTHERS = {
    "channel_id": "channel",
    "misfire_policy": "missed",
    "misfire_grace_ms": "grace",
    "max_iterations": "max_cycles",
}


class NewSchedule(ChangedSchedule):
    kind: Annotated[ScheduleKind, MEMBER]
    agent: _Name
    schedule: Annotated[str, About(_SCHEDULE)]
    platform: _Name
    channel_id: _Name
    timezone: Annotated[Label | None, CLEARING, About(_ZONE)] = None
    misfire_grace_ms: Annotated[Whole | None, CLEARING, About(_GRACE)] = None
    graph: Annotated[Label | None, CLEARING, About(_GRAPH)] = None
    model: Annotated[Label | None, CLEARING, About(_MODEL)] = None
    effort: Annotated[_Effort | None, CLEARING, About(_EFFORT)] = None
    script: Annotated[AnyObject | None, CLEARING, About(_SCRIPT)] = None


_ALL, _ONE = "/api/schedules", "/api/schedules/{schedule}"
_FILTERS = {"kind": one_of(ScheduleKind), "agent": LABEL, "createdBy": one_of(MadeBy), "enabled": FLAG}


class ScheduleRoutes(Routes):
    """Routes of schedules. `rules` come from the configuration."""

    def __init__(
        self, *, insights: Insights, store: Store, gate: Authorizer, bus: EventBus, clock: Clock, rules: Rules
    ) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._bus = bus
        self._clock = clock
        self._rules = rules

    @route(
        "GET",
        _ALL,
        "List crons and heartbeats, newest first",
        OPERATE,
        {200: Page[ScheduleView]},
        query={**PAGING, **_FILTERS},
    )
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
        return answer_page([ScheduleView.of(schedule, agents) for schedule in page.items], page.next_cursor)

    @route("POST", _ALL, "Create a cron or heartbeat", OPERATE, {201: ScheduleDetailView}, body=NewSchedule)
    async def _add(self, call: Call) -> Response:
        body, by = await call.read(NewSchedule), await self._gate.principal_id(call.identity)
        blank = Schedule(
            id="", kind=body.kind, agent_id=body.agent, name="", schedule="", timezone=None, prompt="", platform="",
            connector="", channel="", script=None, missed=Missed.ONCE, enabled=True, principal_id=by, last_run=None,
            next_run=None, created_at=0, updated_at=0,
        )  # fmt: skip
        changes = {name: value for name, value in body.written().items() if name not in {"kind", "agent"}}
        wanted = schedules.with_changes(blank, changes)
        made = await self._store.write(schedules.add_schedule, wanted, self._rules, self._clock.now())
        self._bus.publish(SchedulesChanged())
        return await self._shown(made.id, status=201)

    @route("GET", _ONE, "Show a schedule with its next five times", OPERATE, {200: ScheduleDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("schedule"))

    @route("PATCH", _ONE, "Change the fields in the body", OPERATE, {200: ScheduleDetailView}, body=ChangedSchedule)
    async def _change(self, call: Call) -> Response:
        body, by = await call.read(ChangedSchedule), await self._gate.principal_id(call.identity)
        changed = await self._store.write(
            schedules.change_schedule,
            call.id("schedule"),
            body.written(),
            self._rules,
            self._clock.now(),
            by=by,
        )
        self._bus.publish(SchedulesChanged())
        return await self._shown(changed.id)

    @route("DELETE", _ONE, "Delete a schedule; undo restores it", OPERATE, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        await self._store.write(schedules.remove_schedule, call.id("schedule"), self._clock.now(), by=by)
        return done()

    @route("POST", f"{_ONE}/undo", "Restore the previous version", OPERATE, {200: UndoneScheduleView})
    async def _undo(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        back = await self._store.write(
            schedules.undo_schedule, call.id("schedule"), self._rules, self._clock.now(), by=by
        )
        self._bus.publish(SchedulesChanged())
        return answer(UndoneScheduleView(schedule=None if back is None else await self._detail(back.id)))

    @route(
        "GET",
        f"{_ONE}/runs",
        "List its occurrences, newest first",
        OPERATE,
        {200: Page[OccurrenceView]},
        query=PAGING,
    )
    async def _runs(self, call: Call) -> Response:
        """List the occurrences of a schedule. The occurrences of a deleted schedule are listed until housekeeping
        removes them."""
        page = await self._insights.occurrences(call.id("schedule"), limit=call.limit, cursor=call.query("cursor"))
        if not page.items and call.query("cursor") is None:
            await self._store.read(schedules.find_schedule, call.id("schedule"))
        return answer_page([OccurrenceView.of(occurrence) for occurrence in page.items], page.next_cursor)

    @route("POST", f"{_ONE}/run", "Run a schedule now; its times do not change", OPERATE, {201: OccurrenceView})
    async def _run(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        begun = await self._store.write(run_now, call.id("schedule"), self._clock.now(), by=by)
        return answer(OccurrenceView.of(begun), 201)

    async def _shown(self, schedule_id: str, *, status: int = 200) -> Response:
        return answer(await self._detail(schedule_id), status)

    async def _detail(self, schedule_id: str) -> ScheduleDetailView:
        schedule, agent, times = await self._store.read(_look, schedule_id, self._rules, self._clock.now())
        agents = {agent.id: agent.slug} if agent is not None else {}
        return ScheduleDetailView.of(schedule, agents, next_runs=times)


def _look(tx: Transaction, schedule_id: str, rules: Rules, now: int) -> tuple[Schedule, Agent | None, list[int]]:
    schedule = schedules.find_schedule(tx, schedule_id)
    return schedule, tx.agents.get(schedule.agent_id), schedules.coming(tx, schedule, rules, now)
