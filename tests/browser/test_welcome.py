"""The first run: from the terminal's login link to an agent that answers here and on a chat platform."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from arvis.testing.openai_server import Failure, OpenAIServer, Reply, openai_server
from tests.browser.asking import until
from tests.browser.chatting import answers
from tests.browser.daemon import Daemon
from tests.browser.secrets_watch import SecretsWatch
from tests.browser.watching import Watch
from tests.platforms.telegram_server import TelegramServer, telegram_server
from tests.platforms.telegram_stage import TOKEN, TelegramStage

MOST_INTERACTIONS = 12
PASSWORD = "four words for me"
KEY = "sk-canary-of-the-first-run-01"
ANSWER = "Hello from the loopback model."
SLOW_MS = 15_000


class Hand:
    """The actions of a person, counted: a link opened, a click, a filled field, a pressed key."""

    def __init__(self) -> None:
        self.interactions = 0

    async def open(self, page: Page, address: str) -> None:
        self.interactions += 1
        await page.goto(address)

    async def click(self, place: Locator) -> None:
        self.interactions += 1
        await place.click()

    async def fill(self, place: Locator, text: str) -> None:
        self.interactions += 1
        await place.fill(text)

    async def press(self, place: Locator, key: str) -> None:
        self.interactions += 1
        await place.press(key)


@pytest_asyncio.fixture(loop_scope="session")
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(default=Reply(("Hello", " from the", " loopback model."), pause=0.05)) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def telegram() -> AsyncIterator[TelegramServer]:
    async with telegram_server() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser, own_daemon: Daemon) -> AsyncIterator[Page]:
    """A page on which nobody is logged in yet."""
    async with await browser.new_context(base_url=own_daemon.address) as context:
        page = await context.new_page()
        watch = Watch(own_daemon.address)
        await watch.over(page)
        yield page
    watch.check()


def step(page: Page, title: str) -> Locator:
    return page.get_by_role("main").get_by_role("listitem").filter(has=page.get_by_role("heading", name=title))


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name)


async def point(page: Page, disclosure: str, field: str, address: str) -> None:
    """Direct a vendor or a platform to the server of this test."""
    await page.get_by_text(disclosure, exact=True).click()
    await page.get_by_label(field, exact=True).fill(address)


async def state(daemon: Daemon) -> dict[str, bool]:
    found: dict[str, bool] = await daemon.api("GET", "/api/setup")
    return found


async def test_from_the_link_to_a_bot_that_answers(
    visitor: Page, own_daemon: Daemon, model: OpenAIServer, telegram: TelegramServer, figures: list[str]
) -> None:
    page, hand, stage = visitor, Hand(), TelegramStage(server=telegram, settings={})
    secrets, began = SecretsWatch(page, KEY, TOKEN, PASSWORD), time.monotonic()
    await hand.open(page, own_daemon.login_link)
    await expect(page).to_have_url(f"{own_daemon.address}/welcome")
    await hand.fill(page.get_by_role("textbox", name="Password"), PASSWORD)
    await hand.press(page.get_by_role("textbox", name="Password"), "Enter")

    await hand.click(button(page, "OpenAI The GPT models."))
    await point(page, "Another model or address", "Address", model.base_url)
    await hand.fill(page.get_by_label("Key"), KEY)
    await expect(step(page, "Choose a model")).to_contain_text("answered in")
    await expect(step(page, "Choose a model")).to_contain_text("This test call cost")

    await hand.click(button(page, "Team helper"))
    await hand.click(button(page, "Create agent"))
    await hand.click(button(page, "Send"))
    await expect(answers(page)).to_have_text([ANSWER])

    await hand.click(button(page, "Telegram"))
    await point(page, "More settings", "API address", telegram.url)
    await hand.fill(page.get_by_label("Bot token"), TOKEN)
    await expect(page.get_by_text("The bot is @arvis_bot.")).to_be_visible()
    await hand.click(button(page, "Start the bot"))
    await expect(page.get_by_text("Write to @arvis_bot on the platform.")).to_be_visible(timeout=SLOW_MS)

    await stage.say("hello")
    chat = stage.private("ann")
    await until(lambda: spoke(chat.messages.values()))
    took = time.monotonic() - began
    await expect(page.get_by_role("heading", name="Setup complete")).to_be_visible()
    figures.append(f"first run: {hand.interactions} interactions, {took:.1f} s from the link to a working bot")
    assert hand.interactions <= MOST_INTERACTIONS
    found = await state(own_daemon)
    assert (found.pop("dismissed"), set(found.values())) == (False, {True})
    await secrets.check()


async def spoke(messages: object) -> bool:
    return ANSWER in str(list(messages))  # type: ignore[call-overload]


async def test_each_step_can_be_skipped_and_found_again(visitor: Page, own_daemon: Daemon) -> None:
    page = visitor
    await page.goto(own_daemon.login_link)
    for title, words in (
        ("Choose a password", "Skip"),
        ("Choose a model", "Use the demo model for now"),
        ("Create your first agent", "Skip"),
        ("Say hello", "Skip"),
        ("Connect Discord, Telegram or Slack", "Skip"),
    ):
        await step(page, title).get_by_role("button", name=words).click()
        await expect(step(page, title)).to_contain_text("Skipped.")
    await expect(page.get_by_role("heading", name="Setup complete")).to_be_visible()
    await button(page, "Do it now: Create your first agent").click()
    await expect(button(page, "Create agent")).to_be_visible()
    await page.goto("/settings")
    await page.get_by_role("link", name="Finish setting up").click()
    await step(page, "Create your first agent").get_by_role("button", name="Skip").click()
    await button(page, "Open the chat").click()
    await expect(page).to_have_url("/chat")
    assert (await state(own_daemon))["dismissed"]
    await page.goto("/settings")
    await expect(page.get_by_role("link", name="Model accounts").first).to_be_visible()
    await expect(page.get_by_role("link", name="Finish setting up")).to_have_count(0)


async def test_who_comes_back_goes_on_where_the_daemon_stands(
    visitor: Page, own_daemon: Daemon, model: OpenAIServer
) -> None:
    account = {"name": "own", "provider": "openai", "baseUrl": model.base_url, "apiKey": KEY}
    await own_daemon.api("POST", "/api/accounts", account)
    await own_daemon.api("POST", "/api/agents", {"slug": "rex", "name": "Rex"})
    page = visitor
    await page.context.add_cookies([await own_daemon.cookie()])
    await page.goto("/welcome")
    await expect(step(page, "Choose a model")).to_contain_text("You have a model account.")
    await expect(step(page, "Choose a model").get_by_role("button")).to_have_count(0)
    await expect(step(page, "Create your first agent")).to_contain_text("You have your own agent.")
    await step(page, "Choose a password").get_by_role("button", name="Skip").click()
    await expect(step(page, "Say hello").get_by_role("heading", name="Rex")).to_be_visible()
    await by_a_new_link(page, own_daemon)
    await expect(page).to_have_url("/welcome")
    await button(page, "Do not show this page again").click()
    await expect(page).to_have_url("/chat")
    await by_a_new_link(page, own_daemon)
    await expect(page).to_have_url("/chat")


async def by_a_new_link(page: Page, daemon: Daemon) -> None:
    await page.goto("about:blank")
    await page.goto((await daemon.api("POST", "/api/auth/codes"))["url"])


async def test_a_wrong_key_and_a_wrong_token_say_what_to_do_and_lose_nothing(
    visitor: Page, own_daemon: Daemon, model: OpenAIServer, telegram: TelegramServer
) -> None:
    page, wrong = visitor, "123456:AAwrongWRONGwrongWRONGwrongWRONGwr"
    model.script.append(Failure(401, "invalid_api_key"))
    await page.goto(own_daemon.login_link)
    await step(page, "Choose a password").get_by_role("button", name="Skip").click()
    await button(page, "OpenAI The GPT models.").click()
    await point(page, "Another model or address", "Address", model.base_url)
    await page.get_by_label("Key").fill(KEY)
    await expect(step(page, "Choose a model").get_by_role("alert")).to_contain_text("Check the key")
    await expect(page.get_by_label("Key")).to_have_value(KEY)
    await expect(page.get_by_label("Address", exact=True)).to_have_value(model.base_url)
    assert (await own_daemon.api("GET", "/api/accounts"))["items"] == []
    await button(page, "Test and save").click()
    await expect(button(page, "Create agent")).to_be_visible()
    await expect(step(page, "Choose a model")).to_contain_text("answered in")
    assert [one["name"] for one in (await own_daemon.api("GET", "/api/accounts"))["items"]] == ["openai"]

    for title in ("Create your first agent", "Say hello"):
        await step(page, title).get_by_role("button", name="Skip").click()
    await button(page, "Telegram").click()
    await point(page, "More settings", "API address", telegram.url)
    await page.get_by_label("Bot token").fill(wrong)
    await expect(page.get_by_role("alert")).to_contain_text("does not accept the bot's token")
    await expect(page.get_by_role("alert")).to_contain_text("BotFather")
    await expect(page.get_by_label("Bot token")).to_have_value(wrong)
    assert (await own_daemon.api("GET", "/api/bots"))["items"] == []
