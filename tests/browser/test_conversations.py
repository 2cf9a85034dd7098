"""Conversations on their pages: a list of ten thousand, and one that is read, saved, closed and restored from its
summary."""

from __future__ import annotations

import base64
import json
import sqlite3
import time
import zipfile
from collections.abc import AsyncIterator
from contextlib import closing

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.asking import ask, say, until, visitor
from tests.browser.daemon import Daemon

MANY = 10_000
#: Turns of the long conversation, and the number of them in a summary.
TURNS, SUMMED = 60, 16
LONG = "01ALONG".ljust(26, "0")
FILE = {
    "filename": "plan.txt",
    "contentType": "text/plain",
    "data": base64.b64encode(b"a plan").decode(),
}

#: Scrolls down until the grid has more than this many rows.
TO_THE_END = """async (many) => {
    const grid = document.querySelector("[role=grid]");
    while (Number(grid.ariaRowCount) <= many) {
        grid.parentElement.scrollTop = grid.parentElement.scrollHeight;
        await new Promise(requestAnimationFrame);
    }
    grid.parentElement.scrollTop = grid.parentElement.scrollHeight;
}"""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon with old conversations, whose rows are written while it is down."""
    folder = tmp_path_factory.mktemp("daemon")
    daemon = Daemon(folder)
    try:
        await daemon.start()
        await daemon.kill()
        with closing(sqlite3.connect(folder / "data" / "arvis.db")) as database, database:
            fill(database)
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


def fill(database: sqlite3.Connection) -> None:
    (agent,) = database.execute("SELECT id FROM agents WHERE slug = 'conductor'").fetchone()
    now = round(time.time() * 1000)
    for number in range(MANY):
        talk, at = f"01A{number:023}", now - 60_000 * number - 3_600_000
        add_talk(database, talk, agent, channel=f"room-{number}", turns=1, at=at)
        said = ("user", f"Question number {number}", 1)
        add_message(database, f"01B{number:023}", talk, agent, said=said, at=at)
    add_talk(database, LONG, agent, channel="harbour", turns=TURNS, at=now - 600_000)
    for turn in range(1, TURNS + 1):
        at = now - 600_000 + turn
        for half, role in enumerate(("user", "assistant")):
            said = (role, f"{role} {turn} says **so**", turn)
            add_message(database, f"01C{2 * turn + half:023}", LONG, agent, said=said, at=at)
    database.execute(
        "INSERT INTO compactions (id, conversation_id, execution_id, first_turn, last_turn, summary, tokens, taint,"
        " messages_before, messages_after, tokens_saved, status, created_at)"
        " VALUES (?, ?, '', 1, ?, 'They spoke of **cranes**.', 9, '', ?, 0, 100, 'active', ?)",
        ("01D".ljust(26, "0"), LONG, SUMMED, 2 * SUMMED, now),
    )
    database.execute(
        "UPDATE messages SET compaction_id = ? WHERE conversation_id = ? AND turn <= ?",
        ("01D".ljust(26, "0"), LONG, SUMMED),
    )


def add_talk(database: sqlite3.Connection, talk: str, agent: str, *, channel: str, turns: int, at: int) -> None:
    database.execute(
        "INSERT INTO conversations (id, agent_id, platform, connector, channel, thread, status, turns, created_at,"
        " last_message_at) VALUES (?, ?, 'chat', 'main', ?, '', 'active', ?, ?, ?)",
        (talk, agent, channel, turns, at, at),
    )


def add_message(
    database: sqlite3.Connection, message: str, talk: str, agent: str, *, said: tuple[str, str, int], at: int
) -> None:
    role, content, turn = said
    database.execute(
        "INSERT INTO messages (id, conversation_id, role, content, tokens, status, platform, connector, channel,"
        " thread, user_name, agent_id, position, turn, superseded, created_at)"
        " VALUES (?, ?, ?, ?, 9, 'answered', 'chat', 'main',"
        " (SELECT channel FROM conversations WHERE id = ?), '', ?, ?, ?, ?, 0, ?)",
        (message, talk, role, content, talk, "Ann" if role == "user" else "", agent, int(role != "user"), turn, at),
    )


async def talk_in(daemon: Daemon, channel: str) -> str:
    (found,) = (await daemon.api("GET", f"/api/conversations?platform=web&channel={channel}"))["items"]
    return str(found["id"])


def log_of(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages")


async def test_ten_thousand_conversations_are_scrolled_to_their_end(dashboard: Page) -> None:
    await dashboard.goto("/now")
    pages = dashboard.get_by_role("navigation", name="Pages")
    begun = time.monotonic()
    await pages.get_by_role("link", name="Executions").click()
    await expect(dashboard.get_by_text("No executions", exact=True)).to_be_visible()
    empty = time.monotonic() - begun
    begun = time.monotonic()
    await pages.get_by_role("link", name="Conversations").click()
    await expect(dashboard.get_by_role("row", name="Question number 0 ")).to_be_visible()
    assert time.monotonic() - begun < max(1, 2 * empty)  # a busy machine is slow with an empty page, too
    rows = dashboard.get_by_role("grid", name="Conversations").get_by_role("row")
    await dashboard.evaluate(TO_THE_END, MANY)
    await expect(dashboard.get_by_role("row", name=f"Question number {MANY - 1} ")).to_be_visible()
    assert await rows.count() < 100


async def test_one_is_found_by_what_was_said_and_by_its_platform(dashboard: Page) -> None:
    await dashboard.goto("/conversations")
    await dashboard.get_by_label("Search conversations").fill("room-77")
    await expect(dashboard.get_by_role("row", name="room-77 ", exact=False).first).to_be_visible()
    await dashboard.get_by_label("Platform").select_option("discord")
    await expect(dashboard.get_by_text("Nothing matches")).to_be_visible()
    await expect(dashboard).to_have_url("/conversations?q=room-77&platform=discord")


async def test_older_messages_come_on_demand_and_summaries_are_folded(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto(f"/conversations/{LONG}")
    log = log_of(dashboard)
    await expect(log.get_by_text(f"assistant {TURNS} says so")).to_be_in_viewport()
    await expect(log.get_by_role("article")).to_have_count(50)
    await log.get_by_role("button", name="Show older messages").click()
    await expect(log.get_by_role("article")).to_have_count(2 * (TURNS - SUMMED))
    await log.get_by_text("32 messages in a summary").click()
    await expect(log.get_by_text("They spoke of cranes.")).to_be_visible()
    await log.get_by_role("button", name="Show the messages").click()
    await expect(log.get_by_text("user 1 says so")).to_be_visible()

    await log.get_by_role("button", name="Restore the messages").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Restore the messages").click()
    await expect(log.get_by_text("32 messages in a summary")).to_have_count(0)
    assert (await daemon.api("GET", f"/api/conversations/{LONG}"))["messagesInContext"] == 2 * TURNS


async def test_an_open_conversation_goes_on_by_itself(dashboard: Page, daemon: Daemon) -> None:
    first = await ask(daemon, "demo: say hello there", "pier", attachments=[FILE])
    talk = await talk_in(daemon, "pier")
    await dashboard.goto(f"/conversations/{talk}")
    log = log_of(dashboard)
    await expect(log.get_by_text("hello there", exact=True)).to_be_visible()
    link = log.get_by_role("link", name="Timeline").first
    await expect(link).to_have_attribute("href", f"/messages/{first['messageId']}")
    async with dashboard.expect_download() as download:
        await log.get_by_role("link", name="plan.txt").click()
    assert (await (await download.value).path()).read_bytes() == b"a plan"

    await say(daemon, "demo: say and on it goes", "pier")
    await expect(log.get_by_text("and on it goes", exact=True)).to_be_visible()


async def test_one_is_saved_as_a_file_and_closed(dashboard: Page, daemon: Daemon) -> None:
    await ask(daemon, "demo: say the end", "quay")
    talk = await talk_in(daemon, "quay")
    await dashboard.goto(f"/conversations/{talk}")
    async with dashboard.expect_download() as download:
        await dashboard.get_by_role("link", name="Save as Markdown").click()
    assert "the end" in (await (await download.value).path()).read_text()
    async with dashboard.expect_download() as download:
        await dashboard.get_by_role("link", name="Save as JSON").click()
    assert "the end" in json.dumps(json.loads((await (await download.value).path()).read_text()))

    sheet = dashboard.get_by_role("region", name="demo: say the end")
    await sheet.get_by_role("button", name="Turn memory off").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Turn memory off").click()
    await sheet.get_by_role("button", name="Turn memory on").click()
    await expect(sheet.get_by_role("button", name="Turn memory off")).to_be_visible()
    await sheet.get_by_role("button", name="Close the conversation").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Close the conversation").click()
    await expect(sheet.get_by_text("Closed", exact=True)).to_be_visible()
    assert (await daemon.api("GET", f"/api/conversations/{talk}"))["open"] is False


async def test_owners_export_and_erase_a_channel(dashboard: Page, daemon: Daemon) -> None:
    await ask(daemon, "demo: say first", "mole")
    await ask(daemon, "demo: say other", "shed")
    talk = await talk_in(daemon, "mole")
    await dashboard.goto(f"/conversations/{talk}")
    sheet = dashboard.get_by_role("region", name="demo: say first")
    await sheet.get_by_text("conductor · web · mole").click()
    async with dashboard.expect_download() as download:
        await sheet.get_by_role("link", name="Export the channel").click()
    with zipfile.ZipFile(await (await download.value).path()) as archive:
        texts = archive.read("conversations.jsonl").decode()
    assert ("demo: say first" in texts, "demo: say other" in texts) == (True, False)

    await sheet.get_by_role("button", name="Erase the channel").click()
    question = dashboard.get_by_role("dialog")
    await expect(question).to_contain_text("Erase everything in the channel mole?")
    await question.get_by_role("button", name="Erase the channel").click()
    await expect(sheet).to_have_count(0)

    async def erased() -> bool:
        return all(each["endedAt"] is not None for each in (await daemon.api("GET", "/api/erasures"))["items"])

    await until(erased)
    assert (await daemon.api("GET", "/api/conversations?platform=web&channel=mole"))["items"] == []
    assert await talk_in(daemon, "shed")


async def test_a_phone_shows_cards_and_a_conversation_on_the_whole_screen(phone: Page) -> None:
    await phone.goto("/conversations?platform=chat")
    await expect(phone.get_by_role("row").first).to_be_visible()
    assert await phone.evaluate("document.scrollingElement.scrollWidth") <= 390
    await phone.goto(f"/conversations/{LONG}")
    await expect(log_of(phone).get_by_text(f"assistant {TURNS} says so")).to_be_visible()
    sheet = phone.get_by_role("region", name="user 1 says")
    assert await sheet.evaluate("sheet => sheet.scrollWidth") <= 390


async def test_viewers_read_and_change_nothing(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto(f"/conversations/{LONG}")
        await expect(log_of(page).get_by_role("article").first).to_be_attached()
        sheet = page.get_by_role("region", name="user 1 says")
        await expect(sheet.get_by_role("link", name="Save as JSON")).to_be_visible()
        await expect(sheet.get_by_role("button", name="Close the conversation")).to_have_count(0)
        await sheet.get_by_text("chat · harbour").click()
        await expect(sheet.get_by_text("In the prompt")).to_be_visible()
        await expect(sheet.get_by_role("button", name="Erase the channel")).to_have_count(0)
        await log_of(page).get_by_role("button", name="Show older messages").click()
        await expect(log_of(page).get_by_role("button", name="Restore the messages")).to_have_count(0)
