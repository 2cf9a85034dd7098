"""Endpoints for machines: health, readiness, Prometheus metrics and the OpenAPI document.

Metrics count the events on the bus, the requests to this process, and new rows in the database (`DatabaseMetrics`). No
metric slows down a page.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from arvis import __version__
from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.events import DeliverySettled, JobSettled, MessageReceived, StatusChanged
from arvis.domain.messages import FINAL_STATUSES
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy, UsageGroup
from arvis.ports.store import Store, Transaction
from arvis.process.stalls import Stalls
from arvis.web.dependencies import WebDependencies
from arvis.web.http.endpoints import Call, Endpoint, Routes, answer, route
from arvis.web.http.identity import PUBLIC, READ
from arvis.web.http.models import View
from arvis.web.http.schema import STRING
from arvis.web.openapi import describe

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
#: The longest period, in ms, that one read covers. Rows older than that are never counted.
_LONGEST_LOOK = 86_400_000


class DatabaseMetrics:
    def __init__(self, *, registry: CollectorRegistry, insights: Insights, clock: Clock) -> None:
        self._insights = insights
        self._clock = clock
        self._looked = clock.now()
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


class Metrics:
    """The metrics of this process. `sockets` returns the number of open sockets."""

    def __init__(self, deps: WebDependencies, *, sockets: Callable[[], int]) -> None:
        registry = CollectorRegistry()
        self.stalls = deps.stalls
        self._insights = deps.insights
        self._clock = deps.clock
        self._figures = DatabaseMetrics(registry=registry, insights=deps.insights, clock=deps.clock)
        self._registry = registry
        self._jobs = Gauge("arvis_jobs", "Jobs by kind and status", ["kind", "status"], registry=registry)
        self._oldest = Gauge(
            "arvis_oldest_ready_job_seconds", "Age of the oldest job that is ready to run", registry=registry
        )
        # The counters of all labels are cached, because `labels` takes longer than counting.
        received = Counter("arvis_messages_received", "Accepted messages", ["platform"], registry=registry)
        self._received = cache(received.labels)
        ended = Counter(
            "arvis_messages_ended", "Messages that were finished", ["platform", "status"], registry=registry
        )
        self._ended = cache(ended.labels)
        self._settled = Counter("arvis_jobs_settled", "Jobs that were cancelled", ["status"], registry=registry)
        self._requests = Counter(
            "arvis_http_requests", "Requests by route", ["method", "path", "status"], registry=registry
        )
        deliveries = Counter(
            "arvis_deliveries_settled",
            "Deliveries that were sent or given up",
            ["platform", "state"],
            registry=registry,
        )
        self._deliveries = cache(deliveries.labels)
        Gauge("arvis_sockets", "Open sockets", registry=registry).set_function(sockets)
        registry.register(_StallCollector(deps.stalls))
        ProcessCollector(registry=registry)

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        subscriptions = [
            bus.subscribe(MessageReceived, self._message_received),
            bus.subscribe(StatusChanged, self._status_changed),
            bus.subscribe(JobSettled, self._job_settled),
            bus.subscribe(DeliverySettled, self._delivery_settled),
        ]
        try:
            yield
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    def count_request(self, method: str, path: str, status: int) -> None:
        """Count a request. `path` is the pattern of the route, not the requested path, because each id in a path would
        create a metric."""
        self._requests.labels(method, path, status).inc()

    async def text(self) -> bytes:
        counts = await self._insights.counts(self._clock.now())
        await self._figures.look()
        self._jobs.clear()
        for (kind, status), number in counts.jobs.items():
            self._jobs.labels(kind, status).set(number)
        self._oldest.set(counts.oldest_ready_ms / 1000)
        return generate_latest(self._registry)

    def _message_received(self, event: MessageReceived) -> None:
        self._received(event.address.platform).inc()

    def _status_changed(self, event: StatusChanged) -> None:
        if event.status in FINAL_STATUSES:
            self._ended(event.address.platform, event.status).inc()

    def _job_settled(self, event: JobSettled) -> None:
        self._settled.labels(event.status).inc()

    def _delivery_settled(self, event: DeliverySettled) -> None:
        self._deliveries(event.address.platform, event.state).inc()


# Readiness: the roles are up, the database is writable, the disk has space, and the event loop is responsive.


#: The time for which the result of a database check is cached, and the maximum duration of a check, in seconds.
_FRESH = 1.0
_TIMEOUT = 2.0

#: The event loop is responsive if a sleep of `_NAP` seconds ends less than `_LATE` seconds too late.
_NAP = 0.005
_LATE = 0.5


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness of the daemon. The daemon is ready even if `bots` are down, because a platform can have an
    outage."""

    roles: Mapping[str, bool]
    bots: Mapping[str, bool]
    database: bool
    disk: bool
    event_loop: bool

    @property
    def ready(self) -> bool:
        return all(self.roles.values()) and self.database and self.disk and self.event_loop


