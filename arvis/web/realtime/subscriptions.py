"""Live pages. A client subscribes to topics, receives notices in which several changes are merged, and then reads the
changed data itself.

Without subscribers, this module has no subscription to the bus, no timer and no task. The counters of the top bar are
read once for all subscribers of `overview`, after a change and at most once a second.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from typing import Any

from arvis.bus import EventBus
from arvis.domain.changes import CHANGE_EVENTS, ChangeTopic, changes_of
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import NotFound, TooMany, Unprocessable
from arvis.domain.events import AgentMoved, Changed, DeliveryAdded, Event, NoticesMissed
from arvis.domain.messages import Address
from arvis.domain.money import MICROS, SpendingLimits, day_of
from arvis.ports.clock import Clock
from arvis.ports.insights import Headline, Insights
from arvis.ports.store import Store, Transaction
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.identity import READ, Identity
from arvis.web.realtime.connector import Client, frame

# The subscriptions of the clients and their pending notices. The size of both is limited, even if a client reads
# slowly.


#: The maximum number of ids in a notice. A notice about more changed objects contains no ids, so the page reads its
#: whole list again.
MOST_IDS = 20


class Pending:
    """The changed topics, each with the ids of the changed objects. If there are too many ids, or if an id is unknown,
    the value is None instead of the ids."""

    def __init__(self) -> None:
        self._topics: dict[str, set[str] | None] = {}

    def __bool__(self) -> bool:
        return bool(self._topics)

    def add(self, topic: str, ids: Collection[str] | None) -> None:
        known = self._topics.get(topic, set())
        merged = None if known is None or ids is None else {*known, *ids}
        self._topics[topic] = None if merged is not None and len(merged) > MOST_IDS else merged

    def merge(self, other: Pending, topics: Container[str]) -> None:
        """Add the changes in `other` that concern these topics."""
        for topic, ids in other._topics.items():
            if topic in topics:
                self.add(topic, ids)

    def keep(self, topics: Collection[str]) -> None:
        """Drop the changes of all topics except these."""
        self._topics = {topic: ids for topic, ids in self._topics.items() if topic in topics}

    def frames(self) -> Iterable[dict[str, Any]]:
        for topic, ids in self._topics.items():
            listed = {} if ids is None else {"ids": sorted(ids)}
            yield {"type": "changed", "topic": topic, **listed}

    def clear(self) -> None:
        self._topics.clear()


class Subscriber:
    """A client with its topics. `places` contains the addresses of the topics that are conversations."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.topics: set[str] = set()
        self.places: dict[str, Address] = {}
        self._pending = Pending()
        self._sent_counts: dict[str, Any] = {}

    def forget(self, topics: Collection[str]) -> None:
        self.topics -= set(topics)
        self.places = {topic: place for topic, place in self.places.items() if topic in self.topics}
        self._pending.keep(self.topics)
        self._sent_counts = {}

    def send_changes(self, news: Pending) -> bool:
        """Send the changes of the client's topics. If the client has not read the earlier frames, keep the changes
        instead. Return False if changes were kept."""
        self._pending.merge(news, self.topics)
        if self.client.behind:
            return not self._pending
        for each in self._pending.frames():
            self.client.push(frame(each))
        self._pending.clear()
        return True

    def send_counts(self, now: Headline, budget: int | None) -> bool:
        """Send the counters if they have changed and the client has read the earlier frames. Return False if they have
        changed but were not sent. `budget` is the daily budget in millionths of a US dollar."""
        counts = counts_view(now, budget)
        if counts == self._sent_counts:
            return True
        if self.client.behind:
            return False
        self._sent_counts = counts
        self.client.push(frame(counts))
        return True


def counts_view(now: Headline, budget: int | None) -> dict[str, Any]:
    """Return the frame with the counters of the top bar."""
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


#: The maximum number of conversations that a client watches. A page shows only a few side by side.
MOST_CONVERSATIONS = 20
_CONVERSATION = "conversation:"
_LONGEST_TOPIC = 100

