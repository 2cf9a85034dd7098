"""Memory on its page: facts are added, confirmed, deleted and restored, values are removed, and each role sees its
part."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from arvis.domain.memory import FactStatus
from tests.browser.asking import visitor
from tests.browser.daemon import Daemon


@pytest_asyncio.fixture(loop_scope="session", scope="module", autouse=True)
async def _clerk(daemon: Daemon) -> AsyncIterator[None]:
    """An agent that stores facts."""
    await daemon.api("POST", "/api/agents", {"slug": "clerk", "name": "Clerk", "model": "demo/demo"})
    yield


async def fact(daemon: Daemon, content: str, **fields: object) -> Any:
    return await daemon.api("POST", "/api/memory", {"agent": "clerk", "content": content, **fields})


async def say(daemon: Daemon, text: str, user: str, to: str = "clerk") -> str:
    """Send a message to an agent, wait for the answer, and return the id of the message."""
    body = {"content": text, "userId": user, "userName": user.title(), "channelId": f"dashboard-agent-{to}"}
    message = (await daemon.api("POST", "/api/messages", body))["messageId"]
    answered = await daemon.api("GET", f"/api/messages/{message}/wait?timeout=20")
    assert answered["status"] == "answered"
    return str(message)


async def test_a_fact_is_told_deleted_and_brought_back(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/memory")
    await dashboard.get_by_role("link", name="New fact").first.click()
    form = dashboard.get_by_role("form", name="New fact")
    await form.get_by_label("Fact").fill("The shop closes at six.")
    await form.get_by_label("Agent").select_option("clerk")
    await form.get_by_label("Kind").select_option("project_context")
    await form.get_by_role("button", name="Save").click()
    row = dashboard.get_by_role("row", name="The shop closes at six.")
    await expect(row).to_contain_text("Project")
    (kept,) = (await daemon.api("GET", "/api/memory?agent=clerk&q=shop"))["items"]
    assert (kept["category"], kept["scope"]) == ("project_context", "agent")
    await expect(dashboard).to_have_url(f"/memory/{kept['id']}")

    await expect(dashboard.get_by_role("heading", name="History")).to_be_visible()
    await expect(dashboard.get_by_role("button", name="Confirm")).to_have_count(0)  # an owner added the fact
    await dashboard.get_by_role("button", name="Delete", exact=True).click()
    await expect(row).to_have_count(0)
    assert (await daemon.api("GET", f"/api/memory/{kept['id']}"))["status"] == "deleted"
    await dashboard.get_by_role("button", name="Undo", exact=True).click()
    await expect(row).to_be_visible()
    assert (await daemon.api("GET", f"/api/memory/{kept['id']}"))["status"] == "active"


async def test_facts_are_found_by_status_agent_and_words(dashboard: Page, daemon: Daemon) -> None:
    gone = await fact(daemon, "The pump stands in the cellar.")
    await fact(daemon, "The ladder hangs in the garage.")
    await daemon.api("DELETE", f"/api/memory/{gone['id']}")
    await dashboard.goto("/memory?status=deleted&agent=clerk")
    await expect(dashboard.get_by_role("row", name="The pump stands")).to_be_visible()
    await expect(dashboard.get_by_role("row", name="The ladder hangs")).to_have_count(0)
    await dashboard.goto("/memory?q=ladder")
    await expect(dashboard.get_by_role("row", name="The ladder hangs")).to_be_visible()
    await dashboard.goto("/memory?agent=conductor&q=ladder")
    await expect(dashboard.get_by_text("No fact matches")).to_be_visible()
    await dashboard.goto("/memory?q=ladder")
    statuses = dashboard.get_by_role("group", name="Status").get_by_role("button")
    await expect(statuses).to_have_count(len(FactStatus))
    for status in (await statuses.all())[1:]:
        async with dashboard.expect_response("**/api/memory?*status=*") as answered:
            await status.click()
        assert (await answered.value).ok, await status.text_content()
    await dashboard.goto("/agents/clerk/memory")
    await dashboard.get_by_role("row", name="The ladder hangs").click()
    await expect(dashboard.get_by_role("region", name="Fact", exact=True)).to_contain_text("The ladder hangs")


async def test_a_fact_is_corrected_and_the_old_text_stays(dashboard: Page, daemon: Daemon) -> None:
    old = await fact(daemon, "The shed is green.")
    await dashboard.goto(f"/memory/{old['id']}")
    await dashboard.get_by_role("textbox", name="Corrected text").fill("The shed was painted blue.")
    await dashboard.get_by_role("button", name="Correct the fact").click()
    await expect(dashboard.get_by_role("row", name="The shed was painted blue.")).to_be_visible()
    (kept,) = (await daemon.api("GET", "/api/memory?agent=clerk&q=painted"))["items"]
    shown = await daemon.api("GET", f"/api/memory/{old['id']}")
    assert (shown["status"], shown["supersededBy"]) == ("superseded", kept["id"])


async def test_where_a_fact_comes_from_and_a_hostile_one_is_text(dashboard: Page, daemon: Daemon) -> None:
    text = "Likes <img src=x onerror=alert(1)> tea"
    await say(daemon, f"demo: say Noted.\\n[MEMORY:user_preference] {text}", "tina")
    await dashboard.goto("/memory")
    row = dashboard.get_by_role("row", name=text)
    await expect(row).to_contain_text("Tina")
    await row.click()
    await expect(dashboard.get_by_role("link", name="this message")).to_be_visible()
    await expect(dashboard.locator("main img")).to_have_count(0)


async def test_what_nobody_vouches_for_says_so_until_somebody_does(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.set_viewport_size({"width": 1800, "height": 900})  # room for every column beside the detail
    porter = {"slug": "porter", "name": "Porter", "model": "demo/demo", "tools": ["list_files"]}
    await daemon.api("POST", "/api/agents", porter)
    text = "[MEMORY:learned_pattern] The bridge is closed on Mondays."
    await say(daemon, f"demo: tool list_files {{}}\ndemo: say Noted.\\n{text}", "tom", to="porter")
    (found,) = (await daemon.api("GET", "/api/memory?q=bridge"))["items"]
    assert found["taint"] == ["tools"]
    await dashboard.goto("/memory?q=bridge")
    row = dashboard.get_by_role("row", name="The bridge is closed")
    await expect(row).to_contain_text("Unverified")
    await row.click()
    await expect(dashboard.get_by_text("it came from a tool result.")).to_be_visible()
    await dashboard.keyboard.press("a")
    await expect(row).to_contain_text("100 %")
    await expect(dashboard.get_by_role("button", name="Confirm")).to_have_count(0)
    assert (await daemon.api("GET", f"/api/memory/{found['id']}"))["changes"][-1]["change"] == "confirmed"


async def test_a_value_is_deleted_once_that_was_confirmed(dashboard: Page, daemon: Daemon) -> None:
    await say(daemon, "demo: say Read.\\n[STATE:last_page] seventeen", "tina")
    await dashboard.goto("/memory")
    await dashboard.get_by_role("link", name="Values").click()
    await dashboard.get_by_role("row", name="last_page").click()
    await expect(dashboard.get_by_role("region", name="Value")).to_have_text("seventeen")
    await dashboard.get_by_role("button", name="Delete", exact=True).click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(dashboard.get_by_text("No values yet")).to_be_visible()
    assert (await daemon.api("GET", "/api/memory/states"))["items"] == []


async def test_a_viewer_reads_only(browser: Browser, daemon: Daemon) -> None:
    kept = await fact(daemon, "Parcels come at noon.")
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto(f"/memory/{kept['id']}")
        await expect(page.get_by_role("heading", name="History")).to_be_visible()
        for name in ("Confirm", "Delete", "Undo the last change"):
            await expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        await expect(page.get_by_role("link", name="New fact")).to_have_count(0)


async def test_somebody_who_may_chat_sees_and_deletes_their_own(browser: Browser, daemon: Daemon) -> None:
    await fact(daemon, "Nothing about Cora.")
    async with visitor(browser, daemon, "cora", "chat") as page:
        await page.goto("/memory")
        await expect(page.get_by_text("No facts yet")).to_be_visible()
        people = (await daemon.api("GET", "/api/people"))["items"]
        cora = next(one["id"] for one in people if one["userId"] == "cora")
        kept = await fact(daemon, "Cora likes lemons.", scope=f"principal:{cora}")
        await page.reload()
        await expect(page.get_by_role("row", name="Nothing about Cora.")).to_have_count(0)
        await page.get_by_role("row", name="Cora likes lemons.").click()
        await page.get_by_role("button", name="Delete", exact=True).click()
        await expect(page.get_by_text("The fact was deleted.")).to_be_visible()
        assert (await daemon.api("GET", f"/api/memory/{kept['id']}"))["status"] == "deleted"


async def test_a_fact_gets_a_period_and_shows_the_fact_that_it_replaced(dashboard: Page, daemon: Daemon) -> None:
    old = await fact(daemon, "The mill is based in Oslo.", validFrom=1_700_000_000_000)
    new = await fact(daemon, "The mill is based in Bergen.")
    await dashboard.goto(f"/memory/{new['id']}")
    await expect(dashboard.get_by_role("link", name="The mill is based in Oslo.")).to_be_visible()
    form = dashboard.get_by_role("form", name="Correct the fact")
    await form.get_by_label("True from").fill("2024-05-01")
    await form.get_by_label("True until").fill("2099-03-31")
    await form.get_by_label("Used until").fill("2098-12-31")
    await form.get_by_role("button", name="Correct the fact").click()
    await expect(dashboard.get_by_role("status").get_by_text("The fact was corrected.")).to_be_visible()
    kept = await daemon.api("GET", f"/api/memory/{new['id']}")
    assert kept["status"] == "active"
    assert kept["validFrom"] < kept["expiresAt"] < kept["validUntil"]
    assert [each["id"] for each in kept["replaces"]] == [old["id"]]
    await form.get_by_label("Used until").fill(await dashboard.evaluate("new Date().toLocaleDateString('sv')"))
    async with dashboard.expect_response(f"**/api/memory/{new['id']}") as answered:
        await form.get_by_role("button", name="Correct the fact").click()
    assert (await answered.value).ok
    await form.get_by_label("True until").fill("2025-01-31")
    await form.get_by_role("button", name="Correct the fact").click()
    await expect(dashboard.get_by_text("No longer true").first).to_be_visible()


async def test_the_page_of_a_message_leads_to_the_facts_that_were_found(dashboard: Page, daemon: Daemon) -> None:
    for number in range(16):
        await fact(daemon, f"Shelf {number} holds books.")
    wanted = await fact(daemon, "The lighthouse keeper is called Ingrid.")
    message = await say(daemon, "Who looks after the lighthouse?", "tina")
    await dashboard.goto(f"/messages/{message}")
    await dashboard.get_by_role("link", name=f"fact #{wanted['number']}").click()
    await expect(dashboard.get_by_role("form", name="Correct the fact")).to_be_visible()
