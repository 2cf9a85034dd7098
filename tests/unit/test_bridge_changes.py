"""The bridge sends changes to other processes in batches, and sends events for workers only as changes for the
dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from arvis.bus import CROSSING, Bridge, EventBus, decode
from arvis.domain.changes import CHANGE_EVENTS, ChangeTopic, changes_of, topic_of_effect
from arvis.domain.effects import EffectKind
from arvis.domain.events import (
    BotStateChanged,
    Changed,
    DeliverySettled,
    Event,
    ExecutionPaused,
    SchedulesChanged,
    StatusChanged,
)
from arvis.domain.messages import Address, DeliveryState, MessageStatus
from arvis.domain.platforms import BotState
from arvis.ports.bus import Topic

PLACE = Address("chat", "main", "hall")


class Wire:
    """A relay that records posted notices and delivers the given ones."""

    def __init__(self, brought: Sequence[str] = ()) -> None:
        self.posted: list[tuple[Topic, Event | None]] = []
        self._brought = brought

    def post(self, topic: Topic, notice: str) -> None:
        self.posted.append((topic, decode(notice)))

    async def tell(self, topic: Topic, notice: str) -> None:
        self.post(topic, notice)

    @asynccontextmanager
    async def listen(self, _: Collection[Topic]) -> AsyncIterator[AsyncIterator[Sequence[str]]]:
        async def notices() -> AsyncIterator[Sequence[str]]:
            yield self._brought

        yield notices()


async def test_a_busy_moment_crosses_as_one_notice_for_each_topic() -> None:
    bus, wire = EventBus(), Wire()
    with Bridge(bus=bus, relay=wire, topics=[]).passing_on():
        for number in range(100):
            bus.publish(Changed("jobs", f"j{number}"))
        bus.publish(Changed("questions", "w1"))
        bus.publish(Changed("questions", "w1"))
        bus.publish(Changed("memory"))
        assert wire.posted == []
        async with asyncio.timeout(5):
            while not wire.posted:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    expected = [Changed("jobs"), Changed("questions", "w1"), Changed("memory")]
    assert wire.posted == [(Topic.CHAT, each) for each in expected]


async def test_what_pages_would_not_hear_crosses_as_a_change() -> None:
    bus, wire = EventBus(), Wire()
    events: list[Event] = [
        DeliverySettled(PLACE, None, DeliveryState.SENT),
        ExecutionPaused("e1", "w1", "May I?"),
        BotStateChanged("chat", "main", BotState.RUNNING),
        SchedulesChanged(),
    ]
    with Bridge(bus=bus, relay=wire, topics=[]).passing_on():
        for event in events:
            bus.publish(event)
    changes = [event for _, event in wire.posted if isinstance(event, Changed)]
    assert changes == [
        Changed("deliveries"),
        Changed("questions", "w1"),
        Changed("executions", "e1"),
        Changed("bots", "chat/main"),
        Changed("schedules"),
    ]
    assert [event for _, event in wire.posted if event not in changes] == [SchedulesChanged()]


async def test_what_crosses_by_itself_or_came_from_outside_is_not_said_twice() -> None:
    bus, wire = EventBus(), Wire(['["Changed",{"topic":"jobs","id":"j1"}]', '["SchedulesChanged",{}]'])
    bridge, heard = Bridge(bus=bus, relay=wire, topics=[]), list[Event]()
    bus.subscribe(Changed, heard.append)
    with bridge.passing_on():
        bus.publish(StatusChanged(PLACE, "m1", MessageStatus.RUNNING))
        await bridge.run(lambda: None)
    assert heard == [Changed("jobs", "j1")]
    assert [event for _, event in wire.posted] == [StatusChanged(PLACE, "m1", MessageStatus.RUNNING)]


def test_every_event_that_tells_means_a_topic() -> None:
    assert {kind.__name__ for kind in CHANGE_EVENTS} >= {
        kind.__name__ for kind in CROSSING if kind.__name__.endswith("sChanged")
    }
    topics = set(ChangeTopic)
    assert {change.topic for change in changes_of(ExecutionPaused("e", "w", "?"))} <= topics
    assert {topic_of_effect(kind) for kind in EffectKind} == {None, "memory", "clients", "agents"}
