"""The data folder disappears under a running daemon: it stops with a clear error, and no accepted message is lost."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.daemon import Daemon, running_daemon


def renamed(data: Path) -> None:
    data.rename(data.with_name("elsewhere"))


def swapped(data: Path) -> None:
    data.rename(data.with_name("elsewhere"))
    data.mkdir()
    (data / "lock").touch()


@pytest.mark.parametrize("away", [renamed, swapped])
def test_a_daemon_ends_when_its_folder_is_gone_and_goes_on_when_it_is_back(
    tmp_path: Path, away: Callable[[Path], None]
) -> None:
    with running_daemon(tmp_path) as daemon:
        accepted = post(daemon)
        away(daemon.data)
        assert daemon.end() == 2
        assert "was moved, removed or replaced while Arvis ran" in daemon.log()
    if daemon.data.exists():
        daemon.data.rename(tmp_path / "another")
    (tmp_path / "elsewhere").rename(daemon.data)
    with running_daemon(tmp_path) as daemon:
        request = urllib.request.Request(  # noqa: S310 our own daemon
            f"{daemon.url}/api/messages/{accepted}/wait?timeout=20", headers=key(daemon)
        )
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 as above
            assert json.loads(response.read())["status"] == "answered"
        daemon.stop()


def key(daemon: Daemon) -> dict[str, str]:
    return {"Authorization": f"Bearer {daemon.api_key}", "Content-Type": "application/json"}


def post(daemon: Daemon) -> str:
    body = json.dumps({"content": "Hello", "channelId": "room"}).encode()
    request = urllib.request.Request(f"{daemon.url}/api/messages", data=body, headers=key(daemon))  # noqa: S310 ours
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 as above
        return str(json.loads(response.read())["messageId"])