#: The topics whose changes do not affect the counters.
_UNCOUNTED = frozenset({ChangeTopic.MEMORY, ChangeTopic.SKILLS, ChangeTopic.VARIABLES, ChangeTopic.OVERVIEW})
_WATCHED_EVENTS: Sequence[type[Event]] = (*CHANGE_EVENTS, Changed, DeliveryAdded, AgentMoved)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals in seconds."""

    #: The interval between two rounds of notices.
    notices: float = 0.3
    #: The interval between two reads of the counters.
    counts: float = 1.0


class Subscriptions:
    """All subscriptions of this process. The counters show the costs of the current day; `zone` is the time zone of
    this day. `limits` returns the current budgets."""

    def __init__(
        self,
        *,
        insights: Insights,
        store: Store,
        clock: Clock,
        zone: str,
        limits: Callable[[], SpendingLimits] = SpendingLimits,
        pace: Intervals | None = None,
    ) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock
        self._zone = zone
        self._limits = limits
        self._pace = pace or Intervals()
        self._bus: EventBus | None = None
        self._watchers: dict[Client, Subscriber] = {}
        self._watched: Counter[str] = Counter()
        self._places: dict[Address, set[str]] = {}
        self._pending = Pending()
        self._endings: list[Callable[[], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._stale = False
        self._newest: Headline | None = None
        self._counting: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        """Allow clients to watch topics while the context is open. This object subscribes to the bus only while a
        client watches a topic."""
        self._bus = bus
        try:
            yield
        finally:
            self._stop()
            self._bus = None

    @property
    def idle(self) -> bool:
        """Return whether no task, timer or subscription is active."""
        return not self._endings and self._timer is None and self._counting is None

    async def watch(self, client: Client, topics: Collection[str]) -> list[str]:
        """Add topics, and return all topics of the client. Raise `Unprocessable` for an unknown topic, and `NotFound`
        for an unknown conversation, without any change."""
        places = {topic: await self._place(topic) for topic in topics if _is_conversation(topic)}
        watcher = self._watchers.get(client) or Subscriber(client)
        if len(watcher.places.keys() | places.keys()) > MOST_CONVERSATIONS:
            raise TooMany(f"{MOST_CONVERSATIONS} conversations are watched already.", fix="Unwatch some of them.")
        if client.ended:
            return []
        self._watchers[client] = watcher
        watcher.topics |= set(topics)
        watcher.places |= places
        self._settle()
        if ChangeTopic.OVERVIEW in topics:
            if self._counting is not None and self._newest is not None:
                watcher.send_counts(self._newest, self._limits().daily)
            self._count()
        return sorted(watcher.topics)

    def unwatch(self, client: Client, topics: Collection[str] | None = None) -> list[str]:
        """Remove these topics from the client, and return its remaining topics. Without `topics`, remove all."""
        watcher = self._watchers.get(client)
        if watcher is None:
            return []
        watcher.forget(watcher.topics if topics is None else topics)
        if not watcher.topics:
            del self._watchers[client]
        self._settle()
        return sorted(watcher.topics)

    def recognise(self, client: Client, identity: Identity) -> None:
        """Apply the renewed identity of the client. If its role may not read all data, end its subscriptions."""
        client.identity = identity
        if identity.role not in READ and client in self._watchers:
            client.push(frame({"type": "watching", "topics": self.unwatch(client)}))

    # -- events of the bus -----------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Update the indexes after a change of subscribers. If there are subscribers, subscribe to the bus; if there
        are none, end all activity."""
        self._watched = Counter(topic for watcher in self._watchers.values() for topic in watcher.topics)
        self._places = {}
        for watcher in self._watchers.values():
            for topic, place in watcher.places.items():
                self._places.setdefault(place, set()).add(topic)
        if not self._watchers:
            self._stop()
        elif not self._endings and self._bus is not None:
            self._endings = [self._bus.subscribe(kind, self._hear) for kind in _WATCHED_EVENTS]
            self._endings.append(self._bus.subscribe(NoticesMissed, self._missed))

    def _stop(self) -> None:
        for end in self._endings:
            end()
        self._endings = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        self._pending.clear()

    def _hear(self, event: Event) -> None:
        for change in changes_of(event):
            self._note(change.topic, change.id)
        address = getattr(event, "address", None)
        if address in self._places:
            message = getattr(event, "message_id", None)
            self._add(self._places[address], [message] if message else None)

    def _note(self, topic: str, id_: str | None) -> None:
        if topic in self._watched:
            self._add([topic], [id_] if id_ is not None else None)
        if topic not in _UNCOUNTED and ChangeTopic.OVERVIEW in self._watched:
            self._count()

    def _missed(self, _: NoticesMissed) -> None:
        self._add(list(self._watched), None)
        self._count()

    def _add(self, topics: Iterable[str], ids: Collection[str] | None) -> None:
        for topic in topics:
            self._pending.add(topic, ids)
        self._later()

    # -- notices --------------------------------------------------------------------------------------------

    def _later(self) -> None:
        if self._timer is None and self._watchers:
            self._timer = asyncio.get_running_loop().call_later(self._pace.notices, self._send_all)

    def _send_all(self) -> None:
        """Send one round of notices. A client that has not read the earlier frames gets its notices in the next
        round."""
        self._timer, news, self._pending = None, self._pending, Pending()
        sent = [watcher.send_changes(news) for watcher in self._watchers.values()]
        if not all(sent):
            self._later()

    def _count(self) -> None:
        self._stale = True
        if self._counting is None and ChangeTopic.OVERVIEW in self._watched:
            self._counting = asyncio.create_task(self._keep_counting())

    async def _keep_counting(self) -> None:
        """Read and send the counters until nothing has changed for one interval."""
        while self._stale and ChangeTopic.OVERVIEW in self._watched:
            self._stale = False
            found = await attempt(self._insights.headline(day_of(self._clock.now(), self._zone)))
            if not isinstance(found, Failure):
                self._newest = found
                watchers = [each for each in self._watchers.values() if ChangeTopic.OVERVIEW in each.topics]
                sent = [watcher.send_counts(found, self._limits().daily) for watcher in watchers]
                self._stale = self._stale or not all(sent)
                self._add([ChangeTopic.OVERVIEW], None)
            await asyncio.sleep(self._pace.counts)
        self._counting = None

    async def _place(self, topic: str) -> Address:
        found = await self._store.read(_address, topic.removeprefix(_CONVERSATION))
        if found is None:
            raise NotFound("There is no such conversation.", fix="GET /api/conversations lists the conversations.")
        return found


def _is_conversation(topic: str) -> bool:
    """Return whether the topic is a conversation. Raise `Unprocessable` for an unknown topic."""
    if topic.startswith(_CONVERSATION) and len(topic) <= _LONGEST_TOPIC:
        return True
    if topic not in set(ChangeTopic):
        known = ", ".join([*ChangeTopic, f"{_CONVERSATION}ID"])
        raise Unprocessable("This topic is unknown.", fix=f"The known topics are {known}.", code="unknown_topic")
    return False


def _address(tx: Transaction, conversation_id: str) -> Address | None:
    found = tx.conversations.get(conversation_id)
    return None if found is None else found.address
