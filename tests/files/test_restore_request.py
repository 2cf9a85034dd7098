"""A restore that was requested in the dashboard is carried out by the next start."""

from __future__ import annotations

from pathlib import Path

import pytest

from arvis.ports.backups import RestoreState
from arvis.store.backups.making import make_backup
from arvis.store.backups.requested import carry_out_request, last_restore, request_restore
from arvis.store.open import Database
from tests.files.backup_kit import MESSAGES, NOW, copied, everything, filled, said, say


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return filled(tmp_path_factory.mktemp("template") / "data")


@pytest.fixture
def database(template: Database, tmp_path: Path) -> Database:
    return copied(template, tmp_path / "data")


def test_it_is_carried_out_once(database: Database) -> None:
    say(database, "before")
    made = make_backup(database, NOW)
    say(database, "since")
    assert carry_out_request(database, NOW) is None
    request_restore(database, made.path, NOW)
    outcome = carry_out_request(database, NOW + 1)
    assert outcome is not None
    assert (outcome.state, outcome.name, outcome.at) == (RestoreState.DONE, made.path.name, NOW + 1)
    assert (outcome.messages, outcome.aside) == (MESSAGES, str(next(database.aside.iterdir())))
    assert said(database) == ["before"]
    assert last_restore(database) == outcome
    assert carry_out_request(database, NOW + 2) is None


def test_without_its_backup_the_data_stays_and_the_reason_is_kept(database: Database) -> None:
    made = make_backup(database, NOW)
    say(database, "since")
    request_restore(database, made.path, NOW)
    made.path.write_bytes(b"no backup")
    outcome = carry_out_request(database, NOW)
    assert outcome is not None
    assert outcome.state is RestoreState.FAILED
    assert "cannot be restored" in outcome.error[0]
    assert said(database) == ["since"]
    assert carry_out_request(database, NOW) is None


@pytest.mark.parametrize(
    "text",
    ["", "{}", "no json", '{"state":"requested","name":"../x","at":1,"messages":null,"aside":null,"error":["","",""]}'],
)
def test_a_damaged_request_is_ignored(database: Database, text: str) -> None:
    (database.folder / "restore.json").write_text(text)
    before = everything(database.folder)
    assert carry_out_request(database, NOW) is None
    assert everything(database.folder) == before
