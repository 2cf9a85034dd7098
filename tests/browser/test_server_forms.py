"""Forms of tool servers: the person who asked fills them in, in the chat and on the page Questions."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.asking import until
from tests.browser.chatting import say, talk_with
from tests.browser.daemon import Daemon

PROGRAM = Path(__file__).parents[1] / "fixtures" / "mcp_asking.py"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    folder = tmp_path_factory.mktemp("forms")
    command = json.dumps([sys.executable, str(PROGRAM), "modern", str(folder / "requests")])
    (folder / "config.yaml").write_text(f"mcp: {{servers: [{{name: fix, command: {command}, risk: read}}]}}\n")
    daemon = Daemon(folder)
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


def last_call(daemon: Daemon) -> dict[str, Any]:
    requests = [json.loads(line) for line in (daemon.folder / "requests").read_text().splitlines()]
    return dict([each["params"] for each in requests if each.get("method") == "tools/call"][-1])


async def test_a_form_is_checked_sent_and_declined(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon, "fix.book", "fix.connect")
    await say(dashboard, "demo: tool fix__book {}")
    form = dashboard.get_by_role("form", name="Answer to the tool server")
    await expect(form.get_by_label("seats (optional)")).to_have_value("2")
    await form.get_by_label("seats (optional)").fill("9")
    await form.get_by_role("button", name="Send to the server").click()
    await expect(form.get_by_text("This must be at most 8.")).to_be_visible()
    await expect(form.get_by_text("This field is required.")).to_be_visible()
    await form.get_by_label("Guest").fill("Ann")
    await form.get_by_label("seats (optional)").fill("3")
    await form.get_by_role("button", name="Send to the server").click()
    await expect(form).to_have_count(0)
    content = {"name": "Ann", "seats": 3}

    async def sent() -> bool:
        return last_call(daemon).get("inputResponses") == {"who": {"action": "accept", "content": content}}

    await until(sent)

    await say(dashboard, "demo: tool fix__connect {}")
    await expect(dashboard.get_by_role("link", name="https://bank.example/connect?id=7")).to_be_visible()
    await dashboard.goto("/questions")
    card = dashboard.get_by_role("article", name="The tool server fix asks you")
    await expect(card.get_by_role("link", name="https://bank.example/connect?id=7")).to_have_attribute(
        "rel", "noreferrer noopener"
    )
    await card.get_by_role("button", name="Decline").click()

    async def declined() -> bool:
        return last_call(daemon).get("inputResponses") == {"page": {"action": "decline"}}

    await until(declined)
