"""Buttons and files of messages over the web."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.messages import Button, ButtonStyle, OutgoingFile
from arvis.ports.store import Transaction
from arvis.web.http.views import delivery_frame
from tests.conformance.store.scripts import part, said
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, VIEWER_KEY, Site, running_site

PATH = "/api/deliveries/d1/files"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def say(site: Site, *files: OutgoingFile, asked_by: str | None = None) -> None:
    """Store a delivery with files that answers this person's message."""

    def script(tx: Transaction) -> None:
        tx.messages.add(replace(said("m1"), principal_id=asked_by))
        tx.messages.add(said("m2"))
        tx.deliveries.add(replace(part("d1", "m2", 1), answers=("m1",), files=files))

    await site.store.write(script)


def test_a_frame_shows_buttons_and_where_the_files_are() -> None:
    button = Button("stop.1", "Stop", ButtonStyle.DANGER)
    shown = delivery_frame(
        replace(part("d1", "m1", 1), buttons=(button,), files=(OutgoingFile("a.png", "image/png", 7, "x"),))
    )
    assert shown["buttons"] == [{"id": "stop.1", "label": "Stop", "style": "danger"}]
    assert shown["files"] == [{"name": "a.png", "contentType": "image/png", "size": 7, "url": f"{PATH}/0"}]


async def test_a_file_comes_as_something_to_keep_never_to_run(site: Site) -> None:
    stored = await site.store.put_blob(b"<script>alert(1)</script>")
    await say(
        site,
        OutgoingFile('evil"\r\n.html', "text/html", 25, stored),
        OutgoingFile("answer.md", "text/markdown", 4, content="wörd"),
        OutgoingFile("a.png", "image/png", 25, stored),
    )
    answer = await site.call("GET", f"{PATH}/0")
    assert (answer.status, answer.text) == (200, "<script>alert(1)</script>")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''evil%22%0D%0A.html"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert (await site.call("GET", f"{PATH}/1")).text == "wörd"
    assert (await site.call("GET", f"{PATH}/2")).headers["content-type"] == "image/png"


@pytest.mark.parametrize("number", ["1", "-1", "x", "9999", "%C2%B2"])
async def test_what_is_not_there_is_not_found(site: Site, number: str) -> None:
    await say(site, OutgoingFile("a.png", "image/png", 7, "0" * 64))
    assert (await site.call("GET", f"{PATH}/{number}")).status == 404
    assert (await site.call("GET", f"{PATH}/0")).status == 404, "its bytes are gone"
    assert (await site.call("GET", "/api/deliveries/d2/files/0")).status == 404


async def test_a_chat_key_reads_what_answers_its_own_messages(site: Site) -> None:
    await site.call("POST", "/api/messages", key=CHAT_KEY, json={"content": "hi"})
    user = site.inbox.received[0].sender.user_id
    principal = await site.store.write(lambda tx: tx.principals.seen("web", user, "API key", None, 1).id)
    await say(site, OutgoingFile("answer.md", "text/markdown", 4, content="text"), asked_by=principal)
    found = {key: (await site.call("GET", f"{PATH}/0", key=key)).status for key in (CHAT_KEY, VIEWER_KEY, AGENT_KEY)}
    assert found == {CHAT_KEY: 200, VIEWER_KEY: 200, AGENT_KEY: 404}
    assert (await site.call("GET", f"{PATH}/0", key=None)).status == 401
