"""The metrics in Prometheus' format. They are loaded when they are first requested.

Metrics count the events on the bus, the requests to this process, and new rows in the database (`DatabaseMetrics`). No
metric slows down a page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy, UsageGroup
from arvis.process.stalls import Stalls
from arvis.web.dependencies import WebDependencies
from arvis.web.event_counts import EventCounts

# Metrics that are read from the database when they are requested: model calls and their costs, latencies of replies,
# and open questions. They cover all processes. The counters start at zero when this process starts, and each read adds
# the rows since the previous read.


#: The minimum age in ms of the rows that are read. Newer rows are left for the next read, because transactions that
#: write such rows may still be open.
_SETTLED = 3_000
#: The number of models with their own metrics. Further models are counted together.
_MOST_MODELS = 200
_OTHERS = ("other", "other")
_MICROS = 1_000_000
_SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 60, 120, 300, 600, 1800)
#: The longest period, in ms, that one read covers. Older rows are never counted.
_LONGEST_LOOK = 86_400_000


class DatabaseMetrics:
    """The metrics of database rows that were written since `since` (ms)."""

    def __init__(self, *, registry: CollectorRegistry, insights: Insights, clock: Clock, since: int) -> None:
        self._insights = insights
        self._clock = clock
        self._looked = since
        self._looking = asyncio.Lock()
        self._models: set[tuple[str, str]] = set()
        model = ["provider", "model"]
        self._calls = Counter("arvis_model_calls", "Attempts of model calls", [*model, "outcome"], registry=registry)
        self._tokens = Counter("arvis_model_tokens", "Tokens of model calls", [*model, "direction"], registry=registry)
        self._cost = Counter("arvis_model_cost_usd", "Cost of model calls in US dollars", model, registry=registry)
        self._answers = Histogram(
            "arvis_answer_seconds",
            "Time from the acceptance of a message to its end",
            ["outcome"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._waits = Gauge("arvis_questions_open", "Questions that wait for a person", registry=registry)
        self._runs = Counter("arvis_workflow_runs_ended", "Workflow runs that ended", ["status"], registry=registry)
        self._sleeping = Gauge("arvis_workflow_runs_paused", "Workflow runs that are paused", registry=registry)
        self._undelivered = Gauge(
            "arvis_deliveries_waiting", "Parts of deliveries that are not sent yet", registry=registry
        )

    async def look(self) -> None:
        """Read the new rows and add their numbers to the counters. Concurrent calls do not count a row twice."""
        async with self._looking:
            until = self._clock.now() - _SETTLED
            since = max(self._looked, until - _LONGEST_LOOK)
            runs = await self._insights.run_figures(since, max(since, until))
            self._sleeping.set(runs.paused)
            if until > since:
                report = await self._insights.usage(UsageBy.MODEL, since, until, "UTC")
                answers = await self._insights.answers(since, until)
                self._looked = until
                # Count only after the last read: if a read fails, the next call of `look` reads all these rows again.
                for status, number in runs.ended.items():
                    self._runs.labels(status).inc(number)
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


class _StallCollector(Collector):
    """The collector of the counts of the event loop monitor. It reads them when metrics are requested."""

    def __init__(self, stalls: Callable[[], Stalls]) -> None:
        self._stalls = stalls

    def collect(self) -> Iterator[Metric]:
        stalls = self._stalls()
        passes = "Passes of the event loop that took longer than 50 ms"
        yield CounterMetricFamily("arvis_event_loop_blocked", passes, value=stalls.count)
        seconds = "Seconds of the passes of the event loop that took longer than 50 ms"
        yield CounterMetricFamily("arvis_event_loop_blocked_seconds", seconds, value=stalls.seconds)
        longest = "The longest pass of the event loop"
        yield GaugeMetricFamily("arvis_event_loop_longest_block_seconds", longest, value=stalls.longest)


class _EventCollector(Collector):
    """The collector of the counts of events."""

    def __init__(self, counts: EventCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield _family("arvis_messages_received", "Accepted messages", ["platform"], counts.received)
        yield _family("arvis_messages_ended", "Messages that were finished", ["platform", "status"], counts.ended)
        yield _family("arvis_jobs_settled", "Jobs that were cancelled", ["status"], counts.settled)
        sent = "Deliveries that were sent or given up"
        yield _family("arvis_deliveries_settled", sent, ["platform", "state"], counts.deliveries)
        yield _family("arvis_http_requests", "Requests by route", ["method", "path", "status"], counts.requests)


def _family(name: str, words: str, labels: Sequence[str], numbers: Mapping[tuple[str, ...], int]) -> Metric:
    family = CounterMetricFamily(name, words, labels=labels)
    for values, number in numbers.items():
        family.add_metric([str(each) for each in values], number)
    return family


class Metrics:
    """The metrics of this process. `sockets` returns the number of open sockets, and `counts` are the events since the
    start of the daemon."""

    def __init__(self, deps: WebDependencies, *, sockets: Callable[[], int], counts: EventCounts) -> None:
        registry = CollectorRegistry()
        self._insights = deps.insights
        self._clock = deps.clock
        self._figures = DatabaseMetrics(registry=registry, insights=deps.insights, clock=deps.clock, since=counts.since)
        self._registry = registry
        self._jobs = Gauge("arvis_jobs", "Jobs by kind and status", ["kind", "status"], registry=registry)
        self._oldest = Gauge(
            "arvis_oldest_ready_job_seconds", "Age of the oldest job that is ready to run", registry=registry
        )
        Gauge("arvis_sockets", "Open sockets", registry=registry).set_function(sockets)
        registry.register(_EventCollector(counts))
        registry.register(_StallCollector(deps.stalls))
        ProcessCollector(registry=registry)

    async def text(self) -> bytes:
        counts = await self._insights.counts(self._clock.now())
        await self._figures.look()
        self._jobs.clear()
        for (kind, status), number in counts.jobs.items():
            self._jobs.labels(kind, status).set(number)
        self._oldest.set(counts.oldest_ready_ms / 1000)
        return generate_latest(self._registry)
