"""Agents on their pages: created, changed, restored, paused, bound to channels, deleted and tried."""

from __future__ import annotations

from itertools import count
from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import visitor
from tests.browser.daemon import Daemon

_numbers = count(1)


async def agent(daemon: Daemon, **fields: object) -> str:
    """Create an agent, and return its slug."""
    slug = f"clerk-{next(_numbers)}"
    await daemon.api("POST", "/api/agents", {"slug": slug, "name": slug.title(), "model": "demo/demo", **fields})
    return slug


async def known(daemon: Daemon, slug: str) -> Any:
    return await daemon.api("GET", f"/api/agents/{slug}")


async def test_an_agent_is_made_with_prompt_model_and_tools(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/agents")
    await dashboard.get_by_role("link", name="New agent").click()
    await dashboard.get_by_label("Name", exact=True).fill("Zoë's News!")
    await expect(dashboard.get_by_label("Slug")).to_have_value("zoe-s-news")
    await dashboard.get_by_label("Description").fill("Reads the news.")
    await dashboard.get_by_role("button", name="Researcher").click()
    await dashboard.get_by_label("Model", exact=True).select_option("*")
    await dashboard.get_by_label("Model name").fill("demo/demo")
    harmless = "calculate, get_time, http_fetch, and web_search"
    await expect(dashboard.get_by_text(f"tools other than {harmless}, only owners")).to_be_visible()
    await dashboard.get_by_label("Find a tool").fill("search the web")
    await expect(dashboard.get_by_role("checkbox")).to_have_count(1)
    await dashboard.get_by_role("checkbox", name="web_search").check()
    await expect(dashboard.get_by_text("Sends data out")).to_be_visible()
    await dashboard.get_by_label("Find a tool").fill("")
    await dashboard.get_by_role("checkbox", name="get_time").check()
    await dashboard.get_by_role("button", name="Create agent").click()
    await expect(dashboard).to_have_url("/agents/zoe-s-news")
    made = await known(daemon, "zoe-s-news")
    assert (made["name"], made["model"], made["tools"]) == ("Zoë's News!", "demo/demo", ["web_search", "get_time"])
    assert made["prompt"].startswith("You research questions")
    assert (made["role"], made["graph"], made["contextTokens"]) == ("custom", "agent", 96_000)


async def test_what_cannot_be_made_is_told_and_nothing_typed_is_lost(dashboard: Page, daemon: Daemon) -> None:
    taken = await agent(daemon)
    await dashboard.goto("/agents/new")
    await dashboard.get_by_label("Name", exact=True).fill("Somebody else")
    await dashboard.get_by_label("Slug").fill(taken)
    await dashboard.get_by_label("Prompt", exact=True).fill("My own words.")
    await dashboard.get_by_role("button", name="Create agent").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("Choose another slug")
    await expect(dashboard.get_by_label("Prompt", exact=True)).to_have_value("My own words.")
    await dashboard.get_by_role("button", name="Everyday helper").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(dashboard.get_by_label("Prompt", exact=True)).to_have_value("My own words.")


async def test_a_change_is_shown_before_it_is_saved_told_in_the_history_and_taken_back(
    dashboard: Page, daemon: Daemon
) -> None:
    slug = await agent(daemon, prompt="Be kind.\nBe brief.", tools=["get_time"])
    await dashboard.goto(f"/agents/{slug}/edit")
    save = dashboard.get_by_role("button", name="Save")
    await expect(save).to_be_disabled()
    await dashboard.get_by_label("Prompt", exact=True).fill("Be kind.\nBe precise.")
    await dashboard.get_by_role("checkbox", name="calculate").check()
    await dashboard.get_by_text("More settings").click()
    await dashboard.get_by_label("Time zone").fill("Europe/Berlin")
    await expect(dashboard.get_by_role("deletion").filter(has_text="Be brief.")).to_be_visible()
    await expect(dashboard.get_by_text("Not saved yet: Prompt, Tools, Time zone.")).to_be_visible()
    await daemon.api("PATCH", f"/api/agents/{slug}", {"description": "From elsewhere."})
    await save.click()
    await expect(dashboard.get_by_text("No changes yet.")).to_be_visible()
    saved = await known(daemon, slug)
    assert (saved["prompt"], saved["timezone"]) == ("Be kind.\nBe precise.", "Europe/Berlin")
    assert (saved["tools"], saved["description"]) == (["get_time", "calculate"], "From elsewhere.")

    await dashboard.get_by_role("link", name="History").click()
    newest = dashboard.get_by_role("listitem").filter(has_text="Version 3")
    await expect(newest.get_by_role("insertion").filter(has_text="Be precise.")).to_be_visible()
    await expect(newest).to_contain_text("Owner")
    await dashboard.get_by_role("button", name="Undo the last change").click()
    await expect(dashboard.get_by_text("Version 4")).to_be_visible()
    assert (await known(daemon, slug))["prompt"] == "Be kind.\nBe brief."


async def test_a_wrong_value_is_told_in_the_form(dashboard: Page, daemon: Daemon) -> None:
    slug = await agent(daemon)
    await dashboard.goto(f"/agents/{slug}/edit")
    await dashboard.get_by_text("More settings").click()
    await dashboard.get_by_label("Time zone").fill("Nowhere/Land")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("timezone")
    await expect(dashboard.get_by_label("Time zone")).to_have_value("Nowhere/Land")


async def test_a_channel_is_added_changed_removed_and_brought_back(dashboard: Page, daemon: Daemon) -> None:
    slug = await agent(daemon)
    await dashboard.goto(f"/agents/{slug}/channels")
    await dashboard.get_by_role("button", name="Add a channel").click()
    await dashboard.get_by_label("Platform").select_option("telegram")
    await dashboard.get_by_label("Channel", exact=True).fill("-100200")
    await dashboard.get_by_label("What people may do there").select_option("notify_only")
    await dashboard.get_by_role("button", name="Add a channel").click()
    row = dashboard.get_by_role("listitem").filter(has_text="telegram:-100200")
    await expect(row).to_contain_text("Only receive notices")
    await row.get_by_role("button", name="Change").click()
    await dashboard.get_by_label("Messages that the agent answers").select_option("mention")
    await dashboard.get_by_label("Messages to read as context").fill("7")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("reads 7 messages as context")
    place = {"platform": "telegram", "channel": "-100200", "permission": "notify_only"}
    there = [{**place, "respond": "mention", "observe": 7}]
    assert (await known(daemon, slug))["bindings"] == there
    await row.get_by_role("button", name="Remove").click()
    await expect(dashboard.get_by_text("No channels yet")).to_be_visible()
    assert (await known(daemon, slug))["bindings"] == []
    await dashboard.get_by_role("button", name="Undo").click()
    await expect(row).to_be_visible()
    assert (await known(daemon, slug))["bindings"] == there


async def test_an_agent_is_paused_and_goes_on(dashboard: Page, daemon: Daemon) -> None:
    slug = await agent(daemon)
    await dashboard.goto(f"/agents/{slug}")
    await dashboard.get_by_role("button", name="Pause").click()
    await expect(dashboard.get_by_text("This agent is paused.")).to_be_visible()
    assert (await known(daemon, slug))["status"] == "paused"
    await dashboard.get_by_role("button", name="Resume").click()
    await expect(dashboard.get_by_text("This agent is paused.")).to_be_hidden()
    assert (await known(daemon, slug))["status"] == "active"


async def test_an_agent_is_deleted_once_that_was_confirmed_and_brought_back(dashboard: Page, daemon: Daemon) -> None:
    slug = await agent(daemon)
    await dashboard.goto(f"/agents/{slug}")
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard).to_have_url("/agents")
    await expect(dashboard.get_by_role("row", name=slug)).to_have_count(0)
    assert (await known(daemon, slug))["status"] == "archived"
    await dashboard.get_by_role("button", name="Undo").click()
    await expect(dashboard.get_by_role("row", name=slug)).to_be_visible()
    assert (await known(daemon, slug))["status"] == "active"


