"""`arvis chat` against the real daemon: questions, their outcomes, and messages that the daemon posts while nobody
waits for an answer."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.acceptance.daemon import Daemon, environment, running_daemon

AGENTS = [
    {"slug": "helper", "name": "Helper", "model": "demo"},
    {"slug": "clerk", "name": "Clerk", "model": "demo", "tools": ["write_file"]},
]
SETTINGS = {"ARVIS__AGENTS": json.dumps(AGENTS), "ARVIS__ROUTING__FALLBACK": "helper"}
SECONDS = 60


def writing(name: str) -> str:
    return f'demo: tool write_file {{"path": "{name}", "content": "remember the milk"}}'


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("chat"), settings=SETTINGS) as daemon:
        yield daemon


def call(daemon: Daemon, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {daemon.api_key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{daemon.url}{path}", data, headers, method=method)  # noqa: S310 - loopback
    with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - loopback
        return json.load(answer)


class Terminal:
    """A person at a terminal in which `arvis chat` runs."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self._process = process
        self._master = master
        self._seen = ""

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def until(self, text: str) -> str:
        """Return the output up to and including this text, and keep the rest for the next call."""
        while text not in self._seen:
            assert select.select([self._master], [], [], SECONDS)[0], f"{text!r} is not in {self._seen!r}"
            try:
                self._seen += os.read(self._master, 65_536).decode(errors="replace").replace("\r", "")
            except OSError:
                raise AssertionError(f"the chat has ended: {text!r} is not in {self._seen!r}") from None
        shown, _, self._seen = self._seen.partition(text)
        return shown + text

    def leave(self) -> int:
        os.write(self._master, b"\x04")
        return self._process.wait(SECONDS)


@contextmanager
def terminal(daemon: Daemon, *arguments: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "arvis", "chat", *arguments, "--data", str(daemon.data)]
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        cwd=daemon.folder,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS)
        os.close(ours)


def written(daemon: Daemon, name: str) -> list[Path]:
    return list(daemon.data.rglob(name))


def test_a_question_is_shown_whole_and_its_outcome_follows_the_yes(daemon: Daemon) -> None:
    asked = daemon.arvis("chat", "--channel", "cli-one", "--agent", "clerk", writing("one.txt"))
    assert asked.returncode == 1
    assert "wants to use the tool write_file" in asked.stdout
    assert '  path: "one.txt"' in asked.stdout
    assert '  content: "remember the milk"' in asked.stdout
    wait = re.search(r"`arvis questions answer (\w{26}) ", asked.stdout)
    assert wait is not None, asked.stdout
    assert "`yes`" in asked.stdout
    assert "The message waits for the answer to a question." in asked.stderr
    fix = re.search(r"Answer the question: `arvis ([^`]*)`", asked.stderr)
    assert fix is not None, asked.stderr
    allowed = daemon.arvis(*fix[1].split())
    assert (allowed.returncode, allowed.stderr) == (0, "")
    first, rest = allowed.stdout.split("\n", 1)
    assert first == "Allowed."
    assert "one.txt" in rest, "the outcome of the work that was allowed is missing"
    assert len(written(daemon, "one.txt")) == 1


