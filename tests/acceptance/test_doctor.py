"""`arvis doctor` as a person runs it: beside a running daemon, after a crash, and for a part of the checks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from arvis import __version__
from tests.acceptance.clinic import Patient
from tests.acceptance.daemon import Daemon, arvis, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("doctor")) as daemon:
        yield daemon


def checks(daemon: Daemon, *arguments: str, code: int = 0, **environ: str) -> dict[str, dict[str, Any]]:
    done = daemon.arvis("doctor", "--json", *arguments, **environ)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout
    found = json.loads(done.stdout)
    assert found["ok"] is (code == 0)
    return {check["id"]: check for check in found["checks"]}


def statuses(found: dict[str, dict[str, Any]], status: str) -> set[str]:
    return {check for check, finding in found.items() if finding["status"] == status}


# -- beside a daemon ---------------------------------------------------------------------------------------


def test_beside_a_running_daemon(daemon: Daemon) -> None:
    found = checks(daemon)
    assert len(found) >= 30
    assert statuses(found, "fail") == set()
    root = {"daemon_user"} if os.geteuid() == 0 else set()
    assert statuses(found, "warn") - {"file_system"} == {"accounts"} | root
    assert str(daemon.pid) in found["daemon"]["what"]
    assert found["daemon_version"]["what"] == f"The daemon runs the installed version, {__version__}"
    assert found["configuration"].keys() == {"id", "group", "status", "what", "why", "fix"}


def test_the_daemon_says_itself_what_answers(daemon: Daemon) -> None:
    found = checks(daemon, OPENAI_BASE_URL="http://127.0.0.1:9/v1", code=1)
    assert found["accounts"]["why"] == "No model account is configured.", "its environment has none"
    assert statuses(found, "fail") == {"account_servers"}


def test_only_what_keeps_others_out(daemon: Daemon) -> None:
    found = checks(daemon, "--security")
    assert {finding["group"] for finding in found.values()} == {"security"}


def test_a_report_for_people(daemon: Daemon) -> None:
    told = daemon.arvis("doctor").stdout
    lines = told.splitlines()
    assert lines[0] == "warnings"
    assert "\nconfiguration\n  ok    configuration     The built-in defaults can be used\n" in told
    assert f"  ok    daemon_address    The daemon answers at {daemon.url}\n" in told
    assert "\n                          why: No model account is configured.\n                          fix: " in told
    assert lines[-1].endswith(" warn, 0 fail")


def test_a_database_that_somebody_locks(daemon: Daemon) -> None:
    with contextlib.closing(sqlite3.connect(daemon.data / "arvis.db")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(1)  # the daemon reuses its last result for the database for a second
        found = checks(daemon, code=1)
        connection.execute("ROLLBACK")
    assert statuses(found, "fail") == {"daemon_ready"}
    assert found["daemon_ready"]["why"] == "Down: the database."


def test_a_daemon_that_does_not_answer(daemon: Daemon) -> None:
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        found = checks(daemon, code=1)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert statuses(found, "fail") == {"daemon_address"}
    assert not {"daemon_ready", "daemon_version"} & found.keys()


def test_the_daemon_of_another_folder_at_the_address(daemon: Daemon, tmp_path: Path) -> None:
    patient = Patient(tmp_path).born()
    with patient.held():
        (patient.data / "address").write_text(daemon.url)
        found = patient.examined()["daemon_address"]
    assert (found.status, found.what) == ("fail", f"Another Arvis runs at {daemon.url}")


# -- a daemon of another version, another program, or no daemon ------------------------------------------------


class Answers(BaseHTTPRequestHandler):
    """A program that returns the given texts by path."""

    said: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        self.send_response(200 if self.path in self.said else 404)
        self.end_headers()
        self.wfile.write(self.said.get(self.path, b"{}"))

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def answering(patient: Patient, **said: bytes) -> Iterator[None]:
    """Hold the data folder, and run another program at the daemon's address."""
    handler = type("Answers", (Answers,), {"said": {f"/{path}": text for path, text in said.items()}})
    with HTTPServer(("127.0.0.1", 0), handler) as server, patient.held():
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            (patient.data / "address").write_text(f"http://127.0.0.1:{server.server_port}")
            yield
        finally:
            server.shutdown()
            thread.join()


HEALTH = b'{"status": "ok", "version": "0.0.1"}'


