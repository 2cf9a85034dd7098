"""An erasure leaves no byte of what a person wrote, in the data folder or in the tables of PostgreSQL.

A canary goes through every way by which texts of a person reach the daemon. Every byte is searched before and after.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from arvis.cli.api_client import Api
from tests.acceptance.daemon import Daemon, running_daemon

#: One word in lower case, so that search indexes contain it as it is.
CANARY = "zqxcanaryvw"
ROOM = f"room{CANARY}"
SECONDS = 20.0
AGENT = {
    "slug": "helper",
    "name": "Helper",
    "model": "demo",
    "context_tokens": 4096,
    "tools": ["write_file", "read_file", "schedule", "calculate"],
}
WORKFLOW = {
    "schema": 1,
    "nodes": [
        {"id": "t", "type": "trigger", "x": 0, "y": 0, "data": {"kind": "message", "words": "digest"}},
        {"id": "end", "type": "response", "x": 300, "y": 0, "data": {"template": "Heard: {{trigger}}"}},
    ],
    "connections": [{"id": "c1", "source": "t", "target": "end"}],
}


@pytest.fixture(params=["sqlite", "postgres"])
def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Daemon]:
    settings = {"ARVIS__AGENTS": json.dumps([AGENT])}
    if request.param == "postgres":
        settings["ARVIS__DATABASE"] = request.getfixturevalue("postgres_url")
    with running_daemon(tmp_path, settings=settings) as daemon:
        yield daemon


class Client:
    """The API, as its owner and as other people use it."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.api = Api(None, daemon.data)

    def says(self, text: str, *, room: str = ROOM, user: str = "ann", **more: Any) -> Any:
        """Send a message as this person, and return its timeline when it has ended."""
        name = f"Ann {CANARY}" if user == "ann" else user
        body = {"content": text, "userId": user, "userName": name, "channelId": room, "agent": "helper", **more}
        sent = self.api.post("messages", body=body)
        return self.api.get("messages", sent["messageId"], "wait", query={"timeout": 20})

    def raw(self, path: str, body: bytes, headers: dict[str, str]) -> Any:
        wanted = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.daemon.url + path, body, wanted)  # noqa: S310 - our own daemon
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read()!r}") from error


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition is not met in time"
        time.sleep(0.05)


def leave_traces(client: Client) -> str:
    """Send the canary by every way. Return the id of the key with which a program of the same person wrote."""
    file = {
        "filename": f"{CANARY}.txt",
        "contentType": "text/plain",
        "data": base64.b64encode(CANARY.encode()).decode(),
    }
    assert client.says(f"Hello {CANARY}", attachments=[file], id=f"event-{CANARY}")["status"] == "answered"
    client.says(f"demo: say Noted {CANARY}\\n[MEMORY:fact] likes {CANARY}\\n[MEMORY:sticky] {CANARY} always")
    client.says(f"demo: say Set.\\n[STATE:{CANARY}] {CANARY}")
    client.says(f'demo: tool write_file {{"path": "{CANARY}.md", "content": "{CANARY}"}}')
    client.says(f'demo: tool calculate {{"expression": "{CANARY} +"}}')
    client.says(f'demo: tool schedule {{"action": "create", "when": "in 3 h", "prompt": "Say {CANARY}"}}')
    assert client.says(f"demo: fail bad_request\nabout {CANARY}")["status"] == "failed"
    client.says(f"/stop {CANARY}")
    client.says(f"digest {CANARY}")
    for _ in range(6):  # a long conversation is compacted
        client.says(f"Long {CANARY} " + "word " * 600)
    key = client.api.post("keys", body={"name": f"Key {CANARY}", "role": "chat", "agents": ["helper"]})
    headers = {"Authorization": f"Bearer {key['key']}", "Idempotency-Key": f"key-{CANARY}"}
    question = {"model": "helper", "user": CANARY, "messages": [{"role": "user", "content": f"Hi {CANARY}"}]}
    client.raw("/v1/chat/completions", json.dumps(question).encode(), headers)
    body = {"content": f"Again {CANARY}", "channelId": "dashboard-agent-helper"}
    sent = client.raw("/api/messages", json.dumps(body).encode(), headers)
    client.api.get("messages", sent["messageId"], "wait", query={"timeout": 20})
    # A rewind keeps the earlier version, a branch copies messages, and a case of an evaluation repeats them.
    edit = json.dumps({"content": f"Other {CANARY}"}).encode()
    edited = client.raw(f"/api/messages/{sent['messageId']}/edit", edit, headers)["version"]["messageId"]
    client.api.get("messages", edited, "wait", query={"timeout": 20})
    client.api.post("messages", edited, "branch", body={"channelId": "copies"})
    client.api.post("suites", body={"name": "talks", "agent": "helper"})
    client.api.post("suites", "talks", "record", body={"message": edited, "name": "greeting"})
    hook = client.api.post(
        "webhooks",
        body={"path": "bell", "agent": "helper", "template": "{{payload}}", "platform": "web", "channelId": ROOM},
    )
    payload = json.dumps({"text": CANARY}).encode()
    digest = hmac.new(hook["secret"].encode(), payload, hashlib.sha256).hexdigest()
    signed = {"X-Webhook-Signature": f"sha256={digest}", "X-Webhook-Id": f"call-{CANARY}"}
    called = client.raw(hook["url"], payload, signed)
    until(lambda: client.api.get("executions", called["id"])["status"] == "done")
    # A conversation of several people: only the person's turns are erased.
    asked = client.says(f"In the hall: {CANARY}", room="hall")
    assert asked["status"] == "answered"
    assert (
        client.says("demo: say Ben is here", room="hall", user="ben", replyTo=asked["messageId"])["status"]
        == "answered"
    )
    client.api.delete("keys", key["id"])
    return str(key["id"])


