"""Parts of the chat beside text: questions, files, several agents, roles, keys, small screens and long
conversations."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.async_api import Browser, FilePayload, Page, Response, Route, WebSocketRoute, expect

from tests.browser.chatting import (
    answers,
    column,
    connected,
    expect_statuses,
    guest,
    new_agent,
    questions,
    say,
    talk_with,
)
from tests.browser.daemon import Daemon

BUDGET = 250 * 1024

#: Records the duration of the page's longest task from now on, in ms.
LONG_TASKS = """window.longest = 0; new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({type: "longtask"})"""

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WRITE = 'demo: tool write_file {"path": "a.txt", "content": "hello"}'


async def test_a_tool_is_approved_where_it_is_asked(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon, "write_file")
    await say(dashboard, WRITE)
    question = dashboard.get_by_role("region", name="Waiting for your decision")
    await expect(question).to_contain_text('content: "hello"')
    await expect_statuses(dashboard, "Waiting for a decision")
    await question.get_by_role("button", name="Approve").click()
    await expect(answers(dashboard).last).to_contain_text("write_file:")
    await expect(question).to_have_count(0)
    await expect_statuses(dashboard, "Answered")
    waits = (await daemon.api("GET", "/api/questions?open=false"))["items"]
    assert waits[0]["answer"]["decision"] == "approve"


async def test_a_tool_is_called_with_other_arguments_or_not_at_all(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon, "write_file")
    await say(dashboard, WRITE)
    question = dashboard.get_by_role("region", name="Waiting for your decision")
    await question.get_by_role("button", name="Change the arguments").click()
    await question.get_by_role("textbox").fill("[1]")
    await question.get_by_role("button", name="Approve with these arguments").click()
    await expect(
        question.get_by_text("This is not a JSON object. Enter names and values between { and }.")
    ).to_be_visible()
    await question.get_by_role("textbox").fill('{"path": "b.txt", "content": "changed"}')
    await question.get_by_role("button", name="Approve with these arguments").click()
    await expect(answers(dashboard).last).to_contain_text("b.txt")
    await say(dashboard, WRITE)
    await question.get_by_role("button", name="Ask for something else").click()
    await question.get_by_label("What should the agent do instead?").fill("Never mind")
    await question.get_by_role("button", name="Send").click()
    await expect_statuses(dashboard, "Answered", "Answered")
    decided = [
        each["answer"]["decision"] for each in (await daemon.api("GET", "/api/questions?open=false"))["items"][:2]
    ]
    assert decided == ["feedback", "edit"]


async def test_a_picture_is_shown_before_and_after_a_reload(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    picture: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PICTURE}
    await dashboard.locator("input[type=file]").set_input_files([picture])
    await say(dashboard, "demo: say seen")
    await expect(answers(dashboard)).to_have_text(["seen", re.compile("cannot see the picture")])
    shown = dashboard.get_by_role("img", name="Image dot.png")
    for _ in range(2):
        await expect(shown).to_be_visible()
        assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        await dashboard.reload()
    assert str(await shown.get_attribute("src")).startswith("/api/messages/")


async def test_a_pasted_file_goes_along_and_what_is_too_much_is_told(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await dashboard.get_by_label("Message", exact=True).evaluate(
        """field => {
            const transfer = new DataTransfer();
            for (let number = 0; number < 11; number += 1) transfer.items.add(new File(["x"], `${number}.txt`));
            field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true, cancelable: true}));
        }"""
    )
    files = dashboard.get_by_role("list", name="Files to send").get_by_role("listitem")
    await expect(files).to_have_count(10)
    await expect(dashboard.get_by_role("alert")).to_contain_text("may have at most 10 files")
    await dashboard.get_by_role("button", name="Remove 3.txt").click()
    await expect(files).to_have_count(9)


async def test_a_file_of_an_agent_can_be_kept(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon, "write_file", "send_file")
    await say(dashboard, f'{WRITE}\ndemo: tool send_file {{"path": "a.txt"}}')
    await dashboard.get_by_role("button", name="Approve").click()
    link = dashboard.locator("[data-kind=agent]").get_by_role("link", name="a.txt")
    async with dashboard.expect_download() as download:
        await link.click()
    assert (await (await download.value).path()).read_bytes() == b"hello"


async def test_markdown_has_tables_and_code_that_is_copied(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await talk_with(dashboard, daemon)
    await say(
        dashboard,
        "demo: say | a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n```\\nmake it\\n```\\n\\n<img src=x onerror=alert(1)>",
    )
    await expect(answers(dashboard).get_by_role("cell")).to_have_text(["1", "2"])
    await expect(answers(dashboard)).to_contain_text("<img src=x onerror=alert(1)>")
    await answers(dashboard).get_by_role("button", name="Copy").click()
    assert await dashboard.evaluate("navigator.clipboard.readText()") == "make it\n"


async def test_two_agents_stand_side_by_side(dashboard: Page, daemon: Daemon) -> None:
    one, other = await new_agent(daemon), await new_agent(daemon)
    await dashboard.goto(f"/chat/{one}")
    await dashboard.get_by_role("link", name=f"Open {other.title()} in another column").click()
    await expect(dashboard).to_have_url(f"/chat/{one},{other}")
    await say(column(dashboard, one), "demo: say left")
    await say(column(dashboard, other), "demo: say right")
    await expect(answers(column(dashboard, one))).to_have_text(["left"])
    await expect(answers(column(dashboard, other))).to_have_text(["right"])
    await dashboard.get_by_role("button", name=f"Close {one.title()}").click()
    await expect(dashboard).to_have_url(f"/chat/{other}")


async def test_who_may_only_chat_talks_and_sees_their_past(browser: Browser, daemon: Daemon) -> None:
    slug = await new_agent(daemon)
    page, watch = await guest(browser, daemon, "chat")
    await connected(page)
    pages = page.get_by_role("navigation", name="Pages").first.get_by_role("link")
    await expect(pages).to_have_text(["Arvis", "Chat", "Memory"])
    await page.get_by_role("navigation", name="Agents").get_by_role("link", name=slug, exact=True).click()
    await say(page, "demo: say for a guest")
    await expect(answers(page)).to_have_text(["for a guest"])
    await page.reload()
    await expect(questions(page)).to_have_text(["demo: say for a guest"])
    await expect(answers(page)).to_have_text(["for a guest"])
    await page.context.close()
    watch.check()


async def test_a_viewer_reads_and_is_told_that_it_is_all(browser: Browser, daemon: Daemon) -> None:
    page, watch = await guest(browser, daemon, "viewer")
    await expect(page.get_by_text("Your role allows you to read messages here", exact=False)).to_be_visible()
    await expect(page.get_by_label("Message", exact=True)).to_have_count(0)
    await page.context.close()
    watch.check()


async def test_the_keyboard_is_enough(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon, "write_file")
    field = dashboard.get_by_label("Message", exact=True)
    await field.focus()
    await dashboard.keyboard.type("one")
    await dashboard.keyboard.press("Shift+Enter")
    await dashboard.keyboard.type(WRITE)
    await dashboard.keyboard.press("Enter")
    await expect(dashboard.get_by_role("button", name="Approve")).to_be_visible()
    for _ in range(20):
        await dashboard.keyboard.press("Shift+Tab")
        if await dashboard.evaluate("document.activeElement.textContent") == "Approve":
            break
    await dashboard.keyboard.press("Enter")
    await expect_statuses(dashboard, "Answered")


async def test_a_phone_has_room_for_it(phone: Page, daemon: Daemon) -> None:
    slug = await talk_with(phone, daemon)
    await say(phone, f"demo: say {'long' * 100}\\n\\n| a | b |\\n|---|---|\\n| {'x' * 60} | {'y' * 60} |")
    await expect(answers(phone)).to_have_count(1)
    assert await phone.evaluate("document.documentElement.scrollWidth") == 390
    await expect(phone.get_by_role("button", name="Send")).to_be_in_viewport()
    await phone.get_by_role("link", name="Arvis", exact=True).last.tap()
    await expect(phone.get_by_text("Say hello", exact=True)).to_be_visible()
    await phone.get_by_role("link", name=slug.title(), exact=True).tap()
    await expect(answers(phone)).to_have_count(1)


async def test_an_answer_that_was_read_is_not_marked_as_new(dashboard: Page, daemon: Daemon) -> None:
    slug = await talk_with(dashboard, daemon)
    left = asyncio.Event()

    async def late(route: Route) -> None:
        await left.wait()
        await route.continue_()

    await dashboard.route("**/api/conversations?*", late)
    await say(dashboard, "demo: say read")
    await expect(answers(dashboard)).to_have_text("read")
    await dashboard.get_by_role("navigation", name="Agents").get_by_role("link", name="Arvis", exact=True).click()
    await expect(dashboard.get_by_role("region", name="Conversation with Arvis")).to_be_visible()
    async with dashboard.expect_response("**/api/conversations?*"):
        left.set()
    await dashboard.wait_for_timeout(200)  # time for a wrong mark to appear
    await expect(dashboard.get_by_role("link", name=slug.title(), exact=True)).to_be_visible()


async def test_older_messages_come_on_demand_and_stay_in_order(dashboard: Page, daemon: Daemon) -> None:
    slug = await new_agent(daemon)
    for number in range(60):
        body = {"content": f"demo: say answer {number}", "channelId": f"dashboard-agent-{slug}"}
        sent = await daemon.api("POST", "/api/messages", body)
        await daemon.api(
            "GET", f"/api/messages/{sent['messageId']}/wait"
        )  # otherwise, waiting messages would be answered together
    await dashboard.goto(f"/chat/{slug}")
    await expect(answers(dashboard).last).to_have_text("answer 59", timeout=20_000)
    await dashboard.reload()
    await expect(answers(dashboard).last).to_have_text("answer 59")
    await expect(answers(dashboard).last).to_be_in_viewport()
    await dashboard.get_by_role("button", name="Show older messages").click()
    await expect(questions(dashboard)).to_have_text([f"demo: say answer {number}" for number in range(60)])
    await expect(dashboard.get_by_role("button", name="Show older messages")).to_have_count(0)


@pytest.mark.alone
async def test_two_thousand_messages_stay_smooth(dashboard: Page, daemon: Daemon, figures: list[str]) -> None:
    """The messages are made up, since real ones would take minutes; the test measures the page."""
    slug = await new_agent(daemon)
    await dashboard.route("**/api/conversations?*channel=*", lambda route: route.fulfill(json=one_talk(slug)))
    await dashboard.route(
        "**/api/conversations/long/messages?*", lambda route: route.fulfill(json=page_of(route.request.url))
    )
    await dashboard.goto(f"/chat/{slug}")
    older = dashboard.get_by_role("button", name="Show older messages")
    for shown in range(100, 2_000, 200):
        await expect(dashboard.locator("article")).to_have_count(shown)
        await older.click()
    await expect(older).to_have_count(0)
    await expect(dashboard.locator("article")).to_have_count(2_000)
    await dashboard.evaluate(LONG_TASKS)
    await dashboard.get_by_label("Message", exact=True).press_sequentially("demo: say smooth", delay=20)
    await dashboard.keyboard.press("Enter")
    await expect(answers(dashboard).last).to_have_text("smooth")
    longest = await dashboard.evaluate("window.longest")
    figures.append(f"2,000 messages: the longest task while writing and hearing took {longest:.0f} ms (limit 400)")
    assert longest < 400


def one_talk(slug: str) -> dict[str, object]:
    place = {"platform": "web", "connector": "web", "channelId": f"dashboard-agent-{slug}", "thread": ""}
    talk = {"id": "long", "agent": slug, "turns": 1000, "createdAt": 1, "lastMessageAt": 3_000, "open": True, **place}
    return {"items": [{**talk, "title": "Long", "preview": "", "participants": 1}], "nextCursor": None}


def page_of(url: str) -> dict[str, object]:
    """Return a hundred of two thousand messages; the cursor is the number of the first one."""
    first = int(parse_qs(urlparse(url).query).get("cursor", ["0"])[0])
    items = [stored(2_000 - number) for number in range(first, first + 100)]
    return {"items": items, "nextCursor": str(first + 100) if first < 1_900 else None}


def stored(number: int) -> dict[str, object]:
    words = f"**Message {number}** with `code`\n\n- one\n- two\n\n| a | b |\n|---|---|\n| {number} | x |"
    about = {"role": "user" if number % 2 else "assistant", "content": words, "status": "answered", "reason": None}
    whose = {"userName": "Owner", "agent": None, "replyTo": None, "createdAt": number}
    return {"id": f"M{number}", **about, **whose, "attachments": [], "files": [], "buttons": []}


async def test_a_hand_over_is_a_quiet_line(dashboard: Page, daemon: Daemon) -> None:
    """The test sends the daemon's handover frames to the page's socket."""
    sockets: list[WebSocketRoute] = []

    def meet(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    await dashboard.route_web_socket("**/ws", meet)
    slug = await talk_with(dashboard, daemon)
    moved = {"type": "agent_moved", "messageId": "M", "from": "conductor", "to": slug}
    ended = {"type": "transfer_data", "messageId": "M", "graph": "planning", "stopReason": "done"}
    for frame in (moved, ended):
        for socket in sockets:
            socket.send(json.dumps(frame))
    notes = dashboard.locator("[data-kind=note]")
    await expect(notes).to_have_text([f"Conductor handed the conversation over to {slug.title()}.", "Plan: done"])


async def test_the_first_load_is_small(browser: Browser, daemon: Daemon, figures: list[str]) -> None:
    """Measure the compressed size of all responses."""
    async with await browser.new_context(base_url=daemon.address) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        answered: list[Response] = []

        def note(response: Response) -> None:
            answered.append(response)

        page.on("response", note)
        await page.goto("/chat")
        await connected(page)
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        sizes = {response.url: len(gzip.compress(await response.body())) for response in answered}
    whole = sum(sizes.values())
    figures.append(f"first load of the chat: {whole / 1024:.0f} KB gzip in {len(sizes)} answers (limit 250)")
    assert whole <= BUDGET, sizes


async def test_an_answered_question_says_what_was_decided(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon, "write_file")
    await say(dashboard, WRITE)
    question = dashboard.get_by_role("region", name="Waiting for your decision")
    await question.get_by_role("button", name="Reject").click()
    await expect(question).to_have_count(0)
    closed = dashboard.get_by_text("This question is closed: it was rejected.")
    await expect(closed).to_be_visible()
    await dashboard.reload()
    await expect(closed).to_be_visible()


async def test_what_arvis_says_itself_is_a_notice_and_no_word_of_the_agent(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: fail auth")
    notice = dashboard.locator("[data-notice]").filter(has_text="could not finish a task")
    for _ in range(2):
        await expect(notice).to_contain_text("Arvis Notice")
        await expect(notice).to_contain_text("You can see and retry the failed jobs on the Queue page")
        await expect(notice).not_to_contain_text("arvis jobs")
        await dashboard.reload()
