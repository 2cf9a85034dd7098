"""Deliveries arrive in order, once where the platform can recognise repeats, and are never lost silently."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from arvis.delivery.deliverer import OUTAGE_MS
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import Delivery, DeliveryState, MessageStatus
from arvis.ports.connector import SendError
from arvis.store.open import Database
from tests.flows.app_harness import UNIT_SECONDS, AppHarness, open_app
from tests.flows.scripted import Held

SENT, FAILED, UNKNOWN, PENDING = (
    DeliveryState.SENT,
    DeliveryState.FAILED,
    DeliveryState.UNKNOWN,
    DeliveryState.PENDING,
)


@pytest.fixture
async def unsafe(either_database: Database) -> AsyncIterator[AppHarness]:
    """An app on a platform that shows a message twice when it is sent twice."""
    async with open_app(either_database, safe_resend=False) as app:
        yield app


async def until_state(app: AppHarness, state: DeliveryState, number: int = 1) -> Delivery:
    """Wait until the delivery with this number has this state."""

    async def check() -> Delivery | None:
        found = [one for one in await app.deliveries() if one.seq == number and one.state is state]
        return found[0] if found else None

    return await app.until(check)


async def job_of_delivery(app: AppHarness) -> Job:
    return (await app.jobs("deliver"))[0]


async def until_rested(app: AppHarness) -> Job:
    """Wait until the delivery's job waits after a failed attempt."""

    async def check() -> Job | None:
        job = await job_of_delivery(app)
        return job if job.status is JobStatus.PENDING and job.reason is not None else None

    return await app.until(check)


async def test_a_channels_numbers_have_no_gaps_and_follow_the_order_of_replies(either_app: AppHarness) -> None:
    app = either_app
    for number in range(5):
        await app.ask(f"{number}")
    await app.ask("elsewhere", channel="other")
    await app.until_sent(5)
    assert [one.seq for one in await app.deliveries()] == [1, 2, 3, 4, 5]
    assert [one.seq for one in await app.deliveries("other")] == [1]
    assert [one.content for one in await app.deliveries()] == [f"Re: {number}" for number in range(5)]


async def test_an_address_gets_its_messages_in_order_even_when_one_is_slow(either_app: AppHarness) -> None:
    app, held = either_app, Held()
    app.connector.script.append(held)
    for number in range(4):
        await app.ask(f"{number}")
    await held.until_begun()
    await app.ask("elsewhere", channel="other")
    await app.until_sent(1, "other")
    assert app.connector.texts == ["Re: elsewhere"]
    held.go.set()
    await app.until_sent(4)
    assert app.connector.texts[1:] == [f"Re: {number}" for number in range(4)]


async def test_a_reply_is_answered_whether_or_not_it_can_be_delivered(app: AppHarness) -> None:
    app.connector.script.append(SendError("kicked out", permanent=True))
    timeline = await app.ask("Hello")
    await until_state(app, FAILED)
    timeline = await app.timeline(timeline.message.id)
    assert timeline.status is MessageStatus.ANSWERED
    delivered = next(step.data for step in timeline.steps if step.step == "delivery")
    assert (delivered["state"], delivered["error"]) == ("failed", "kicked out")


async def test_what_the_platform_refuses_for_ever_does_not_hold_up_the_rest(unsafe: AppHarness) -> None:
    app = unsafe
    app.connector.script.append(SendError("too rude", permanent=True))
    await app.ask("one")
    await app.ask("two")
    await until_state(app, SENT, 2)
    assert [one.state for one in await app.deliveries()] == [FAILED, SENT]
    failed = [job for job in await app.jobs("deliver") if job.status is JobStatus.FAILED]
    assert [(job.reason, job.error, job.attempts) for job in failed] == [("refused", "too rude", 0)]


async def test_a_send_that_failed_is_tried_again_before_the_next(unsafe: AppHarness) -> None:
    app = unsafe
    app.connector.script.append(SendError("connection refused"))
    await app.ask("one")
    job = await until_rested(app)
    assert (job.attempts, job.reason, (await app.deliveries())[0].state) == (0, "not_sent", PENDING)
    await app.ask("two")
    assert app.connector.sent == []
    await app.pass_time(2)
    assert await app.until_sent(2) == ["Re: one", "Re: two"]


async def test_a_platform_that_is_away_for_an_hour_is_given_up_after_three_attempts(app: AppHarness) -> None:
    app.connector.script += [SendError("connection refused") for _ in range(4)]
    await app.ask("Hello")
    for tries, rest in enumerate((OUTAGE_MS / 1000, 2 * UNIT_SECONDS, 4 * UNIT_SECONDS), start=1):
        await app.until(partial(tried, app, tries))
        await until_rested(app)
        await app.pass_time(rest)
    await until_state(app, FAILED)
    assert (await job_of_delivery(app)).reason == "attempts"


