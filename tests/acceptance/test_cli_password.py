"""`arvis password` and `arvis login` give access back, with and without a running daemon."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.acceptance.daemon import Daemon, arvis, environment, running_daemon

FIRST = "correct horse battery"
SECOND = "another horse, älter"


def enter(daemon: Daemon, **body: str) -> tuple[int, Any]:
    place = urlsplit(daemon.url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=20)
    try:
        connection.request("POST", "/api/auth/login", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_a_password_is_set_with_and_without_a_daemon(tmp_path: Path) -> None:
    done = arvis("password", "--data", "data", cwd=tmp_path, typed=FIRST + "\n")
    assert (done.returncode, done.stdout.split(".")[0]) == (0, "The password of owner is set"), done.stderr
    with running_daemon(tmp_path) as daemon:
        assert enter(daemon, password=FIRST)[0] == 200
        (tmp_path / "secret").write_text(SECOND + "\n")
        done = daemon.arvis("password", "--password-file", str(tmp_path / "secret"), "--json")
        assert (done.returncode, json.loads(done.stdout)) == (0, {"user": "owner"}), done.stderr
        assert enter(daemon, password=FIRST)[0] == 401
        assert enter(daemon, user="owner", password=SECOND)[0] == 200
        link = daemon.arvis("login", "--user", "owner").stdout.strip()
        assert enter(daemon, code=link.partition("#login=")[2])[1]["userId"] == "owner"
        refused = daemon.arvis("login", "--user", "nobody")
        assert refused.returncode == 1
        assert "no such user" in refused.stderr
        assert SECOND not in (tmp_path / "daemon.log").read_text()


def test_a_password_that_cannot_be_changes_nothing(tmp_path: Path) -> None:
    for arguments, typed, words in (
        ((), "short\n", "fewer than 8"),
        ((), "", "fewer than 8"),
        (("--user", "nobody"), FIRST, "no such user"),
    ):
        done = arvis("password", "--data", "data", *arguments, cwd=tmp_path, typed=typed)
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr
        assert FIRST not in done.stderr


def test_on_a_terminal_it_is_asked_for_twice_and_not_shown(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "arvis", "password", "--data", "data"],
        cwd=tmp_path,
        env=environment(TERM="dumb"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = _until(ours, "New password:")
    os.write(ours, FIRST.encode() + b"\n")
    shown += _until(ours, "confirmation:")
    os.write(ours, FIRST.encode() + b"\n")
    shown += _until(ours, "is set.")
    assert process.wait(timeout=30) == 0
    os.close(ours)
    assert FIRST not in shown


def _until(terminal: int, words: str) -> str:
    shown = ""
    while words not in shown:
        shown += os.read(terminal, 1000).decode()
    return shown
