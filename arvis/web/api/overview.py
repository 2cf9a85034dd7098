"""The data of the top bar and the page Now over HTTP: the state of the daemon in one response."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from starlette.responses import Response

from arvis.bots.registry import BotSpec
from arvis.bots.service import BotService
from arvis.domain.accounts import AccountStatus
from arvis.domain.jobs import JobKind
from arvis.domain.money import MICROS, SpendingLimits, day_of
from arvis.domain.platforms import BotState, BotStatus
from arvis.domain.runs import Cooldown
from arvis.llm.accounts import AccountService
from arvis.ports.clock import Clock
from arvis.ports.insights import Headline, Insights, RunningWork
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import READ
from arvis.web.http.schema import (
    BOOLEAN,
    INTEGER,
    JOB,
    NUMBER,
    STRING,
    TIME,
    WAIT,
    array,
    object_schema,
    one_of,
    optional,
)
from arvis.web.http.views import Json, job_view, wait_view
from arvis.web.latency import LatencySeries, Point, Span

_TOOL = re.compile(r"tool \d+: (.+)", re.DOTALL)
_LONGEST_ACTIVITY = 200


class AccountState(StrEnum):
    """The state of an account."""

    OK = "ok"
    #: A vendor has refused a call, and the cooldown has not ended.
    COOLDOWN = "cooldown"
    #: The account cannot be used.
    PROBLEM = "problem"
    #: The account is disabled.
    OFF = "off"


COUNTS = object_schema(
    {
        "running": INTEGER,
        "pending": INTEGER,
        "undelivered": {**INTEGER, "description": "Deliveries that have not been sent."},
        "failed": {**INTEGER, "description": "Dead letters."},
        "waiting": {**INTEGER, "description": "Unanswered questions."},
        "oldestReadyMs": {**INTEGER, "description": "The age of the oldest job that is ready to run."},
    }
)
PLACE = object_schema({"platform": STRING, "connector": STRING, "channelId": STRING, "thread": STRING})
RUNNING = object_schema(
    {
        "jobId": STRING,
        "kind": one_of(JobKind),
        "since": TIME,
        "agent": optional(STRING),
        "agentName": optional(STRING),
        "graph": optional(STRING),
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "conversationId": optional(STRING),
        "address": optional(PLACE),
        "activity": {**STRING, "description": "Its current activity."},
        "tool": optional(STRING),
    }
)
ACCOUNT_HEALTH = object_schema(
    {
        "name": STRING,
        "provider": STRING,
        "model": STRING,
        "state": one_of(AccountState),
        "cooldownUntil": optional(TIME),
        "error": {**optional(STRING), "description": "Its last refusal, or why it cannot be used."},
    }
)
BOT_HEALTH = object_schema(
    {
        "platform": STRING,
        "name": STRING,
        "enabled": BOOLEAN,
        "state": one_of(BotState),
        "error": optional(STRING),
        "since": optional(TIME),
    }
)
POINT = object_schema(
    {
        "at": TIME,
        "answered": INTEGER,
        "failed": INTEGER,
        "p50Ms": {**optional(INTEGER), "description": "The time from acceptance to answer; null: no answers."},
        "p95Ms": optional(INTEGER),
        "depth": {**optional(INTEGER), "description": "The highest sampled queue length; null: no sample."},
    }
)
OVERVIEW = object_schema(
    {
        "at": TIME,
        "day": {**STRING, "description": "Today, in the configured time zone."},
        "costTodayUsd": NUMBER,
        "budgetTodayUsd": {**optional(NUMBER), "description": "null: no limit."},
        "counts": COUNTS,
        "running": {**array(RUNNING), "description": "Running work, oldest first, at most 50."},
        "questions": {**array(WAIT), "description": "The newest open questions, at most 10."},
        "failures": {**array(JOB), "description": "The newest failed jobs, at most 10."},
        "accounts": array(ACCOUNT_HEALTH),
        "bots": array(BOT_HEALTH),
        "series": object_schema({"span": one_of(Span), "bucketMs": INTEGER, "points": array(POINT)}),
    }
)


def counts_view(now: Headline, oldest_ready_ms: int) -> Json:
    return {
        "running": now.running,
        "pending": now.pending,
        "undelivered": now.undelivered,
        "failed": now.failed,
        "waiting": now.waiting,
        "oldestReadyMs": oldest_ready_ms,
    }


def running_view(work: RunningWork) -> Json:
    tool = _TOOL.fullmatch(work.tool or "")
    place = work.place
    return {
        "jobId": work.job_id,
        "kind": work.kind,
        "since": work.since,
        "agent": work.agent,
        "agentName": work.agent_name,
        "graph": work.graph,
        "messageId": work.message_id,
        "executionId": work.execution_id,
        "conversationId": work.conversation_id,
        "address": None
        if place is None
        else {
            "platform": place.platform,
            "connector": place.connector,
            "channelId": place.channel,
            "thread": place.thread,
        },
        "activity": (f"using {tool[1]}" if tool else work.note or "thinking")[:_LONGEST_ACTIVITY],
        "tool": tool[1] if tool else None,
    }


def account_view(
    name: str,
    provider: str,
    model: str,
    *,
    rests: Sequence[Cooldown],
    now: int,
    status: AccountStatus = AccountStatus.ACTIVE,
    problem: str | None = None,
) -> Json:
    own = [rest for rest in rests if rest.account == name and rest.until > now]
    longest = max(own, key=lambda rest: rest.until, default=None)
    state = AccountState.OK if longest is None else AccountState.COOLDOWN
    if problem is not None:
        state = AccountState.PROBLEM
    elif status is not AccountStatus.ACTIVE:
        state = AccountState.OFF
    return {
        "name": name,
        "provider": provider,
        "model": model,
        "state": state,
        "cooldownUntil": longest.until if longest is not None else None,
        "error": problem or (longest.kind if longest is not None else None),
    }


def bot_view(spec: BotSpec, status: BotStatus | None) -> Json:
    return {
        "platform": spec.platform,
        "name": spec.name,
        "enabled": spec.enabled,
        "state": BotState.STOPPED if status is None else status.state,
        "error": spec.trouble or (status.error if status is not None else "") or None,
        "since": None if status is None else status.since,
    }


def point_view(point: Point) -> Json:
    return {
        "at": point.at,
        "answered": point.answered,
        "failed": point.failed,
        "p50Ms": point.p50,
        "p95Ms": point.p95,
        "depth": point.depth,
    }


class OverviewRoutes:
    """Routes of the overview. `limits` returns the current budgets. `zone` is the time zone of the days."""

    def __init__(
        self,
        *,
        insights: Insights,
        accounts: AccountService,
        bots: BotService,
        latency: LatencySeries,
        clock: Clock,
        zone: str,
        limits: Callable[[], SpendingLimits],
    ) -> None:
        self._insights = insights
        self._accounts = accounts
        self._bots = bots
        self._latency = latency
        self._clock = clock
        self._zone = zone
        self._limits = limits

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/api/overview",
                "Show running, waiting and failed work, and the latency of answers",
                READ,
                self._show,
                {200: OVERVIEW},
                query={"span": {**one_of(Span), "default": Span.HOUR.value}},
            )
        ]

    async def _show(self, call: Call) -> Response:
        span = Span(call.choice("span", Span) or Span.HOUR)
        now = self._clock.now()
        day, budget = day_of(now, self._zone), self._limits().daily
        found = await self._insights.overview(now, day)
        self._latency.sample(found.headline.pending)
        bots = await self._bots.statuses()
        return answer(
            {
                "at": now,
                "day": day,
                "costTodayUsd": found.headline.cost_micros / MICROS,
                "budgetTodayUsd": None if budget is None else budget / MICROS,
                "counts": counts_view(found.headline, found.oldest_ready_ms),
                "running": [running_view(work) for work in found.running],
                "questions": [wait_view(wait) for wait in found.waits],
                "failures": [job_view(job, found.agents) for job in found.failures],
                "accounts": await self._account_health(now),
                "bots": [bot_view(spec, bots.get(spec.key)) for spec in self._bots.registry.specs],
                "series": await self._series(span),
            }
        )

    async def _account_health(self, now: int) -> list[Json]:
        """Return the health of all accounts, those of the configuration first."""
        rows, registry = await self._insights.accounts(), self._accounts.book
        shown = [
            account_view(each.name, each.provider, each.model, rests=rows.rests, now=now)
            for each in registry.configured
        ]
        for stored in rows.accounts:
            trouble = registry.trouble_of(stored)
            shown.append(
                account_view(
                    stored.name,
                    stored.provider,
                    stored.model,
                    rests=rows.rests,
                    now=now,
                    status=stored.status,
                    problem=None if trouble is None else trouble.what,
                )
            )
        return shown

    async def _series(self, span: Span) -> Json:
        points = await self._latency.points(span)
        _, minutes = span.buckets
        return {"span": span, "bucketMs": minutes * 60_000, "points": [point_view(point) for point in points]}
