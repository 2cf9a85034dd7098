"""The page of backups: an owner makes, downloads, uploads and restores them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.daemon import Daemon


def page_of(made: dict[str, Any]) -> str:
    return f"/settings/backups/{made['name'].partition('.')[0]}"


async def test_a_backup_is_made_downloaded_and_uploaded(dashboard: Page, daemon: Daemon, tmp_path: Path) -> None:
    await dashboard.goto("/settings/backups")
    await expect(dashboard.get_by_text("No backups yet")).to_be_visible()
    await dashboard.get_by_role("button", name="Back up now").click()
    await expect(dashboard.get_by_text("The backup was made and verified.")).to_be_visible()
    (made,) = (await daemon.api("GET", "/api/backups"))["items"]

    await dashboard.goto(page_of(made))
    async with dashboard.expect_download() as started:
        await dashboard.get_by_role("link", name="Download").click()
    download = await started.value
    assert download.suggested_filename == made["name"]
    file = tmp_path / made["name"]
    await download.save_as(file)
    assert file.stat().st_size == made["bytes"]

    await dashboard.goto("/settings/backups")
    async with dashboard.expect_file_chooser() as chosen:
        await dashboard.get_by_role("button", name="Upload a backup").click()
    await (await chosen.value).set_files(file)
    await expect(dashboard.get_by_text("The backup was uploaded and verified.")).to_be_visible()
    await expect(dashboard.get_by_role("row", name="Uploaded")).to_be_visible()
    assert [each["uploaded"] for each in (await daemon.api("GET", "/api/backups"))["items"]].count(True) == 1


async def test_what_is_no_backup_is_refused_with_the_reason(dashboard: Page, tmp_path: Path) -> None:
    (tmp_path / "cat.tar.gz").write_bytes(b"a cat")
    await dashboard.goto("/settings/backups")
    async with dashboard.expect_file_chooser() as chosen:
        await dashboard.get_by_role("button", name="Upload a backup").click()
    await (await chosen.value).set_files(tmp_path / "cat.tar.gz")
    await expect(dashboard.get_by_text("cannot be restored")).to_be_visible()


async def test_a_restore_is_confirmed_and_restarts_the_daemon(browser: Browser, own_daemon: Daemon) -> None:
    daemon = own_daemon
    await daemon.api("PUT", "/api/variables/BEFORE", {"value": "1"})
    made = await daemon.api("POST", "/api/backups")
    await daemon.api("PUT", "/api/variables/SINCE", {"value": "2"})
    async with await browser.new_context(base_url=daemon.address) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        await page.goto(page_of(made))
        await page.get_by_role("button", name="Restore").click()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert (await daemon.api("GET", "/api/backups/restore"))["state"] == "none"
        await page.get_by_role("button", name="Restore").click()
        await page.get_by_role("dialog").get_by_role("button", name="Restart and restore").click()
        await expect(page.get_by_text("Arvis restarts with the backup")).to_be_visible()
        await daemon.restarted()

        assert [each["key"] for each in (await daemon.api("GET", "/api/variables"))["items"]] == ["BEFORE"]
        await page.goto(f"{daemon.address}/settings/backups")
        await expect(page.get_by_role("heading", name="Backups")).to_have_count(0)  # all logins have ended
        await context.add_cookies([await daemon.cookie()])
        await page.goto(f"{daemon.address}/settings/backups")
        await expect(page.get_by_text(f"The backup {made['name']} was restored.")).to_be_visible()
