"""Who watches what, and what each has still to be told. Bounded, whatever happens and however slow a client is."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from typing import Any

from arvis.domain.messages import Address
from arvis.domain.money import MICROS
from arvis.ports.overview import Headline
from arvis.web.clients import Client, frame

#: Ids that one notice lists; with more it names none, and the page reads its list anew.
MOST_IDS = 20


class Pending:
    """Topics that changed, each with the ids of the things (None: too many, or nobody knows)."""

    def __init__(self) -> None:
        self._topics: dict[str, set[str] | None] = {}

    def __bool__(self) -> bool:
        return bool(self._topics)

    def add(self, topic: str, ids: Collection[str] | None) -> None:
        known = self._topics.get(topic, set())
        merged = None if known is None or ids is None else {*known, *ids}
        self._topics[topic] = None if merged is not None and len(merged) > MOST_IDS else merged

    def merge(self, other: Pending, topics: Container[str]) -> None:
        """Take over what the other one knows of these topics."""
        for topic, ids in other._topics.items():
            if topic in topics:
                self.add(topic, ids)

    def keep(self, topics: Collection[str]) -> None:
        """Forget all others."""
        self._topics = {topic: ids for topic, ids in self._topics.items() if topic in topics}

    def frames(self) -> Iterable[dict[str, Any]]:
        for topic, ids in self._topics.items():
            listed = {} if ids is None else {"ids": sorted(ids)}
            yield {"type": "changed", "topic": topic, **listed}

    def clear(self) -> None:
        self._topics.clear()


class Watcher:
    """A client with the topics that it watches; `places` are the addresses of the conversations among them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.topics: set[str] = set()
        self.places: dict[str, Address] = {}
        self._pending = Pending()
        self._told: dict[str, Any] = {}

    def forget(self, topics: Collection[str]) -> None:
        self.topics -= set(topics)
        self.places = {topic: place for topic, place in self.places.items() if topic in self.topics}
        self._pending.keep(self.topics)
        self._told = {}

    def tell(self, news: Pending) -> bool:
        """Push what is new to it. While the client has not taken what was pushed before, the news are only remembered: False."""
        self._pending.merge(news, self.topics)
        if self.client.behind:
            return not self._pending
        for each in self._pending.frames():
            self.client.push(frame(each))
        self._pending.clear()
        return True

    def tell_counts(self, now: Headline, budget: int | None) -> bool:
        """The same of the counters, when they are not what it was told last. `budget` is that of the day, in micros."""
        counts = counts_view(now, budget)
        if counts == self._told:
            return True
        if self.client.behind:
            return False
        self._told = counts
        self.client.push(frame(counts))
        return True


def counts_view(now: Headline, budget: int | None) -> dict[str, Any]:
    """The frame with the counters of the top bar."""
    return {
        "type": "counts",
        "running": now.running,
        "pending": now.pending,
        "undelivered": now.undelivered,
        "waiting": now.waiting,
        "failed": now.failed,
        "costTodayUsd": now.cost_micros / MICROS,
        "budgetTodayUsd": None if budget is None else budget / MICROS,
    }
