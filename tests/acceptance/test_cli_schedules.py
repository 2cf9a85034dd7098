"""`arvis schedules` against the real daemon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("schedules")
    (folder / "config.yaml").write_text("web: {port: 0}\n", encoding="utf-8")
    with running_daemon(folder) as daemon:
        yield daemon


def out(daemon: Daemon, *arguments: str) -> str:
    done = daemon.arvis(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(daemon: Daemon, *arguments: str) -> Any:
    return json.loads(out(daemon, *arguments, "--json"))


def test_a_schedule_from_its_making_to_its_end(daemon: Daemon, tmp_path: Path) -> None:
    said = out(daemon, "schedules", "create", "helper", "0 8 * * 1-5", "--to", "web:hall", "--prompt", "Report.")
    assert said.startswith("The cron cron 1 is created: ")
    assert len(said.splitlines()) == 6
    schedule = told(daemon, "schedules", "list")["items"][0]["id"]
    assert "hall" in out(daemon, "schedules", "list", "--kind", "cron", "--agent", "helper")
    assert out(daemon, "schedules", "list", "--kind", "heartbeat") == "No schedules.\n"
    assert "Next:" in out(daemon, "schedules", "show", schedule)
    changed = told(daemon, "schedules", "update", schedule, "--off", "--name", "report", "--to", "web:garden")
    assert (changed["enabled"], changed["name"], changed["channelId"]) == (False, "report", "garden")
    script = tmp_path / "script.json"
    script.write_text('{"type": "script", "url": "https://example.com", "template": "x"}', encoding="utf-8")
    beat = ("schedules", "create", "helper", "every 5s", "--heartbeat", "--to", "web:hall", "--script", str(script))
    assert told(daemon, *beat)["script"]["template"] == "x"
    assert "is deleted" in out(daemon, "schedules", "delete", schedule)
    assert "The cron report was restored to its previous version" in out(daemon, "schedules", "undo", schedule)
    assert "was removed" in out(daemon, "schedules", "undo", schedule)


def test_wrong_use_is_explained(daemon: Daemon) -> None:
    soon = daemon.arvis("schedules", "create", "helper", "soon", "--to", "web:hall", "--prompt", "x")
    assert (soon.returncode, "0 8 * * 1-5" in soon.stderr) == (1, True)
    assert daemon.arvis("schedules", "create", "helper", "@daily", "--to", "hall", "--prompt", "x").returncode == 2
    assert daemon.arvis("schedules", "update", "x").returncode == 2
    assert daemon.arvis("schedules", "show", "none").returncode == 1
    create = ("schedules", "create", "helper", "@daily", "--to", "web:hall", "--prompt", "x")
    assert daemon.arvis(*create, "--grace", "soon").returncode == 2
    assert daemon.arvis(*create, "--max-cycles", "11").returncode == 2
    graph = daemon.arvis(*create, "--graph", "wish")
    assert (graph.returncode, "planning" in graph.stderr) == (1, True)


def test_it_is_run_paused_and_told_of(daemon: Daemon) -> None:
    create = ("schedules", "create", "helper", "@daily", "--to", "web:hall", "--prompt", "Say hello.", "--grace", "6h")
    made = told(daemon, *create, "--graph", "general", "--thread", "t1", "--name", "hello")
    assert (made["misfireGraceMs"], made["graph"], made["thread"], made["createdBy"]) == (
        6 * 3_600_000,
        "agent",
        "t1",
        "api",
    )
    schedule = made["id"]
    assert told(daemon, "schedules", "update", schedule, "--grace", "none", "--thread", "")["misfireGraceMs"] is None
    assert out(daemon, "schedules", "runs", schedule) == "This schedule has not run yet.\n"
    assert "is paused" in out(daemon, "schedules", "pause", schedule)
    assert [each["id"] for each in told(daemon, "schedules", "list", "--off")["items"]] == [schedule]
    assert told(daemon, "schedules", "list", "--made-by", "tool")["items"] == []
    assert "The schedule is running" in out(daemon, "schedules", "run", schedule)
    until(lambda: told(daemon, "schedules", "runs", schedule)["items"][0]["endedAt"])
    assert "manual  done" in out(daemon, "schedules", "runs", schedule)
    assert "is resumed" in out(daemon, "schedules", "resume", schedule)


def until(check: Callable[[], object]) -> None:
    """Repeat a command until its output shows the change; commands cannot wait for changes."""
    deadline = time.monotonic() + 20
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.1)
