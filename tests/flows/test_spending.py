"""The cost of a turn that ends normally, is stopped, loses its lease, or is cut off by the end of the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from arvis.domain.jobs import Fail
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.money import Budget, OpenCall, Pot, Spender, SpendingLimits, Spent, day_of
from arvis.domain.runs import ModelCall
from arvis.engine.engine import LAST_SECONDS
from arvis.llm.budgets import INTERRUPTED, RESERVATION_MS
from arvis.llm.prices import Price, Prices
from arvis.message_flow import NOTICE_AFTER
from arvis.messaging import notices
from arvis.ports.store import Transaction
from arvis.queue import queue
from arvis.store.open import Database
from arvis.turns import cancellation
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.scripted import BOT, PLATFORM, Held
from tests.flows.test_disk_trouble import locked

ANSWERED, CANCELLED, FAILED = MessageStatus.ANSWERED, MessageStatus.CANCELLED, MessageStatus.FAILED
ROOM = Address(PLATFORM, BOT, "room")
#: The estimate of one call is nearly the whole budget.
DAILY = 10_000
LIMITS = SpendingLimits(daily=DAILY)
PRICES = Prices(own={"model": Price(1, 2)})
#: The cost of a reply by the scripted provider.
ANSWER = 10 * 1 + 5 * 2


@pytest.fixture
async def priced(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database, limits=LIMITS, prices=PRICES) as app:
        yield app


async def begin_held(app: AppHarness, channel: str = "room") -> tuple[str, Held]:
    held = Held(shown="Once upon")
    app.provider.script.append(held)
    message = await app.say("Hello", channel=channel)
    await held.until_begun()
    return message.message_id, held


async def spent(app: AppHarness) -> Spent:
    pot = Pot(Budget.DAY, day_of(app.clock.now(), "UTC"), "")
    return await app.store.read(lambda tx: tx.spending.get(pot))


async def aside(app: AppHarness) -> int:
    pot = Pot(Budget.DAY, day_of(app.clock.now(), "UTC"), "")
    return await app.store.read(lambda tx: tx.spending.reserved(pot, app.clock.now(), but=("", "")))


async def until_spent(app: AppHarness, calls: int) -> Spent:
    async def check() -> Spent | None:
        found = await spent(app)
        return found if found.calls >= calls else None

    return await app.until(check)


async def test_a_stopped_call_is_booked_and_sets_nothing_aside(priced: AppHarness) -> None:
    message, _ = await begin_held(priced)
    assert await aside(priced) > DAILY / 2
    await priced.inbox.stop(ROOM, "ann")
    assert await aside(priced) == 0, "in the commit of the stop"
    booked = await until_spent(priced, 1)
    timeline = await priced.timeline(message)
    assert (timeline.status, timeline.cost_micros) == (CANCELLED, booked.micros)
    assert timeline.output_tokens == 3, "what was streamed"
    assert booked.micros == timeline.input_tokens + 2 * 3
    assert (await priced.ask("me next", channel="other")).reply == "Re: me next"


async def test_a_call_that_ends_after_its_turn_was_taken_away_is_booked(priced: AppHarness) -> None:
    message, held = await begin_held(priced)
    execution = (await priced.timeline(message)).message.execution_id
    assert execution is not None
    await priced.store.write(cancellation.cancel_turn, execution, "ann", priced.clock.now())  # without a notice
    held.go.set()
    assert (await until_spent(priced, 1)).micros == ANSWER
    assert (await priced.timeline(message)).reply == notices.STOPPED
    assert await aside(priced) == 0


async def test_a_call_that_is_cut_by_the_end_of_the_process_is_booked_and_made_again(priced: AppHarness) -> None:
    message, _ = await begin_held(priced)
    await priced.restart()
    timeline = await priced.until_status(message, ANSWERED)
    booked = await spent(priced)
    assert (booked.calls, booked.turns) == (2, 1)
    assert timeline.cost_micros == booked.micros > ANSWER


async def test_the_end_of_the_process_waits_for_no_database(database: Database) -> None:
    async with open_app(database, limits=LIMITS, prices=PRICES) as app:
        message, _ = await begin_held(app)
        with locked(database):
            async with asyncio.timeout(LAST_SECONDS + 5):
                await app.queue.stop(0)
        await app.restart()
        await app.until_status(message, ANSWERED)


async def test_a_turn_that_is_given_up_sets_nothing_aside(priced: AppHarness) -> None:
    message, _ = await begin_held(priced)
    job = (await priced.timeline(message)).job
    assert job is not None
    given_up = partial(queue.postpone, also=priced.flow.postponed)
    await priced.store.write(given_up, job, Fail("poison", "it died"), now=priced.clock.now())
    assert await aside(priced) == 0


async def test_who_waits_for_a_busy_budget_is_told_once(priced: AppHarness) -> None:
    message, held = await begin_held(priced)
    waiting = (await priced.say("me too", channel="other")).message_id
    for times in range(1, NOTICE_AFTER // 2 + 4):
        await priced.until_noted(waiting, "snoozed", times)
        await priced.pass_time(2)
    assert priced.connector.texts == [notices.delayed(2, "budget")]
    held.go.set()
    await priced.until_status(message, ANSWERED)
    await priced.pass_time(2)
    assert (await priced.until_status(waiting, ANSWERED)).reply == "Re: me too"
    assert await spent(priced) == Spent(2 * ANSWER, 2, 2)


# -- without prices ----------------------------------------------------------------------------------------

PLAIN = ["handle_message", "_reserve", "complete", "finish"]


@pytest.mark.parametrize("user", ["owner", "stranger"])
async def test_a_plain_message_makes_four_commits_whoever_asks(database: Database, user: str) -> None:
    async with open_app(database, limits=SpendingLimits(unpaired_daily_turns=5)) as app:
        app.store.commits.clear()
        await app.ask("Hello", user=user)
        await app.until_sent(1)
        assert app.store.commits == PLAIN


async def test_strangers_ask_so_many_questions_a_day(either_database: Database) -> None:
    async with open_app(either_database, limits=SpendingLimits(unpaired_daily_turns=2)) as app:
        for text in ("one", "two"):
            await app.ask(text)
        third = (await app.say("three")).message_id
        timeline = await app.until_status(third, FAILED)
        assert timeline.reason == "budget_turns"
        assert len(app.provider.asked) == 2
        assert (await app.ask("me", user="bob")).reply == "Re: Bob: me"


async def test_one_of_several_people_reads_that_a_share_of_the_budget_is_used_up(either_database: Database) -> None:
    limits = SpendingLimits(daily=4 * DAILY, share=25)
    async with open_app(either_database, limits=limits, prices=PRICES) as app:
        await app.ask("Hello", user="bob")
        await app.store.write(_use_up, "ann", DAILY, app.clock.now())
        refused = await app.until_status((await app.say("more", user="ann")).message_id, FAILED)
        assert refused.reason == "budget_share"
        assert "your share of today's budget" in await app.until(lambda: _last_notice(app))
        for user in ("bob", "owner"):
            await app.ask("Still there?", user=user)


def _use_up(tx: Transaction, user: str, micros: int, now: int) -> None:
    person = tx.principals.seen(PLATFORM, user, user.title(), None, now)
    tx.spending.book([Pot(Budget.PRINCIPAL, day_of(now, "UTC"), person.id)], Spent(micros, 1, 1))


async def _last_notice(app: AppHarness) -> str | None:
    return next((part for part in reversed(app.connector.texts) if "share" in part), None)


async def _killed(app: AppHarness) -> str:
    """Kill the process during a call, and return the id of the message."""
    message, held = await begin_held(app)
    # After a kill nothing more is written, and the next boot takes the job back.
    await app.store.write(queue.rescue, "node", "boot-1", app.clock.now(), app.budget.book_left)
    del held
    return message


async def _calls(app: AppHarness, message_id: str) -> list[Mapping[str, Any]]:
    """Wait until a message is answered, and return its model calls in the order of their start."""
    timeline = await app.until_status(message_id, ANSWERED)
    return [step.data for step in timeline.steps if step.step == "model_call"]


async def test_a_call_that_a_kill_cut_off_is_booked_once(priced: AppHarness) -> None:
    message = await _killed(priced)
    call, again = await _calls(priced, message)
    assert (call["error"], again["error"]) == (INTERRUPTED, None)
    assert "estimates" in call["detail"]
    assert call["cost_micros"] == call["input_tokens"] + 2 * call["output_tokens"] > DAILY / 2
    booked = await spent(priced)
    assert (booked.micros, booked.calls) == (call["cost_micros"] + ANSWER, 2)
    assert await aside(priced) == 0
    await priced.store.write(queue.rescue, "node", "boot-1", priced.clock.now(), priced.budget.book_left)
    assert await spent(priced) == booked


async def test_the_commit_that_takes_back_jobs_of_a_dead_process_books_its_calls(priced: AppHarness) -> None:
    """The test checks within that commit, so that this living process cannot have booked them."""
    now = priced.clock.now()

    def take_back(tx: Transaction) -> Spent:
        assert len(queue.rescue(tx, "node", "boot-1", now, priced.budget.book_left)) == 1
        return tx.spending.get(Pot(Budget.DAY, day_of(now, "UTC"), ""))

    await begin_held(priced)
    booked = await priced.store.write(take_back)
    assert (booked.micros > DAILY / 2, booked.calls) == (True, 1)


async def test_a_call_that_came_to_its_end_after_all_takes_the_place_of_its_estimate(priced: AppHarness) -> None:
    message, held = await begin_held(priced)
    await priced.store.write(queue.rescue, "node", "boot-1", priced.clock.now(), priced.budget.book_left)
    held.go.set()  # the lease is lost, but the process runs

    async def both() -> list[Mapping[str, Any]] | None:
        found = await _calls_now(priced, message)
        return found if [call["error"] for call in found] == [None, None] else None

    calls = await priced.until(both)
    booked = await spent(priced)
    assert (booked.micros, booked.calls) == (sum(call["cost_micros"] for call in calls), 2)


async def test_a_call_without_a_price_is_on_record_when_a_kill_cut_it_off(either_database: Database) -> None:
    async with open_app(either_database) as app:
        message = await _killed(app)
        call, _ = await _calls(app, message)
        assert (call["error"], call["cost_micros"]) == (INTERRUPTED, 0)
        assert call["input_tokens"] > 0


async def test_a_call_whose_job_was_cancelled_is_booked_when_its_time_is_over(priced: AppHarness) -> None:
    message, _ = await begin_held(priced)
    await priced.queue.stop(0)
    await priced.store.write(_forget_close, message)
    await priced.pass_time(RESERVATION_MS / 1000 + 1)
    await priced.store.write(queue.rescue, "node", "boot-0", priced.clock.now(), priced.budget.book_left)
    assert 5 in [call["input_tokens"] for call in await _calls_now(priced, message)]


async def _calls_now(app: AppHarness, message_id: str) -> list[Mapping[str, Any]]:
    return [step.data for step in (await app.timeline(message_id)).steps if step.step == "model_call"]


def _forget_close(tx: Transaction, message_id: str) -> None:
    """Forget a call's record, as if the process had died before the booking."""
    message = tx.messages.get(message_id)
    assert message is not None
    turn = message.execution_id or ""
    spender = Spender(execution_id=turn, visit="lost", turn=turn, job_id="gone")
    receipt = ModelCall("0" * 26, "main", "scripted", "model", 0, 0, input_tokens=5)
    tx.spending.begin_call(OpenCall(spender, receipt))
