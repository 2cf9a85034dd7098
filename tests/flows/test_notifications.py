"""Notifications: messages at most once for each cause and interval, their end, and causes that are observed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.events import Changed
from arvis.domain.jobs import Fail
from arvis.domain.messages import Address
from arvis.domain.money import Budget, Pot, SpendingLimits, Spent, day_of
from arvis.domain.notifications import DAY_MS, HOUR_MS, Hint, Notification, NotificationState, Problem, Severity
from arvis.domain.runs import CIRCUIT, Cooldown
from arvis.messaging import owner_alerts
from arvis.messaging.owner_alerts import alert_owner, choose_place, observe, resolve
from arvis.notifications.causes import Facts, due_steps
from arvis.notifications.notifier import due_mails
from arvis.notifications.starts import StartReport, report_start
from arvis.ports.backups import RESTORED_AT
from arvis.ports.store import Transaction
from tests.flows.app_harness import AppHarness
from tests.flows.scripted import BOT, PLATFORM

NOW = 1_800_000_000_000
OFFICE = Address(PLATFORM, BOT, "ops")
PAGE = Address("web", "web", "web-ann")
FIRE = Problem(cause="fire", text="It burns.\nEverywhere.", hint=Hint(" Run `water`.", " Open the tap.", "/tap"))
FACTS = Facts(
    disk_low=False, without_backup_since=None, backup_every=DAY_MS, accounts=["main"], limits=SpendingLimits()
)


class Office:
    """The place of the owners, and what they read there."""

    def __init__(self, app: AppHarness) -> None:
        self.app = app

    async def write(self, script: Callable[..., Any], *args: Any) -> Any:
        return await self.app.store.write(script, *args)

    async def found(self, cause: str) -> Notification:
        found = await self.app.store.read(lambda tx: tx.notifications.newest(cause))
        assert found is not None
        return found

    async def read(self, place: Address = OFFICE) -> list[str]:
        return [delivery.content for delivery in await self.app.insights.deliveries_after(place, 0, 100)]

    async def round(self, facts: Facts, now: int) -> int:
        """Run the due steps as the notifier does. Return their number."""

        def run(tx: Transaction) -> int:
            steps = due_steps(tx, facts, now)
            for step in steps:
                step(tx, now)
            return len(steps)

        return int(await self.write(run))


@pytest.fixture
async def office(either_app: AppHarness) -> Office:
    await either_app.store.write(choose_place, OFFICE, NOW)
    return Office(either_app)


async def test_one_cause_has_one_open_notification_with_its_newest_text(office: Office) -> None:
    await office.write(alert_owner, FIRE, NOW)
    await office.write(alert_owner, replace(FIRE, text="It still burns."), NOW + 5)
    found = await office.found("fire")
    assert (found.count, found.first_at, found.last_at) == (2, NOW, NOW + 5)
    assert found.problem.text == "It still burns."
    assert len(await office.app.store.read(lambda tx: tx.notifications.lasting(9))) == 1


async def test_in_a_chat_the_author_is_arvis_and_on_the_dashboard_it_is_shown_beside_the_text(office: Office) -> None:
    await office.write(alert_owner, FIRE, NOW)
    await office.write(choose_place, PAGE, NOW)
    await office.write(alert_owner, replace(FIRE, cause="other"), NOW)
    assert await office.read() == ["Arvis: It burns.\nEverywhere. Run `water`."]
    assert await office.read(PAGE) == ["It burns.\nEverywhere. Open the tap."]
    [delivery] = await office.app.insights.deliveries_after(OFFICE, 0, 9)
    assert delivery.agent is None


async def test_the_end_of_a_cause_is_reported_once(office: Office) -> None:
    await office.write(alert_owner, FIRE, NOW)
    assert await office.write(resolve, "fire", NOW + 9)
    assert not await office.write(resolve, "fire", NOW + 10)
    found = await office.found("fire")
    assert (found.state, found.ended_at) == (NotificationState.RESOLVED, NOW + 9)
    assert (await office.read())[1:] == ["Arvis: Resolved: It burns."]


async def test_a_cause_that_comes_and_goes_is_reported_once_an_hour(office: Office) -> None:
    for minute in range(0, 50, 10):
        await office.write(alert_owner, FIRE, NOW + minute * 60_000)
        await office.write(resolve, "fire", NOW + minute * 60_000 + 1)
    assert len(await office.read()) == 2
    await office.write(alert_owner, FIRE, NOW + 50 * 60_000)
    assert await office.round(FACTS, NOW + 59 * 60_000) == 0
    assert await office.round(FACTS, NOW + HOUR_MS) == 1
    assert (await office.read())[2:] == ["Arvis: It burns.\nEverywhere. Run `water`."]
    assert await office.round(FACTS, NOW + 3 * HOUR_MS) == 0, "it was not reported again"


async def test_what_could_not_be_told_is_told_when_a_place_is_known(office: Office) -> None:
    await office.write(choose_place, None, NOW)
    await office.write(alert_owner, FIRE, NOW)
    assert await office.round(FACTS, NOW + 1) == 0
    await office.write(choose_place, OFFICE, NOW)
    assert await office.round(FACTS, NOW + 2) == 1
    assert len(await office.read()) == 1


async def test_a_result_is_listed_and_not_told(office: Office) -> None:
    await office.write(alert_owner, replace(FIRE, severity=Severity.INFO), NOW)
    assert await office.round(FACTS, NOW) == 0
    assert await office.read() == []
    assert await office.app.store.read(due_mails, NOW) == []


async def test_a_dismissed_state_stays_dismissed_until_it_is_over(office: Office) -> None:
    await office.write(observe, FIRE, NOW)
    await office.write(owner_alerts.dismiss, await office.found("fire"), "Ann", NOW + 1)
    assert not await office.write(observe, FIRE, NOW + 2)
    assert (await office.found("fire")).ended_by == "Ann"
    await office.write(resolve, "fire", NOW + 3)
    assert len(await office.read()) == 1, "the end of a dismissed notification is not reported"
    assert await office.write(observe, FIRE, NOW + 4)
    assert (await office.found("fire")).state is NotificationState.OPEN


async def test_a_notification_that_expires_ends_without_a_message(office: Office) -> None:
    await office.write(alert_owner, replace(FIRE, lasts=100), NOW)
    assert await office.round(FACTS, NOW + 99) == 0
    assert await office.round(FACTS, NOW + 100) == 1
    assert (await office.found("fire")).state is NotificationState.RESOLVED
    assert len(await office.read()) == 1


OVERSPENT = SpendingLimits(daily=5_000_000)


@pytest.mark.parametrize(
    ("cause", "facts", "words"),
    [
        ("disk", replace(FACTS, disk_low=True), "almost full"),
        ("backup_age", replace(FACTS, without_backup_since=NOW - 2 * DAY_MS), "No backup was made for 48 hours."),
        ("budget:day", replace(FACTS, limits=OVERSPENT), "$5.00 of $5.00"),
    ],
)
async def test_observed_states_begin_and_end(office: Office, cause: str, facts: Facts, words: str) -> None:
    pot = Pot(Budget.DAY, day_of(NOW, "UTC"), "")
    await office.write(lambda tx: tx.spending.book([pot], Spent(5_000_000, 1, 1)))
    assert await office.round(facts, NOW) == 1
    assert await office.round(facts, NOW + 1) == 0
    assert words in (await office.found(cause)).problem.text
    assert await office.round(FACTS, NOW + 2) == 1
    assert [text.startswith("Arvis: Resolved") for text in await office.read()] == [False, True]


@pytest.mark.parametrize(
    ("kind", "refusals", "words"),
    [("auth", 1, "rejected its key"), ("quota", 1, "no credit"), (CIRCUIT, 4, "does not answer")],
)
async def test_an_account_that_needs_a_person_is_reported_until_it_answers(
    office: Office, kind: str, refusals: int, words: str
) -> None:
    def cool(tx: Transaction, refusals: int, at: int) -> None:
        tx.cooldowns.put(Cooldown("main", "model", at, refusals, kind, at))

    await office.write(cool, refusals, NOW)
    assert await office.round(replace(FACTS, accounts=["other"]), NOW) == 0
    assert await office.round(FACTS, NOW) == 1
    assert words in (await office.read())[0]
    await office.write(cool, 0, NOW + 1)
    assert await office.round(FACTS, NOW + 2) == 1
    assert len(await office.read()) == 2


@pytest.mark.parametrize(("kind", "refusals"), [(CIRCUIT, 3), ("rate_limit", 9), ("auth", 0)])
async def test_an_account_that_recovers_by_itself_is_not_reported(office: Office, kind: str, refusals: int) -> None:
    await office.write(lambda tx: tx.cooldowns.put(Cooldown("main", "model", NOW, refusals, kind, NOW)))
    assert await office.round(FACTS, NOW) == 0


async def test_a_failed_job_is_over_when_it_is_deleted(office: Office) -> None:
    app = office.app
    asked = await app.ask("Hello")
    [job] = [each for each in await app.jobs() if each.message_id == asked.message.id and each.execution_id]
    failed = replace(job, id="gone", agent_id="agent-helper")
    await office.write(owner_alerts.alert_dead_letter, failed, Fail("auth", "the key is refused"), NOW)
    await office.write(owner_alerts.alert_dead_letter, job, Fail("attempts", "no answer"), NOW)
    assert (await office.found("given_up:agent-helper:auth")).problem.subject == "gone"
    assert await office.round(FACTS, NOW) == 2, "the job `gone` does not exist, and the other one is done"


async def test_budgets_of_agents_and_customers_are_reported_and_personal_ones_are_not(office: Office) -> None:
    asked = await office.app.ask("Hello")
    [job] = [each for each in await office.app.jobs() if each.message_id == asked.message.id and each.execution_id]
    for reason, reported in (("budget_agent", True), ("budget_client", True), ("budget_principal", False)):
        outcome = Fail(reason, "used up")
        assert await office.write(owner_alerts.alert_dead_letter, job, outcome, NOW) is reported, reason


async def test_results_of_a_start_are_stored(office: Office) -> None:
    first = StartReport(migrations=["0001_initial", "0002_more"])
    await office.write(report_start, first, NOW)
    assert await office.app.store.read(lambda tx: tx.notifications.lasting(9)) == []
    start = StartReport(level="error", what="the database was damaged", report="/tmp/report", migrations=["0002_more"])
    await office.write(lambda tx: tx.kv.put(RESTORED_AT, str(NOW), NOW))
    await office.write(report_start, start, NOW + 1)
    await office.write(report_start, StartReport(), NOW + 2)
    listed = await office.app.store.read(lambda tx: tx.notifications.lasting(9))
    assert [each.problem.cause for each in listed] == ["database", "updated", f"restored:{NOW}"]
    assert [each.count for each in listed] == [1, 1, 1]
    assert len(await office.read()) == 1, "only the damage is reported"


async def test_a_change_is_announced_after_its_commit(office: Office) -> None:
    topics: list[str] = []
    office.app.bus.subscribe(Changed, lambda event: topics.append(event.topic))

    async def reported() -> bool | None:
        return "notifications" in topics or None

    await office.write(alert_owner, FIRE, NOW)
    until: Callable[[Callable[[], Awaitable[bool | None]]], Awaitable[bool]] = office.app.until
    assert await until(reported)


async def test_mails_are_due_for_open_notifications_and_for_ends_of_mailed_ones(office: Office) -> None:
    await office.write(alert_owner, FIRE, NOW)
    await office.write(alert_owner, replace(FIRE, cause="flood"), NOW)
    [fire, flood] = await office.app.store.read(due_mails, NOW)
    assert (fire.about.problem.cause, fire.is_end, flood.is_end) == ("fire", False, False)
    await office.write(lambda tx: tx.notifications.save(replace(fire.about, mailed_at=NOW)))
    await office.write(resolve, "fire", NOW + 1)
    await office.write(resolve, "flood", NOW + 1)
    [end] = await office.app.store.read(due_mails, NOW + 2)
    assert (end.about.problem.cause, end.is_end) == ("fire", True)
