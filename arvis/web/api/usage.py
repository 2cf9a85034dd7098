"""Usage reports over HTTP: calls, tokens and costs, grouped by a chosen field."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import date
from enum import StrEnum

from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.domain.money import MICROS, start_of_day
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy, UsageSums
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.schema import INTEGER, NUMBER, STRING, TIME, array, object_schema, one_of, optional
from arvis.web.http.views import Json

#: The default period of a report, in ms.
_DEFAULT_SPAN = 30 * 86_400_000


class Split(StrEnum):
    """The second field that a daily report can be divided by."""

    AGENT = "agent"
    MODEL = "model"
    ACCOUNT = "account"
    CLIENT = "client"


_SUMS = {
    "calls": INTEGER,
    "inputTokens": INTEGER,
    "outputTokens": INTEGER,
    "cachedTokens": INTEGER,
    "cacheWriteTokens": INTEGER,
    "costUsd": NUMBER,
    "errors": INTEGER,
    "averageMs": {**optional(INTEGER), "description": "The average duration of a call; null: no calls."},
    "success": {**optional(NUMBER), "description": "The share of successful calls, from 0 to 1."},
    "unpriced": {**INTEGER, "description": "Calls without a known price; they count as free."},
}
USAGE = object_schema(
    {
        "by": one_of(UsageBy),
        "since": TIME,
        "until": TIME,
        "groups": array(object_schema({"key": STRING, "name": STRING, **_SUMS})),
        "split": optional(one_of(Split)),
        "points": {
            **array(object_schema({"day": STRING, "key": STRING, "name": STRING, **_SUMS})),
            "description": "With `split`: a point per day for each of the eight most expensive keys, and `*` for others.",
        },
        "total": object_schema(_SUMS),
    }
)
_MOMENT = {**STRING, "description": "A day (2026-11-22: its start) or milliseconds since the epoch."}


class UsageRoutes:
    """Routes of usage reports. `zone` is the time zone of days and months."""

    def __init__(self, *, insights: Insights, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._clock = clock
        self._zone = zone

    def endpoints(self) -> list[Endpoint]:
        query = {
            "by": {**one_of(UsageBy), "default": UsageBy.DAY.value},
            "split": {**one_of(Split), "description": "Only with `by=day`."},
            "since": {**_MOMENT, "default": "30 days before `until`"},
            "until": {**_MOMENT, "default": "now"},
        }
        return [
            Endpoint(
                "GET",
                "/api/usage",
                "Report calls, tokens and costs of models",
                OPERATE,
                self._report,
                {200: USAGE},
                query=query,
            )
        ]

    async def _report(self, call: Call) -> Response:
        by = UsageBy(call.choice("by", UsageBy) or UsageBy.DAY)
        until = self._moment(call, "until")
        until = self._clock.now() + 1 if until is None else until
        since = self._moment(call, "since")
        since = max(0, until - _DEFAULT_SPAN) if since is None else since
        report = await self._insights.usage(by, since, until, self._zone)
        points = await self._points(call, by, since, until)
        groups = [{"key": group.key, "name": group.name, **_sums_view(group.sums)} for group in report.groups]
        total = _sums_view(report.total)
        return answer({"by": by, "since": since, "until": until, "groups": groups, "total": total, **points})

    async def _points(self, call: Call, by: UsageBy, since: int, until: int) -> Json:
        split = call.choice("split", Split)
        if split is None:
            return {"split": None, "points": []}
        if by is not UsageBy.DAY:
            raise Unprocessable("`split` is allowed only with `by=day`.", fix="Omit `split`, or send `by=day`.")
        found = await self._insights.usage_by_day(UsageBy(split), since, until, self._zone)
        points = [{"day": each.day, "key": each.key, "name": each.name, **_sums_view(each.sums)} for each in found]
        return {"split": split, "points": points}

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


def _sums_view(sums: UsageSums) -> Json:
    found = {field.name: getattr(sums, field.name) for field in fields(sums)}
    cost, duration = found.pop("cost_micros"), found.pop("duration_ms")
    return {
        **{_CAMEL[name]: value for name, value in found.items()},
        "costUsd": cost / MICROS,
        "averageMs": round(duration / sums.calls) if sums.calls else None,
        "success": round(1 - sums.errors / sums.calls, 4) if sums.calls else None,
    }


_CAMEL = {
    "calls": "calls",
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cached_tokens": "cachedTokens",
    "written_tokens": "cacheWriteTokens",
    "errors": "errors",
    "unpriced": "unpriced",
}
