"""The chat in a real browser, against the real daemon: nothing is lost and nothing is shown twice."""

from __future__ import annotations

import re

from playwright.async_api import FilePayload, Page, expect

from tests.browser.chatting import answers, connected, expect_statuses, log_in, questions, say, talk_with
from tests.browser.daemon import Daemon
from tests.browser.watching import Watch


async def test_the_login_link_opens_the_chat_and_leaves_no_code_behind(page: Page, own_daemon: Daemon) -> None:
    watch = Watch(own_daemon.address)
    await watch.over(page)
    await log_in(page, own_daemon)
    assert page.url == f"{own_daemon.address}/chat"
    await expect(page.get_by_text("Say hello", exact=True)).to_be_visible()
    await page.reload()
    await connected(page)
    watch.check()


async def test_without_a_session_the_page_says_how_to_get_a_link(page: Page, daemon: Daemon) -> None:
    await page.goto(daemon.address)
    await expect(page.get_by_text("arvis login", exact=True)).to_be_visible()
    await expect(page.get_by_label("Message", exact=True)).to_be_hidden()


async def test_a_used_link_says_why_it_does_not_work(page: Page, own_daemon: Daemon) -> None:
    await log_in(page, own_daemon)
    await page.context.clear_cookies()
    await page.goto("about:blank")
    await page.goto(own_daemon.login_link)
    await expect(page.get_by_role("alert")).to_contain_text("not valid")