def test_a_daemon_of_another_version_with_few_files(tmp_path: Path) -> None:
    patient = Patient(tmp_path).born()
    figures = b'# HELP x\nprocess_max_fds 1024.0\nprocess_open_fds 1000.0\nother{a="b"} 1.0\n'
    ready = b'{"ready": false, "roles": {"web": true, "workers": false}, "database": true, "disk": false}'
    with answering(patient, health=HEALTH, ready=ready, metrics=figures):
        found = patient.examined()
    assert (found["daemon_version"].status, found["daemon_ready"].status) == ("warn", "fail")
    assert found["daemon_ready"].why == "Down: the role workers, space on the disk."
    assert found["open_files"].status == "fail"


@pytest.mark.parametrize("said", [{"health": b"{}"}, {"health": b"<html>"}, {"health": HEALTH, "ready": b"[]"}])
def test_something_else_at_the_address(tmp_path: Path, said: dict[str, bytes]) -> None:
    patient = Patient(tmp_path).born()
    with answering(patient, **said):
        found = patient.examined()
    assert (found["daemon"].status, found["daemon_address"].status) == ("ok", "fail")


def test_nothing_at_the_address(tmp_path: Path) -> None:
    patient = Patient(tmp_path, "web: {port: 1}\n").born()
    with patient.held():
        found = patient.examined()["daemon_address"]
    assert (found.status, found.why) == ("fail", "Connection refused")
    assert found.fix.startswith("If the daemon has just started, wait")


@pytest.mark.parametrize(("configured", "said"), [("[workers]", None), ("[workers, web]", ["workers"])])
def test_a_daemon_without_the_web(tmp_path: Path, configured: str, said: list[str] | None) -> None:
    """The configuration names no web, or the daemon was started with fewer roles."""
    patient = Patient(tmp_path, f"database: 'postgresql://user@127.0.0.1:9/none'\nroles: {configured}\n").born()
    if said is not None:
        log_of(patient, {**started(1), "boot": "BOOT1", "roles": said})
    with patient.held():
        found = patient.examined()
    assert (found["daemon"].status, found["daemon_address"].status) == ("ok", "ok")
    assert "daemon_ready" not in found


# -- after a crash -----------------------------------------------------------------------------------------


def test_a_bad_day(tmp_path: Path) -> None:
    """The model fails, the daemon is killed, and then the write-ahead log loses its second half."""
    with running_daemon(tmp_path) as daemon:
        assert daemon.arvis("chat", "demo: fail auth").returncode == 1
        found = checks(daemon)
        assert {"failed_jobs", "account_calls"} <= statuses(found, "warn")
        assert "the demo failed" in found["account_calls"]["why"]

        daemon.kill()
        left = content_of(daemon.data)
        found = checks(daemon)
        assert content_of(daemon.data) == left, "the next start needs everything as it was left"
        assert found["daemon_starts"]["what"].endswith(": 1")
        assert {"daemon", "failed_jobs", "account_calls"} <= statuses(found, "warn")

        log = daemon.data / "arvis.db-wal"
        os.truncate(log, log.stat().st_size // 2)
        found = checks(daemon, code=1)
        assert statuses(found, "fail") == {"database_files"}
        assert found["database_files"]["why"].startswith("Lost: ")


def content_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def log_of(patient: Patient, *events: dict[str, object]) -> None:
    (patient.data / "logs").mkdir(mode=0o700)
    lines = [json.dumps(event) for event in events]
    (patient.data / "logs" / "arvis-2026-01-01.log").write_text(
        "\n".join(["{", *lines, '["ready"]', "\udcff"]), errors="replace"
    )


def started(minutes_ago: int) -> dict[str, object]:
    stamp = (datetime.now(UTC) - timedelta(minutes=minutes_ago)).isoformat(timespec="milliseconds")
    return {"event": "ready", "boot": f"B{minutes_ago}", "roles": ["web"], "models": ["a"], "timestamp": stamp}


STOPPING: dict[str, object] = {"event": "stopping"}


@pytest.mark.parametrize(
    ("starts", "status"),
    [
        ([50, 40, 30], "fail"),
        ([50, None, 40, 30], "ok"),
        ([90, 80, 70, 5], "ok"),
    ],
)
def test_a_daemon_that_dies_again_and_again(tmp_path: Path, starts: list[int | None], status: str) -> None:
    """`starts` are minutes ago; None means that the daemon was stopped."""
    patient = Patient(tmp_path).born()
    log_of(patient, *(STOPPING if minutes is None else started(minutes) for minutes in starts))
    assert patient.status("daemon_starts") == status


def test_in_an_empty_folder(tmp_path: Path) -> None:
    done = arvis("doctor", "--data", "data", cwd=tmp_path)
    assert done.returncode == 0
    assert "\n  warn  daemon         No daemon is running\n" in done.stdout
    assert not (tmp_path / "data").exists()
