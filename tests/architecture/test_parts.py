"""The programs that other tests need are installed, or their tests are skipped with a hint."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from playwright.async_api import Page

from tests.architecture.tree import TESTS, lines_with, own_files
from tests.parts import PARTS, find, require
from tests.postgres import PostgresServer

OTHER_SKIPS = re.compile(r"\b(importorskip|xfail|skipif|mark\.skip|pytest\.skip)\b")


@pytest.mark.parametrize("part", sorted(PARTS))
def test_part_is_there(part: str) -> None:
    assert require(part).is_file()


def test_an_unknown_part_is_not_found() -> None:
    assert find("a-program-that-nobody-has") is None


def test_a_missing_part_fails_when_all_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARVIS_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="build one"):
        require("a-program-that-nobody-has", "build one")


def test_a_missing_part_skips_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARVIS_REQUIRE_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="build one"):
        require("a-program-that-nobody-has", "build one")


def test_nothing_else_skips_tests() -> None:
    allowed = {TESTS / "parts.py", Path(__file__)}
    assert not lines_with(OTHER_SKIPS, [file for file in own_files(TESTS) if file not in allowed])


def test_each_test_has_a_database_of_its_own(postgres: PostgresServer, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE notes (text TEXT)")
    with postgres.database("other") as other, psycopg.connect(other) as connection:
        found = connection.execute("SELECT count(*) FROM information_schema.tables WHERE table_name = 'notes'")
        assert found.fetchone() == (0,)


async def test_a_page_can_be_shown(page: Page) -> None:
    await page.set_content("<p>Hello</p>")
    assert await page.text_content("p") == "Hello"
