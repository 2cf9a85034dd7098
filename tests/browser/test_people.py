"""People: strangers are admitted or refused, roles are given and removed, and viewers only read."""

from __future__ import annotations

import secrets
import time
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from arvis.domain.messages import Address, IncomingMessage, Sender
from arvis.ports.store import Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.services.people import new_code, offer_pairing
from arvis.store.open import Database, open_store
from tests.browser.asking import until, visitor
from tests.browser.daemon import Daemon

STRANGERS = ("nia", "tom", "leo")
CODES: dict[str, str] = {}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon in which three strangers wait at a bot, and Ann, Bob and Eve are known."""
    folder = tmp_path_factory.mktemp("daemon")
    daemon = Daemon(folder)
    try:
        await daemon.start()
        await daemon.kill()
        await fill(folder / "data")
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


async def fill(data: Path) -> None:
    now = round(time.time() * 1000)

    def people(tx: Transaction) -> None:
        for name in ("ann", "bob", "eve"):
            tx.principals.seen("chat", name, name.title(), None, now)
        tx.principals.seen("telegram", "4711", "Annie", None, now)

    def asks(tx: Transaction, name: str, code: str) -> None:
        address = Address("chat", f"bot-{name}", name)
        message = IncomingMessage(address, f"event-{name}", Sender(name, name.title()), "hi", is_direct=True)
        assert offer_pairing(tx, message, now, code) is not None

    database = Database(data / "arvis.db", None, data)
    async with open_store(database, boot="test", new_id=IdMaker(clock=SystemClock(), random_bits=secrets.randbits)) as (
        store,
        _,
    ):
        await store.write(people)
        for name in STRANGERS:
            CODES[name] = new_code(secrets.randbits)
            await store.write(asks, name, CODES[name])


async def person(daemon: Daemon, name: str) -> dict[str, object]:
    (found,) = (await daemon.api("GET", f"/api/people?platform=chat&q={name}"))["items"]
    return dict(found)


async def test_a_stranger_is_let_in_by_the_code(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/people?platform=chat")
    waiting = dashboard.get_by_role("list", name="Pairing requests").get_by_role("listitem")
    await expect(waiting).to_have_count(3)
    code = dashboard.get_by_label("Code")
    await code.fill("WRONG-CODES")
    await dashboard.get_by_role("button", name="Approve").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("wrong")
    await expect(code).to_have_value("WRONG-CODES")
    await code.fill(CODES["nia"])
    await dashboard.get_by_role("button", name="Approve").click()
    await expect(waiting).to_have_count(2)
    await expect(dashboard.get_by_role("row", name="Nia")).to_contain_text("Paired")
    assert (await person(daemon, "nia"))["paired"] is True


async def test_a_stranger_is_turned_away_once_that_was_confirmed(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/people")
    tom = dashboard.get_by_role("list", name="Pairing requests").get_by_role("listitem").filter(has_text="Tom")
    await tom.get_by_role("button", name="Reject").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Reject").click()
    await expect(tom).to_have_count(0)
    rows = (await daemon.api("GET", "/api/pairings?pending=false"))["items"]
    assert [row["status"] for row in rows if row["userId"] == "tom"] == ["rejected"]


async def test_a_role_is_given_and_taken_back(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/people?platform=chat&q=ann")
    await dashboard.get_by_role("row", name="Ann").click()
    role = dashboard.get_by_role("combobox", name="Role")
    await role.select_option("operator")
    await expect(dashboard.get_by_role("row", name="Ann")).to_contain_text("Operator")
    assert (await person(daemon, "ann"))["role"] == "operator"
    changes = dashboard.get_by_role("list", name="Changes").get_by_role("listitem")
    await expect(changes.first).to_contain_text("Operator, Paired")
    await dashboard.get_by_role("button", name="Undo").click()
    await expect(dashboard.get_by_role("row", name="Ann")).to_contain_text("Member")
    assert (await person(daemon, "ann"))["role"] == "member"


async def test_somebody_is_vouched_for_and_blocked(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/people?platform=chat")
    await dashboard.get_by_role("row", name="Bob").click()
    await dashboard.get_by_role("button", name="Pair").click()
    await expect(dashboard.get_by_role("button", name="Unpair")).to_be_visible()
    assert (await person(daemon, "bob"))["paired"] is True
    await dashboard.get_by_label("Role").last.select_option("blocked")
    await dashboard.get_by_role("dialog").get_by_role("button", name="Block").click()
    await expect(dashboard.get_by_role("row", name="Bob")).to_contain_text("Blocked")
    await until(lambda: _blocked(daemon, "bob"))
    await dashboard.get_by_role("group", name="Role").get_by_role("button", name="Owner").click()
    await expect(dashboard.get_by_text("No people match", exact=True)).to_be_visible()


async def test_an_account_is_linked_once_that_was_confirmed_and_unlinked(dashboard: Page, daemon: Daemon) -> None:
    ann = await person(daemon, "ann")
    await dashboard.goto(f"/settings/people/{ann['id']}")
    accounts = dashboard.get_by_role("list", name="Accounts of this person").get_by_role("listitem")
    await expect(accounts).to_have_text(["Ann (chat:ann)"])
    await dashboard.get_by_label("Name or platform id").fill("4711")
    await dashboard.get_by_role("button", name="Find another account").click()
    found = dashboard.get_by_role("list", name="Found accounts").get_by_role("listitem")
    await expect(found).to_contain_text(["Annie (telegram:4711)"])
    await found.get_by_role("button", name="Link").click()
    question = dashboard.get_by_role("dialog").filter(has_text="Link Annie (telegram:4711)?")
    await expect(question).to_contain_text("share memory, messages, budget")
    await question.get_by_role("button", name="Link").click()
    await expect(accounts).to_contain_text(["Ann (chat:ann)", "Annie (telegram:4711)"])
    await expect(found).to_have_count(0)
    assert len((await daemon.api("GET", f"/api/people/{ann['id']}"))["identities"]) == 2

    await accounts.nth(1).get_by_role("button", name="End the link").click()
    question = dashboard.get_by_role("dialog").filter(has_text="End the link of this account?")
    await question.get_by_role("button", name="End the link").click()
    await expect(accounts).to_have_text(["Ann (chat:ann)"])


async def test_viewers_see_no_buttons(browser: Browser, daemon: Daemon) -> None:
    ann = await person(daemon, "ann")
    async with visitor(browser, daemon, "vida", "viewer") as page:
        await page.goto(f"/settings/people/{ann['id']}")
        await expect(page.get_by_role("heading", name="Ann")).to_be_visible()
        await expect(page.get_by_role("list", name="Pairing requests").get_by_role("listitem").first).to_be_visible()
        for name in ("Approve", "Reject", "Pair", "Find another account"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        await expect(page.get_by_label("Code")).to_have_count(0)


async def _blocked(daemon: Daemon, name: str) -> bool:
    return (await person(daemon, name))["role"] == "blocked"


async def test_a_person_is_exported_and_erased_once_that_was_confirmed(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/people?platform=chat")
    await dashboard.get_by_role("row", name="Eve").click()
    async with dashboard.expect_download() as download:
        await dashboard.get_by_role("link", name="Export", exact=True).click()
    with zipfile.ZipFile(await (await download.value).path()) as archive:
        assert b'"userId":"eve"' in archive.read("people.jsonl")
    await dashboard.get_by_role("button", name="Erase").click()
    question = dashboard.get_by_role("dialog")
    await expect(question).to_contain_text("cannot be undone")
    await question.get_by_role("button", name="Erase").click()
    erasures = dashboard.get_by_role("list", name="Erasures").get_by_role("listitem")
    await expect(erasures).to_have_count(1)
    await expect(erasures).to_contain_text("Ended", timeout=20_000)
    await expect(dashboard.get_by_role("row", name="Eve")).to_have_count(0)
    assert (await daemon.api("GET", "/api/people?platform=chat&q=eve"))["items"] == []
