"""A backup is whole, verified and private, or it does not exist; other work continues during a backup."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import resource
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import arvis
from arvis.domain.errors import Conflict, DiskFull, NotFound, StoreError
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound, rounds_text
from arvis.ports.backups import Backups
from arvis.store.backups.archive import verify_archive
from arvis.store.backups.folder import due_at, list_backups, stamp
from arvis.store.backups.making import back_up_to, make_backup
from arvis.store.backups.service import BackupService
from arvis.store.blobs import Stopped
from arvis.store.open import Database
from arvis.store.sql.migrations import available
from arvis.testing.clock import SteppedClock
from tests.files.backup_kit import (
    DAY_MS,
    FILES,
    HASHES,
    MESSAGES,
    NOW,
    WatchedBackups,
    copied,
    everything,
    filled,
    killed,
    manifest,
    members,
    said,
    say,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return filled(tmp_path_factory.mktemp("backup") / "data")


@pytest.fixture
def database(template: Database, tmp_path: Path) -> Database:
    return copied(template, tmp_path / "data")


def names(database: Database) -> list[str]:
    return sorted(path.name for path in database.backups.iterdir())


# -- contents -----------------------------------------------------------------------------------------------


def test_a_backup_holds_the_database_and_the_files_of_its_messages(database: Database) -> None:
    database.blobs.keep(b"a blob that no message names")
    made = make_backup(database, NOW)
    assert made.path == database.backups / "arvis-20270115T080000Z.tar.gz"
    assert (made.created_at, made.before, made.messages, made.missing) == (NOW, None, MESSAGES, 0)
    assert made.bytes == made.path.stat().st_size
    found = members(made.path)
    blobs = [f"blobs/{sha256[:2]}/{sha256[2:]}" for sha256 in sorted(HASHES)]
    assert list(found) == ["manifest.json", "arvis.db", *blobs]
    assert sorted(found[blob] for blob in blobs) == sorted(FILES)
    assert not any(b"never-in-a-backup" in data for data in found.values())


def test_a_backup_holds_the_pictures_of_tools(database: Database) -> None:
    sha256 = database.blobs.keep(b"a picture of a tool")
    call = PastCall("look", {}, Excerpt("", 0), pictures=(("a.png", "image/png", sha256),))
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        rounds = [rounds_text([PastRound("", (call,))]), "no JSON with pictures"]
        rows = connection.execute("SELECT id FROM messages LIMIT 2").fetchall()
        for text, (message_id,) in zip(rounds, rows, strict=True):
            connection.execute(
                "UPDATE messages SET rounds = ? WHERE id = ?", (text.replace("no JSON", 'no "pictures"'), message_id)
            )
        connection.commit()
    assert b"a picture of a tool" in members(make_backup(database, NOW).path).values()


def test_its_manifest_says_what_it_is(database: Database) -> None:
    said = manifest(make_backup(database, NOW).path)
    assert (said["format"], said["arvis"], said["createdAt"], said["before"]) == (1, arvis.__version__, NOW, None)
    assert said["migrations"] == [migration.name for migration in available()]
    assert (said["messages"], said["missing"]) == (MESSAGES, [])
    assert said["files"][f"blobs/{HASHES[0][:2]}/{HASHES[0][2:]}"] == {"sha256": HASHES[0], "bytes": len(FILES[0])}
    assert said["files"]["arvis.db"]["bytes"] == len(members(list_backups(database)[0].path)["arvis.db"])


def test_it_is_for_this_user_only(database: Database) -> None:
    made = make_backup(database, NOW)
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert database.backups.stat().st_mode & 0o777 == 0o700


class Meanwhile(threading.Event):
    """A stop signal that commits a row in each of its first hundred checks, between two pieces of the backup."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._connection = sqlite3.connect(database.file, isolation_level=None)
        self.commits = 0

    def is_set(self) -> bool:
        if self.commits < 100:
            self._connection.execute("INSERT INTO settings VALUES (?, 'said', 0)", (f"while {self.commits}",))
            self.commits += 1
        return False


def test_commits_go_on_beside_it_and_it_holds_the_moment_of_its_beginning(database: Database) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("INSERT INTO settings VALUES ('large', hex(zeroblob(4000000)), 0)")
    say(database, "before")
    meanwhile = Meanwhile(database)
    made = make_backup(database, NOW, stop=meanwhile)
    assert meanwhile.commits > 10
    assert len(said(database)) == 1 + meanwhile.commits
    copy = database.folder / "copy.db"
    copy.write_bytes(members(made.path)["arvis.db"])
    assert said(Database(copy, None, database.folder)) == ["before"]


