"""`arvis agents` against the real daemon, and the agents that answer: the conductor, and agents that it or an owner
creates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("agents")) as daemon:
        yield daemon


def out(daemon: Daemon, *arguments: str) -> str:
    done = daemon.arvis(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(daemon: Daemon, *arguments: str) -> Any:
    return json.loads(out(daemon, *arguments, "--json"))


def test_the_conductor_is_there_from_the_first_start_and_answers_who_names_nobody(daemon: Daemon) -> None:
    assert [(each["slug"], each["role"]) for each in told(daemon, "agents", "list")["items"]] == [
        ("helper", "custom"),
        ("conductor", "conductor"),
    ]
    assert told(daemon, "chat", "hello")["agent"] == "conductor"
    refused = daemon.arvis("agents", "delete", "conductor")
    assert (refused.returncode, "cannot be deleted" in refused.stderr) == (1, True)


def test_a_binding_says_which_messages_are_for_the_agent(daemon: Daemon) -> None:
    [hall] = told(daemon, "agents", "bind", "helper", "chat:hall", "--respond", "all", "--observe", "5")["bindings"]
    assert (hall["respond"], hall["observe"]) == ("all", 5)
    told(daemon, "agents", "unbind", "helper", "chat:hall")


def test_an_agent_from_its_making_to_its_end(daemon: Daemon) -> None:
    (daemon.folder / "prompt.txt").write_text("Be brief, „ja“.\n", encoding="utf-8")
    given = ("--prompt-file", "prompt.txt", "--tools", "get_time, calculate", "--channel", "web:news-room")
    made = told(daemon, "agents", "create", "news", "--name", "News", *given)
    assert (made["prompt"], made["tools"]) == ("Be brief, „ja“.\n", ["get_time", "calculate"])
    assert told(daemon, "chat", "--channel", "news-room", "hi")["agent"] == "news"

    changed = told(
        daemon,
        *("agents", "update", "news", "--description", "reads", "--tools", "", "--context-tokens", "0"),
        *("--on-new-message", "restart", "--effort", "high"),
    )
    assert (changed["name"], changed["tools"], changed["contextTokens"]) == ("News", [], None)
    assert (changed["onNewMessage"], changed["effort"]) == ("restart", "high")
    assert told(daemon, "agents", "update", "news", "--effort", "default")["effort"] is None
    assert "is paused" in out(daemon, "agents", "pause", "news")
    assert told(daemon, "chat", "--channel", "news-room", "hi")["agent"] == "conductor"
    assert "answers again" in out(daemon, "agents", "resume", "news")

    assert "answers in web:attic now" in out(daemon, "agents", "bind", "news", "web:attic", "--permission", "read_only")
    assert "no longer answers in web:attic" in out(daemon, "agents", "unbind", "news", "web:attic")
    taken = daemon.arvis("agents", "bind", "helper", "web:news-room")
    assert (taken.returncode, "the channel of news" in taken.stderr) == (1, True)

    assert "arvis agents undo news" in out(daemon, "agents", "delete", "news")
    assert "news" not in out(daemon, "agents", "list")
    assert out(daemon, "agents", "list", "--status", "archived").splitlines()[1].startswith("news")
    assert "web:news-room" in out(daemon, "agents", "undo", "news")
    shown = out(daemon, "agents", "show", "news")
    assert shown.endswith("\nBe brief, „ja“.\n\n")
    lines = out(daemon, "agents", "versions", "news").splitlines()
    assert [line.split()[0] for line in lines] == ["VERSION", *"987654321"]


def test_it_is_the_same_after_a_restart(daemon: Daemon) -> None:
    out(daemon, "agents", "delete", "helper")
    daemon.stop()
    daemon.start()
    assert "helper" not in out(daemon, "agents", "list")
    assert "helper" in out(daemon, "agents", "undo", "helper")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("create", "Not-A-Slug"), 1),
        (("create", "x", "--channel", "nowhere"), 2),
        (("create", "x", "--prompt", "a", "--prompt-file", "prompt.txt"), 2),
        (("update", "helper"), 2),
        (("update", "helper", "--tools", "nonsense"), 1),
        (("update", "nobody", "--name", "x"), 1),
        (("show", "nobody"), 1),
    ],
)
def test_what_cannot_be_done_is_said(daemon: Daemon, arguments: tuple[str, ...], code: int) -> None:
    done = daemon.arvis("agents", *arguments)
    assert (done.returncode, "Traceback" in done.stderr, bool(done.stderr)) == (code, False, True)
