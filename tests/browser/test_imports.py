"""The section Export and import of the page of people: an owner downloads all records, sees what an import would do, and
confirms or cancels it."""

from __future__ import annotations

import zipfile
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, expect

from arvis.domain.memory import Category
from arvis.interchange import format as records
from arvis.interchange.archive import Writer
from arvis.interchange.format import Manifest
from tests.browser.asking import hire, visitor
from tests.browser.daemon import Daemon

PAGE = "/settings/people"


def export(file: Path, agent: str, facts: list[str]) -> Path:
    """Write an export with an agent that has facts."""
    with file.open("wb") as target:
        writer = Writer(target)
        writer.add("agents", records.Agent(slug=agent, name=agent.title(), model="openai/small"))
        for fact in facts:
            new = records.Fact(agent=agent, category=Category.LEARNED_PATTERN, content=fact, created_at=1)
            writer.add("memory", new)
        writer.close(Manifest(program="arvis 0.1", source="there", exported_at=1))
    return file


async def choose(page: Page, file: Path) -> None:
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Choose a file to import").click()
    await (await chosen.value).set_files(file)


def planned(page: Page) -> Locator:
    return page.get_by_role("region", name="This import would do the following")


async def agents(daemon: Daemon) -> set[str]:
    return {each["slug"] for each in (await daemon.api("GET", "/api/agents"))["items"]}


async def test_an_import_is_shown_cancelled_and_confirmed(dashboard: Page, daemon: Daemon, tmp_path: Path) -> None:
    file = export(tmp_path / "all.zip", "sailor", ["Knots hold", "x" * 2_001])
    await dashboard.goto(PAGE)
    await choose(dashboard, file)
    await expect(planned(dashboard)).to_contain_text("was written by arvis 0.1")
    await expect(planned(dashboard).get_by_role("heading")).to_be_focused()
    await expect(planned(dashboard).get_by_role("row", name="Facts 1 0 0 1")).to_be_visible()
    await expect(planned(dashboard).get_by_role("list", name="Skipped")).to_contain_text("1 to 2,000 characters")
    await dashboard.get_by_role("button", name="Cancel").click()
    await expect(planned(dashboard)).to_have_count(0)
    assert "sailor" not in await agents(daemon)

    await choose(dashboard, file)
    await dashboard.get_by_role("button", name="Import these records").click()
    done = dashboard.get_by_role("region", name="The import has ended")
    await expect(done.get_by_role("row", name="Agents 1 0 0 0")).to_be_visible()
    await expect(done.get_by_role("link", name="Agents")).to_have_attribute("href", "/agents")
    await expect(done.get_by_role("list", name="After the import")).to_contain_text("openai/small")
    assert "sailor" in await agents(daemon)

    await choose(dashboard, file)  # once more
    await expect(planned(dashboard).get_by_role("row", name="Facts 0 0 1 1")).to_be_visible()
    await expect(planned(dashboard)).to_contain_text("There is nothing to import")
    await expect(dashboard.get_by_role("button", name="Import these records")).to_be_disabled()


async def test_all_records_are_exported_and_the_file_can_be_imported(
    dashboard: Page, daemon: Daemon, tmp_path: Path
) -> None:
    await hire(daemon, "gardener")
    await dashboard.goto(PAGE)
    async with dashboard.expect_download() as download:
        await dashboard.get_by_role("link", name="Export all records").click()
    file = tmp_path / "all.zip"
    await (await download.value).save_as(file)
    with zipfile.ZipFile(file) as archive:
        assert b'"slug":"gardener"' in archive.read("agents.jsonl")
    newest = (await daemon.api("GET", "/api/audit?kind=export"))["items"][0]
    assert (newest["subject"], newest["fields"]["counts"]["agents"] >= 1) == ("all", True)
    await choose(dashboard, file)
    await expect(planned(dashboard)).to_contain_text("There is nothing to import")


async def test_an_agent_that_differs_is_replaced_only_on_request(phone: Page, daemon: Daemon, tmp_path: Path) -> None:
    await hire(daemon, "cook", prompt="You cook.")
    await phone.goto(PAGE)
    await choose(phone, export(tmp_path / "all.zip", "cook", []))
    await expect(planned(phone).get_by_role("row", name="Agents 0 0 0 1")).to_be_visible()
    await phone.get_by_label("Replace agents").check()
    await expect(planned(phone).get_by_role("row", name="Agents 0 1 0 0")).to_be_visible()
    await phone.get_by_role("button", name="Import these records").click()
    await expect(phone.get_by_role("region", name="The import has ended")).to_be_visible()
    assert await phone.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


async def test_an_unusable_file_is_refused_with_the_next_step(dashboard: Page, tmp_path: Path) -> None:
    (tmp_path / "cat.zip").write_bytes(b"a cat")
    with (tmp_path / "large.zip").open("wb") as large:
        large.truncate(64_000_001)
    whole = export(tmp_path / "whole.zip", "sailor", ["Knots hold"]).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "newer.zip", "w") as newer:
        newer.writestr("manifest.json", '{"version": 99}')
    await dashboard.goto(PAGE)
    for name, words in {
        "cat.zip": "Use a file that `arvis export` wrote, unchanged.",
        "large.zip": "arvis export FILE --kind KIND",
        "cut.zip": "not a readable zip archive",
        "newer.zip": "Update Arvis, then import the file again.",
    }.items():
        await choose(dashboard, tmp_path / name)
        await expect(dashboard.get_by_role("alert")).to_contain_text(words)


async def test_an_outage_is_named_and_the_import_tried_again(
    browser: Browser, own_daemon: Daemon, tmp_path: Path
) -> None:
    file = export(tmp_path / "all.zip", "sailor", ["Knots hold"])
    async with await browser.new_context(base_url=own_daemon.address) as context:
        await context.add_cookies([await own_daemon.cookie()])
        page = await context.new_page()
        await page.goto(PAGE)
        await choose(page, file)
        await expect(planned(page)).to_be_visible()
        await own_daemon.kill()
        await page.get_by_role("button", name="Import these records").click()
        lost = page.get_by_role("alert").filter(has_text="The connection to Arvis was lost during the import.")
        await expect(lost).to_be_visible(timeout=30_000)
        await own_daemon.start()
        await lost.get_by_role("button", name="Try again").click()
        await expect(page.get_by_role("region", name="The import has ended")).to_be_visible(timeout=30_000)
        assert "sailor" in await agents(own_daemon)


async def test_only_owners_see_the_section(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "vida", "operator") as page:
        await page.goto(PAGE)
        await expect(page.get_by_role("heading", name="People and pairing")).to_be_visible()
        await expect(page.get_by_role("button", name="Choose a file to import")).to_have_count(0)
        await expect(page.get_by_role("link", name="Export all records")).to_have_count(0)
