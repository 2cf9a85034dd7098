"""A failing command ends with its exit code and writes what, why and fix to standard error, never a traceback."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import socket
import sqlite3
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.acceptance.daemon import arvis, environment, running_daemon

Done = subprocess.CompletedProcess[str]


def complaint(done: Done, code: int) -> str:
    """Expect this exit code, and return the error text of the command."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


# -- 130: Ctrl-C ---------------------------------------------------------------------------------------------


def _interrupt(chat: subprocess.Popen[bytes]) -> bytes:
    """Send SIGINT until the process ends, and return its remaining error output. Python notices a signal that comes
    just before it begins to read only together with the next signal."""
    for _ in range(6):
        chat.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return chat.communicate(timeout=5)[1]
    chat.kill()
    return chat.communicate()[1]


def test_ctrl_c_ends_a_conversation_without_a_word(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        # A shell lets its background commands, and so a whole test run, ignore SIGINT; `env` undoes this.
        python = ["env", "--default-signal=INT", sys.executable]
        command = [*python, "-m", "arvis", "chat", "--data", str(daemon.data)]
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path
        ) as chat:
            assert chat.stderr is not None
            assert chat.stderr.read(2) == b"> ", "Python writes the prompt of `input` here"
            more = _interrupt(chat)
        os.close(ours)
        os.close(theirs)
    assert (chat.returncode, more) == (130, b"")


# -- 2: wrong use or bad configuration ----------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("dance",), ("jobs", "list", "--status", "odd"), ("jobs", "show")])
def test_wrong_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert "Usage: arvis" in complaint(arvis(*arguments, cwd=tmp_path), 2)


def test_a_bad_configuration_is_named_by_key_and_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("web:\n  prot: 80\n")
    said = complaint(arvis("run", "--data", "data", cwd=tmp_path), 2)
    assert "`web.prot` is not a known key\n" in said
    assert "\n  why: `web.prot` is set in config.yaml, line 2." in said
    assert "\n  fix: Did you mean `web.port`?" in said
    assert not (tmp_path / "data").exists()


def test_roles_that_do_not_exist(tmp_path: Path) -> None:
    assert "`roles` must list one or more of connectors, workers" in complaint(
        arvis("run", "--roles", "web,x", cwd=tmp_path), 2
    )


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = arvis("run", "--data", "data", cwd=tmp_path, environ={"ARVIS__WEB__PORT": port})
    last = [line for line in complaint(done, 2).splitlines() if not line.startswith("{")]
    assert last[0] == f"The web server cannot listen at 127.0.0.1 port {port}."
    assert last[2].startswith("  fix: In config.yaml, set web.port")
    assert not (tmp_path / "data" / "address").exists()


# -- 3 and 4: data folder in use, daemon not reachable -------------------------------------------------------


def test_a_folder_in_which_no_daemon_ever_ran(tmp_path: Path) -> None:
    said = complaint(arvis("jobs", "list", "--data", "data", cwd=tmp_path), 4)
    assert f"{tmp_path / 'data' / 'api-key'} does not exist.\n  fix: Start the daemon with `arvis run`" in said
    assert not (tmp_path / "data").exists()


def test_a_daemon_that_runs_is_killed_or_has_stopped(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        in_use = f"The data folder {daemon.data} is in use\n  why: process {daemon.pid} uses it.\n  fix: "
        assert complaint(daemon.arvis("upgrade"), 3).startswith(in_use)
        assert complaint(daemon.arvis("run"), 3).startswith(in_use)
        daemon.kill()
        assert (daemon.data / "address").exists()
        assert f"cannot be reached at {daemon.url}\n  why: Connection refused" in complaint(daemon.arvis("login"), 4)
        daemon.start()
        assert daemon.login_link == ""
        assert daemon.stop() == ""
        assert not (daemon.data / "address").exists()
        complaint(daemon.arvis("chat", "hi"), 4)


def test_a_database_of_a_newer_version(tmp_path: Path) -> None:
    assert arvis("upgrade", "--data", "data", cwd=tmp_path).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "arvis.db")) as connection, connection:
        connection.execute("INSERT INTO migrations VALUES ('9999_later', 'x', 0)")
    # The page checksums would show that another program has written to the database.
    (tmp_path / "data" / "arvis.db-sums").unlink(missing_ok=True)
    said = complaint(arvis("upgrade", "--data", "data", cwd=tmp_path), 5)
    assert "written by a newer Arvis\n  why: it has the migration 9999_later" in said


# -- 4: another program answers ------------------------------------------------------------------------------


class Stranger(BaseHTTPRequestHandler):
    """Another program at the address of the daemon."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *_: object) -> None:
        pass


def test_another_program_at_the_address_is_not_the_daemon(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        Thread(target=server.handle_request, daemon=True).start()
        (tmp_path / "address").write_text(f"http://127.0.0.1:{server.server_port}")
        (tmp_path / "api-key").write_text("key")
        said = complaint(arvis("jobs", "list", "--data", str(tmp_path), cwd=tmp_path), 4)
    assert "why: another program answers at this address" in said
