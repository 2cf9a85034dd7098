"""An export of one installation is imported into another one, and a second import changes nothing."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arvis.cli.api_client import Api
from tests.acceptance.daemon import Daemon, running_daemon

AGENT = {"slug": "helper", "name": "Helper", "model": "demo", "tools": ["schedule"]}
DOCUMENT = {
    "schema": 1,
    "nodes": [
        {"id": "start", "type": "start", "x": 0, "y": 0, "data": {}},
        {"id": "end", "type": "response", "x": 300, "y": 0, "data": {"template": "Heard: {{trigger}}"}},
    ],
    "connections": [{"id": "c1", "source": "start", "target": "end"}],
}
SKILL = "---\nslug: knots\nname: Knots\ntriggers: {keywords: [bowline]}\n---\nMind the loop.\n"
SECRET = "sk-never-in-an-export-1234567890"


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "first").mkdir()
    with running_daemon(tmp_path / "first", settings={"ARVIS__AGENTS": json.dumps([AGENT])}) as daemon:
        yield daemon


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "second").mkdir()
    with running_daemon(tmp_path / "second") as daemon:
        yield daemon


def says(daemon: Daemon, text: str, user: str = "ann", **more: Any) -> Any:
    api = Api(None, daemon.data)
    body = {"content": text, "userId": user, "userName": user.title(), "channelId": "hall", "agent": "helper", **more}
    sent = api.post("messages", body=body)
    return api.get("messages", sent["messageId"], "wait", query={"timeout": 20})


def prepare(daemon: Daemon) -> None:
    api = Api(None, daemon.data)
    file = {"filename": "note.txt", "contentType": "text/plain", "data": base64.b64encode(b"a note").decode()}
    assert says(daemon, "Hello", attachments=[file])["status"] == "answered"
    says(daemon, "demo: say Noted.\\n[MEMORY:fact] Ann likes knots")
    says(daemon, "Ben is here", user="ben")
    api.post("workflows", body={"name": "Digest", "document": DOCUMENT})
    api.post("skills", body={"text": SKILL})
    api.post("agents", body={"slug": "sailor", "name": "Sailor", "prompt": "You sail.", "model": "openai/gpt-4o-mini"})
    api.post(
        "schedules",
        body={"kind": "cron", "agent": "sailor", "name": "morning", "schedule": "0 8 * * *", "prompt": "Tell the news.",
              "platform": "web", "channelId": "hall"},
    )  # fmt: skip
    api.put("variables", "TOKEN", body={"value": SECRET, "secret": True})


def imported(daemon: Daemon, file: Path, *options: str) -> Any:
    done = daemon.arvis("import", str(file), "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def exports(daemon: Daemon) -> list[tuple[str, Any, bool]]:
    """Return the exports in the audit log, the newest first: whose records, their numbers, and whether somebody is named."""
    entries = Api(None, daemon.data).get("audit", query={"kind": "export"})["items"]
    return [(each["subject"], each["fields"]["counts"], each["principalId"] is not None) for each in entries]


def changed(report: Any) -> list[Any]:
    return [each for each in report["items"] if each["action"] not in {"unchanged", "skip"}]


def test_a_second_installation_gets_everything_and_once(first: Daemon, second: Daemon, tmp_path: Path) -> None:
    prepare(first)
    file = tmp_path / "all.zip"
    done = first.arvis("export", str(file))
    assert done.returncode == 0, done.stderr
    assert first.arvis("export", str(file)).returncode == 2, "an export replaces no file"
    with zipfile.ZipFile(file) as archive:
        contents = b"".join(archive.read(name) for name in archive.namelist())
        manifest = json.loads(archive.read("manifest.json"))
    assert SECRET.encode() not in contents
    assert exports(first) == [("all", manifest["counts"], True)], "a refused export has no entry"
    assert (manifest["format"], manifest["version"]) == ("arvis-export", 1)

    rehearsed = imported(second, file, "--dry-run")
    api = Api(None, second.data)
    assert "sailor" not in {each["slug"] for each in api.get("agents")["items"]}, "a dry run writes nothing"
    report = imported(second, file)
    assert report["items"] == rehearsed["items"]
    assert any("openai/gpt-4o-mini" in each for each in report["asks"])
    assert changed(imported(second, file)) == []

    assert "sailor" in {each["slug"] for each in api.get("agents")["items"]}
    assert [each["slug"] for each in api.get("workflows")["items"]] == ["digest"]
    (schedule,) = api.get("schedules")["items"]
    assert (schedule["name"], schedule["enabled"]) == ("morning", False)
    (fact,) = api.get("memory")["items"]
    assert fact["content"] == "Ann likes knots"
    (hall,) = [each for each in api.get("conversations")["items"] if each["channelId"] == "hall"]
    said = api.get("conversations", hall["id"], "messages")["items"]
    assert [each["content"] for each in said][-1] == "Hello"
    assert len(said) == 6
    assert second.arvis("export", str(tmp_path / "again.zip")).returncode == 0
    assert changed(imported(first, tmp_path / "again.zip")) == []


def test_a_person_gets_their_own_data(first: Daemon, tmp_path: Path) -> None:
    prepare(first)
    file = tmp_path / "ann.zip"
    done = first.arvis("people", "export", "web:ann", str(file))
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(file) as archive:
        texts = b"".join(archive.read(name) for name in archive.namelist())
        assert set(archive.namelist()) >= {"people.jsonl", "memory.jsonl", "conversations.jsonl"}
        assert "agents.jsonl" not in archive.namelist()
    assert b"Ann likes knots" in texts
    assert b"a note" in texts
    assert b"Ben is here" not in texts
    people = Api(None, first.data).get("people", query={"platform": "web", "q": "ann"})["items"]
    ((subject, counts, named),) = exports(first)
    assert ([subject], counts["people"], named) == ([each["id"] for each in people if each["userId"] == "ann"], 1, True)
    shown = first.arvis("audit", "--kind", "export")
    assert subject in shown.stdout


def test_a_person_also_gets_the_messages_of_inactive_versions(first: Daemon, second: Daemon, tmp_path: Path) -> None:
    api = Api(None, first.data)
    sent = says(first, "My first words")
    edited = api.post("messages", sent["messageId"], "edit", body={"content": "My other words"})
    api.get("messages", edited["version"]["messageId"], "wait", query={"timeout": 20})
    file, all_ = tmp_path / "ann.zip", tmp_path / "all.zip"
    for command in (["people", "export", "web:ann", str(file)], ["export", str(all_)]):
        done = first.arvis(*command)
        assert done.returncode == 0, done.stderr

    def messages(path: Path) -> list[tuple[str, bool]]:
        with zipfile.ZipFile(path) as archive:
            talks = [json.loads(line) for line in archive.read("conversations.jsonl").splitlines()]
        return [
            (each["content"], each.get("inactive", False))
            for talk in talks
            for each in talk["messages"]
            if each["role"] == "user"
        ]

    assert messages(file)[0] == ("My first words", True)
    assert [text for text, _ in messages(all_)] == ["My other words"]
    imported(second, file)
    (hall,) = Api(None, second.data).get("conversations")["items"]
    said = Api(None, second.data).get("conversations", hall["id"], "messages")["items"]
    assert not [each for each in said if each["content"] == "My first words"]
    assert changed(imported(second, file)) == []


def test_a_channel_is_exported_with_its_people_and_facts(first: Daemon, second: Daemon, tmp_path: Path) -> None:
    prepare(first)
    api = Api(None, first.data)
    says(first, "Only in the kitchen", user="cleo", channelId="kitchen")
    api.post("memory", body={"agent": "helper", "content": "The hall is cold", "scope": "room:web:web:hall:"})
    file = tmp_path / "hall.zip"
    done = first.arvis("export", str(file), "--channel", "web:web:hall")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(file) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    kinds = {name.removesuffix(".jsonl") for name in found if name.endswith(".jsonl")}
    assert kinds == {"people", "schedules", "memory", "conversations"}
    texts = b"".join(found.values())
    for text in (b"Ben is here", b"a note", b"The hall is cold", b"Tell the news."):
        assert text in texts
    for text in (b"kitchen", b"cleo"):
        assert text not in texts
    assert b"Ann likes knots" not in found["memory.jsonl"], "a fact about a person is no fact about a channel"
    assert exports(first)[0][0] == "web:web:hall"
    assert imported(second, file)["counts"]["create"] > 0
    assert changed(imported(second, file)) == []
    for channel, code, words in (
        ("web:web:attic", 1, "no conversation in this channel"),
        ("hall", 1, "PLATFORM:BOT:CHANNEL"),
    ):
        refused = first.arvis("export", str(tmp_path / "none.zip"), "--channel", channel)
        assert (refused.returncode, words in refused.stderr) == (code, True), refused.stderr


def test_damaged_files_are_refused_before_anything_is_written(second: Daemon, tmp_path: Path) -> None:
    good = {"format": "arvis-export", "version": 1, "program": "p", "source": "s", "exportedAt": 1}
    skill = {"slug": "knots", "text": SKILL}
    cases = {
        "no archive": (None, "not a readable zip"),
        "no manifest": ({"skills.jsonl": json.dumps(skill)}, "no manifest.json"),
        "newer": ({"manifest.json": json.dumps({**good, "version": 2})}, "newer version"),
        "unknown entry": ({"manifest.json": json.dumps(good), "../evil": "x"}, "unknown entry"),
        "unknown field": (
            {"manifest.json": json.dumps(good), "skills.jsonl": json.dumps(skill) + "\n" + json.dumps({"slug": "a"})},
            "skills.jsonl, line 2: text",
        ),
        "wrong bytes": ({"manifest.json": json.dumps(good), "files/" + "0" * 64: "x"}, "do not match"),
    }
    for name, (entries, words) in cases.items():
        file = tmp_path / f"{name}.zip"
        if entries is None:
            file.write_bytes(b"no archive")
        else:
            with zipfile.ZipFile(file, "w") as archive:
                for entry, text in entries.items():
                    archive.writestr(entry, text)
        done = second.arvis("import", str(file))
        assert (done.returncode, words in done.stderr) == (1, True), (name, done.stderr)
    assert "knots" not in {each["slug"] for each in Api(None, second.data).get("skills")["items"]}
