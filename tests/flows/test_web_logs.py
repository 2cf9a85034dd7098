"""The log over HTTP: newest first, over several days' files, with filters and pages, for lines of any content."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.web.api import logs
from arvis.web.api.logs import LogFilter, position_of, read_back
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, running_site

PATH = "/api/logs"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


def a_line(day: str, second: int, event: str, level: str = "info", **more: Any) -> str:
    at = f"{day}T00:{second // 60:02}:{second % 60:02}.000+00:00"
    return json.dumps({"event": event, "level": level, "logger": "arvis.app.daemon", "timestamp": at, **more}) + "\n"


def write(folder: Path, day: str, *lines: str | bytes) -> Path:
    (folder / "logs").mkdir(exist_ok=True)
    file = folder / "logs" / f"arvis-{day}.log"
    file.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return file


async def pages(site: Site, query: str = "") -> list[dict[str, Any]]:
    """Return all lines from all pages."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = await site.call("GET", f"{PATH}?limit=7{query}{cursor}")
        assert answer.status == 200, answer.text
        found += answer.json()["items"]
        if answer.json()["nextCursor"] is None:
            return found
        cursor = f"&cursor={answer.json()['nextCursor']}"


async def test_lines_of_several_days_come_newest_first_page_by_page(site: Site, tmp_path: Path) -> None:
    write(tmp_path, "2026-07-01", *(a_line("2026-07-01", number, f"old {number}") for number in range(40)))
    write(tmp_path, "2026-07-02", *(a_line("2026-07-02", number, f"new {number}") for number in range(30)))
    write(tmp_path, "2026-07-03")
    found = await pages(site)
    assert [line["event"] for line in found] == [
        *(f"new {number}" for number in reversed(range(30))),
        *(f"old {number}" for number in reversed(range(40))),
    ]
    assert len({line["id"] for line in found}) == 70
    assert found[0]["at"] == 1_782_950_429_000
    assert (found[0]["logger"], found[0]["level"]) == ("arvis.app.daemon", "info")


async def test_filters(site: Site, tmp_path: Path) -> None:
    day = "2026-07-01"
    write(
        tmp_path,
        day,
        a_line(day, 1, "quiet", "debug"),
        a_line(day, 2, "Ümläut wanted", "warning", bot="telegram/main"),
        a_line(day, 3, "loud", "error", exception="Traceback: x", logger="connectors.slack"),
    )
    assert [line["event"] for line in await pages(site, "&level=warning")] == ["loud", "Ümläut wanted"]
    assert [line["event"] for line in await pages(site, "&logger=connectors.")] == ["loud"]
    assert [line["event"] for line in await pages(site, "&q=TELEGRAM")] == ["Ümläut wanted"]
    assert [line["event"] for line in await pages(site, "&since=1782864002000&until=1782864002000")] == [
        "Ümläut wanted"
    ]
    loud = (await pages(site, "&level=error"))[0]
    assert (loud["exception"], loud["fields"]) == ("Traceback: x", {})
    assert (await pages(site, "&q=telegram"))[0]["fields"] == {"bot": "telegram/main"}


@pytest.mark.parametrize("query", ["level=loud", "since=yesterday", "until=-1", "cursor=x", "limit=0"])
async def test_wrong_filters_are_told(site: Site, query: str) -> None:
    assert (await site.call("GET", f"{PATH}?{query}")).status == 422


HOSTILE: list[str | bytes] = [
    b"\xff\xfe no text\n",
    b"\n",
    b"{\n",
    b'{"event": 5, "level": ["x"], "logger": {}, "timestamp": 7}\n',
    b'{"event": "\\ud800 half", "level": "NOISE", "timestamp": "never"}\n',
    b"[" * 5_000 + b"\n",
    ("x" * 300_000 + "\n").encode(),
    b'{"event": "big", "a": "' + b"y" * 40_000 + b'"}\n',
    b'{"event": "\\u0000 nul", "n": 1e999, "many": {"a": [1, 2]}}\n',
    b'{"event": "cut off by a cra',
]


