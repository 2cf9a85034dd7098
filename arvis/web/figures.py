"""Figures that are read from the database when somebody asks for them: what models were asked and cost, how long messages
took to be answered, what waits for people. So they are those of all processes, and cost nothing in between.

A figure counts from the start of this process. Each look reads what was entered since the last one.
"""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy, UsageGroup

#: What was entered in the last seconds is left for the next look: it may still be under way (ms).
_SETTLED = 3_000
#: So many models have figures of their own; further ones are counted together.
_MOST_MODELS = 200
_OTHERS = ("other", "other")
_MICROS = 1_000_000
_SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 60, 120, 300, 600, 1800)
#: A look sums up no more than this, after a long time without one (ms).
_LONGEST_LOOK = 86_400_000


class Figures:
    def __init__(self, *, registry: CollectorRegistry, insights: Insights, clock: Clock) -> None:
        self._insights = insights
        self._clock = clock
        self._looked = clock.now()
        self._looking = asyncio.Lock()
        self._models: set[tuple[str, str]] = set()
        model = ["provider", "model"]
        self._calls = Counter("arvis_model_calls", "Tries of model calls", [*model, "outcome"], registry=registry)
        self._tokens = Counter("arvis_model_tokens", "Tokens of model calls", [*model, "direction"], registry=registry)
        self._cost = Counter("arvis_model_cost_usd", "What model calls cost in US dollars", model, registry=registry)
        self._answers = Histogram(
            "arvis_answer_seconds",
            "Time from the acceptance of a message to its end",
            ["outcome"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._waits = Gauge("arvis_waits_open", "Questions that wait for a person", registry=registry)
        self._runs = Counter("arvis_workflow_runs_ended", "Runs of workflows that ended", ["status"], registry=registry)
        self._sleeping = Gauge("arvis_workflow_runs_paused", "Runs of workflows that sleep", registry=registry)
        self._undelivered = Gauge("arvis_deliveries_waiting", "Parts that are not sent yet", registry=registry)

    async def look(self) -> None:
        """Read what is new. Two who ask at once count nothing twice."""
        async with self._looking:
            until = self._clock.now() - _SETTLED
            since = max(self._looked, until - _LONGEST_LOOK)
            runs = await self._insights.run_figures(since, max(since, until))
            self._sleeping.set(runs.paused)
            for status, number in runs.ended.items():
                self._runs.labels(status).inc(number)
            if until > since:
                report = await self._insights.usage(UsageBy.MODEL, since, until, "UTC")
                answers = await self._insights.answers(since, until)
                self._looked = until
                for group in report.groups:
                    self._count(group)
                for each in answers:
                    timer = self._answers.labels("failed" if each.failed else "answered")
                    for _ in range(each.number):
                        timer.observe(each.latency_ms / 1000)
            headline = await self._insights.headline("")
            self._waits.set(headline.waiting)
            self._undelivered.set(headline.undelivered)

    def _count(self, group: UsageGroup) -> None:
        labels, sums = self._labels(group.key), group.sums
        self._calls.labels(*labels, "ok").inc(sums.calls - sums.errors)
        self._calls.labels(*labels, "error").inc(sums.errors)
        self._tokens.labels(*labels, "input").inc(sums.input_tokens)
        self._tokens.labels(*labels, "output").inc(sums.output_tokens)
        self._cost.labels(*labels).inc(sums.cost_micros / _MICROS)

    def _labels(self, key: str) -> tuple[str, str]:
        provider, _, model = key.partition("/")
        labels = (provider, model)
        if labels not in self._models and len(self._models) >= _MOST_MODELS:
            return _OTHERS
        self._models.add(labels)
        return labels