def test_lines_of_a_pipe_answer_a_question(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--agent", "clerk", writing("own.txt"))
    assert "`arvis chat --agent clerk yes`" in done.stderr
    assert daemon.arvis("chat", "--agent", "clerk", "no").stdout.startswith("Not allowed.")
    done = daemon.arvis("chat", "--agent", "clerk", typed=f"{writing('two.txt')}\nyes\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.index("write_file") < done.stdout.index("Allowed.")
    assert len(written(daemon, "two.txt")) == 1


def test_a_question_that_is_open_at_the_end_of_a_pipe_is_no_answer(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--agent", "clerk", "--channel", "cli-open", typed=f"{writing('three.txt')}\n")
    assert done.returncode == 1
    assert "The message waits for the answer to a question." in done.stderr
    assert written(daemon, "three.txt") == []


def test_a_no_at_a_terminal_shows_what_the_agent_says_then(daemon: Daemon) -> None:
    with terminal(daemon, "--agent", "clerk", "--channel", "cli-tty") as person:
        person.until("> ")
        person.type(writing("four.txt"))
        assert "remember the milk" in person.until("arvis questions answer")
        person.until("> ")
        person.type("no")
        person.until("Not allowed.")
        assert "write_file" in person.until("> "), "the outcome is missing"
        assert person.leave() == 0
    assert written(daemon, "four.txt") == []


def test_what_is_posted_later_is_printed_while_the_prompt_waits(daemon: Daemon) -> None:
    body = {
        "kind": "cron", "agent": "helper", "name": "Milk", "schedule": "0 3 * * *", "prompt": "demo: say Buy milk.",
        "platform": "web", "channelId": "cli-later",
    }  # fmt: skip
    schedule = call(daemon, "POST", "/api/schedules", body)["id"]
    with terminal(daemon, "--channel", "cli-later") as person:
        person.until("> ")
        person.type("demo: say Good morning.")
        person.until("\nGood morning.\n> ")
        call(daemon, "POST", f"/api/schedules/{schedule}/run", {})
        person.until("Buy milk.\n> ")
        message = {"content": "demo: say From elsewhere.", "channelId": "cli-later"}
        call(daemon, "POST", "/api/messages", message)
        person.until("From elsewhere.\n> ")
        assert person.leave() == 0


def test_one_message_can_be_followed_by_what_is_posted_later(daemon: Daemon) -> None:
    with terminal(daemon, "--follow", "--channel", "cli-follow", "demo: say First.") as person:
        person.until("First.\n")
        call(daemon, "POST", "/api/messages", {"content": "demo: say Second.", "channelId": "cli-follow"})
        person.until("Second.\n")


def test_following_outlives_a_restart_of_the_daemon(tmp_path: Path) -> None:
    with running_daemon(tmp_path, settings=SETTINGS) as daemon:
        port = str(urlsplit(daemon.url).port)
        with terminal(daemon, "--follow", "--channel", "cli-follow", "demo: say First.") as person:
            person.until("First.\n")
            call(daemon, "POST", "/api/messages", {"content": "demo: say Second.", "channelId": "cli-follow"})
            person.until("Second.\n")
            daemon.stop()
            person.until("The connection is lost. Trying again …\n")
            daemon.settings["ARVIS__WEB__PORT"] = port
            daemon.start()
            call(daemon, "POST", "/api/messages", {"content": "demo: say Third.", "channelId": "cli-follow"})
            person.until("Third.\n")


def test_an_answer_is_printed_once(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--channel", "cli-once", typed="demo: say one\ndemo: say two\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\ntwo\n", "")


def test_agent_and_channel_are_both_honoured(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--json", "--agent", "clerk", "--channel", "cli-both", "hi")
    timeline = json.loads(done.stdout)
    assert (timeline["agent"], timeline["channelId"]) == ("clerk", "cli-both")
    plain = json.loads(daemon.arvis("chat", "--json", "--channel", "cli-both", "hi").stdout)
    assert plain["agent"] == "helper"


def test_an_agent_that_is_not_there_is_refused_in_any_channel(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--agent", "nobody", "--channel", "cli-both", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("There is no such agent, or you may not ask it.\n  fix: ")


def test_the_channel_of_one_agent_is_not_for_another(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--agent", "clerk", "--channel", "dashboard-agent-helper", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "belongs to" in done.stderr


def test_a_reply_matches_the_schema_of_a_file(daemon: Daemon, tmp_path: Path) -> None:
    (schema := tmp_path / "schema.json").write_text('{"type": "object", "required": ["sum"]}')
    ended = daemon.arvis("chat", 'demo: say {"sum": 3}', "--schema", str(schema))
    assert (ended.returncode, json.loads(ended.stdout)) == (0, {"sum": 3})
    ended = daemon.arvis("chat", "demo: say three", "--schema", str(schema))
    assert ended.returncode == 1
    assert "does not have the format that the request demands" in ended.stderr
    schema.write_text("no JSON")
    ended = daemon.arvis("chat", "hello", "--schema", str(schema))
    assert ended.returncode != 0
    assert "contains no JSON" in ended.stderr
