"""What an agent did lately, in figures: its calls and their cost of a week and a month."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from arvis.agents import roster
from arvis.domain.agents import Agent
from arvis.domain.money import MICROS
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy
from arvis.ports.store import Store
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.identity import READ
from arvis.web.schemas import INTEGER, NUMBER, TIME, optional, record

_DAY_MS = 86_400_000

_SPAN = record(
    {"calls": INTEGER, "inputTokens": INTEGER, "outputTokens": INTEGER, "costUsd": NUMBER, "errors": INTEGER}
)
STATS = record({"week": _SPAN, "month": _SPAN, "lastActive": {**optional(TIME), "description": "Its newest message."}})


class AgentStatRoutes:
    def __init__(self, *, insights: Insights, store: Store, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock
        self._zone = zone

    def endpoints(self) -> list[Endpoint]:
        path = "/api/agents/{agent}/stats"
        return [Endpoint("GET", path, "What it did in 7 and in 30 days", READ, self._show, {200: STATS})]

    async def _show(self, call: Call) -> Response:
        agent = await self._store.read(roster.find, call.id("agent"))
        if agent is None:
            raise roster.no_agent()
        newest = await self._insights.conversations(agent=agent.slug, limit=1, cursor=None)
        return answer(
            {
                "week": await self._span(agent, 7),
                "month": await self._span(agent, 30),
                "lastActive": newest.items[0].last_message_at if newest.items else None,
            }
        )

    async def _span(self, agent: Agent, days: int) -> dict[str, Any]:
        now = self._clock.now()
        report = await self._insights.usage(UsageBy.AGENT, now - days * _DAY_MS, now + 1, self._zone)
        sums = next((group.sums for group in report.groups if group.key == agent.id), None)
        if sums is None:
            return {"calls": 0, "inputTokens": 0, "outputTokens": 0, "costUsd": 0, "errors": 0}
        return {
            "calls": sums.calls,
            "inputTokens": sums.input_tokens,
            "outputTokens": sums.output_tokens,
            "costUsd": sums.cost_micros / MICROS,
            "errors": sums.errors,
        }
