"""The figures of /metrics from the database: each event counts once, however often and by whom they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from prometheus_client import CollectorRegistry

from arvis.domain.errors import DatabaseAway
from arvis.domain.workflows import RunStatus
from arvis.ports.insights import Answers, Headline, UsageBy, UsageGroup, UsageReport, UsageSums
from arvis.ports.workflows import RunFigures
from arvis.web.monitoring import DatabaseMetrics
from tests.flows.web_script import ScriptedInsights
from tests.flows.web_server import MovableClock

SUMS = UsageSums(calls=5, input_tokens=100, output_tokens=20, cost_micros=2_500_000, errors=2)


class GivenFigures(ScriptedInsights):
    """Insights that return the same data for every range, and record the ranges."""

    def __init__(self, *models: str) -> None:
        super().__init__()
        self.models = models
        self.ranges: list[tuple[int, int]] = []

    async def usage(self, by: UsageBy, since: int, until: int, zone: str) -> UsageReport:
        self.ranges.append((since, until))
        return UsageReport([UsageGroup(model, model, SUMS) for model in self.models], SUMS)

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        return [Answers(1, False, 1_500, 3), Answers(1, True, 90_000, 1)]

    async def run_figures(self, since: int, until: int) -> RunFigures:
        ended = 2 if until > since else 0
        return RunFigures({RunStatus.COMPLETED: ended, RunStatus.FAILED: 0}, paused=6)

    async def headline(self, day: str) -> Headline:
        return Headline(running=1, pending=2, undelivered=4, failed=0, waiting=3, cost_micros=0)


class Failing(GivenFigures):
    """Insights whose first read of answers fails."""

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        if len(self.ranges) == 1:
            raise DatabaseAway("The database cannot be reached.")
        return await super().answers(since, until, minutes=minutes)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


async def test_what_is_new_is_counted_once() -> None:
    registry, insights, clock = CollectorRegistry(), GivenFigures("demo/demo"), MovableClock()
    figures = DatabaseMetrics(registry=registry, insights=insights, clock=clock, since=clock.now())
    clock.shift_ms += 60_000
    await asyncio.gather(figures.look(), figures.look())
    await figures.look()
    assert value(registry, "arvis_model_calls_total", provider="demo", model="demo", outcome="ok") == 3 * len(
        insights.ranges
    )
    clock.shift_ms += 60_000
    await figures.look()
    edges = [edge for pair in insights.ranges for edge in pair]
    assert edges == sorted(edges)
    assert all(first[1] == second[0] for first, second in zip(insights.ranges, insights.ranges[1:], strict=False))


async def test_a_look_that_failed_counts_nothing_twice() -> None:
    registry, insights, clock = CollectorRegistry(), Failing("demo/demo"), MovableClock()
    figures = DatabaseMetrics(registry=registry, insights=insights, clock=clock, since=clock.now())
    clock.shift_ms += 60_000
    with pytest.raises(DatabaseAway):
        await figures.look()
    await figures.look()
    assert value(registry, "arvis_workflow_runs_ended_total", status="completed") == 2
    assert value(registry, "arvis_model_calls_total", provider="demo", model="demo", outcome="ok") == 3


async def test_figures_are_those_of_the_database() -> None:
    registry, clock = CollectorRegistry(), MovableClock()
    figures = DatabaseMetrics(
        registry=registry, insights=GivenFigures("openai/gpt", "custom/a/b"), clock=clock, since=clock.now()
    )
    clock.shift_ms += 60_000
    await figures.look()
    assert value(registry, "arvis_model_calls_total", provider="openai", model="gpt", outcome="error") == 2
    assert value(registry, "arvis_model_tokens_total", provider="custom", model="a/b", direction="input") == 100
    assert value(registry, "arvis_model_cost_usd_total", provider="openai", model="gpt") == 2.5
    assert value(registry, "arvis_answer_seconds_bucket", outcome="answered", le="2.0") == 3
    assert value(registry, "arvis_answer_seconds_count", outcome="failed") == 1
    assert value(registry, "arvis_questions_open") == 3
    assert value(registry, "arvis_workflow_runs_ended_total", status="completed") == 2
    assert value(registry, "arvis_workflow_runs_ended_total", status="failed") == 0
    assert value(registry, "arvis_workflow_runs_paused") == 6
    assert value(registry, "arvis_deliveries_waiting") == 4


async def test_models_without_number_are_counted_together() -> None:
    registry, clock = CollectorRegistry(), MovableClock()
    models = [f"custom/model-{number}" for number in range(230)]
    figures = DatabaseMetrics(registry=registry, insights=GivenFigures(*models), clock=clock, since=clock.now())
    clock.shift_ms += 60_000
    await figures.look()
    assert value(registry, "arvis_model_calls_total", provider="other", model="other", outcome="ok") == 90
