"""A workflow as the graph of a webhook, a schedule and an agent, set from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon

DOCUMENT = {
    "schema": 1,
    "nodes": [
        {"id": "start", "type": "start", "x": 0, "y": 0, "data": {}},
        {"id": "end", "type": "response", "x": 300, "y": 0, "data": {"template": "Heard: {{trigger}}"}},
    ],
    "connections": [{"id": "c1", "source": "start", "target": "end"}],
}
HOOK = ("webhooks", "create", "bell", "helper", "{{payload}}", "--to", "web:hall")
CRON = ("schedules", "create", "helper", "@daily", "--to", "web:hall", "--prompt", "Go")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "config.yaml").write_text("web: {port: 0}\n", encoding="utf-8")
    (folder / "listener.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    with running_daemon(folder) as daemon:
        told(daemon, "workflows", "import", str(folder / "listener.json"), "--name", "Listener")
        yield daemon


def told(daemon: Daemon, *arguments: str) -> Any:
    done = daemon.arvis(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_web_hook_and_a_schedule_take_a_workflow_and_let_it_go(daemon: Daemon) -> None:
    for made in (HOOK, CRON):
        group = made[0]
        known = told(daemon, *made, "--workflow", "listener")
        assert known["graph"] == "workflow:listener"
        assert told(daemon, group, "update", known["id"], "--workflow", "")["graph"] is None
        assert (
            told(daemon, group, "update", known["id"], "--workflow", "workflow:listener")["graph"]
            == "workflow:listener"
        )


def test_one_that_is_not_there_is_refused(daemon: Daemon) -> None:
    refused = daemon.arvis(*CRON, "--workflow", "nobodys")
    assert (refused.returncode, "nobodys" in refused.stderr) == (1, True)
    both = daemon.arvis(*CRON, "--workflow", "listener", "--graph", "code")
    assert (both.returncode, "either" in both.stderr) == (2, True)


def test_an_agent_takes_one_by_its_graph(daemon: Daemon) -> None:
    assert told(daemon, "agents", "create", "drawn", "--graph", "workflow:listener")["graph"] == "workflow:listener"
