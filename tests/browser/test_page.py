"""The chat page in a real browser, against the real daemon: nothing is lost and nothing is shown twice."""

from __future__ import annotations

from playwright.async_api import ConsoleMessage, FilePayload, Locator, Page, expect

from tests.browser.daemon import Daemon

#: Longer than the longest pause between two tries to connect.
PATIENCE_MS = 45_000

#: What Chromium itself logs when a server is away; no page can keep it from doing so.
SERVER_AWAY = ("WebSocket connection to", "Failed to load resource: net::ERR_CONNECTION_")


class Complaints(list[str]):
    """Everything the console calls an error, but for the absence of a server that was killed."""

    def __init__(self, page: Page) -> None:
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(SERVER_AWAY):
            self.append(f"{message.text} ({message.location['url']})")


async def log_in(page: Page, daemon: Daemon) -> None:
    await page.goto(daemon.login_link)
    await expect(page.locator("#link-words")).to_have_text("Connected")


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


def questions(page: Page) -> Locator:
    return page.locator("article.user .bubble p")


def answers(page: Page) -> Locator:
    return page.locator("article.agent .body:not([aria-busy])")


async def expect_statuses(page: Page, *statuses: str) -> None:
    await expect(page.locator("article.user .status")).to_have_text(list(statuses), timeout=PATIENCE_MS)


async def test_the_login_link_opens_the_chat_and_leaves_no_code_behind(page: Page, daemon: Daemon) -> None:
    complaints = Complaints(page)
    await log_in(page, daemon)
    assert page.url == f"{daemon.address}/"
    await expect(page.get_by_text("Say hello", exact=True)).to_be_visible()
    await page.reload()
    await expect(page.locator("#link-words")).to_have_text("Connected")
    assert complaints == []


async def test_without_a_session_the_page_says_how_to_get_a_link(page: Page, daemon: Daemon) -> None:
    await page.goto(daemon.address)
    await expect(page.get_by_text("arvis login", exact=True)).to_be_visible()
    await expect(page.get_by_label("Message", exact=True)).to_be_hidden()


async def test_a_used_link_says_why_it_does_not_work(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    await page.context.clear_cookies()
    await page.goto("about:blank")
    await page.goto(daemon.login_link)
    await expect(page.locator("#signed-out-why")).to_contain_text("not valid")


async def test_an_answer_is_streamed_and_then_final(page: Page, daemon: Daemon) -> None:
    complaints = Complaints(page)
    await log_in(page, daemon)
    await say(page, "demo: say The beginning\ndemo: sleep 1\ndemo: say and the end")
    stream = page.locator("article.agent .body[aria-busy]")
    await expect(stream).to_have_text("The beginning")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await expect(answers(page)).to_have_text(["The beginning\nand the end"])
    await expect_statuses(page, "Answered")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert complaints == []


async def test_why_shows_the_timeline_of_an_answer(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    await say(page, "hello")
    await page.get_by_role("button", name="Why this answer?").click()
    dialog = page.get_by_role("dialog", name="What happened to this message")
    await expect(dialog.locator(".summary")).to_have_text("Answered.")
    await expect(dialog.locator(".steps li").first).to_contain_text("Received")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()


async def test_an_agent_is_chosen_by_its_link(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    await page.get_by_role("link", name="Helper").click()
    await expect(page.get_by_role("heading", name="Helper")).to_be_visible()
    await say(page, "demo: say only here")
    await expect(answers(page)).to_have_text(["only here"])
    await page.get_by_role("link", name="Default agent").click()
    await expect(page.get_by_text("Say hello", exact=True)).to_be_visible()
    await expect(answers(page)).to_have_count(0)


async def test_files_go_along_with_a_message(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    note: FilePayload = {"name": "note \u202egpj.txt", "mimeType": "text/plain", "buffer": b"remember"}
    await page.locator("#chooser").set_input_files([note])
    await expect(page.locator("#files li")).to_contain_text("note [U+202E]gpj.txt · 8 B")
    await say(page, "demo: say got it")
    await expect(answers(page)).to_have_text(["got it"])
    await expect(page.locator("#files li")).to_have_count(0)
    await expect(page.locator("article.user .files li")).to_have_text(["note [U+202E]gpj.txt · 8 B"])


async def test_the_stop_button_ends_a_turn(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    await say(page, "demo: sleep 300\ndemo: say too late")
    await expect_statuses(page, "Working")
    await page.get_by_role("button", name="Stop").click()
    await expect_statuses(page, "Stopped")
    await expect(page.get_by_text("too late", exact=True)).to_have_count(0)


async def test_a_failure_shows_its_reason_and_the_way_to_it(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    await say(page, "demo: fail auth")
    await expect_statuses(page, "Not answered: auth.")
    await page.get_by_role("button", name="Why no answer?").click()
    await expect(page.get_by_role("dialog").locator(".summary")).to_have_text("Not answered. Reason: auth")


async def test_a_delayed_message_says_so(page: Page, daemon: Daemon) -> None:
    await log_in(page, daemon)
    await say(page, "demo: fail rate_limit")
    await expect_statuses(page, "Will be tried again")
    await expect(answers(page)).to_have_count(1)


async def test_messages_survive_a_killed_daemon_and_are_shown_once(page: Page, daemon: Daemon) -> None:
    complaints = Complaints(page)
    await log_in(page, daemon)
    await say(page, "demo: say one")
    await expect_statuses(page, "Answered")
    await daemon.kill()
    await say(page, "demo: say two")
    await expect_statuses(page, "Answered", "Waits for the connection")
    await daemon.start()
    await expect_statuses(page, "Answered", "Answered")
    await say(page, "demo: say three")
    await expect_statuses(page, "Answered", "Answered", "Answered")
    said, heard = ["demo: say one", "demo: say two", "demo: say three"], ["one", "two", "three"]
    await expect(questions(page)).to_have_text(said)
    await expect(answers(page)).to_have_text(heard)
    await page.reload()
    await expect(questions(page)).to_have_text(said)
    await expect(answers(page)).to_have_text(heard)
    assert complaints == []


async def test_a_turn_that_was_cut_off_is_answered_after_the_restart(page: Page, daemon: Daemon) -> None:
    complaints = Complaints(page)
    await log_in(page, daemon)
    await say(page, "demo: say a\ndemo: sleep 1\ndemo: say b")
    await expect(page.locator("article.agent .body[aria-busy]")).to_have_text("a")
    await daemon.kill()
    await daemon.start()
    await expect_statuses(page, "Answered")
    await expect(answers(page)).to_have_text(["a\nb"])
    await expect(page.locator("article.agent")).to_have_count(1)
    assert complaints == []
