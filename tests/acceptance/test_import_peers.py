"""A copy of the home of another program is imported once, and a second import changes nothing."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arvis.cli.api_client import Api
from tests.acceptance.daemon import Daemon, environment, running_daemon
from tests.fixtures.peers import (
    ANN,
    AT,
    BEN,
    HOMES,
    MEMORIES,
    MESSAGES,
    SCHEDULES,
    SECRET,
    SKILLS,
    database,
    nanobot_session,
    openclaw_event,
    write_lines,
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "arvis").mkdir()
    with running_daemon(tmp_path / "arvis") as started:
        yield started


def imported(daemon: Daemon, program: str, home: Path, *options: str) -> Any:
    done = daemon.arvis("import", program, str(home), "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def actions(report: Any, kind: str) -> Counter[str]:
    """Return the numbers of records by action. The remarks of the reader have the action `skip`."""
    return Counter(each["action"] for each in report["items"] if each["kind"] == kind and each["action"] != "skip")


def stored(api: Api, program: str) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return the schedules, facts, conversations and messages of the imported agent."""
    schedules = api.get("schedules", query={"limit": 100})["items"]
    facts = api.get("memory", query={"limit": 200, "agent": program})["items"]
    talks = [each for each in api.get("conversations")["items"] if each["agent"] == program]
    said = [api.get("conversations", talk["id"], "messages", query={"limit": 200})["items"] for talk in talks]
    return schedules, facts, talks, [message for each in said for message in each]


@pytest.mark.parametrize("name", HOMES)
def test_a_home_arrives_once(daemon: Daemon, tmp_path: Path, name: str) -> None:
    program, home = name.partition("-")[0], tmp_path / name
    HOMES[name](home)
    api = Api(None, daemon.data)
    rehearsed = imported(daemon, program, home, "--dry-run")
    assert program not in {each["slug"] for each in api.get("agents")["items"]}, "a dry run writes nothing"

    report = imported(daemon, program, home, "--yes")
    assert report["items"] == rehearsed["items"]
    assert actions(report, "memory") == {"create": MEMORIES}
    assert actions(report, "schedules") == {"create": SCHEDULES}
    assert actions(report, "skills") == {"create": SKILLS}
    schedules, facts, talks, messages = stored(api, program)
    assert (len(schedules), len(facts), len(talks), len(messages)) == (SCHEDULES, MEMORIES, 2, MESSAGES)
    assert not any(each["enabled"] for each in schedules)
    assert all("agents" in each["taint"] for each in facts)
    agent = api.get("agents", program)
    assert sorted(agent["allowUsers"]) == [ANN, BEN]
    assert agent["tools"] == []
    assert {each["slug"] for each in api.get("skills")["items"]} >= {"knots", "sour-dough", "tides"}
    people = {each["userId"]: each for each in api.get("people")["items"]}
    assert {people[ANN]["role"], people[BEN]["role"]} == {"member"}
    assert not any(people[user]["paired"] for user in (ANN, BEN))

    again = imported(daemon, program, home, "--yes")
    assert {each["action"] for each in again["items"]} == {"unchanged", "skip"}
    assert stored(api, program)[3] == messages
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in daemon.data.rglob("*") if file.is_file())


def grow(name: str, home: Path) -> None:
    """Let the program write two more messages in the conversation with Ann."""
    match name:
        case "openclaw":
            file = home / "agents" / "main" / "sessions" / "11111111-aaaa.jsonl"
            events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            more = [
                openclaw_event(f"x{n}", 80 + n, {"role": role, "content": "more"})
                for n, role in enumerate(("user", "assistant"))
            ]
            write_lines(file, [*events, *more])
        case "hermes":
            with database(home / "state.db") as insert:
                for n, role in enumerate(("user", "assistant")):
                    insert("messages", 9_000 + n, "20260501_a", role, "more", None, AT / 1000 + 900, 1, 0)
        case _:
            nanobot_session(home, f"telegram:{ANN}", 42)


