"""Usage reports over HTTP: calls, tokens and costs, grouped by a chosen field."""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.domain.money import MICROS, start_of_day
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy, UsageSums
from arvis.web.http.endpoints import Call, Routes, answer, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import About, Time, View
from arvis.web.http.schema import STRING, one_of

#: The default period of a report, in ms.
_DEFAULT_SPAN = 30 * 86_400_000


class Split(StrEnum):
    """The second field that a daily report can be divided by."""

    AGENT = "agent"
    MODEL = "model"
    ACCOUNT = "account"
    CLIENT = "client"


class UsageSumsView(View):
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    cost_usd: float
    errors: int
    average_ms: Annotated[int | None, About("The average duration of a call; null: no calls.")]
    success: Annotated[float | None, About("The share of successful calls, from 0 to 1.")]
    unpriced: Annotated[int, About("Calls without a known price; they count as free.")]

    @classmethod
    def of(cls, sums: UsageSums, /, **others: Any) -> Self:
        return cls.showing(
            sums,
            cache_write_tokens=sums.written_tokens,
            cost_usd=sums.cost_micros / MICROS,
            average_ms=round(sums.duration_ms / sums.calls) if sums.calls else None,
            success=round(1 - sums.errors / sums.calls, 4) if sums.calls else None,
            **others,
        )


class UsageGroupView(UsageSumsView):
    key: str
    name: str


class UsagePointView(UsageGroupView):
    day: str


class UsageView(View):
    by: UsageBy
    since: Time
    until: Time
    groups: list[UsageGroupView]
    split: Split | None
    points: Annotated[
        list[UsagePointView],
        About("With `split`: a point per day for each of the eight most expensive keys, and `*` for others."),
    ]
    total: UsageSumsView


_MOMENT = {**STRING, "description": "A day (2026-11-22: its start) or milliseconds since the epoch."}


class UsageRoutes(Routes):
    """Routes of usage reports. `zone` is the time zone of days and months."""

    def __init__(self, *, insights: Insights, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._clock = clock
        self._zone = zone

    @route(
        "GET",
        "/api/usage",
        "Report calls, tokens and costs of models",
        OPERATE,
        {200: UsageView},
        query={
            "by": {**one_of(UsageBy), "default": UsageBy.DAY.value},
            "split": {**one_of(Split), "description": "Only with `by=day`."},
            "since": {**_MOMENT, "default": "30 days before `until`"},
            "until": {**_MOMENT, "default": "now"},
        },
    )
    async def _report(self, call: Call) -> Response:
        by = UsageBy(call.choice("by", UsageBy) or UsageBy.DAY)
        until = self._moment(call, "until")
        until = self._clock.now() + 1 if until is None else until
        since = self._moment(call, "since")
        since = max(0, until - _DEFAULT_SPAN) if since is None else since
        report = await self._insights.usage(by, since, until, self._zone)
        split = call.choice("split", Split)
        shown = UsageView(
            by=by,
            since=since,
            until=until,
            groups=[UsageGroupView.of(each.sums, key=each.key, name=each.name) for each in report.groups],
            split=None if split is None else Split(split),
            points=[] if split is None else await self._points(by, UsageBy(split), since, until),
            total=UsageSumsView.of(report.total),
        )
        return answer(shown)

    async def _points(self, by: UsageBy, split: UsageBy, since: int, until: int) -> list[UsagePointView]:
        if by is not UsageBy.DAY:
            raise Unprocessable("`split` is allowed only with `by=day`.", fix="Omit `split`, or send `by=day`.")
        found = await self._insights.usage_by_day(split, since, until, self._zone)
        return [UsagePointView.of(each.sums, day=each.day, key=each.key, name=each.name) for each in found]

    def _moment(self, call: Call, name: str) -> int | None:
        text = call.query(name)
        if text is None:
            return None
        if re.fullmatch(r"\d{1,15}", text, re.ASCII):
            return int(text)
        try:
            return max(0, start_of_day(date.fromisoformat(text), self._zone))
        except (ValueError, OverflowError):
            raise Unprocessable(
                f"`{name}` must be a day such as 2026-11-22, or milliseconds since the epoch.",
                fix="GET /openapi.json describes every parameter.",
            ) from None
