"""`delivery.answer_within` limits all waiting; a later answer is marked as late or dropped."""

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
from tests.flows.app_harness import AppHarness, open_app, steps_of
from tests.flows.scripted import Held

MINUTE_MS = 60_000


@asynccontextmanager
async def open_hasty(database: Database, *, late: str = "mark", whole: bool = False) -> AsyncIterator[AppHarness]:
    """An app with a limit of five minutes; with `whole`, its platform shows no message twice."""
    answer_within = 5 * MINUTE_MS
    async with open_app(database, started=False, safe_resend=whole) as app:
        app.flow = MessageFlow(
            store=app.store, engine=app.flow._engine, bus=app.bus, clock=app.clock, answer_within=answer_within
        )
        app.late_replies = LateReplies(late=late, answer_within=answer_within)
        await app.restart()
        yield app


def limited(seconds: float | None) -> ProviderError:
    return ProviderError(ProviderErrorKind.RATE_LIMIT, "slow down", retry_after=seconds)


async def test_a_limit_that_outlasts_the_time_ends_the_message_at_once(database: Database) -> None:
    async with open_hasty(database) as app:
        app.provider.script.append(limited(600))
        message = (await app.say("Hello")).message_id
        timeline = await app.until_status(message, MessageStatus.FAILED)
        assert (timeline.reason, timeline.reply) == ("too_late", notices.failed("too_late"))
        assert "snoozed" not in steps_of(timeline)
        assert await app.until_sent(1) == [timeline.reply]


async def test_many_short_limits_end_with_the_time(database: Database) -> None:
    async with open_hasty(database) as app:
        app.provider.script += [limited(100)] * 9
        message = (await app.say("Hello")).message_id
        for times in (1, 2):
            await app.until_noted(message, "snoozed", times)
            await app.pass_time(100)
        timeline = await app.until_status(message, MessageStatus.FAILED)
        assert timeline.reason == "too_late"
        assert steps_of(timeline).count("model_call") == 3


async def test_a_message_that_waited_too_long_in_the_queue_asks_no_model(database: Database) -> None:
    async with open_hasty(database) as app:
        await app.queue.stop(0)
        message = (await app.say("Hello")).message_id
        app.clock.put_forward(301)
        await app.restart()
        timeline = await app.until_status(message, MessageStatus.FAILED)
        assert (timeline.reason, app.provider.prompts) == ("too_late", [])


async def test_an_answer_of_a_slow_model_says_that_it_is_late(database: Database) -> None:
    async with open_hasty(database) as app:
        app.provider.script.append(held := Held("at last"))
        message = (await app.say("Hello")).message_id
        await held.until_begun()
        app.clock.put_forward(301)
        held.go.set()
        await app.until_status(message, MessageStatus.ANSWERED)
        await app.until_sent(1)
        [delivery] = await app.deliveries()
        [part] = await app.store.read(lambda tx: tx.parts.of_delivery(delivery.id))
        assert part.piece.content == f"{MARK}\n\nat last"


async def test_an_answer_in_time_has_no_mark(database: Database) -> None:
    async with open_hasty(database) as app:
        app.provider.script.append(held := Held("soon"))
        await app.say("Hello")
        await held.until_begun()
        app.clock.put_forward(290)
        held.go.set()
        assert await app.until_sent(1) == ["soon"]


async def test_a_late_answer_is_dropped_where_the_policy_says_so(database: Database) -> None:
    async with open_hasty(database, late="drop") as app:
        app.provider.script.append(held := Held("at last"))
        message = (await app.say("Hello")).message_id
        await held.until_begun()
        app.clock.put_forward(301)
        held.go.set()
        await app.until_status(message, MessageStatus.ANSWERED)

        async def expired() -> bool | None:
            [delivery] = await app.deliveries()
            return delivery.state is DeliveryState.EXPIRED or None

        await app.until(expired)
        assert app.connector.texts == []


async def test_where_a_history_is_shown_a_late_answer_is_marked_and_not_dropped(database: Database) -> None:
    async with open_hasty(database, late="drop", whole=True) as app:
        app.provider.script.append(held := Held("at last"))
        await app.say("Hello")
        await held.until_begun()
        app.clock.put_forward(301)
        held.go.set()
        assert await app.until_sent(1) == [f"{MARK}\n\nat last"]


@pytest.mark.parametrize("late", ["mark", "drop"])
async def test_the_word_that_it_was_too_late_is_itself_told(database: Database, late: str) -> None:
    async with open_hasty(database, late=late) as app:
        await app.queue.stop(0)
        message = (await app.say("Hello")).message_id
        app.clock.put_forward(400)
        await app.restart()
        await app.until_status(message, MessageStatus.FAILED)
        assert await app.until_sent(1) == [notices.failed("too_late")]


async def test_a_retry_by_a_person_has_its_whole_time(database: Database) -> None:
    async with open_hasty(database) as app:
        app.provider.script.append(limited(600))
        message = (await app.say("Hello")).message_id
        timeline = await app.until_status(message, MessageStatus.FAILED)
        assert timeline.job is not None
        app.clock.put_forward(3600)
        await app.operations.retry_job(timeline.job.id)
        app.queue.look()
        assert (await app.until_status(message, MessageStatus.ANSWERED)).reply == "Re: Hello"
