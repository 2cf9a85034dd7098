"""Findings of the doctor in databases, backups and rows, such as damaged files and forgotten jobs, on SQLite and
PostgreSQL."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from arvis.domain.ids import first_id_at
from arvis.domain.jobs import JobKind, NewJob
from arvis.domain.runs import ModelCall
from arvis.ports.store import Transaction
from arvis.store.backups.making import make_backup
from arvis.store.location import Database
from arvis.store.open import bring_up_to_date
from tests.acceptance.clinic import DAY, HOUR, Patient, now


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path).born()


# -- the database ------------------------------------------------------------------------------------------


def test_something_that_is_no_database(patient: Patient) -> None:
    patient.database.file.write_bytes(b"no database at all".ljust(4096))
    found = patient.examined()
    assert (found["database"].status, found["database"].why) == ("fail", "file is not a database")
    assert not {"database_files", "database_rows", "failed_jobs", "backup"} & found.keys(), (
        "what follows from it is not told again"
    )


def test_a_schema_of_another_version(patient: Patient) -> None:
    patient.sql("DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)")
    assert patient.status("database") == "warn"
    patient.sql("INSERT INTO migrations VALUES ('9999_later', 'x', 0)")
    found = patient.examined()["database"]
    assert (found.status, "9999_later" in found.why) == ("fail", True)


def test_damaged_pages(patient: Patient) -> None:
    patient.write(lambda tx: tx.settings.put("word", "x" * 9_000, now()))  # at the end of the file
    with patient.database.file.open("r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xff" * 4096)
    found = patient.examined()
    assert (found["database"].status, found["database_files"].status) == ("ok", "fail")
    assert "database_rows" not in found


def test_a_flipped_byte_in_a_value(patient: Patient) -> None:
    """SQLite finds nothing wrong with it; the page checksums do."""
    patient.write(lambda _: None)
    content = patient.database.file.read_bytes()
    patient.database.file.write_bytes(content.replace(b"0001_initial", b"0001_imitial", 1))
    found = patient.examined()
    assert "database_rows" not in found
    assert found["database_files"].status == "fail"
    assert "pages that do not match their checksums" in found["database_files"].why


def test_rows_that_cannot_be_read(patient: Patient) -> None:
    patient.sql("ALTER TABLE usage RENAME TO gone")
    found = patient.examined()
    assert (found["database_files"].status, found["database_rows"].status) == ("ok", "fail")
    assert "failed_jobs" not in found


def test_a_log_that_grows(patient: Patient) -> None:
    with patient.database.file.with_name("arvis.db-wal").open("wb") as log:
        log.truncate(150_000_000)
    assert patient.status("write_ahead_log") == "warn"


def test_what_a_crash_has_left_is_not_touched(patient: Patient) -> None:
    """The next start reads the lost work from the write-ahead log and its index; an ordinary SQLite reader would write
    the index again."""
    with crashed(patient) as left:
        found = patient.examined()
        assert (found["database_files"].status, found["failed_jobs"].status) == ("ok", "warn"), (
            "it reads the log all the same"
        )
        assert {file.name: file.read_bytes() for file in patient.data.iterdir()} == left


@contextlib.contextmanager
def crashed(patient: Patient) -> Iterator[dict[str, bytes]]:
    """Leave the files of a process that committed a failed job and crashed, and yield them by name."""
    live = patient.folder / "live"
    patient.data.rename(live)
    with contextlib.closing(sqlite3.connect(live / "arvis.db")) as connection:
        add_failed(connection)
        patient.data.mkdir(mode=0o700)
        for file in [*live.glob("arvis.db*"), live / "lock"]:
            (patient.data / file.name).write_bytes(file.read_bytes())
        index = patient.data / "arvis.db-shm"
        # A repaired index would not hold this byte, so a change is detected.
        index.write_bytes(index.read_bytes()[:-1] + b"\x01")
        yield {file.name: file.read_bytes() for file in patient.data.iterdir()}


def add_failed(connection: sqlite3.Connection) -> None:
    columns = (
        "id, kind, status, pool, priority, rank, lane, position, ready, run_at, key_live, attempts, crashes, claim"
    )
    connection.execute(
        f"INSERT INTO jobs ({columns}, tokens, payload, created_at, reason, finished_at) "
        "VALUES ('J', 'message', 'failed', 'interactive', 1, 1, 'l', 1, 0, 1, 0, 3, 0, 3, 0, '{}', 1, 'attempts', 1)"
    )
    connection.commit()


# -- backups -----------------------------------------------------------------------------------------------


def test_a_backup_that_is_due(tmp_path: Path) -> None:
    patient = Patient(tmp_path).born(at=now() - 2 * DAY)
    found = patient.examined()
    assert (found["backup"].status, found["backup"].why) == ("warn", "There is no backup.")
    make_backup(patient.database, now() - 2 * DAY)
    assert patient.examined()["backup"].why.startswith("The newest backup is ")
    make_backup(patient.database, now() - DAY)
    found = patient.examined()
    assert (found["backup"].status, found["backup_content"].status) == ("ok", "ok")


def test_a_backup_that_was_cut_off(patient: Patient) -> None:
    made = make_backup(patient.database, now()).path
    made.write_bytes(made.read_bytes()[:-100])
    found = patient.examined()["backup_content"]
    assert (found.status, found.what) == ("fail", f"{made.name} cannot be restored")


# -- accounts ----------------------------------------------------------------------------------------------


def test_servers_that_cannot_be_reached(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as gone:
        here, there = (f"http://127.0.0.1:{end.getsockname()[1]}/v1" for end in (server, gone))
        gone.close()
        patient = Patient(tmp_path, accounts(here, there))
        found = patient.examined()["account_servers"]
        assert (found.status, found.what) == ("warn", "Accounts whose server cannot be reached: a1")
        assert "Connection refused" in found.why
        patient = Patient(tmp_path, accounts(there))
        assert patient.status("account_servers") == "fail", "nobody is left to answer"
        patient = Patient(tmp_path, accounts(here))
        assert patient.status("account_servers") == "ok"


def accounts(*urls: str) -> str:
    lines = [
        f"  - {{name: a{number}, provider: custom, base_url: '{url}', model: m}}" for number, url in enumerate(urls)
    ]
    return "\n".join(["accounts:", *lines, ""])


@pytest.mark.parametrize(
    ("errors", "status", "word"),
    [
        ([None, "timeout", None], "ok", ""),
        ([None, None, "auth"], "warn", "wrong key"),
        (["timeout", "overloaded", None], "warn", "2 of 3"),
        (["auth", None], "ok", ""),
    ],
)
def test_calls_that_went_wrong(patient: Patient, errors: list[str | None], status: str, word: str) -> None:
    def add(tx: Transaction) -> None:
        for number, error in enumerate(errors):
            name, detail = f"{first_id_at(now())[:25]}{number}", "wrong key" if error else None
            made = ModelCall(name, "main", "openai", "m", now(), 1, error=error, detail=detail)
            tx.usage.add(made, execution_id="e", job_id="j", agent_id=None)

    patient.write(add)
    found = patient.examined()["account_calls"]
    assert (found.status, word in found.why) == (status, True)


# -- the queue ---------------------------------------------------------------------------------------------


def add_job(patient: Patient, age: int = 0) -> None:
    """Add a job that has been ready for `age` ms."""
    job = NewJob(kind=JobKind.MESSAGE, priority=1, lane="lane")
    patient.write(lambda tx: (tx.jobs.add(job, now() - age), None)[1])


def test_work_that_waits(patient: Patient) -> None:
    assert patient.status("waiting_jobs") == "ok"
    add_job(patient, age=HOUR)
    assert patient.examined()["waiting_jobs"].why == "No daemon is running."
    with patient.held():
        found = patient.examined()["waiting_jobs"]
    assert (found.status, "ready for 60 minutes" in found.why) == ("fail", True)


def test_work_that_has_just_come(patient: Patient) -> None:
    add_job(patient)
    with patient.held():
        assert patient.status("waiting_jobs") == "ok"


def test_leases_that_nobody_takes_back(patient: Patient) -> None:
    add_job(patient)
    patient.sql("UPDATE jobs SET status = 'running', ready = 3, owner = 'x', lease_until = ?", now() - HOUR)
    assert patient.status("leases") == "ok", "the next start takes them back"
    with patient.held():
        assert patient.status("leases") == "fail"
        patient.sql("UPDATE jobs SET lease_until = ?", now() - 1000)
        assert patient.status("leases") == "ok"


def test_jobs_that_were_given_up(patient: Patient) -> None:
    add_job(patient)
    patient.sql("UPDATE jobs SET status = 'failed', ready = 0, reason = 'attempts'")
    found = patient.examined()
    assert (found["failed_jobs"].status, found["crashing_jobs"].status) == ("warn", "ok")
    patient.sql("UPDATE jobs SET reason = 'poison'")
    found = patient.examined()
    assert (found["crashing_jobs"].status, found["crashing_jobs"].what[:24]) == ("warn", "Some jobs crashed the da")


def test_jobs_that_bring_the_process_down(patient: Patient) -> None:
    add_job(patient)
    patient.sql("UPDATE jobs SET ready = 2, crashes = 1")
    assert patient.status("crashing_jobs") == "ok"
    patient.sql("UPDATE jobs SET crashes = 2")
    assert patient.status("crashing_jobs") == "warn"


@pytest.mark.parametrize(
    ("state", "age", "status"), [("sent", 0, "ok"), ("unknown", 0, "warn"), ("failed", 0, "warn"), ("failed", 30, "ok")]
)
def test_answers_that_did_not_arrive(patient: Patient, state: str, age: int, status: str) -> None:
    patient.sql(
        "INSERT INTO messages (id, role, content, tokens, status, platform, connector, channel, thread, user_name, "
        "position, superseded, created_at) VALUES ('M', 'assistant', '', 0, 'answered', 'web', 'main', 'c', '', '', 1, "
        "0, 1)"
    )
    patient.sql(
        "INSERT INTO deliveries (id, message_id, part, platform, connector, channel, thread, seq, content, answers, "
        "state, created_at) VALUES ('D', 'M', 1, 'web', 'main', 'c', '', 1, '', '[]', ?, ?)",
        state,
        now() - age * DAY,
    )
    assert patient.status("deliveries") == status


# -- PostgreSQL --------------------------------------------------------------------------------------------


def test_postgresql(tmp_path: Path, postgres_url: str) -> None:
    """The test server runs without durability, and the doctor warns about that."""
    patient = Patient(tmp_path, f"web: {{port: 0}}\ndatabase: '{postgres_url}'\n")
    patient.data.mkdir(mode=0o700)
    before = patient.examined()
    assert before["database"].status == "warn", "nothing has run there, and nothing was made by looking"
    assert "failed_jobs" not in before
    bring_up_to_date(Database(patient.data / "arvis.db", postgres_url, patient.data), now())
    found = patient.examined()
    assert (found["database"].status, found["database_rows"].status) == ("ok", "ok")
    assert (found["database_server"].status, found["dump"].status) == ("fail", "warn")
    assert "fsync" in found["database_server"].why
    assert {"failed_jobs", "waiting_jobs", "leases", "deliveries", "clock"} <= found.keys()
    assert not {"database_files", "write_ahead_log", "backup"} & found.keys()


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    found = Patient(tmp_path, f"database: 'postgresql://user@127.0.0.1:{port}/none'\n").examined()
    assert found["database"].status == "fail"
    assert "database_server" not in found