@pytest.mark.parametrize("name", ["openclaw", "hermes", "nanobot"])
def test_a_later_import_adds_what_is_new(daemon: Daemon, tmp_path: Path, name: str) -> None:
    HOMES[name](tmp_path / "home")
    imported(daemon, name, tmp_path / "home", "--yes")
    grow(name, tmp_path / "home")
    report = imported(daemon, name, tmp_path / "home", "--yes")
    assert {each["action"] for each in report["items"] if each["kind"] != "conversations"} == {"unchanged", "skip"}
    assert actions(report, "conversations") == {"update": 1, "unchanged": 1}
    assert len(stored(Api(None, daemon.data), name)[3]) == MESSAGES + 2


def test_schedules_are_turned_on_by_request(daemon: Daemon, tmp_path: Path) -> None:
    HOMES["openclaw"](tmp_path / "home")
    imported(daemon, "openclaw", tmp_path / "home", "--yes", "--enable-schedules")
    enabled = {each["name"]: each["enabled"] for each in Api(None, daemon.data).get("schedules")["items"]}
    assert enabled == {"News": True, "News (job4)": True, "Party": True, "Daily": True, "Watch": False}


def test_the_command_asks_first_and_names_the_next_steps(daemon: Daemon, tmp_path: Path) -> None:
    HOMES["nanobot"](tmp_path / "home")
    refused = daemon.arvis("import", "nanobot", str(tmp_path / "home"), typed="n\n")
    assert refused.returncode != 0
    assert "Would do: " in refused.stdout
    assert "nanobot" not in {each["slug"] for each in Api(None, daemon.data).get("agents")["items"]}
    done = daemon.arvis("import", "nanobot", str(tmp_path / "home"), typed="y\n")
    assert done.returncode == 0, done.stderr
    assert "`arvis bots create telegram --off --set agent=nanobot`" in done.stderr
    assert "`arvis accounts create anthropic --provider anthropic`" in done.stderr


def test_a_terminal_asks_for_tokens_and_creates_bots_that_are_off(daemon: Daemon, tmp_path: Path) -> None:
    HOMES["nanobot"](tmp_path / "home")
    token, key = "123456:a-new-token-for-a-test-0123456789abcd", "sk-new-key-for-a-test"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "arvis", "import", "nanobot", str(tmp_path / "home"), "--data", str(daemon.data)]
    process = subprocess.Popen(
        command, env=environment(TERM="dumb"), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown = ""
    for words, answer in (("[y/N]:", "y"), ("Token:", token), ("Key of anthropic (empty: later):", key)):
        shown += until(ours, words)
        os.write(ours, f"{answer}\n".encode())
    shown += until(ours, "agents show nanobot")
    assert process.wait(timeout=60) == 0
    os.close(ours)
    assert token not in shown
    assert key not in shown
    api = Api(None, daemon.data)
    (bot,) = [each for each in api.get("bots")["items"] if each["platform"] == "telegram"]
    assert (bot["name"], bot["enabled"], bot["settings"]["agent"]) == ("main", False, "nanobot")
    assert "anthropic" in {each["provider"] for each in api.get("accounts")["items"]}


def until(terminal: int, words: str) -> str:
    """Return what the terminal shows until these words."""
    shown = ""
    while words not in shown:
        assert select.select([terminal], [], [], 60)[0], f"{words!r} is not in {shown!r}"
        shown += os.read(terminal, 65_536).decode(errors="replace")
    return shown


def test_wrong_arguments_are_explained(daemon: Daemon, tmp_path: Path) -> None:
    cases = [
        (("import", "hermes", str(tmp_path)), 1, "is not the home of hermes"),
        (("import", "hermes"), 2, "Name the home of hermes"),
        (("import", "clippy", str(tmp_path)), 2, "not a PROGRAM (openclaw, hermes, nanobot)"),
        (("import", str(tmp_path / "x.zip")), 2, "is not a file"),
        (("import", "hermes", str(tmp_path), "--owner", "ann"), 2, "must be PLATFORM:USER"),
    ]
    for arguments, code, words in cases:
        done = daemon.arvis(*arguments)
        assert (done.returncode, words in done.stderr) == (code, True), done.stderr
