"""An owner adds a tool server to a running daemon, logs in to it, and removes it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn

from tests.acceptance.daemon import Daemon, running_daemon
from tests.fixtures.oauth_server import ProtectedServer


@pytest.fixture(scope="module")
def outside() -> Iterator[ProtectedServer]:
    server = ProtectedServer()
    listener = socket.create_server(("127.0.0.1", 0))
    server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    serving = uvicorn.Server(
        uvicorn.Config(server, log_level="error", lifespan="on", timeout_graceful_shutdown=1, access_log=False)
    )
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        serving.should_exit = True
        thread.join(30)
        listener.close()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("mcp-login")
    (folder / "config.yaml").write_text("web: {port: 0}\n")
    with running_daemon(folder) as daemon:
        yield daemon


def visit(url: str) -> tuple[HTTPResponse, str]:
    """Open an address as a browser that comes from another site."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}", headers={"Sec-Fetch-Site": "cross-site"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def login_address(daemon: Daemon) -> str:
    link = json.loads(daemon.arvis("mcp", "login", "net", "--json").stdout)
    answer, _ = visit(link["url"])
    return answer.headers["Location"] or ""


def test_a_server_is_created_a_person_logs_in_and_it_is_deleted(daemon: Daemon, outside: ProtectedServer) -> None:
    added = daemon.arvis("mcp", "create", "net", f"{outside.url}/mcp", "--set", "risk=read")
    assert (added.returncode, added.stdout) == (0, "The server net is added.\n")
    until_state(daemon, "needs a login")
    notified = json.loads(daemon.arvis("notifications", "list", "--json").stdout)["items"]
    assert [each["cause"] for each in notified if "net" in each["cause"]] == ["tool_server_login:net"]

    refused, text = visit(f"{daemon.url}/oauth/callback?state=net.guessed&code=x&session_state=1")
    assert (refused.status, "The login failed" in text) == (409, True)
    came_back, text = visit(login_address(daemon))
    assert (came_back.status, "Arvis can now use the tools of net" in text) == (200, True)
    assert "default-src 'none'" in (came_back.headers["Content-Security-Policy"] or "")
    until_state(daemon, "connected")
    assert "Adds two numbers." in daemon.arvis("mcp", "tools", "net").stdout

    assert daemon.arvis("mcp", "logout", "net").returncode == 0
    until_state(daemon, "needs a login")
    by_hand = daemon.arvis("mcp", "login", "net", "--answer", login_address(daemon))
    assert by_hand.stdout == "Logged in to net.\n"
    deleted = daemon.arvis("mcp", "delete", "net")
    assert deleted.stdout == "The server net is deleted.\n"
    assert daemon.arvis("mcp", "list").stdout.startswith("No servers.")
    [grant] = outside.grants[-1:]
    assert grant.refresh in outside.revoked
    assert not {token for token in (*grant.access, grant.refresh) if token in daemon.log()}


def until_state(daemon: Daemon, state: str) -> None:
    end = time.monotonic() + 60
    while state not in (shown := daemon.arvis("mcp", "list").stdout):
        assert time.monotonic() < end, shown
        time.sleep(0.1)


def test_no_program_can_be_added(daemon: Daemon, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    command = f'--set=command=["touch", "{mark}"]'
    refused = daemon.arvis("mcp", "create", "evil", "http://127.0.0.1:1/mcp", command)
    assert (refused.returncode, "settings.command" in refused.stderr) == (1, True)
    assert not mark.exists()
