"""Webhooks with the real daemon: a program calls, and the agent answers in a channel, also after a kill."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon

SECONDS = 20.0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("webhooks")
    (folder / "config.yaml").write_text("web: {port: 0}\n", encoding="utf-8")
    with running_daemon(folder) as daemon:
        yield daemon


def out(daemon: Daemon, *arguments: str, **environ: str) -> str:
    done = daemon.arvis(*arguments, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(daemon: Daemon, *arguments: str, **environ: str) -> Any:
    return json.loads(out(daemon, *arguments, "--json", **environ))


def called(daemon: Daemon, path: str, body: bytes, secret: str, call_id: str) -> tuple[int, Any]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Webhook-Signature": f"sha256={digest}", "X-Webhook-Id": call_id, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{daemon.url}{path}", body, headers)  # noqa: S310 - our own daemon
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def said(daemon: Daemon, channel: str, number: int) -> list[str]:
    """Return the messages of a web channel once there are this many."""
    end, found = time.monotonic() + SECONDS, list[str]()
    while time.monotonic() < end:
        found = [
            message["content"]
            for conversation in api(daemon, "/api/conversations")["items"]
            if conversation["channelId"] == channel
            for message in api(daemon, f"/api/conversations/{conversation['id']}/messages")["items"]
        ]
        if len(found) >= number:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{channel} holds {found}; the log ends with:\n{daemon.log()}")


def api(daemon: Daemon, path: str) -> Any:
    request = urllib.request.Request(  # noqa: S310 - our own daemon
        daemon.url + path, headers={"Authorization": f"Bearer {daemon.api_key}"}
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
        return json.loads(response.read())


def test_a_call_is_answered_in_the_channel_and_once_whatever_happens(daemon: Daemon) -> None:
    template = "demo: say {{payload.build}} of {{payload.commits.0.by}}"
    hook = told(daemon, "webhooks", "create", "ci/deploy", "helper", template, "--to", "web:hall")
    body = json.dumps({"build": "broken", "commits": [{"by": "ann"}]}).encode()
    status, answer = called(daemon, hook["url"], body, hook["secret"], "1")
    assert (status, answer["ok"]) == (202, True)
    daemon.kill()
    daemon.start()
    assert called(daemon, hook["url"], body, hook["secret"], "1") == (202, answer)
    assert said(daemon, "hall", 1) == ["broken of ann"]
    status, other = called(daemon, hook["url"], body.replace(b"broken", b"mended"), hook["secret"], "2")
    assert (status, other["id"] == answer["id"]) == (202, False)
    assert sorted(said(daemon, "hall", 2)) == ["broken of ann", "mended of ann"]
    assert called(daemon, hook["url"], body, "another secret", "3")[0] == 401
    shown = told(daemon, "webhooks", "show", hook["id"])
    assert (shown["triggerCount"], shown["secret"]) == (2, f"••••{hook['secret'][-4:]}")


def test_a_web_hook_from_its_making_to_its_end(daemon: Daemon) -> None:
    made = out(
        daemon, "webhooks", "create", "git", "helper", "Look: {{payload}}", "--to", "web:hall", "--preset", "github"
    )
    hook = made.splitlines()[0].rpartition(" ")[2]
    assert "called at  /hooks/git" in made
    secret = made.splitlines()[2].split()[-1]
    assert len(secret) == 48
    listed = out(daemon, "webhooks", "list", "--agent", "helper")
    assert "/hooks/git" in listed
    assert secret not in listed
    changed = told(daemon, "webhooks", "update", hook, "--off", "--secret-env", "GIVEN", GIVEN="given by the caller")
    assert (changed["enabled"], changed["secret"]) == (False, "••••ller")
    assert "secret     " in out(daemon, "webhooks", "rotate", hook)
    assert "is deleted" in out(daemon, "webhooks", "delete", hook)
    assert daemon.arvis("webhooks", "show", hook).returncode == 1
    assert daemon.arvis("webhooks", "update", hook).returncode == 2
    assert daemon.arvis("webhooks", "create", "x", "helper", "x", "--to", "hall").returncode == 2