async def test_hostile_lines_spoil_nothing(site: Site, tmp_path: Path) -> None:
    day = "2026-07-01"
    write(tmp_path, day, a_line(day, 1, "first"), *HOSTILE)
    found = await pages(site)
    assert found[-1]["event"] == "first"
    assert found[0]["event"] == '{"event": "cut off by a cra'
    assert len(found) == len(HOSTILE)  # without the empty line, with the first line
    assert max(len(line["event"]) for line in found) < 10_000


@pytest.mark.parametrize("block", [1, 2, 7, 64])
def test_wherever_a_block_ends(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_BLOCK", block)
    texts = ["a", "", "bcd", "é" * 9, "", "last"]
    write(tmp_path, "2026-07-01", "\n".join(texts) + "\n")
    found = read_back(tmp_path / "logs", LogFilter(), None, 200)
    assert [line.event for line in found.found] == ["last", "é" * 9, "bcd", "a"]


def test_a_call_reads_no_more_than_is_good_and_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_MOST_READ", 50_000)
    day = "2026-07-01"
    write(tmp_path, day, a_line(day, 0, "needle"), *(a_line(day, 1, f"hay {number}") for number in range(2_000)))
    found: list[logs.LogLine] = []
    cursor, calls = None, 0
    while True:
        lines = read_back(tmp_path / "logs", LogFilter(text="needle"), cursor, 10)
        calls += 1
        found += lines.found
        if lines.cursor is None:
            break
        cursor = position_of(lines.cursor)
    assert [line.event for line in found] == ["needle"]
    assert calls > 3


def test_a_line_as_long_as_the_file_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_LONGEST", 1_000)
    monkeypatch.setattr(logs, "_BLOCK", 300)
    write(tmp_path, "2026-07-01", "before\n", "z" * 50_000, "\n", "after\n")
    found = read_back(tmp_path / "logs", LogFilter(), None, 50).found
    assert [line.event[:6] for line in found] == ["after", "zzzzzz", "before"]
    assert len(found[1].event) <= 1_300


async def test_a_day_is_sent_as_a_file(site: Site, tmp_path: Path) -> None:
    day = "2026-07-01"
    file = write(tmp_path, day, a_line(day, 1, "first"))
    write(tmp_path, "2026-07-02")
    days = (await site.call("GET", f"{PATH}/days")).json()["items"]
    assert days == [{"day": "2026-07-02", "bytes": 0}, {"day": day, "bytes": file.stat().st_size}]
    answer = await site.call("GET", f"{PATH}/download?day={day}", key=OPERATOR_KEY)
    assert (answer.status, answer.text) == (200, file.read_text("utf-8"))
    assert f'filename="arvis-{day}.log"' in answer.headers["content-disposition"]
    assert (await site.call("GET", f"{PATH}/download?day=2026-07-09")).status == 404
    for bad in ("../../etc", "2026-07-01%2F..", ""):
        assert (await site.call("GET", f"{PATH}/download?day={bad}")).status == 422


async def test_files_that_are_links_or_something_else_are_not_shown(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden\n")
    write(tmp_path, "2026-07-01", a_line("2026-07-01", 1, "first"))
    (tmp_path / "logs" / "arvis-2026-07-02.log").symlink_to(tmp_path / "secret")
    (tmp_path / "logs" / "other.log").write_text("other\n")
    assert [line["event"] for line in await pages(site)] == ["first"]
    assert (await site.call("GET", f"{PATH}/download?day=2026-07-02")).status == 404


async def test_viewers_do_not_look(site: Site) -> None:
    for path in (PATH, f"{PATH}/days", f"{PATH}/download?day=2026-07-01"):
        assert (await site.call("GET", path, key=VIEWER_KEY)).status == 403
    assert (await site.call("GET", PATH)).json() == {"items": [], "nextCursor": None}
