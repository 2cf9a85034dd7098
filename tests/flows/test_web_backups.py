"""Backups over HTTP: the owner makes and lists them, and gets the reason of a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.domain.messages import Attachment
from arvis.ports.store import Transaction
from tests.conformance.store.scripts import said
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, OWNER_KEY, VIEWER_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_a_backup_is_made_and_listed(site: Site, tmp_path: Path) -> None:
    assert (await site.call("GET", "/api/backups")).json() == {"items": [], "nextCursor": None}
    answer = await site.call("POST", "/api/backups")
    assert answer.status == 201
    made = answer.json()
    [file] = (tmp_path / "backups").iterdir()
    assert (made["name"], made["path"], made["bytes"]) == (file.name, str(file), file.stat().st_size)
    assert (made["messages"], made["missingAttachments"], made["migration"]) == (0, 0, None)
    assert abs(made["createdAt"] - site.clock.now()) < 60_000
    newer = (await site.call("POST", "/api/backups", key=OWNER_KEY)).json()
    assert (await site.call("GET", "/api/backups")).json()["items"] == [newer, made]


@pytest.mark.parametrize("key", [OPERATOR_KEY, VIEWER_KEY, CHAT_KEY])
async def test_only_the_owner_may(site: Site, tmp_path: Path, key: str) -> None:
    for method in ("GET", "POST"):
        assert (await site.call(method, "/api/backups", key=key)).status == 403
    assert not (tmp_path / "backups").exists()


async def test_a_disk_without_room_is_told(site: Site, tmp_path: Path) -> None:
    def attach(tx: Transaction) -> None:
        tx.messages.add(said("m"))
        tx.files.add("m", [Attachment("a.jpg", "image/jpeg", 1 << 50, "a" * 64)])

    await site.store.write(attach)
    answer = await site.call("POST", "/api/backups")
    assert (answer.status, answer.code) == (503, "disk_full")
    assert list((tmp_path / "backups").iterdir()) == []


async def test_why_none_could_be_made_is_told(site: Site, tmp_path: Path) -> None:
    (tmp_path / "backups").write_bytes(b"no folder")
    answer = await site.call("POST", "/api/backups")
    assert (answer.status, answer.code) == (409, "store")
    assert "cannot be made" in answer.json()["error"]["message"]
