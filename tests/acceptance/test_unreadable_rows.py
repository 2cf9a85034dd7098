"""Malformed rows that another program wrote fail alone: the start, lists and other rows work."""

from __future__ import annotations

import json
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.acceptance.daemon import Daemon, running_daemon

#: One malformed row of each kind, beside valid ones that were made before.
MALFORMED = """
UPDATE agents SET tools = '{"a": 1}', status = 'dancing' WHERE slug = 'broken';
INSERT INTO accounts (id, name, provider, model, models, sealed_key, base_url, priority, status, created_at, updated_at)
VALUES ('01', 'broken', 'demo', 'demo', 'no list', NULL, NULL, 1, 'odd', 1, 1);
INSERT INTO bots (id, platform, name, settings, secrets, enabled, created_at, updated_at)
VALUES ('01', 'telegram', 'broken', 'no json', '[1]', 1, 1, 1),
    ('02', 'telegram', 'wrong', '{}', '[1]', 1, 1, 1),
    ('03', 'nowhere', 'lost', '{"token": 5}', '{}', 1, 1, 1);
INSERT INTO bot_states (platform, name, state, error, user_id, user_name, since, updated_at)
VALUES ('telegram', 'broken', 'upside down', '', '', '', 1, 1);
UPDATE schedules SET schedule = 'whenever', memo = 'no json', next_run = 1 WHERE name = 'broken';
UPDATE webhooks SET preset = 'smoke' WHERE name = 'broken';
UPDATE workflow_versions SET document = 'no json' WHERE workflow_id IN (SELECT id FROM workflows WHERE slug = 'broken');
UPDATE workflow_versions SET document = '{"nodes": {"a": 1}, "connections": 5}'
WHERE workflow_id IN (SELECT id FROM workflows WHERE slug = 'odd');
INSERT INTO versions (kind, row_id, version, data, by_id, at) VALUES ('config', 'config', 9, 'no json', NULL, 1);
INSERT INTO settings (key, value, updated_at)
VALUES ('config.changes', '{"mcp.servers": 5, "plugins.enabled": {"a": []}, "no.such": 1}', 1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
INSERT INTO skills (slug, text, source, by_id, created_at, updated_at) VALUES ('broken', '---', '', '', 1, 1);
INSERT INTO principals (id, platform, user_id, name, role, created_at, updated_at)
VALUES ('01', 'web', 'broken', 'Broken', 'unknown', 1, 1);
"""

#: A workflow that every message of the web starts.
DRAWN = {
    "nodes": [
        {"id": "t", "type": "trigger", "data": {"kind": "dashboard"}},
        {"id": "end", "type": "end", "data": {}},
    ],
    "connections": [{"id": "c", "source": "t", "target": "end"}],
}

LISTS = (
    "agents",
    "accounts",
    "bots",
    "schedules",
    "skills",
    "workflows",
    "webhooks",
    "users",
    "people",
    "settings",
    "overview",
)


def call(daemon: Daemon, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    request = urllib.request.Request(  # noqa: S310 our own daemon
        daemon.url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {daemon.api_key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 as above
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def test_malformed_rows_cost_themselves_alone(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        for slug in ("broken", "sound"):
            status, told = call(daemon, "POST", "/api/agents", {"slug": slug, "name": slug.title()})
            assert status == 201, told
        schedule = {"kind": "cron", "agent": "sound", "name": "broken", "schedule": "every 1 h", "prompt": "Go"}
        schedule |= {"platform": "web", "channelId": "room"}
        status, told = call(daemon, "POST", "/api/schedules", schedule)
        assert status == 201, told
        for name in ("broken", "sound"):
            webhook = {"name": name, "path": f"/{name}", "agent": "sound", "platform": "web", "channelId": "room"}
            status, told = call(daemon, "POST", "/api/webhooks", {**webhook, "template": "Go"})
            assert status == 201, told
        for slug in ("broken", "odd"):
            status, told = call(daemon, "POST", "/api/workflows", {"slug": slug, "name": slug, "document": DRAWN})
            assert status == 201, told
        daemon.stop()
    with closing(sqlite3.connect(tmp_path / "data" / "arvis.db")) as connection:
        connection.executescript(MALFORMED)
    (tmp_path / "data" / "arvis.db-sums").unlink()  # as if another program had put the database there
    with running_daemon(tmp_path) as daemon:
        assert {name: call(daemon, "GET", f"/api/{name}")[0] for name in LISTS} == dict.fromkeys(LISTS, 200)
        agents = {agent["slug"]: agent["status"] for agent in call(daemon, "GET", "/api/agents")[1]["items"]}
        assert (agents["broken"], agents["sound"]) == ("paused", "active")
        bots = {bot["name"]: bot for bot in call(daemon, "GET", "/api/bots")[1]["items"]}
        assert bots["broken"]["state"] == "error"
        assert "cannot be read" in bots["broken"]["error"]
        status, answer = call(daemon, "POST", "/api/messages", {"content": "Hello", "channelId": "room"})
        assert status == 202, answer
        _malformed_work_is_refused(daemon)
        told = daemon.arvis("doctor", "--json")
        assert told.stdout, told.stderr
        found = json.loads(told.stdout)
        [rows] = [check for check in found["checks"] if check["id"] == "database_rows"]
        for name in ("agents broken", "accounts broken", "bots broken", "schedules broken", "webhooks broken"):
            assert name in rows["why"]
        for name in ("workflows broken", "workflows odd", "skills broken"):
            assert name in rows["why"]
        settings = next(check for check in found["checks"] if check["id"] == "stored_settings")
        assert "mcp.servers" in settings["why"]
        said = "".join(file.read_text() for file in (tmp_path / "data" / "logs").glob("*.log*"))
        for table in ("agents", "webhooks"):
            assert f"The row broken of the table {table} cannot be read" in said
        daemon.stop()


def _malformed_work_is_refused(daemon: Daemon) -> None:
    """The API shows malformed rows with their error and starts nothing for them; valid rows beside them work."""
    hooks = {hook["name"]: hook["enabled"] for hook in call(daemon, "GET", "/api/webhooks")[1]["items"]}
    assert hooks == {"broken": False, "sound": True}
    assert call(daemon, "POST", "/hooks/broken", {})[0] in {404, 409}
    assert call(daemon, "POST", "/hooks/sound", {})[0] == 401  # accepted, but without a signature
    for slug in ("broken", "odd"):
        status, told = call(daemon, "GET", f"/api/workflows/{slug}")
        assert (status, told["document"]["nodes"]) == (200, []), told
        assert "cannot be read" in told["note"]
        status, told = call(daemon, "POST", f"/api/workflows/{slug}/runs", {})
        assert status == 422, told
    status, told = call(daemon, "GET", "/api/skills")
    assert any("broken" in problem for problem in told["problems"]), told
