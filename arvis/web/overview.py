"""The top bar and the page Now over HTTP: how things are, in one answer."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import Response

from arvis.bots.desk import BotDesk
from arvis.domain.money import MICROS, SpendingLimits, day_of
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.runner.desk import AccountDesk
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.identity import READ
from arvis.web.overview_shapes import OVERVIEW, account_view, bot_view, counts_view, point_view, running_view
from arvis.web.pace_of_answers import PaceOfAnswers, Span
from arvis.web.schemas import one_of
from arvis.web.views import Json, job_view, wait_view


class OverviewRoutes:
    """`limits` are those of this moment; days are those of `zone`."""

    def __init__(
        self,
        *,
        insights: Insights,
        accounts: AccountDesk,
        bots: BotDesk,
        pace: PaceOfAnswers,
        clock: Clock,
        zone: str,
        limits: Callable[[], SpendingLimits],
    ) -> None:
        self._insights = insights
        self._accounts = accounts
        self._bots = bots
        self._pace = pace
        self._clock = clock
        self._zone = zone
        self._limits = limits

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/api/overview",
                "What runs, waits and failed just now, and how fast messages were answered",
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
        self._pace.sample(found.headline.pending)
        return answer(
            {
                "at": now,
                "day": day,
                "costTodayUsd": found.headline.cost_micros / MICROS,
                "budgetTodayUsd": None if budget is None else budget / MICROS,
                "counts": counts_view(found.headline, found.oldest_ready_ms),
                "running": [running_view(work) for work in found.running],
                "waits": [wait_view(wait) for wait in found.waits],
                "failures": [job_view(job, found.agents) for job in found.failures],
                "accounts": await self._account_health(now),
                "bots": await self._bot_health(),
                "series": await self._series(span),
            }
        )

    async def _account_health(self, now: int) -> list[Json]:
        """Those of the configuration first."""
        rows, book = await self._insights.accounts(), self._accounts.book
        shown = [
            account_view(each.name, each.provider, each.model, rests=rows.rests, now=now) for each in book.configured
        ]
        for stored in rows.accounts:
            trouble = book.trouble_of(stored)
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

    async def _bot_health(self) -> list[Json]:
        statuses = await self._bots.statuses()
        return [bot_view(spec, statuses.get(spec.key)) for spec in self._bots.book.specs]

    async def _series(self, span: Span) -> Json:
        points = await self._pace.points(span)
        _, minutes = span.buckets
        return {"span": span, "bucketMs": minutes * 60_000, "points": [point_view(point) for point in points]}
