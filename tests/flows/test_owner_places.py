"""Notices to owners: their places, their frequency and their causes."""

from __future__ import annotations

import pytest

from arvis.domain.jobs import Fail, Job
from arvis.domain.messages import Address, DeliveryState
from arvis.domain.notifications import HOUR_MS, Problem
from arvis.messaging.owner_alerts import alert_bot_problem, alert_dead_letter, alert_owner, choose_place
from arvis.ports.connector import SendError
from tests.flows.app_harness import AppHarness
from tests.flows.scripted import BOT, PLATFORM

NOW = 1_800_000_000_000
OFFICE = Address(PLATFORM, BOT, "ops")


def problem(cause: str, text: str) -> Problem:
    return Problem(cause=cause, text=text)


async def test_owners_are_told_where_the_configuration_says(either_app: AppHarness) -> None:
    app = either_app
    await app.store.write(choose_place, OFFICE, NOW)
    assert await app.store.write(alert_owner, problem("fire", "It burns."), app.clock.now())
    assert await app.until_sent(1, "ops") == ["Arvis: It burns."]
    [delivery] = await app.deliveries("ops")
    assert delivery.state is DeliveryState.SENT


async def test_one_cause_is_told_once_an_hour(app: AppHarness) -> None:
    write = app.store.write
    await write(choose_place, OFFICE, NOW)
    assert await write(alert_owner, problem("fire", "It burns."), NOW)
    assert not await write(alert_owner, problem("fire", "It burns."), NOW + HOUR_MS - 1)
    assert await write(alert_owner, problem("flood", "It is wet."), NOW)
    assert await write(alert_owner, problem("fire", "It still burns."), NOW + HOUR_MS)


async def test_without_any_place_nobody_is_told_and_it_is_not_taken_for_told(app: AppHarness) -> None:
    write = app.store.write
    assert not await write(alert_owner, problem("fire", "It burns."), NOW)
    await write(choose_place, OFFICE, NOW)
    assert await write(alert_owner, problem("fire", "It burns."), NOW)
    await write(choose_place, None, NOW)
    assert not await write(alert_owner, problem("flood", "It is wet."), NOW)


async def test_a_bot_that_is_down_does_not_tell_of_itself(app: AppHarness) -> None:
    write = app.store.write
    await write(choose_place, OFFICE, NOW)
    assert not await write(alert_bot_problem, PLATFORM, BOT, "It is down.", NOW)
    assert await write(alert_bot_problem, PLATFORM, "other", "It is down.", NOW)
    assert await write(lambda tx: alert_bot_problem(tx, PLATFORM, "other", "Its token is refused.", NOW, cause="token"))
    assert not await write(alert_bot_problem, PLATFORM, "other", "It is down.", NOW)


async def test_a_delivery_that_is_given_up_is_told(app: AppHarness) -> None:
    await app.store.write(choose_place, OFFICE, NOW)
    app.connector.script.append(SendError("kicked\nout", permanent=True))
    await app.ask("Hello")
    [told] = await app.until_sent(1, "ops")
    assert "could not be delivered to room on chat/main: kicked out" in told
    app.connector.script.append(SendError("kicked out", permanent=True))
    await app.ask("Hello")
    await app.until_idle()
    assert len(await app.deliveries("ops")) == 1


async def test_what_could_not_be_told_is_not_told_in_the_same_place(app: AppHarness) -> None:
    await app.store.write(choose_place, OFFICE, NOW)
    app.connector.script.append(SendError("kicked out", permanent=True))
    assert await app.store.write(alert_owner, problem("fire", "It burns."), app.clock.now())
    await app.until_idle()
    assert [one.state for one in await app.deliveries("ops")] == [DeliveryState.FAILED]


async def test_a_turn_that_is_given_up_is_told_but_no_budget_that_is_used_up(app: AppHarness) -> None:
    asked = await app.ask("Hello")
    await app.store.write(choose_place, OFFICE, NOW)
    job: Job = next(job for job in await app.jobs() if job.message_id == asked.message.id and job.execution_id)
    write = app.store.write
    assert not await write(alert_dead_letter, job, Fail("budget_day", "used up"), NOW)
    assert await write(alert_dead_letter, job, Fail("auth", "the key is refused"), NOW)
    told = await app.until_sent(1, "ops")
    assert told[-1].startswith("Arvis: Helper could not finish a task (auth): the key is refused")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Address("web", "web", "web-ann"), "The page Connectors and bots"),
        (Address("web", "web", "cli-ann"), "`arvis bots list`"),
        (OFFICE, "`arvis bots list`"),
    ],
)
async def test_a_notice_names_what_its_reader_has_at_hand(app: AppHarness, place: Address, words: str) -> None:
    write = app.store.write
    await write(choose_place, place, NOW)
    assert await write(alert_bot_problem, PLATFORM, "other", "It is down.", NOW)
    [delivery] = await app.insights.deliveries_after(place, 0, 100)
    assert words in delivery.content
    assert delivery.agent is None
