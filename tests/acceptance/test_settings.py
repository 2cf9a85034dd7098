"""Settings of a running daemon act at once or at the next start, and survive a restart; the API returns the doctor's
findings and the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.acceptance.daemon import Daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.close()


def call(daemon: Daemon, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {daemon.api_key}"}
    answer = httpx2.request(method, daemon.url + path, json=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def values(daemon: Daemon) -> dict[str, dict[str, Any]]:
    return {item["key"]: item for item in call(daemon, "GET", "/api/settings")["items"]}


def test_settings_act_survive_a_start_and_are_taken_back(daemon: Daemon) -> None:
    changes = {
        "budgets.daily_usd": 3,
        "queue.workers": 4,
        "delivery.late_after": "20m",
        "approvals.policy": {"calculate": "never"},
    }
    tools = {tool["name"]: tool for tool in call(daemon, "GET", "/api/tools")["items"]}
    assert tools["calculate"]["permit"] == "always"
    flags = ("harmless", "ownOutput", "needs")
    assert [tools["calculate"][flag] for flag in flags] == [True, True, []]
    assert [tools["run_shell"][flag] for flag in flags] == [False, False, ["sandbox"]]
    answer = call(daemon, "PATCH", "/api/settings", {"changes": changes})
    assert answer["needsRestart"] == ["queue.workers", "delivery.late_after"]
    assert {tool["name"]: tool["permit"] for tool in call(daemon, "GET", "/api/tools")["items"]}["calculate"] == "never"
    daemon.kill()
    daemon.start()
    found = values(daemon)
    assert {key: (found[key]["value"], found[key]["source"], found[key]["pending"]) for key in changes} == {
        key: (value, "product", False) for key, value in changes.items()
    }
    assert found["web.port"]["source"] == "environment"
    call(daemon, "POST", "/api/settings/undo")
    assert values(daemon)["budgets.daily_usd"]["value"] == 5
    daemon.stop()
    daemon.start()
    assert {key: values(daemon)[key]["source"] for key in changes} == dict.fromkeys(changes, "default")


def test_doctor_and_logs_of_a_running_daemon(daemon: Daemon) -> None:
    found = call(daemon, "GET", "/api/doctor")
    printed = json.loads(daemon.arvis("doctor", "--json").stdout)
    assert [item["id"] for item in found["items"]] == [check["id"] for check in printed["checks"]]
    assert found["ok"]
    security = call(daemon, "GET", "/api/doctor?security=true")
    assert {item["group"] for item in security["items"]} == {"security"}
    lines = call(daemon, "GET", "/api/logs?q=ready&level=info")["items"]
    assert "ready" in [line["event"] for line in lines]
    assert {line["level"] for line in call(daemon, "GET", "/api/logs?level=error")["items"]} <= {"error", "critical"}
