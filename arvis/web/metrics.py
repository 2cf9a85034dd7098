"""Prometheus figures: the queue as it stands, what happened since the start, and the process itself.

Counts come from the bus, from the requests of this port, and from a look at what is new in the database (`figures`);
nothing is measured that a page load would slow down.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from arvis.domain.events import DeliverySettled, JobSettled, MessageReceived, StatusChanged
from arvis.domain.messages import FINAL_STATUSES
from arvis.ports.bus import Bus
from arvis.process.stalls import Stalls
from arvis.web.figures import Figures
from arvis.web.surroundings import Surroundings


class _StallCollector(Collector):
    """What the watch over the event loop has counted, read when it is asked for."""

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
    """`sockets` counts the open sockets."""

    def __init__(self, around: Surroundings, *, sockets: Callable[[], int]) -> None:
        registry = CollectorRegistry()
        self.stalls = around.stalls
        self._insights = around.insights
        self._clock = around.clock
        self._figures = Figures(registry=registry, insights=around.insights, clock=around.clock)
        self._registry = registry
        self._jobs = Gauge("arvis_jobs", "Jobs by kind and status", ["kind", "status"], registry=registry)
        self._oldest = Gauge(
            "arvis_oldest_ready_job_seconds", "Age of the oldest job that could run", registry=registry
        )
        self._received = Counter("arvis_messages_received", "Accepted messages", ["platform"], registry=registry)
        self._ended = Counter(
            "arvis_messages_ended", "Messages that came to their end", ["platform", "status"], registry=registry
        )
        self._settled = Counter("arvis_jobs_settled", "Jobs that were settled", ["status"], registry=registry)
        self._requests = Counter(
            "arvis_http_requests", "Requests by route", ["method", "path", "status"], registry=registry
        )
        self._deliveries = Counter(
            "arvis_deliveries_settled",
            "Deliveries that left or were given up",
            ["platform", "state"],
            registry=registry,
        )
        Gauge("arvis_sockets", "Open sockets", registry=registry).set_function(sockets)
        registry.register(_StallCollector(around.stalls))
        ProcessCollector(registry=registry)

    @contextlib.contextmanager
    def listening(self, bus: Bus) -> Iterator[None]:
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
        """`path` is the route's pattern, never the address itself: ids would make a figure each."""
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
        self._received.labels(event.address.platform).inc()

    def _status_changed(self, event: StatusChanged) -> None:
        if event.status in FINAL_STATUSES:
            self._ended.labels(event.address.platform, event.status).inc()

    def _job_settled(self, event: JobSettled) -> None:
        self._settled.labels(event.status).inc()

    def _delivery_settled(self, event: DeliverySettled) -> None:
        self._deliveries.labels(event.address.platform, event.state).inc()
