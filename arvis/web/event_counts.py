"""The counts of events and requests for the metrics. Counting begins at the start of the daemon, before anyone reads
the metrics."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from arvis.bus import EventBus
from arvis.domain.events import DeliverySettled, JobSettled, MessageReceived, StatusChanged
from arvis.domain.messages import FINAL_STATUSES


class EventCounts:
    """The numbers of events and requests since `since` (ms), by the labels of their metric."""

    def __init__(self, *, since: int) -> None:
        self.since = since
        #: Received messages by platform.
        self.received: Counter[tuple[str, ...]] = Counter()
        #: Messages by platform and final status.
        self.ended: Counter[tuple[str, ...]] = Counter()
        #: Cancelled jobs by status.
        self.settled: Counter[tuple[str, ...]] = Counter()
        #: Deliveries by platform and state.
        self.deliveries: Counter[tuple[str, ...]] = Counter()
        #: Requests by method, path of the route, and status.
        self.requests: Counter[tuple[str, ...]] = Counter()

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
        self.requests[method, path, str(status)] += 1

    def _message_received(self, event: MessageReceived) -> None:
        self.received[event.address.platform,] += 1

    def _status_changed(self, event: StatusChanged) -> None:
        if event.status in FINAL_STATUSES:
            self.ended[event.address.platform, event.status] += 1

    def _job_settled(self, event: JobSettled) -> None:
        self.settled[event.status,] += 1

    def _delivery_settled(self, event: DeliverySettled) -> None:
        self.deliveries[event.address.platform, event.state] += 1