def test_it_reads_a_database_that_a_killed_process_left_and_changes_nothing_of_it(database: Database) -> None:
    left = killed(database, "in the log")
    before = {path.name: path.read_bytes() for path in left.folder.iterdir()}
    made = back_up_to(left, database.folder / "made.tar.gz", NOW, at_rest=True)
    assert {path.name: path.read_bytes() for path in left.folder.iterdir()} == before
    assert b"in the log" in members(made.path)["arvis.db"]


def test_attachments_that_are_lost_are_named_and_cost_no_backup(database: Database) -> None:
    database.blobs.path(HASHES[0]).unlink()
    database.blobs.path(HASHES[1]).write_bytes(b"something else")
    made = make_backup(database, NOW)
    assert (made.missing, made.messages) == (2, MESSAGES)
    assert manifest(made.path)["missing"] == sorted(HASHES)
    assert list(members(made.path)) == ["manifest.json", "arvis.db"]


# -- whole or absent ----------------------------------------------------------------------------------------


def test_a_damaged_database_is_not_backed_up(database: Database) -> None:
    made = make_backup(database, NOW)
    pages = bytearray(database.file.read_bytes())
    pages[4096 * 3 : 4096 * 20] = bytes(4096 * 17)
    database.file.write_bytes(pages)
    with pytest.raises(StoreError) as raised:
        make_backup(database, NOW + DAY_MS)
    assert "arvis restore" in raised.value.fix
    assert names(database) == [made.path.name]


@pytest.mark.parametrize("content", [b"", b"no database", bytes(8192)])
def test_what_is_no_database_is_not_backed_up(database: Database, content: bytes) -> None:
    database.file.write_bytes(content)
    with pytest.raises(StoreError):
        make_backup(database, NOW)
    assert names(database) == []


def test_a_row_that_refers_to_nothing_is_damage(database: Database) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("INSERT INTO cursors VALUES ('c', 'nobody', '', 'null', 0, 0, NULL)")
    with pytest.raises(StoreError) as raised:
        make_backup(database, NOW)
    assert raised.value.why == "a row of cursors refers to a missing row of executions"


def test_no_room_is_seen_before_anything_is_written(database: Database) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("UPDATE attachments SET size = 1 << 50")
    with pytest.raises(DiskFull, match="not enough disk space for a backup") as raised:
        make_backup(database, NOW)
    assert "MB left" in raised.value.why
    assert names(database) == []


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [1, 4096, 100_000])
def test_a_disk_that_takes_no_more_leaves_nothing_half_made(database: Database, size: int) -> None:
    made = make_backup(database, NOW)
    with files_of_at_most(size), pytest.raises(StoreError):
        make_backup(database, NOW + DAY_MS)
    assert names(database) == [made.path.name]


class StopsAt(threading.Event):
    """A stop signal that is set after this number of checks."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_a_backup_that_is_stopped_anywhere_leaves_nothing(database: Database) -> None:
    stops = 0
    while True:
        try:
            make_backup(database, NOW, stop=StopsAt(stops))
        except (Stopped, StoreError):
            assert names(database) == []
            stops += 1
        else:
            break
    assert stops > 5


class ChangesAt(StopsAt):
    """A stop signal that changes a message's file after this number of checks."""

    def __init__(self, number: int, file: Path) -> None:
        super().__init__(number)
        self._file = file
        self.has_changed = False

    def is_set(self) -> bool:
        if super().is_set() and not self.has_changed:
            self._file.write_bytes(b"a rat")
            self.has_changed = True
        return False


def test_a_file_that_changes_meanwhile_makes_no_bad_backup(database: Database) -> None:
    file = database.blobs.path(HASHES[0])
    refused = 0
    for number in itertools.count():
        file.write_bytes(FILES[0])
        changes = ChangesAt(number, file)
        try:
            make_backup(database, NOW + number * 1000, stop=changes)
        except StoreError as error:
            refused += "differs from the data that was written" in error.what
        if not changes.has_changed:
            break
    assert refused > 0
    for backup in list_backups(database):
        verify_archive(backup.path, threading.Event())


def test_what_a_kill_left_half_made_is_removed(database: Database) -> None:
    make_backup(database, NOW)
    for name in (".arvis-20270115T080000Z.tar.gz.part", ".arvis-x.tar.gz.db.part", ".arvis-x.tar.gz.db.part-journal"):
        (database.backups / name).write_bytes(b"half")
    (database.backups / "mine.txt").write_bytes(b"kept")
    make_backup(database, NOW + DAY_MS)
    assert names(database) == ["arvis-20270115T080000Z.tar.gz", "arvis-20270116T080000Z.tar.gz", "mine.txt"]


