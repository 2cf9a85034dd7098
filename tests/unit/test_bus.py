"""The bus: typed and ordered, and a failing listener does not affect the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from arvis.bus import EventBus
from arvis.domain.events import JobSettled, MessageReceived, TypingRequested
from arvis.domain.messages import Address

PLACE = Address("web", "main", "c")


def test_an_event_reaches_the_listeners_of_its_type_in_order() -> None:
    bus: EventBus = EventBus()
    heard: list[str] = []
    bus.subscribe(JobSettled, lambda event: heard.append(f"first {event.job_id}"))
    bus.subscribe(JobSettled, lambda event: heard.append(f"second {event.job_id}"))
    bus.subscribe(TypingRequested, lambda _: heard.append("typing"))

    bus.publish(JobSettled("1", "done"))
    bus.publish(JobSettled("2", "done"))
    bus.publish(MessageReceived("m", PLACE))

    assert heard == ["first 1", "second 1", "first 2", "second 2"]


def test_a_failing_listener_is_logged_and_the_others_still_hear(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()
    heard: list[str] = []

    def fail(event: MessageReceived) -> None:
        raise RuntimeError(event.message_id)

    bus.subscribe(MessageReceived, fail)
    bus.subscribe(MessageReceived, lambda event: heard.append(event.message_id))

    with caplog.at_level(logging.ERROR):
        bus.publish(MessageReceived("m", PLACE))

    assert heard == ["m"]
    assert "a listener failed on MessageReceived" in caplog.text
    assert "RuntimeError" in caplog.text


def test_who_unsubscribed_hears_nothing_more() -> None:
    bus = EventBus()
    heard: list[str] = []
    end = bus.subscribe(JobSettled, lambda event: heard.append(event.job_id))

    bus.publish(JobSettled("1", "done"))
    end()
    end()
    bus.publish(JobSettled("2", "done"))

    assert heard == ["1"]


def test_listeners_may_come_and_go_while_an_event_is_published() -> None:
    bus = EventBus()
    heard: list[str] = []
    ends: list[Callable[[], None]] = []

    def leave_and_invite(event: JobSettled) -> None:
        heard.append(f"a{event.job_id}")
        for end in ends:
            end()
        bus.subscribe(JobSettled, lambda later: heard.append(f"new{later.job_id}"))

    ends.append(bus.subscribe(JobSettled, leave_and_invite))
    ends.append(bus.subscribe(JobSettled, lambda event: heard.append(f"b{event.job_id}")))
    bus.subscribe(JobSettled, lambda event: heard.append(f"c{event.job_id}"))

    bus.publish(JobSettled("1", "done"))
    assert heard == ["a1", "c1"]

    bus.publish(JobSettled("2", "done"))
    assert heard == ["a1", "c1", "c2", "new2"]


def test_one_function_subscribed_twice_hears_twice_and_leaves_one_by_one() -> None:
    bus = EventBus()
    heard: list[JobSettled] = []
    end = bus.subscribe(JobSettled, heard.append)
    bus.subscribe(JobSettled, heard.append)

    bus.publish(JobSettled("1", "done"))
    end()
    bus.publish(JobSettled("2", "done"))

    assert [event.job_id for event in heard] == ["1", "1", "2"]


async def test_an_event_before_the_wait_ends_it_at_once_and_is_used_up() -> None:
    bus = EventBus()
    with bus.signal(JobSettled, MessageReceived) as signal:
        bus.publish(JobSettled("1", "done"))
        bus.publish(MessageReceived("m", PLACE))

        async with asyncio.timeout(5):
            await signal.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await signal.wait()


async def test_only_an_event_that_meets_the_condition_ends_the_wait() -> None:
    bus = EventBus()
    with bus.signal(JobSettled, when=lambda event: event.job_id == "2") as signal:
        waiting = asyncio.create_task(signal.wait())
        bus.publish(JobSettled("1", "done"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()

        bus.publish(JobSettled("2", "done"))
        async with asyncio.timeout(5):
            await waiting


async def test_a_wait_without_an_event_ends_after_its_time() -> None:
    with EventBus().signal(JobSettled) as signal:
        async with asyncio.timeout(5):
            await signal.wait(0.01)


async def test_a_signal_has_no_subscriptions_after_its_block() -> None:
    bus = EventBus()
    with bus.signal(JobSettled) as signal:
        pass

    bus.publish(JobSettled("1", "done"))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await signal.wait()
