"""`delivery.answer_within`: nothing is waited for longer, and an answer that comes later says so or is dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from arvis.delivery.late_replies import MARK, LateReplies
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.messages import DeliveryState, MessageStatus
from arvis.message_flow import MessageFlow
from arvis.messaging import notices
from arvis.store.open import Database
from tests.flows.house import House, open_house, steps_of
from tests.flows.scripted import Held

MINUTE_MS = 60_000


@asynccontextmanager
async def open_hasty(database: Database, *, late: str = "mark", whole: bool = False) -> AsyncIterator[House]:
    """A house whose answers may take five minutes; `whole`: its platform shows a history."""
    answer_within = 5 * MINUTE_MS
    async with open_house(database, started=False, safe_resend=whole) as house:
        house.flow = MessageFlow(
            store=house.store, engine=house.flow._engine, bus=house.bus, clock=house.clock, answer_within=answer_within
        )
        house.late_replies = LateReplies(late=late, answer_within=answer_within)
        await house.restart()
        yield house


def limited(seconds: float | None) -> ProviderError:
    return ProviderError(ProviderErrorKind.RATE_LIMIT, "slow down", retry_after=seconds)


async def test_a_limit_that_outlasts_the_time_ends_the_message_at_once(database: Database) -> None:
    async with open_hasty(database) as house:
        house.provider.script.append(limited(600))
        message = (await house.say("Hello")).message_id
        timeline = await house.until_status(message, MessageStatus.FAILED)
        assert (timeline.reason, timeline.reply) == ("too_late", notices.failed("too_late"))
        assert "snoozed" not in steps_of(timeline)
        assert await house.until_sent(1) == [timeline.reply]


async def test_many_short_limits_end_with_the_time(database: Database) -> None:
    async with open_hasty(database) as house:
        house.provider.script += [limited(100)] * 9
        message = (await house.say("Hello")).message_id
        for times in (1, 2):
            await house.until_noted(message, "snoozed", times)
            await house.pass_time(100)
        timeline = await house.until_status(message, MessageStatus.FAILED)
        assert timeline.reason == "too_late"
        assert steps_of(timeline).count("model_call") == 3


async def test_a_message_that_waited_too_long_in_the_queue_asks_no_model(database: Database) -> None:
    async with open_hasty(database) as house:
        await house.queue.stop(0)
        message = (await house.say("Hello")).message_id
        house.clock.put_forward(301)
        await house.restart()
        timeline = await house.until_status(message, MessageStatus.FAILED)
        assert (timeline.reason, house.provider.prompts) == ("too_late", [])


async def test_an_answer_of_a_slow_model_says_that_it_is_late(database: Database) -> None:
    async with open_hasty(database) as house:
        house.provider.script.append(held := Held("at last"))
        message = (await house.say("Hello")).message_id
        await held.until_begun()
        house.clock.put_forward(301)
        held.go.set()
        await house.until_status(message, MessageStatus.ANSWERED)
        await house.until_sent(1)
        [delivery] = await house.deliveries()
        [part] = await house.store.read(lambda tx: tx.parts.of_delivery(delivery.id))
        assert part.piece.content == f"{MARK}\n\nat last"


async def test_an_answer_in_time_has_no_mark(database: Database) -> None:
    async with open_hasty(database) as house:
        house.provider.script.append(held := Held("soon"))
        await house.say("Hello")
        await held.until_begun()
        house.clock.put_forward(290)
        held.go.set()
        assert await house.until_sent(1) == ["soon"]


async def test_a_late_answer_is_dropped_where_the_policy_says_so(database: Database) -> None:
    async with open_hasty(database, late="drop") as house:
        house.provider.script.append(held := Held("at last"))
        message = (await house.say("Hello")).message_id
        await held.until_begun()
        house.clock.put_forward(301)
        held.go.set()
        await house.until_status(message, MessageStatus.ANSWERED)

        async def expired() -> bool | None:
            [delivery] = await house.deliveries()
            return delivery.state is DeliveryState.EXPIRED or None

        await house.until(expired)
        assert house.connector.texts == []


async def test_where_a_history_is_shown_a_late_answer_is_marked_and_not_dropped(database: Database) -> None:
    async with open_hasty(database, late="drop", whole=True) as house:
        house.provider.script.append(held := Held("at last"))
        await house.say("Hello")
        await held.until_begun()
        house.clock.put_forward(301)
        held.go.set()
        assert await house.until_sent(1) == [f"{MARK}\n\nat last"]


@pytest.mark.parametrize("late", ["mark", "drop"])
async def test_the_word_that_it_was_too_late_is_itself_told(database: Database, late: str) -> None:
    async with open_hasty(database, late=late) as house:
        await house.queue.stop(0)
        message = (await house.say("Hello")).message_id
        house.clock.put_forward(400)
        await house.restart()
        await house.until_status(message, MessageStatus.FAILED)
        assert await house.until_sent(1) == [notices.failed("too_late")]


async def test_a_retry_by_a_person_has_its_whole_time(database: Database) -> None:
    async with open_hasty(database) as house:
        house.provider.script.append(limited(600))
        message = (await house.say("Hello")).message_id
        timeline = await house.until_status(message, MessageStatus.FAILED)
        assert timeline.job is not None
        house.clock.put_forward(3600)
        await house.operations.retry_job(timeline.job.id)
        house.queue.look()
        assert (await house.until_status(message, MessageStatus.ANSWERED)).reply == "Re: Hello"