async def test_the_conductor_is_marked_and_stays(dashboard: Page) -> None:
    await dashboard.goto("/agents")
    row = dashboard.get_by_role("row").filter(has_text="conductor").first
    await expect(row).to_contain_text("Conductor")
    await dashboard.goto("/agents/conductor")
    await expect(dashboard.get_by_role("button", name="Pause")).to_be_visible()
    await expect(dashboard.get_by_role("button", name="Delete")).to_have_count(0)


async def test_a_hostile_name_is_shown_as_text(dashboard: Page, daemon: Daemon) -> None:
    name = "<img src=x onerror=alert(1)>"
    slug = await agent(daemon, name=name, description="<script>alert(1)</script>\u202eevil", prompt="</pre><b>bold</b>")
    await dashboard.goto("/agents")
    await dashboard.get_by_role("row").filter(has_text=slug).click()
    await expect(dashboard.get_by_role("heading", level=1)).to_have_text(name)
    await expect(dashboard.get_by_text("<script>alert(1)</script>[U+202E]evil")).to_be_visible()
    await expect(dashboard.get_by_text("</pre><b>bold</b>")).to_be_visible()
    await expect(dashboard.locator("main img")).to_have_count(0)


async def test_an_agent_is_tried_beside_its_settings(dashboard: Page, daemon: Daemon) -> None:
    slug = await agent(daemon)
    await dashboard.goto(f"/agents/{slug}/chat")
    await dashboard.get_by_role("textbox").fill("demo: say I am well")
    await dashboard.keyboard.press("Enter")
    await expect(dashboard.get_by_text("I am well", exact=True)).to_be_visible()
    await dashboard.get_by_role("link", name="Overview").click()
    figure = dashboard.locator("dl > div").filter(has_text="Model calls").first
    await expect(figure).to_contain_text("1 in the last 30 days")


async def test_a_viewer_sees_all_and_changes_nothing(browser: Browser, daemon: Daemon) -> None:
    slug = await agent(daemon, bindings=[{"platform": "slack", "channel": "C1"}])
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto("/agents")
        await expect(page.get_by_role("row").filter(has_text=slug)).to_be_visible()
        await expect(page.get_by_role("link", name="New agent")).to_have_count(0)
        for part, words in (("", "Last 7 days"), ("/channels", "slack:C1"), ("/edit", "Only owners")):
            await page.goto(f"/agents/{slug}{part}")
            await expect(page.get_by_text(words).first).to_be_visible()
            buttons = await page.get_by_role("main").get_by_role("button").all_inner_texts()
            assert [words for words in buttons if words] == []


async def test_the_form_fits_a_phone(phone: Page, daemon: Daemon) -> None:
    slug = await agent(daemon, description="x" * 300, tools=["get_time"])
    await phone.goto(f"/agents/{slug}/edit")
    await phone.get_by_text("More settings").click()
    await phone.get_by_role("checkbox", name="get_time").uncheck()
    wide = "[...document.querySelectorAll('main, main *')].filter(one => one.scrollWidth > one.clientWidth + 1 && "
    wide += "['auto', 'scroll'].includes(getComputedStyle(one).overflowX)).map(one => one.outerHTML.slice(0, 100))"
    assert await phone.evaluate(wide) == []
    await phone.get_by_role("button", name="Save").click()
    await expect(phone.get_by_text("No changes yet.")).to_be_visible()
    assert (await known(daemon, slug))["tools"] == []
