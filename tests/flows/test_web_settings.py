"""Settings over HTTP: shown with their sources, changed, reset; some apply at once, others at the next start."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from arvis.bus import EventBus
from arvis.config import load
from arvis.config.stored import KEY
from arvis.domain.events import Changed
from arvis.process.clock import SystemClock
from arvis.settings import SettingsService
from arvis.store.open import Database, open_store
from tests.conformance.databases import migrated
from tests.flows.web_server import DAEMON_KEY, OPERATOR_KEY, VIEWER_KEY, Answer, Site, eventually, running_site

PATH = "/api/settings"
CANARY = "canary-of-the-file-91Kx"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def change(site: Site, key: str = DAEMON_KEY, /, **changes: Any) -> Answer:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return await site.call("PATCH", PATH, json={"changes": named}, key=key)


def one(answer: Answer, key: str) -> dict[str, Any]:
    assert answer.status == 200, answer.text
    found: dict[str, Any] = next(item for item in answer.json()["items"] if item["key"] == key)
    return found


async def test_what_acts_at_once_and_what_waits_for_a_start(site: Site) -> None:
    before = one(await site.call("GET", PATH), "budgets.daily_usd")
    assert (before["value"], before["source"], before["changeable"], before["appliesImmediately"]) == (
        5,
        "default",
        True,
        True,
    )
    assert before["description"] == "all model calls of a day; null: no limit"
    answer = await change(site, budgets__daily_usd=9, queue__workers=3)
    assert answer.json()["needsRestart"] == ["queue.workers"]
    daily, workers = one(answer, "budgets.daily_usd"), one(answer, "queue.workers")
    assert (daily["value"], daily["source"], daily["pending"]) == (9, "product", False)
    assert (workers["value"], workers["nextValue"], workers["pending"]) == (8, 3, True)
    assert one(await site.call("GET", PATH, key=OPERATOR_KEY), "queue.workers") == workers


async def test_a_part_waits_for_a_setting(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    migrated(database)
    async with open_store(database, boot="boot", new_id=lambda: "id") as (store, _):
        settings = SettingsService(
            given=load(None, tmp_path, {}), store=store, bus=EventBus(), clock=SystemClock(), environ=dict
        )
        await settings.begin()
        waiting = asyncio.create_task(settings.until(lambda config: config.embeddings.choice is not None))
        await settings.change({"embeddings.model": "embed-1"}, by="ann")
        assert not waiting.done()
        await settings.change({"embeddings.account": "vendor"}, by="ann")
        await asyncio.wait_for(waiting, 5)


async def test_null_takes_back_and_the_word_null_is_no_limit(site: Site) -> None:
    assert one(await change(site, budgets__daily_usd="null"), "budgets.daily_usd")["value"] is None
    assert one(await change(site, scheduler__timezone="Europe/Berlin"), "budgets.daily_usd")["value"] is None
    assert one(await change(site, budgets__daily_usd=None), "budgets.daily_usd")["value"] == 5


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"budgets.daily_usd": -1}, 422, "`budgets.daily_usd` must be at least 0"),
        ({"budgets.daly_usd": 1}, 422, "no setting `budgets.daly_usd`"),
        ({"delivery.late_after": 15}, 422, "needs a unit"),
        ({"speech.buffer.pause_seconds": 20}, 422, "`speech.buffer` must not have `pause_seconds`"),
        ({"speech.stt.engine": "command"}, 422, "must have `command`"),
        ({"approvals.policy": {"run_shell": "perhaps"}}, 422, "must be one of"),
        ({"owners.alert_channel": "nowhere"}, 422, "`owners.alert_channel` must be one channel"),
        ({"web.port": 1}, 409, "cannot be changed here"),
        ({"speech.api_key": "sk-1"}, 409, "cannot be changed here"),
        ({"speech.stt.command": "reboot"}, 409, "runs on this machine"),
        ({"database": "postgresql://x/y"}, 409, "cannot be changed here"),
        ({"accounts": []}, 422, "no setting"),
        ({"x" * 5000: 1}, 422, "no setting"),
    ],
)
async def test_what_cannot_be_set_is_refused_and_changes_nothing(
    site: Site, changes: Mapping[str, Any], status: int, words: str
) -> None:
    answer = await site.call("PATCH", PATH, json={"changes": changes})
    assert answer.status == status, answer.text
    assert answer.code
    assert words in answer.json()["error"]["message"]
    assert len(answer.text) < 2_000
    assert (await site.call("GET", f"{PATH}/versions")).json()["items"] == []


async def test_a_change_can_be_undone_and_is_told(site: Site) -> None:
    await change(site, scheduler__timezone="Europe/Berlin")
    await change(site, scheduler__timezone="Europe/Paris", routing__fallback="conductor")
    answer = await site.call("POST", f"{PATH}/undo")
    assert [one(answer, "scheduler.timezone")["nextValue"], one(answer, "routing.fallback")["value"]] == [
        "Europe/Berlin",
        "drop",
    ]
    versions = (await site.call("GET", f"{PATH}/versions")).json()["items"]
    assert [version["values"] for version in versions] == [
        {"scheduler.timezone": "Europe/Berlin"},
        {"scheduler.timezone": "Europe/Paris", "routing.fallback": "conductor"},
        {"scheduler.timezone": "Europe/Berlin"},
        {},
    ]
    assert versions[0]["by"]


async def test_only_owners_change_and_viewers_do_not_look(site: Site) -> None:
    assert (await site.call("GET", PATH, key=VIEWER_KEY)).status == 403
    assert (await change(site, OPERATOR_KEY, scheduler__timezone="Europe/Berlin")).status == 403
    assert (await site.call("POST", f"{PATH}/undo", key=OPERATOR_KEY)).status == 403
    assert (await site.call("POST", f"{PATH}/undo")).code == "conflict"


@asynccontextmanager
async def a_desk(folder: Path, text: str = "", **environ: str) -> AsyncIterator[SettingsService]:
    """Start the settings service with this configuration file."""
    file = folder / "config.yaml"
    file.write_text(text, "utf-8")
    database = Database(file=folder / "arvis.db", url=None, folder=folder)
    migrated(database, 0)
    ids = iter(range(1_000))
    async with open_store(database, boot="desk", new_id=lambda: f"id{next(ids)}") as (store, _):
        desk = SettingsService(
            given=load(file, folder, environ),
            store=store,
            bus=EventBus(),
            clock=SystemClock(),
            environ=lambda: environ,
        )
        await desk.begin()
        yield desk


async def shown(desk: SettingsService, key: str) -> Any:
    return next(each for each in (await desk.overview()).shown if each.setting.key == key)


async def test_the_environment_wins_over_the_product_and_the_product_over_the_file(tmp_path: Path) -> None:
    text = "queue:\n  workers: 4\nscheduler:\n  timezone: Europe/Oslo\n"
    async with a_desk(tmp_path, text) as desk:
        place = (await shown(desk, "queue.workers")).origin.place
        assert place == f"{tmp_path / 'config.yaml'}, line 2"
        await desk.change({"queue.workers": 6, "scheduler.timezone": "Europe/Paris"}, by="ann")
        assert desk.current().queue.workers == 4
    async with a_desk(tmp_path, text, ARVIS__SCHEDULER__TIMEZONE="Europe/Rome") as desk:
        assert (desk.current().queue.workers, desk.current().scheduler.timezone) == (6, "Europe/Rome")
        zone = await shown(desk, "scheduler.timezone")
        assert (zone.value, zone.origin.kind) == ("Europe/Rome", "environment")
        assert zone.origin.place == "ARVIS__SCHEDULER__TIMEZONE"
        with pytest.raises(Exception, match="fixed by the environment variable ARVIS__SCHEDULER__TIMEZONE"):
            await desk.change({"scheduler.timezone": "Europe/Madrid"}, by="ann")


@pytest.mark.parametrize(
    "stored",
    [
        '{"queue.workers": 1, "scheduler.timezone": "Europe/Paris"}',
        '{"no.such": 1, "scheduler.timezone": "Europe/Paris", "web.port": 1}',
    ],
)
async def test_a_bad_stored_value_keeps_nobody_from_starting(tmp_path: Path, stored: str) -> None:
    async with a_desk(tmp_path) as desk:
        await desk._store.write(lambda tx: tx.settings.put(KEY, stored, 1))
    async with a_desk(tmp_path) as desk:
        found = desk.current()
        assert (found.queue.workers, found.scheduler.timezone, found.web.port) == (8, "Europe/Paris", 5070)
        await desk.change({"scheduler.timezone": "Europe/Berlin"}, by="ann")  # other settings can be changed
        problem = (await shown(desk, "queue.workers")).problem
        assert ("must be at least 2" in problem) == ("queue.workers" in stored)


@pytest.mark.parametrize("stored", ["{", "[]", "null", "7"])
async def test_what_is_no_settings_is_none(tmp_path: Path, stored: str) -> None:
    async with a_desk(tmp_path) as desk:
        await desk._store.write(lambda tx: tx.settings.put(KEY, stored, 1))
    async with a_desk(tmp_path) as desk:
        assert desk.current().scheduler.timezone == "UTC"


async def test_a_file_that_was_spoilt_meanwhile_is_told_and_takes_nothing_away(tmp_path: Path) -> None:
    async with a_desk(tmp_path, "scheduler: {timezone: Europe/Berlin}\n") as desk:
        (tmp_path / "config.yaml").write_text("scheduler: [\n", "utf-8")
        overview = await desk.overview()
        assert "cannot be read" in overview.problem
        assert (await shown(desk, "scheduler.timezone")).value == "Europe/Berlin"


async def test_no_secret_is_shown(tmp_path: Path) -> None:
    text = f"web: {{password: {CANARY}, api_keys: [{CANARY}2]}}\nspeech: {{api_key: {CANARY}3}}\n"
    text += f"telemetry: {{headers: {{authorization: {CANARY}5}}}}\n"
    text += f"database: postgresql://ann:{CANARY}4@127.0.0.1/x\n"
    async with a_desk(tmp_path, text) as desk:
        found = {each.setting.key: each.value for each in (await desk.overview()).shown}
    assert CANARY not in str(found)
    assert (found["web.password"], found["speech.api_key"], found["database"]) == ("set", "set", "postgresql")


async def test_of_two_who_learn_at_once_the_later_one_counts(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        reading, go_on = threading.Event(), threading.Event()

        def environ() -> Mapping[str, str]:
            if not reading.is_set():
                reading.set()
                go_on.wait(5)
            return {}

        desk._environ = environ
        await desk._store.write(lambda tx: tx.settings.put(KEY, '{"budgets.daily_usd": 9}', 1))
        first = asyncio.create_task(desk.learn())
        await asyncio.to_thread(reading.wait, 5)
        await desk._store.write(lambda tx: tx.settings.put(KEY, '{"budgets.daily_usd": 7}', 2))
        second = asyncio.create_task(desk.learn())
        await asyncio.wait({second}, timeout=0.3)
        go_on.set()
        await asyncio.gather(first, second)
        assert desk.current().budgets.daily_usd == 7


async def test_a_process_that_only_serves_the_page_learns_at_once(tmp_path: Path) -> None:
    """It hears only the event that pages get from another process: the settings have changed."""
    async with a_desk(tmp_path) as desk:
        up = asyncio.Event()
        following = asyncio.create_task(desk.follow(up.set))
        try:
            async with asyncio.timeout(5):
                await up.wait()
                await desk._store.write(lambda tx: tx.settings.put(KEY, '{"budgets.daily_usd": 9}', 1))
                desk._bus.publish(Changed("jobs"))
                desk._bus.publish(Changed("settings"))
                await eventually(lambda: desk.current().budgets.daily_usd == 9)
        finally:
            following.cancel()