def test_postgresql_has_its_own_programs(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", "postgresql://x", tmp_path)
    with pytest.raises(Conflict, match="SQLite only") as raised:
        make_backup(database, NOW)
    assert "pg_dump" in raised.value.fix


def test_there_may_be_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        make_backup(Database(tmp_path / "arvis.db", None, tmp_path), NOW)
    assert list(tmp_path.iterdir()) == []


# -- the folder ---------------------------------------------------------------------------------------------


def test_the_newest_of_each_kind_stay(template: Database, tmp_path: Path) -> None:
    database = copied(template, tmp_path / "data", keep=2)
    for day in range(4):
        make_backup(database, NOW + day * DAY_MS)
    for second in range(5):
        make_backup(database, NOW + second * 1000, "0002_later")
    days = [f"arvis-{stamp(NOW + day * DAY_MS)}.tar.gz" for day in (2, 3)]
    seconds = [f"arvis-{stamp(NOW + second * 1000)}-before-0002_later.tar.gz" for second in (3, 4)]
    assert names(database) == sorted([*days, *seconds])
    newest_first = [(day.path.name, day.before) for day in list_backups(database)]
    assert newest_first == [*((day, None) for day in days[::-1]), *((one, "0002_later") for one in seconds[::-1])]


def test_two_backups_of_one_second_have_names_of_their_own(database: Database) -> None:
    first, second = make_backup(database, NOW), make_backup(database, NOW + 1)
    assert first.path != second.path
    assert [backup.created_at for backup in list_backups(database)] == [NOW + 1, NOW]


def test_a_backup_that_cannot_be_read_is_listed_as_such(database: Database) -> None:
    made = make_backup(database, NOW)
    made.path.write_bytes(b"nothing")
    [listed] = list_backups(database)
    assert (listed.path, listed.created_at, listed.messages, listed.bytes) == (made.path, NOW, None, 7)


def test_the_next_is_due_by_what_is_there(database: Database) -> None:
    installed = NOW
    assert due_at(database, DAY_MS, NOW + 5) == installed + DAY_MS
    make_backup(database, NOW + DAY_MS + 1)
    assert due_at(database, DAY_MS, NOW + DAY_MS + 5) == NOW + 2 * DAY_MS
    make_backup(database, NOW + DAY_MS + 7000, "0003_x")
    assert due_at(database, DAY_MS, NOW + DAY_MS + 9000) == NOW + 2 * DAY_MS + 7000


def test_a_backup_from_the_future_puts_off_nothing(database: Database) -> None:
    make_backup(database, NOW + 9 * DAY_MS)
    assert due_at(database, DAY_MS, NOW + 5) == NOW + DAY_MS


# -- a backup to a given file -------------------------------------------------------------------------------


def test_a_backup_to_a_file_leaves_the_data_folder_alone(database: Database, tmp_path: Path) -> None:
    before = everything(database.folder)
    made = back_up_to(database, tmp_path / "new" / "mine.tar.gz", NOW, at_rest=True)
    assert made.path == tmp_path / "new" / "mine.tar.gz"
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert verify_archive(made.path, threading.Event()).messages == MESSAGES
    assert [path.name for path in made.path.parent.iterdir()] == ["mine.tar.gz"]
    assert everything(database.folder) == before


def test_a_folder_gets_a_file_with_the_usual_name(database: Database, tmp_path: Path) -> None:
    assert back_up_to(database, tmp_path, NOW, at_rest=True).path == tmp_path / f"arvis-{stamp(NOW)}.tar.gz"


def test_only_a_backup_is_overwritten(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "mine.tar.gz"
    back_up_to(database, file, NOW, at_rest=True)
    assert back_up_to(database, file, NOW + 1, at_rest=True).created_at == NOW + 1
    with pytest.raises(Conflict, match="is not a backup"):
        back_up_to(database, database.file, NOW, at_rest=True)
    assert said(database) == []


# -- while the daemon runs ----------------------------------------------------------------------------------


async def test_the_keeper_makes_one_when_it_is_due(database: Database) -> None:
    clock = SteppedClock(now=NOW)
    backups: Backups = BackupService(
        database=database, every=DAY_MS, clock=clock, watch=WatchedBackups(), restart=lambda: None
    )
    assert isinstance(backups, BackupService)
    assert await backups.run_due() == 86_400
    await clock.sleep(86_399)
    assert (await backups.run_due(), await backups.all()) == (1, [])
    await clock.sleep(1)
    assert (await backups.run_due(), len(await backups.all())) == (86_400, 1)
    await clock.sleep(3600)
    await backups.make()
    assert (await backups.run_due(), len(await backups.all())) == (86_400, 2)


async def test_a_cancelled_keeper_leaves_nothing_half_made(database: Database) -> None:
    backups = BackupService(
        database=database, every=DAY_MS, clock=SteppedClock(now=NOW), watch=WatchedBackups(), restart=lambda: None
    )
    making = asyncio.create_task(backups.make())
    while not database.backups.exists():  # noqa: ASYNC110 its thread has no event
        await asyncio.sleep(0)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert names(database) == []
    await asyncio.get_running_loop().shutdown_default_executor()
    assert names(database) == [], "the thread has ended without a backup"
