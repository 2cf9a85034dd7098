"""The causes of notifications where they arise, and their ends: bots, schedules, backups, the clock, webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.app.backups import BackupReports
from arvis.bots.runner import StatusReport, StatusReporter
from arvis.bots.service import _remove, _update
from arvis.bus import EventBus
from arvis.config.sections import Backup
from arvis.domain.errors import StoreError
from arvis.domain.money import SpendingLimits
from arvis.domain.notifications import DAY_MS, Notification, NotificationState
from arvis.domain.platforms import BotState, StoredBot
from arvis.domain.schedules import OccurrenceStatus
from arvis.messaging.owner_alerts import alert_bot_problem
from arvis.notifications import Observations
from arvis.ports.backups import BackupFile
from arvis.ports.connector import BotUp
from arvis.ports.store import Store
from arvis.process.leases import Holding
from arvis.process.subprocesses import GuardedPrograms
from arvis.scheduler import due
from arvis.testing.clock import SteppedClock, StoppedClock
from tests.flows.hook_kit import called, hook_site, made
from tests.flows.schedule_kit import NOW, Desk, WildClock, add_helper
from tests.flows.web_server import Site


async def state(store: Store, cause: str) -> NotificationState | None:
    found: Notification | None = await store.read(lambda tx: tx.notifications.newest(cause))
    return None if found is None else found.state


OPEN, RESOLVED = NotificationState.OPEN, NotificationState.RESOLVED


async def test_a_bot_that_is_up_again_ends_its_notifications(either_store: Store) -> None:
    clock = SteppedClock()
    reporter = StatusReporter(
        platform="plain", name="main", store=either_store, bus=EventBus(), clock=clock,
        holding=Holding(clock=clock, lease=None, until=float("inf")), tell=alert_bot_problem,
    )  # fmt: skip
    for cause in ("down", "token"):
        await reporter.last(StatusReport(BotState.ERROR, "away", notice="is away", cause=cause))
        assert await state(either_store, f"bot:plain/main:{cause}") is OPEN
    await reporter.last(StatusReport(BotState.STOPPED))
    assert await state(either_store, "bot:plain/main:down") is OPEN, "the end of a process is not the end of the cause"
    await reporter.last(StatusReport(BotState.RUNNING, identity=BotUp("1", "plain")))
    for cause in ("down", "token"):
        assert await state(either_store, f"bot:plain/main:{cause}") is RESOLVED


@pytest.mark.parametrize("way", ["off", "removed"])
async def test_a_bot_that_is_turned_off_or_removed_has_no_problem(store: Store, way: str) -> None:
    bot = StoredBot("b", "plain", "main", "{}", "{}", way == "removed", NOW, NOW)
    await store.write(lambda tx: tx.bots.add(bot))
    await store.write(alert_bot_problem, "plain", "main", "It is down.", NOW)
    if way == "off":
        await store.write(_update, bot)
    else:
        assert await store.write(_remove, "plain", "main", NOW)
    assert await state(store, "bot:plain/main:down") is RESOLVED


@pytest.fixture
async def desk(store: Store) -> Desk:
    await store.write(add_helper)
    return Desk(store, WildClock())


async def test_a_schedule_that_succeeds_ends_its_notification(desk: Desk) -> None:
    beat = await desk.add("every 1h", name="beat")
    for number in range(4):
        desk.clock.pass_time(1)
        await desk.store.write(due.run_now, beat.id, desk.clock.now())
        await desk.end_all(OccurrenceStatus.FAILED if number < 3 else OccurrenceStatus.DONE)
        assert await state(desk.store, f"schedule:{beat.id}") is (None, None, OPEN, RESOLVED)[number]


@pytest.mark.parametrize(("seconds", "words"), [(3_600, "forward by 3600 s"), (-7_200, "back by 7200 s"), (30, None)])
async def test_a_clock_that_was_set_is_reported(desk: Desk, seconds: int, words: str | None) -> None:
    await desk.look()
    desk.clock.set_by(seconds)
    await desk.look()
    await desk.look()
    found = await desk.store.read(lambda tx: tx.notifications.newest("clock"))
    assert (found is not None) is (words is not None)
    if found is not None and words is not None:
        assert words in found.problem.text
        assert found.count == 1


async def test_a_failed_backup_is_reported_until_one_is_made(store: Store, tmp_path: Path) -> None:
    reports = BackupReports(settings=Backup(), store=store, clock=StoppedClock(), programs=GuardedPrograms())
    await reports.failed(StoreError("The disk is full", why="no space is left"))
    found = await store.read(lambda tx: tx.notifications.newest("backup"))
    assert found is not None
    assert "The disk is full (no space is left)" in found.problem.text
    await reports.made(BackupFile(path=tmp_path / "arvis.tar.gz", bytes=1, created_at=NOW, before=None, messages=0))
    assert await state(store, "backup") is RESOLVED


async def test_backups_are_looked_at_every_ten_minutes_and_count_from_the_start_of_the_daemon() -> None:
    clock, looks, newest = SteppedClock(), [0], 0

    async def newest_backup() -> int | None:
        looks[0] += 1
        return newest or None

    observations = Observations(
        disk_low=lambda: False, newest_backup=newest_backup, backup_every=DAY_MS, accounts=list, limits=SpendingLimits,
        clock=clock,
    )  # fmt: skip
    started_at = clock.now()
    assert (await observations.read()).without_backup_since == started_at
    newest = clock.now() + 5
    assert (await observations.read()).without_backup_since == started_at
    await clock.sleep(600)
    assert (await observations.read()).without_backup_since == newest
    assert looks == [2]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with hook_site(tmp_path) as site:
        yield site


async def test_a_web_hook_whose_calls_are_refused_is_reported_until_one_is_accepted(site: Site) -> None:
    hook = await made(site)
    cause = f"webhook:{hook['id']}"
    for number in range(1, 7):
        assert (await called(site, {"commit": number}, secret="another")).status == 401
        assert (await state(site.store, cause) is OPEN) is (number >= 5)
    assert (await called(site, {"commit": 7})).status == 202
    assert await state(site.store, cause) is RESOLVED
    assert (await called(site, {"commit": 8}, secret="another")).status == 401
    assert await state(site.store, cause) is RESOLVED