class ReadinessProbe:
    """The check of readiness. `roles` returns the configured roles, and `bots` returns the enabled bots. The value of
    each is True if it is up. `room` returns whether the disk has space for new work."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        roles: Callable[[], Mapping[str, bool]],
        bots: Callable[[], Mapping[str, bool]],
        room: Callable[[], bool],
    ) -> None:
        self._store = store
        self._room = room
        self._clock = clock
        self._roles = roles
        self._bots = bots
        self._lock = asyncio.Lock()
        self._database = (False, float("-inf"))

    async def look(self) -> Readiness:
        return Readiness(
            roles=dict(self._roles()),
            bots=dict(self._bots()),
            database=await self._database_writable(),
            disk=self._room(),
            event_loop=await self._loop_in_time(),
        )

    async def _database_writable(self) -> bool:
        """Return whether the database accepts writes. The check runs at most once a second for all callers."""
        async with self._lock:
            writable, at = self._database
            if not 0 <= self._clock.monotonic() - at < _FRESH:
                writable = await self._write()
                self._database = (writable, self._clock.monotonic())
            return writable

    async def _write(self) -> bool:
        write = asyncio.ensure_future(self._store.write(_nothing))
        done, _ = await asyncio.wait({write}, timeout=_TIMEOUT)
        if not done:
            write.cancel()
            return False
        return write.exception() is None

    async def _loop_in_time(self) -> bool:
        begin = self._clock.monotonic()
        await self._clock.sleep(_NAP)
        return self._clock.monotonic() - begin - _NAP < _LATE


def _nothing(_: Transaction) -> None:
    """Write nothing. If this script succeeds, the database can begin and commit transactions."""


_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class LoopView(View):
    blocked: int
    longest_ms: int


class HealthView(View):
    status: str
    version: str
    event_loop: LoopView


class ReadyView(View):
    ready: bool
    roles: dict[str, bool]
    bots: dict[str, bool]
    database: bool
    disk: bool
    event_loop: bool


class SystemRoutes(Routes):
    """Routes for machines. `others` are the endpoints of all other parts, for the OpenAPI document."""

    def __init__(
        self,
        *,
        metrics: Metrics,
        probe: ReadinessProbe,
        others: Sequence[Endpoint],
    ) -> None:
        self._metrics = metrics
        self._probe = probe
        self._others = others

    @route("GET", "/health", "Check that the process is up", PUBLIC, {200: HealthView})
    async def health(self, _: Call) -> Response:
        stalls = self._metrics.stalls()
        loop = LoopView(blocked=stalls.count, longest_ms=round(stalls.longest * 1000))
        return answer(HealthView(status="ok", version=__version__, event_loop=loop))

    @route("GET", "/ready", "Check that the daemon can work", PUBLIC, {200: ReadyView, 503: ReadyView})
    async def ready(self, _: Call) -> Response:
        found = await self._probe.look()
        return answer(
            ReadyView.showing(found, roles=dict(found.roles), bots=dict(found.bots)), 200 if found.ready else 503
        )

    @route("GET", "/metrics", "Return metrics as Prometheus text", READ, {200: STRING}, media="text/plain")
    async def metrics(self, _: Call) -> Response:
        return Response(await self._metrics.text(), media_type=_PROMETHEUS)

    @route("GET", "/openapi.json", "Show this document", READ, {200: {"type": "object"}})
    async def openapi(self, _: Call) -> Response:
        # Building the document takes a fifth of a second. A thread builds it, so that the event loop can serve other
        # requests.
        return answer(await asyncio.to_thread(describe, [*self._others, *self.endpoints()]))