async def test_an_answer_is_streamed_and_then_final(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: say The beginning\ndemo: sleep 1\ndemo: say and the end")
    stream = dashboard.locator("[data-kind=agent] [data-body][aria-busy]")
    await expect(stream).to_have_text("The beginning")
    await expect(dashboard.locator("[data-activity]")).to_contain_text("is working")
    await expect(dashboard.get_by_role("button", name="Stop")).to_be_visible()
    await expect(answers(dashboard)).to_have_text(["The beginning\nand the end"])
    await expect_statuses(dashboard, "Answered")
    await expect(dashboard.get_by_role("button", name="Stop")).to_be_hidden()


async def test_why_leads_to_the_timeline_of_an_answer(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "hello")
    message = dashboard.locator("[data-kind=user][data-message]")
    id_ = await message.get_attribute("data-message")
    await dashboard.get_by_role("link", name="Why this answer?").click()
    await expect(dashboard).to_have_url(f"/messages/{id_}")
    await dashboard.go_back()
    await expect(answers(dashboard)).to_have_count(1)
    await expect(message).to_have_count(1)


async def test_an_agent_is_chosen_by_its_link(page: Page, own_daemon: Daemon) -> None:
    await log_in(page, own_daemon)
    agents = page.get_by_role("navigation", name="Agents")
    await agents.get_by_role("link", name="Helper", exact=True).click()
    await expect(page.get_by_role("heading", name="Helper")).to_be_visible()
    await say(page, "demo: say only here")
    await expect(answers(page)).to_have_text(["only here"])
    await agents.get_by_role("link", name="Arvis", exact=True).click()
    await expect(page.get_by_text("Say hello", exact=True)).to_be_visible()
    await expect(answers(page)).to_have_count(0)


async def test_files_go_along_with_a_message(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    note: FilePayload = {"name": "note \u202egpj.txt", "mimeType": "text/plain", "buffer": b"remember"}
    await dashboard.locator("input[type=file]").set_input_files([note])
    waiting = dashboard.get_by_role("list", name="Files to send").get_by_role("listitem")
    await expect(waiting).to_contain_text("note [U+202E]gpj.txt · 8 B")
    await say(dashboard, "demo: say got it")
    await expect(answers(dashboard)).to_have_text(["got it"])
    await expect(waiting).to_have_count(0)
    sent = dashboard.locator("[data-kind=user]").get_by_role("list", name="Files").get_by_role("listitem")
    await expect(sent).to_have_text(["note [U+202E]gpj.txt · 8 B"])


async def test_a_reply_quotes_its_message(dashboard: Page, daemon: Daemon) -> None:
    slug = await talk_with(dashboard, daemon)
    await say(dashboard, "demo: say The <b>crane</b> of berth 7 is broken")
    answer = dashboard.locator("[data-kind=agent]")
    await answer.get_by_role("button", name="Reply").click()
    await expect(dashboard.get_by_label("Message", exact=True)).to_be_focused()
    waiting = dashboard.locator("form blockquote")
    await expect(waiting).to_contain_text("Reply to a message of the bot")
    await expect(waiting).to_contain_text("The <b>crane</b> of berth 7 is broken")
    await dashboard.get_by_role("button", name="Do not reply to this message").click()
    await expect(waiting).to_have_count(0)
    await dashboard.locator("[data-kind=user]").get_by_role("button", name="Reply").click()
    await expect(waiting).to_contain_text("Reply to your message")
    await answer.get_by_role("button", name="Reply").click()
    await say(dashboard, "demo: say since Monday")
    await expect(answers(dashboard)).to_have_text([re.compile("crane"), "since Monday"])
    await expect(waiting).to_have_count(0)
    quoted = dashboard.locator("[data-kind=user] blockquote")
    for _ in range(2):
        await expect(quoted).to_have_text("Reply to a message of the botThe <b>crane</b> of berth 7 is broken")
        await dashboard.reload()
        await connected(dashboard)
    [talk] = (await daemon.api("GET", f"/api/conversations?agent={slug}"))["items"]
    said = (await daemon.api("GET", f"/api/conversations/{talk['id']}/messages"))["items"]
    replies = [each for each in said if each["quotations"]]
    assert [each["quotations"][0]["writer"] for each in replies] == ["agent"]
    assert replies[0]["quotations"][0]["messageId"] == await answer.first.get_attribute("data-message")


async def test_the_stop_button_ends_a_turn(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: sleep 300\ndemo: say too late")
    await expect_statuses(dashboard, "Working")
    await dashboard.get_by_role("button", name="Stop").click()
    await expect_statuses(dashboard, "Cancelled")
    await expect(dashboard.get_by_text("too late", exact=True)).to_have_count(0)


async def test_a_failure_shows_its_reason_and_the_way_to_it(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: fail auth")
    await expect_statuses(dashboard, "Not answered: The vendor did not accept the key of the model account.")
    await dashboard.get_by_role("link", name="Why no answer?").click()
    await expect(dashboard).to_have_url(re.compile("/messages/"))


async def test_a_delayed_message_says_so(page: Page, own_daemon: Daemon) -> None:
    await log_in(page, own_daemon)
    await say(page, "demo: fail rate_limit")
    await expect_statuses(page, "Will be retried")
    await expect(answers(page)).to_have_count(1)


async def test_a_refused_message_can_be_edited_and_sent_again(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    odd: FilePayload = {"name": "a.odd", "mimeType": "odd", "buffer": b"odd"}
    await dashboard.locator("input[type=file]").set_input_files([odd])
    await say(dashboard, "demo: say now")
    await expect(dashboard.get_by_text("Not answered: `contentType` must be a media type")).to_be_visible()
    await dashboard.get_by_role("button", name="Edit and resend").click()
    field = dashboard.get_by_label("Message", exact=True)
    await expect(field).to_have_value("demo: say now")
    await expect(questions(dashboard)).to_have_count(0)
    await dashboard.get_by_role("button", name="Remove a.odd").click()
    await field.press("Enter")
    await expect(answers(dashboard)).to_have_text(["now"])


async def test_messages_survive_a_killed_daemon_and_are_shown_once(page: Page, own_daemon: Daemon) -> None:
    watch = Watch(own_daemon.address)
    await watch.over(page)
    await log_in(page, own_daemon)
    await say(page, "demo: say one")
    await expect_statuses(page, "Answered")
    await own_daemon.kill()
    await say(page, "demo: say two")
    await expect_statuses(page, "Answered", "Waiting for the connection")
    await own_daemon.start()
    await expect_statuses(page, "Answered", "Answered")
    await say(page, "demo: say three")
    await expect_statuses(page, "Answered", "Answered", "Answered")
    said, heard = ["demo: say one", "demo: say two", "demo: say three"], ["one", "two", "three"]
    await expect(questions(page)).to_have_text(said)
    await expect(answers(page)).to_have_text(heard)
    await page.reload()
    await expect(questions(page)).to_have_text(said)
    await expect(answers(page)).to_have_text(heard)
    watch.check()


async def test_a_turn_that_was_cut_off_is_answered_after_the_restart(page: Page, own_daemon: Daemon) -> None:
    watch = Watch(own_daemon.address)
    await watch.over(page)
    await log_in(page, own_daemon)
    await say(page, "demo: say a\ndemo: sleep 1\ndemo: say b")
    await expect(page.locator("[data-kind=agent] [data-body][aria-busy]")).to_have_text("a")
    await own_daemon.kill()
    await own_daemon.start()
    await expect_statuses(page, "Answered")
    await expect(answers(page)).to_have_text(["a\nb"])
    await expect(page.locator("[data-kind=agent]")).to_have_count(1)
    watch.check()


async def test_unsent_text_outlives_the_tab_and_a_dead_daemon_and_arrives_once(page: Page, own_daemon: Daemon) -> None:
    await log_in(page, own_daemon)
    await say(page, "demo: say first")
    await expect(answers(page)).to_have_text(["first"])
    await own_daemon.kill()
    await say(page, "demo: say kept")
    await expect_statuses(page, "Answered", "Waiting for the connection")
    await page.close(run_before_unload=True)
    await own_daemon.start()
    later = await page.context.new_page()
    await later.goto(f"{own_daemon.address}/now")
    # The name of the link contains the number of new answers.
    await later.get_by_role("link", name=re.compile("^Chat")).first.click()
    await expect(answers(later)).to_have_text(["first", "kept"], timeout=45_000)
    await later.reload()
    await expect(answers(later)).to_have_text(["first", "kept"])


async def test_a_reload_in_the_middle_of_an_answer_shows_its_text_so_far(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: say begun\ndemo: sleep 5\ndemo: say ended")
    stream = dashboard.locator("[data-kind=agent] [data-body][aria-busy]")
    await expect(stream).to_have_text("begun")
    await dashboard.reload()
    await expect(stream).to_have_text("begun", timeout=4_000)
    await expect(answers(dashboard)).to_have_text(["begun\nended"], timeout=15_000)


async def test_a_draft_belongs_to_its_conversation_and_outlives_a_reload(dashboard: Page, daemon: Daemon) -> None:
    first = await talk_with(dashboard, daemon)
    field = dashboard.get_by_label("Message", exact=True)
    await field.fill("half a thought")
    await talk_with(dashboard, daemon)
    await expect(field).to_have_value("")
    await dashboard.get_by_role("link", name=first.title(), exact=True).click()
    await expect(field).to_have_value("half a thought")
    await dashboard.reload()
    await expect(field).to_have_value("half a thought")


async def test_the_title_and_the_list_count_what_nobody_has_read(dashboard: Page, daemon: Daemon) -> None:
    slug = await talk_with(dashboard, daemon)
    await say(dashboard, "demo: sleep 1\ndemo: say later")
    await expect_statuses(dashboard, "Working")
    await dashboard.get_by_role("link", name="Now", exact=True).click()
    await expect(dashboard).to_have_title(re.compile(r"^\(1\) "))
    await dashboard.get_by_role("link", name="Chat", exact=False).first.click()
    link = dashboard.get_by_role("navigation", name="Agents").get_by_role("link", name=slug.title())
    await expect(link.first).to_contain_text("1 new answer")
    await link.first.click()
    await expect(dashboard).to_have_title(f"{slug.title()} · Arvis")
    await expect(answers(dashboard)).to_have_text(["later"])


async def test_an_edited_message_begins_a_version_and_arrows_switch_back(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: say first")
    await expect(answers(dashboard)).to_have_text(["first"])
    await say(dashboard, "demo: say second")
    await expect(answers(dashboard)).to_have_text(["first", "second"])
    await dashboard.get_by_role("button", name="Edit", exact=True).first.click()
    form = dashboard.get_by_role("dialog", name="Edit your message")
    await form.get_by_label("New text").fill("demo: say other")
    await form.get_by_role("button", name="Answer again").click()
    question = dashboard.get_by_role("dialog", name="Answer again")
    await expect(question).to_contain_text("The last 2 answers are kept")
    await question.get_by_role("button", name="Cancel").click()
    await expect(form.get_by_label("New text")).to_have_value("demo: say other")
    await form.get_by_role("button", name="Answer again").click()
    await question.get_by_role("button", name="Answer again").click()
    await expect(answers(dashboard)).to_have_text(["other"])
    versions = dashboard.get_by_role("group", name="Versions")
    await expect(versions).to_contain_text("2/2")
    await versions.get_by_role("button", name="Show the earlier version").click()
    await expect(answers(dashboard)).to_have_text(["first", "second"])
    await expect(versions).to_contain_text("1/2")
    await dashboard.get_by_role("button", name="Answer again").last.click()
    await expect(versions).to_have_count(2)
    await expect(answers(dashboard)).to_have_text(["first", "second"])
