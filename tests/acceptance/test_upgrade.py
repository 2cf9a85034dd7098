"""`arvis upgrade` and the start of the daemon upgrade the data of an older version, or change nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from arvis.process.data_folder import lock_data_folder
from arvis.store.open import Database
from arvis.store.sql.migrations import available
from tests.acceptance.daemon import arvis, running_daemon
from tests.files.earlier_states import content_of, earlier

STATE = 11
NAMES = [migration.name for migration in available()[STATE:]]
OLD_CONFIG = "# mine\nmodel:\n  fast: demo/demo\n"
NEW_CONFIG = "# mine\nmodel:\n  summarizer: demo/demo\n"
#: After this statement no agent can answer, so the test message of an upgrade fails.
NO_ANSWERS = """CREATE TRIGGER no_answers BEFORE INSERT ON messages WHEN NEW.role = 'assistant'
    BEGIN SELECT RAISE(ABORT, 'no answers'); END"""


def execute(database: Database, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute(statement)


def test_a_check_changes_nothing_and_an_upgrade_changes_data_and_configuration(tmp_path: Path) -> None:
    database, config = earlier(tmp_path / "data", STATE), tmp_path / "config.yaml"
    config.write_text(OLD_CONFIG)
    before = content_of(database)
    checked = arvis("upgrade", "--check", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.splitlines() == [
        *(f"would run {name}" for name in NAMES),
        "would change the configuration: `model.fast` is now `model.summarizer`",
        "The upgrade would succeed with the current data. Nothing was changed.",
    ]
    assert (content_of(database), config.read_text()) == (before, OLD_CONFIG)

    done = arvis("upgrade", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [backup] = database.backups.iterdir()
    assert done.stdout.splitlines() == [
        *(f"ran {name}" for name in NAMES),
        "changed the configuration: `model.fast` is now `model.summarizer`",
        f"The old configuration is {config.resolve()}.bak.",
        "To return to the previous version, install it again, then run:",
        f"  arvis restore {backup.name}",
    ]
    assert config.read_text() == NEW_CONFIG
    assert Path(f"{config}.bak").read_text() == OLD_CONFIG

    again = json.loads(arvis("upgrade", "--json", cwd=tmp_path).stdout)
    # The kept database has times in the future and a skill without a valid slug, and everyone can read the copy.
    assert {check["id"] for check in again.pop("failedChecks")} == {"clock", "database_rows", "file_modes"}
    assert again == {
        "changed": False, "migrations": [], "backup": None, "configuration": [], "configurationBackup": None,
    }  # fmt: skip
    with running_daemon(tmp_path) as daemon:
        # The channel can also get a notice, because the settings of a bot of this database cannot be read.
        assert "hello" in daemon.arvis("chat", "--agent", "helper", "demo: say hello").stdout.splitlines()


def test_after_an_upgrade_failed_checks_of_the_doctor_are_listed(tmp_path: Path) -> None:
    """Such as a part of the program that was in the default install of the previous version."""
    (tmp_path / "config.yaml").write_text("bots: {nowhere: [{name: main}]}\n")
    done = arvis("upgrade", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "arvis doctor: `bots.nowhere[0]` cannot be used" in done.stderr
    assert (tmp_path / "data" / "arvis.db").exists()


def test_an_upgrade_that_was_interrupted_before_the_configuration_goes_on_there(tmp_path: Path) -> None:
    assert arvis("upgrade", cwd=tmp_path).returncode == 0
    (tmp_path / "config.yaml").write_text(OLD_CONFIG)
    done = arvis("upgrade", cwd=tmp_path)
    assert "changed the configuration" in done.stdout
    assert (tmp_path / "config.yaml").read_text() == NEW_CONFIG


def test_a_failed_upgrade_changes_nothing_and_names_the_way_back(tmp_path: Path) -> None:
    database, config = earlier(tmp_path / "data", STATE), tmp_path / "config.yaml"
    config.write_text(OLD_CONFIG)
    execute(database, NO_ANSWERS)
    before = content_of(database)
    for arguments in (["upgrade", "--check"], ["upgrade"]):
        failed = arvis(*arguments, cwd=tmp_path)
        assert failed.returncode == 5
        assert failed.stderr.splitlines()[-3:] == [
            "The data was not upgraded",
            "  why: a test message got no answer: IntegrityError('no answers'). The data is unchanged",
            "  fix: Install the previous version of Arvis again; it opens the data as before. Then report this error.",
        ]
        assert (content_of(database), config.read_text()) == (before, OLD_CONFIG)
    assert not database.backups.exists()


def test_the_start_of_the_daemon_upgrades_the_data_or_ends(tmp_path: Path) -> None:
    database = earlier(tmp_path / "data", STATE)
    execute(database, NO_ANSWERS)
    before = content_of(database)
    failed = arvis("run", "--data", "data", cwd=tmp_path)
    assert failed.returncode == 5
    assert "The data was not upgraded" in failed.stderr
    assert content_of(database) == before
    execute(database, "DROP TRIGGER no_answers")
    # The page checksums would show that another program has written to the database.
    database.file.with_name("arvis.db-sums").unlink(missing_ok=True)
    with running_daemon(tmp_path) as daemon:
        # The channel can also get a notice, because the settings of a bot of this database cannot be read.
        assert "hello" in daemon.arvis("chat", "--agent", "helper", "demo: say hello").stdout.splitlines()


def test_beside_a_running_daemon_only_a_check_is_possible(tmp_path: Path) -> None:
    database = earlier(tmp_path / "data", STATE)
    with lock_data_folder(database.folder):
        refused = arvis("upgrade", "--data", "data", cwd=tmp_path)
        assert refused.returncode == 3
        assert "restart the daemon with the new version: it upgrades the database by itself" in refused.stderr
        checked = arvis("upgrade", "--check", "--data", "data", cwd=tmp_path)
        assert checked.stdout.splitlines()[0] == f"would run {NAMES[0]}", checked.stderr
    assert list(database.folder.glob(".look-*")) == []
