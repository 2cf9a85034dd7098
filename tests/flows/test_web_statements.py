"""Texts of requests never become a part of a statement: every text parameter of every route that reads, on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arvis.store.open import Database
from tests.flows.app_harness import open_app
from tests.flows.web_server import OWNER_KEY, Site, running_site

#: Texts that end a string, a pattern or a query of full text, or that take long.
HOSTILE = (
    "'",
    "' OR '1'='1",
    '" OR ""="',
    "'; DROP TABLE messages; --",
    "x\0y",
    "\\",
    "%",
    "_" * 1_000,
    "%_" * 2_000,
    "NEAR(a b, 5) AND (",
    "a* OR *",
    "1) UNION SELECT name, sql FROM sqlite_master --",
    "$1 ?1 :id @id {0} %s",
    "\ufffe\u202e\U000e0041",
)
#: Parameters whose value selects nothing: paging, and times.
_WAITS = frozenset({"wait", "follow"})


async def test_no_text_of_a_request_becomes_a_statement(either_database: Database, tmp_path: Path) -> None:
    async with open_app(either_database) as app, running_site(_folder(tmp_path), behind=app) as site:
        await app.ask("one secret sentence", is_direct=True)
        before = await _listed(site, "/api/messages", {})
        assert before
        described = (await site.call("GET", "/openapi.json")).json()
        tried = 0
        for path, operations in described["paths"].items():
            for name in _texts_of(operations.get("get") or {}):
                for text in HOSTILE:
                    answer = await site.call("GET", _filled(path), params={name: text}, key=OWNER_KEY)
                    assert answer.status < 500, (path, name, text, answer.status)
                    tried += 1
                    if name == "q" and answer.status == 200 and path == "/api/messages":
                        assert not answer.json()["items"], (path, text)
        assert tried > 500
        assert await _listed(site, "/api/messages", {}) == before
        assert await _listed(site, "/api/messages", {"q": "secret sentence"}) == before


def _folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "site").mkdir()
    return folder


def _texts_of(operation: dict[str, Any]) -> list[str]:
    """Return the query parameters of an operation that take any text."""
    given = (each for each in operation.get("parameters", ()) if each["in"] == "query")
    return [
        each["name"]
        for each in given
        if each["schema"].get("type") == "string" and "enum" not in each["schema"] and each["name"] not in _WAITS
    ]


def _filled(path: str) -> str:
    while "{" in path:
        start, end = path.index("{"), path.index("}")
        path = f"{path[:start]}none{path[end + 1 :]}"
    return path


async def _listed(site: Site, path: str, query: dict[str, str]) -> list[str]:
    answer = await site.call("GET", path, params=query, key=OWNER_KEY)
    return [each["id"] for each in answer.json()["items"]]
