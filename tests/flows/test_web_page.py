"""The page's files: compressed, cached, at its own addresses, and no other files of the disk."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.flows.web_server import Site, running_site

SCRIPT = "console.log('here')"


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / ".vite").mkdir()
    (folder / "index.html").write_text("<title>Arvis</title>")
    (folder / "assets" / "index-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    (folder / ".vite" / "manifest.json").write_text("{}")
    (folder / ".stamp").write_text("made of these sources")
    (tmp_path / "secret.js").write_text("what lies beside the page")
    async with running_site(tmp_path, page_folder=folder) as site:
        yield site


@pytest.mark.parametrize(
    "path", ["/", "/chat", "/chat/helper", "/queue/01J0", "/settings/bots/telegram", "/messages/x?q=1"]
)
async def test_each_of_its_addresses_is_the_page(site: Site, path: str) -> None:
    answer = await site.call("GET", path, key=None)
    assert (answer.status, answer.text) == (200, "<title>Arvis</title>")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


async def test_a_part_is_sent_packed_to_whoever_takes_it_and_kept_for_ever(site: Site) -> None:
    for coding in ("gzip", "br, gzip;q=0.5", "identity", "br, gzip;q=0", "gzip;q=0.0, identity"):
        answer = await site.call("GET", "/assets/index-1a2b.js", key=None, headers={"Accept-Encoding": coding})
        assert (answer.status, answer.text) == (200, SCRIPT)
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert "immutable" in answer.headers["cache-control"]
        assert (answer.headers.get("content-encoding") == "gzip") == (coding in {"gzip", "br, gzip;q=0.5"})
        known = {"If-None-Match": answer.headers["etag"], "Accept-Encoding": coding}
        unchanged = await site.call("GET", "/assets/index-1a2b.js", key=None, headers=known)
        assert (unchanged.status, unchanged.text) == (304, "")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/server.py",
        "/index-1a2b.js",
        "/assets",
        "/assets/nothing.js",
        "/assets/../secret.js",
        "/assets/%2e%2e/secret.js",
        "/assets/..%2f..%2fsecret.js",
        "/.vite/manifest.json",
        "/.stamp",
        "/assets/index-1a2b.js.gz",
        "/chat/../secret.js",
    ],
)
async def test_nothing_else_is_served(site: Site, path: str) -> None:
    answer = await site.call("GET", path, key=None)
    assert answer.status == 404 or answer.text == "<title>Arvis</title>"
    assert "beside the page" not in answer.text
    assert "made of" not in answer.text


async def test_a_link_on_another_site_opens_a_page_but_no_api(site: Site) -> None:
    from_elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await site.call("GET", "/messages/01J0", key=None, headers=from_elsewhere)).status == 200
    assert (await site.call("GET", "/api/jobs", headers=from_elsewhere)).status == 403


async def test_the_policy_lets_in_nothing_from_elsewhere(site: Site) -> None:
    policy = (await site.call("GET", "/", key=None)).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert not {"unsafe-inline", "unsafe-eval", "http:", "https:", "*"} & set(
        policy.replace("'", " ").replace(";", " ").split()
    )


async def test_a_missing_page_says_how_it_is_built(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    async with running_site(tmp_path, page_folder=empty) as site:
        answer = await site.call("GET", "/", key=None)
        assert answer.status == 404
        assert "make run" in answer.text
