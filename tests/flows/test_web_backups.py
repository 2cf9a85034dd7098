"""Backups over HTTP: the owner makes and lists them, and gets the reason of a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.messages import Attachment
from arvis.ports.store import Transaction
from tests.conformance.store.scripts import said
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, OWNER_KEY, VIEWER_KEY, Answer, Site, running_site


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


# -- files --------------------------------------------------------------------------------------------------

BYTES = {"Content-Type": "application/octet-stream"}


def content(made: Mapping[str, Any]) -> bytes:
    return Path(made["path"]).read_bytes()


def write(made: Mapping[str, Any], data: bytes) -> None:
    Path(made["path"]).write_bytes(data)


def names(folder: Path) -> list[str]:
    return [file.name for file in (folder / "backups").iterdir()]


async def backed_up(site: Site) -> dict[str, Any]:
    return dict((await site.call("POST", "/api/backups")).json())


async def uploaded(site: Site, data: bytes) -> Answer:
    return await site.call("POST", "/api/backups/uploads", data=data, headers=BYTES)


async def test_a_backup_is_downloaded_and_uploaded(site: Site, tmp_path: Path) -> None:
    made = await backed_up(site)
    headers = {"Authorization": f"Bearer {OWNER_KEY}"}
    async with site.http.get(f"{site.url}/api/backups/{made['name']}/file", headers=headers) as response:
        assert (response.status, response.content_type) == (200, "application/octet-stream")
        assert made["name"] in response.headers["content-disposition"]
        file = await response.read()
    assert file == content(made)

    (tmp_path / "backups" / made["name"]).unlink()
    answer = await uploaded(site, file)
    assert answer.status == 201
    taken = answer.json()
    assert (taken["uploaded"], taken["createdAt"], taken["bytes"]) == (True, made["createdAt"], made["bytes"])
    assert taken["name"] == made["name"].replace(".tar.gz", "-uploaded.tar.gz")
    assert (await site.call("GET", "/api/backups")).json()["items"] == [taken]
    assert (tmp_path / "backups" / taken["name"]).stat().st_mode & 0o777 == 0o600


async def test_what_is_no_backup_is_not_taken(site: Site, tmp_path: Path) -> None:
    made = await backed_up(site)
    good = content(made)
    for data in (b"", b"no backup", good[:-1], good[:100] + b"x" + good[101:]):
        answer = await uploaded(site, data)
        assert (answer.status, answer.code) == (409, "backup_damaged")
        assert "cannot be restored" in answer.json()["error"]["message"]
    assert (await site.call("POST", "/api/backups/uploads", json={"a": 1})).status == 400
    assert names(tmp_path) == [made["name"]]


async def test_only_listed_backups_are_reached(site: Site, tmp_path: Path) -> None:
    made = await backed_up(site)
    (tmp_path / "backups" / "arvis-secret.tar.gz").write_bytes(content(made))
    for name in ("arvis-secret.tar.gz", "..%2Fapi-key", "arvis-20200101T000000Z.tar.gz", "api-key"):
        for method, end in (("GET", "file"), ("POST", "restore")):
            assert (await site.call(method, f"/api/backups/{name}/{end}")).status == 404


async def test_a_restore_is_requested_only_with_an_intact_backup(site: Site, tmp_path: Path) -> None:
    assert (await site.call("GET", "/api/backups/restore")).json()["state"] == "none"
    made = await backed_up(site)
    good = content(made)
    write(made, good[:-1])
    refused = await site.call("POST", f"/api/backups/{made['name']}/restore")
    assert (refused.status, refused.code) == (409, "backup_damaged")
    assert not (tmp_path / "restore.json").exists()
    write(made, good)
    requested = await site.call("POST", f"/api/backups/{made['name']}/restore")
    assert (requested.status, requested.json()["state"]) == (202, "requested")
    assert (await site.call("GET", "/api/backups/restore")).json()["name"] == made["name"]


@pytest.mark.parametrize("key", [OPERATOR_KEY, VIEWER_KEY, CHAT_KEY])
async def test_only_the_owner_reaches_files(site: Site, tmp_path: Path, key: str) -> None:
    made = await backed_up(site)
    for method, path in (
        ("GET", "/api/backups/restore"),
        ("POST", "/api/backups/uploads"),
        ("GET", f"/api/backups/{made['name']}/file"),
        ("POST", f"/api/backups/{made['name']}/restore"),
    ):
        assert (await site.call(method, path, key=key)).status == 403
    assert not (tmp_path / "restore.json").exists()
