"""The data of the top bar and the page Now over HTTP: the state of the daemon in one response."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Self

from starlette.responses import Response

from arvis.bots.registry import BotSpec
from arvis.bots.service import BotService
from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.jobs import JobKind
from arvis.domain.messages import Address
from arvis.domain.money import MICROS, SpendingLimits, day_of
from arvis.domain.platforms import BotState, BotStatus
from arvis.domain.regex import regex
from arvis.domain.runs import Account, Cooldown
from arvis.llm.accounts import AccountService
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, RunningWork
from arvis.web.http.endpoints import Call, Routes, answer, route
from arvis.web.http.identity import READ
from arvis.web.http.models import About, Time, View
from arvis.web.http.schema import one_of
from arvis.web.http.views import JobRowView, OpenQuestionView
from arvis.web.latency import LatencySeries, Point, Span

_TOOL = regex(r"tool \d+: (.+)", re.DOTALL)
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


class CountsView(View):
    running: int
    pending: int
    undelivered: Annotated[int, About("Deliveries that have not been sent.")]
    failed: Annotated[int, About("Dead letters.")]
    waiting: Annotated[int, About("Unanswered questions.")]
    oldest_ready_ms: Annotated[int, About("The age of the oldest job that is ready to run.")]


class PlaceView(View):
    platform: str
    connector: str
    channel_id: str
    thread: str

    @classmethod
    def of(cls, address: Address) -> Self:
        return cls.showing(address, channel_id=address.channel)


class RunningWorkView(View):
    job_id: str
    kind: JobKind
    since: Time
    agent: str | None
    agent_name: str | None
    graph: str | None
    message_id: str | None
    execution_id: str | None
    conversation_id: str | None
    address: PlaceView | None
    activity: Annotated[str, About("Its current activity.")]
    tool: str | None

    @classmethod
    def of(cls, work: RunningWork) -> Self:
        tool = _TOOL.fullmatch(work.tool or "")
        return cls.showing(
            work,
            address=None if work.place is None else PlaceView.of(work.place),
            activity=(f"using {tool[1]}" if tool else work.note or "thinking")[:_LONGEST_ACTIVITY],
            tool=tool[1] if tool else None,
        )


class AccountHealthView(View):
    name: str
    provider: str
    model: str
    state: AccountState
    cooldown_until: Time | None
    error: Annotated[str | None, About("Its last refusal, or why it cannot be used.")]

    @classmethod
    def of(
        cls,
        account: Account | StoredAccount,
        *,
        rests: Sequence[Cooldown],
        now: int,
        status: AccountStatus = AccountStatus.ACTIVE,
        problem: str | None = None,
    ) -> Self:
        own = [rest for rest in rests if rest.account == account.name and rest.until > now]
        longest = max(own, key=lambda rest: rest.until, default=None)
        state = AccountState.OK if longest is None else AccountState.COOLDOWN
        if problem is not None:
            state = AccountState.PROBLEM
        elif status is not AccountStatus.ACTIVE:
            state = AccountState.OFF
        return cls.showing(
            account,
            state=state,
            cooldown_until=longest.until if longest is not None else None,
            error=problem or (longest.kind if longest is not None else None),
        )


class BotHealthView(View):
    platform: str
    name: str
    enabled: bool
    state: BotState
    error: str | None
    since: Time | None

    @classmethod
    def of(cls, spec: BotSpec, status: BotStatus | None) -> Self:
        return cls.showing(
            spec,
            state=BotState.STOPPED if status is None else status.state,
            error=spec.trouble or (status.error if status is not None else "") or None,
            since=None if status is None else status.since,
        )


class PointView(View):
    at: Time
    answered: int
    failed: int
    p50_ms: Annotated[int | None, About("The time from acceptance to answer; null: no answers.")]
    p95_ms: int | None
    depth: Annotated[int | None, About("The highest sampled queue length; null: no sample.")]

    @classmethod
    def of(cls, point: Point) -> Self:
        return cls.showing(point, p50_ms=point.p50, p95_ms=point.p95)


class SeriesView(View):
    span: Span
    bucket_ms: int
    points: list[PointView]


class OverviewView(View):
    at: Time
    day: Annotated[str, About("Today, in the configured time zone.")]
    cost_today_usd: float
    budget_today_usd: Annotated[float | None, About("null: no limit.")]
    counts: CountsView
    running: Annotated[list[RunningWorkView], About("Running work, oldest first, at most 50.")]
    questions: Annotated[list[OpenQuestionView], About("The newest open questions, at most 10.")]
    failures: Annotated[list[JobRowView], About("The newest failed jobs, at most 10.")]
    accounts: list[AccountHealthView]
    bots: list[BotHealthView]
    series: SeriesView


class OverviewRoutes(Routes):
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

    @route(
        "GET",
        "/api/overview",
        "Show running, waiting and failed work, and the latency of answers",
        READ,
        {200: OverviewView},
        query={"span": {**one_of(Span), "default": Span.HOUR.value}},
    )
    async def _show(self, call: Call) -> Response:
        span = Span(call.choice("span", Span) or Span.HOUR)
        now = self._clock.now()
        day, budget = day_of(now, self._zone), self._limits().daily
        found = await self._insights.overview(now, day)
        self._latency.sample(found.headline.pending)
        bots = await self._bots.statuses()
        shown = OverviewView(
            at=now,
            day=day,
            cost_today_usd=found.headline.cost_micros / MICROS,
            budget_today_usd=None if budget is None else budget / MICROS,
            counts=CountsView.showing(found.headline, oldest_ready_ms=found.oldest_ready_ms),
            running=[RunningWorkView.of(work) for work in found.running],
            questions=[OpenQuestionView.of(wait) for wait in found.waits],
            failures=[JobRowView.of(job, found.agents) for job in found.failures],
            accounts=await self._account_health(now),
            bots=[BotHealthView.of(spec, bots.get(spec.key)) for spec in self._bots.registry.specs],
            series=await self._series(span),
        )
        return answer(shown)

    async def _account_health(self, now: int) -> list[AccountHealthView]:
        """Return the health of all accounts, those of the configuration first."""
        rows, registry = await self._insights.accounts(), self._accounts.book
        shown = [AccountHealthView.of(each, rests=rows.rests, now=now) for each in registry.configured]
        for stored in rows.accounts:
            trouble = registry.trouble_of(stored)
            problem = None if trouble is None else trouble.what
            shown.append(AccountHealthView.of(stored, rests=rows.rests, now=now, status=stored.status, problem=problem))
        return shown

    async def _series(self, span: Span) -> SeriesView:
        points = await self._latency.points(span)
        _, minutes = span.buckets
        return SeriesView(span=span, bucket_ms=minutes * 60_000, points=[PointView.of(point) for point in points])