def traces(daemon: Daemon) -> dict[str, int]:
    """Return how often the canary is in each file of the data folder, and in each table of PostgreSQL."""
    found = {
        str(file.relative_to(daemon.data)): file.read_bytes().lower().count(CANARY.encode())
        for file in sorted(daemon.data.rglob("*"))
        if file.is_file()
    }
    found |= {
        f"name {file.relative_to(daemon.data)}": 1 for file in daemon.data.rglob("*") if CANARY in file.name.lower()
    }
    if url := daemon.settings.get("ARVIS__DATABASE"):
        with psycopg.connect(url) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (table,) in tables:
                query = sql.SQL("SELECT count(*) FROM {0} WHERE lower(CAST({0} AS text)) LIKE %s").format(
                    sql.Identifier(table)
                )
                row = connection.execute(query, (f"%{CANARY}%",)).fetchone()
                assert row is not None
                found[f"table {table}"] = row[0]
    return {place: number for place, number in found.items() if number}


def test_no_byte_of_an_erased_person_is_left(daemon: Daemon) -> None:
    client = Client(daemon)
    client.api.post("workflows", body={"name": "Digest", "document": WORKFLOW})
    key = leave_traces(client)
    error = json.dumps({"timestamp": "2030-01-31", "event": "job_failed", "error": f"ValueError: {CANARY}"})
    (daemon.data / "logs" / "arvis-2030-01-31.log").write_text(error + "\n", encoding="utf-8")
    before = traces(daemon)
    assert any(place.startswith("name sessions/") for place in before), before
    people = {each["userId"]: each["id"] for each in client.api.get("people")["items"]}
    begun = daemon.arvis("people", "erase", "web:ann", f"web:key-{key}", "--yes", "--no-wait", "--json")
    assert begun.returncode == 0, begun.stderr
    daemon.kill()
    daemon.start()
    client = Client(daemon)
    erasure = json.loads(begun.stdout)["id"]
    until(lambda: client.api.get("erasures", erasure)["phase"] == "done")
    assert traces(daemon) == {}, before
    left = {each["userId"] for each in client.api.get("people")["items"]}
    assert "ann" in people
    assert "ann" not in left
    assert "ben" in left
    (hall,) = [each for each in client.api.get("conversations")["items"] if each["channelId"] == "hall"]
    said = [each["content"] for each in client.api.get("conversations", hall["id"], "messages")["items"]]
    assert any("Ben is here" in text for text in said)
    assert client.says("demo: say Go on", room="hall", user="ben")["reply"] == "Go on"
    ended = daemon.arvis("erasures", "create", "web:web:hall", "--yes", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["phase"]) == (0, "done"), ended.stderr
    assert "hall" not in {each["channelId"] for each in client.api.get("conversations")["items"]}
    refused = daemon.arvis("erasures", "create", "web:web:hall", typed="n\n")
    assert (refused.returncode, "cannot be undone" in refused.stderr) == (130, True)
    daemon.stop()
    assert traces(daemon) == {}