async def tried(app: AppHarness, times: int) -> bool | None:
    return True if len(app.connector.tried) >= times else None


@pytest.mark.parametrize(("asked_for", "rest"), [(30.0, 30.0), (0.0, 1.0)])
async def test_the_platforms_own_rest_is_kept_and_counts_no_attempt(
    app: AppHarness, asked_for: float, rest: float
) -> None:
    app.connector.script.append(SendError("slow down", retry_after=asked_for))
    before = app.clock.now()
    await app.ask("Hello")
    job = await until_rested(app)
    assert (job.attempts, job.reason) == (0, "rate_limit")
    assert job.run_at >= before + rest * 1000
    await app.pass_time(rest)
    assert await app.until_sent(1) == ["Re: Hello"]


async def test_what_may_have_arrived_is_not_sent_again(unsafe: AppHarness) -> None:
    app = unsafe
    app.connector.script.append(SendError("no answer in time", uncertain=True))
    await app.ask("one")
    await until_state(app, UNKNOWN)
    await app.ask("two")
    assert await app.until_sent(1) == ["Re: two"]
    assert len(app.connector.tried) == 2


async def test_what_may_have_arrived_is_sent_again_where_nobody_sees_it_twice(app: AppHarness) -> None:
    app.connector.script.append(SendError("no answer in time", uncertain=True))
    await app.ask("Hello")
    await until_rested(app)
    await app.pass_time(2 * UNIT_SECONDS)
    assert await app.until_sent(1) == ["Re: Hello"]


async def interrupt_a_send(app: AppHarness) -> None:
    """End the process before the platform has answered."""
    held = Held()
    app.connector.script.append(held)
    await app.ask("Hello")
    await held.until_begun()
    await app.restart()
    assert held.cancelled.is_set()


async def test_an_interrupted_send_is_unknown_where_it_could_show_twice(unsafe: AppHarness) -> None:
    await interrupt_a_send(unsafe)
    await until_state(unsafe, UNKNOWN)
    job = await job_of_delivery(unsafe)
    assert (job.status, job.reason) == (JobStatus.FAILED, "interrupted")
    assert unsafe.connector.sent == []


async def test_an_interrupted_send_is_repeated_where_nobody_sees_it_twice(either_app: AppHarness) -> None:
    await interrupt_a_send(either_app)
    assert await either_app.until_sent(1) == ["Re: Hello"]


async def test_a_person_may_send_an_unknown_delivery_again(unsafe: AppHarness) -> None:
    await interrupt_a_send(unsafe)
    await until_state(unsafe, UNKNOWN)
    await unsafe.operations.retry_job((await job_of_delivery(unsafe)).id)
    assert await unsafe.until_sent(1) == ["Re: Hello"]


async def test_a_send_that_is_cancelled_midway_is_unknown(unsafe: AppHarness) -> None:
    held = Held()
    unsafe.connector.script.append(held)
    await unsafe.ask("Hello")
    await held.until_begun()
    await unsafe.operations.cancel_job((await job_of_delivery(unsafe)).id)
    await held.until_cancelled()
    assert (await unsafe.deliveries())[0].state is UNKNOWN


async def test_a_delivery_that_waits_can_be_cancelled(app: AppHarness) -> None:
    app.connector.script.append(SendError("connection refused"))
    await app.ask("Hello")
    job = await until_rested(app)
    await app.operations.cancel_job(job.id)
    assert (await app.deliveries())[0].state is FAILED
    await app.pass_time(2 * UNIT_SECONDS)
    await app.ask("two")
    assert await app.until_sent(1) == ["Re: two"]


async def test_deliveries_have_slots_of_their_own(database: Database) -> None:
    """Model calls that hang do not delay replies that are ready, and hanging deliveries do not delay model calls."""
    async with open_app(database, workers=2) as app:
        stuck = [Held(), Held()]
        app.connector.script += stuck
        await app.ask("one", channel="a")
        await app.ask("two", channel="b")
        await asyncio.gather(*(held.until_begun() for held in stuck))
        assert (await app.ask("three", channel="c")).reply == "Re: three"
        for held in stuck:
            held.go.set()
        await app.until_sent(1, "c")


async def test_a_platform_that_is_gone_ends_its_deliveries_with_a_reason(database: Database) -> None:
    async with open_app(database) as app:
        await app.queue.stop()
        message = await app.say("Hello")
        app.connectors.clear()
        await app.restart()
        await app.until_status(message.message_id, MessageStatus.ANSWERED)
        assert (await until_rested(app)).reason == "no_connector", "it may be about to start"
        await app.pass_time(3600)
        await until_state(app, FAILED)
        assert (await job_of_delivery(app)).reason == "no_connector"
