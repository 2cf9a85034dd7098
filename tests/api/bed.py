"""The daemon for trials of the API: a separate folder, a key for each role, and one object of each kind."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.acceptance.daemon import Daemon, running_daemon
from tests.api.relay import relayed

ROLES = ("owner", "operator", "viewer", "chat")
NOBODY = "nobody"
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Bed:
    """The daemon under trial. `url` is the address of a relay (`tests/api/relay.py`), which every call uses."""

    daemon: Daemon
    url: str

    def headers(self, role: str) -> dict[str, str]:
        return {} if role == NOBODY else {"Authorization": f"Bearer {_key(role)}"}

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, role: str = "owner") -> Any:
        """Call an operation, which must succeed, and return its answer."""
        answer = requests.request(method, self.url + path, json=body, headers=self.headers(role), timeout=_SECONDS)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def document(self) -> dict[str, Any]:
        return dict(self.call("GET", "/openapi.json"))


@contextlib.contextmanager
def made_bed(folder: Path) -> Iterator[Bed]:
    keys = [{"key": f"env:ARVIS_TRIED_{role.upper()}", "role": role} for role in ROLES]
    settings = {
        "ARVIS__WEB__API_KEYS": json.dumps(keys),
        **{f"ARVIS_TRIED_{role.upper()}": _key(role) for role in ROLES},
    }
    with running_daemon(folder, settings=settings) as daemon, relayed(int(daemon.url.rpartition(":")[2])) as url:
        bed = Bed(daemon, url)
        _furnish(bed)
        yield bed


def _key(role: str) -> str:
    return f"key-of-the-{role}-who-tries-it"


def _furnish(bed: Bed) -> None:
    """Create one object of each kind, so that lists have items whose shapes can be checked."""
    place = {"platform": "web", "channelId": "web-owner"}
    bed.call("POST", "/api/agents", {"slug": "tried", "name": "Tried", "prompt": "You are tried."})
    said = bed.call("POST", "/api/messages", {"content": "hello", "channelId": "dashboard-agent-tried"})
    bed.call("GET", f"/api/messages/{said['messageId']}/wait?timeout=10")
    bed.call("POST", "/api/messages", {"content": "hello"}, role="chat")
    client = bed.call("POST", "/api/clients", {"name": "Acme", "monthlyLimitUsd": 50})
    bed.call("POST", f"/api/clients/{client['id']}/charges", {"type": "payment", "amountUsd": 5, "description": "paid"})
    bed.call("PUT", "/api/variables/COLOUR", {"value": "blue"})
    bed.call("POST", "/api/memory", {"agent": "tried", "content": "The office is closed on Fridays."})
    bed.call("POST", "/api/projects", {"title": "Move"})
    bed.call(
        "POST",
        "/api/schedules",
        {"kind": "cron", "agent": "tried", "schedule": "0 9 * * *", "prompt": "Hello", **place},
    )
    bed.call("POST", "/api/webhooks", {"path": "issues", "agent": "tried", "template": "New: {title}", **place})
    bed.call(
        "POST",
        "/api/accounts",
        {"name": "spare", "provider": "openai", "model": "m", "apiKey": "sk-none", "status": "disabled"},
    )
    _furnish_workflows(bed)


def _furnish_workflows(bed: Bed) -> None:
    """Create a workflow with a draft, an agent that uses it, a finished run, and a run that waits for a person."""
    bed.call("POST", "/api/workflows", {"name": "Asks", "slug": "asks", "document": _asks()})
    bed.call("PATCH", "/api/workflows/asks", {"document": {**_asks(), "nodes": []}, "draft": True})
    bed.call("POST", "/api/agents", {"slug": "drawn", "name": "Drawn", "graph": "workflow:asks"})
    runs = [bed.call("POST", "/api/workflows/asks/runs", {"input": "go"})["id"] for _ in range(2)]
    _until(lambda: bed.call("GET", f"/api/runs/{runs[0]}")["questions"])
    bed.call("POST", f"/api/runs/{runs[0]}/resume", {"decision": "approve"})


def _asks() -> dict[str, Any]:
    nodes = [
        {"id": "start", "type": "start", "x": 0, "y": 0, "data": {}},
        {"id": "ask", "type": "approval", "x": 300, "y": 0, "data": {"prompt": "Shall it go on?"}},
        {"id": "end", "type": "response", "x": 600, "y": 0, "data": {"template": "Done: {{trigger}}"}},
    ]
    connections = [
        {"id": "c1", "source": "start", "target": "ask"},
        {"id": "c2", "source": "ask", "target": "end", "sourceHandle": "approve"},
    ]
    return {"schema": 1, "nodes": nodes, "connections": connections}


def _until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + _SECONDS
    while not found():
        assert time.monotonic() < end, "the run asks no question"
        time.sleep(0.05)
