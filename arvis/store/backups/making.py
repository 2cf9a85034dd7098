"""Makes backups while the daemon works, verifies them, and deletes old ones.

A separate connection reads the database, so writers do not wait. A backup gets its final name only when it is complete
and verified.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import BackupDamaged, Conflict, NotFound, StoreError
from arvis.domain.past_rounds import rounds_of
from arvis.ports.backups import BackupFile
from arvis.store.backups.archive import (
    DATABASE,
    SECRETS,
    Entry,
    Manifest,
    blob_name,
    read_summary,
    verify_archive,
    write_archive,
)
from arvis.store.backups.folder import clear_halves, described, free_path, prune
from arvis.store.blobs import check_room, create_private, disk_trouble, go_on, private_folder, sha256_of, sync_folder
from arvis.store.location import Database
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.errors import as_store_error, is_full
from arvis.store.sqlite.session import looking_at, read_only

_PAGES_AT_ONCE = 256
#: `stop` is checked after this number of instructions of SQLite's virtual machine.
_STEPS_AT_ONCE = 100_000


def make_backup(
    database: Database,
    now: int,
    before: str | None = None,
    *,
    at_rest: bool = False,
    stop: threading.Event | None = None,
) -> BackupFile:
    """Make a backup in the data folder. `at_rest` means that no process uses the database. Setting `stop` aborts the
    work.

    `before` is the name of the migration that will run next, or None. Backups before migrations are counted separately.
    Otherwise a migration that fails again and again could cause the deletion of all other backups.

    Raise `Conflict` for PostgreSQL, `NotFound` if there is no database, and `DiskFull` if there is not enough space. A
    damaged database is not copied: raise `StoreError`.
    """
    _check_source(database)
    with disk_trouble(f"A backup of {database.file} cannot be made"):
        clear_halves(database.backups)
        path = free_path(database.backups, now, before, encrypted=database.passphrase is not None)
        made = _Backup(database, path, now, before, at_rest, stop or threading.Event()).make()
        prune(database, like=path)
        return made


def back_up_to(database: Database, file: Path, now: int, *, at_rest: bool) -> BackupFile:
    """Make a backup at the path `file`, or inside `file` if it is a folder. Backups in the data folder are not deleted.
    An existing file is overwritten only if it is a backup. Raise the same errors as `make_backup`."""
    _check_source(database)
    with disk_trouble(f"The backup {file} cannot be made"):
        encrypted = database.passphrase is not None
        path = free_path(file, now, None, encrypted=encrypted) if file.is_dir() else file
        if path.exists():
            try:
                read_summary(path)
            except BackupDamaged as error:
                raise Conflict(f"{path} already exists and is not a backup", fix="choose another name") from error
        return _Backup(database, path, now, None, at_rest, threading.Event()).make()


def refuse_server(database: Database) -> None:
    if database.url is not None:
        raise Conflict(
            "Arvis makes and restores backups of SQLite only",
            why="the data is in PostgreSQL",
            fix="make backups with `pg_dump --format=custom`, and restore them with `pg_restore`",
            code="not_sqlite",
        )


def no_database(database: Database) -> NotFound:
    return NotFound(f"There is no database {database.file}", fix="Start the daemon once. It creates the database.")


def damage_in(connection: sqlite3.Connection) -> list[str]:
    """Return a description of each damage that SQLite finds in the pages, rows and foreign keys of a database."""
    pages = [row[0] for row in connection.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
    orphans = connection.execute("PRAGMA foreign_key_check").fetchmany(10)
    return pages + [f"a row of {row[0]} refers to a missing row of {row[2]}" for row in orphans]


def copy_pages(source: sqlite3.Connection, copy: Path, stop: threading.Event) -> None:
    """Copy the database as the transaction of `source` sees it. Other connections can commit meanwhile. Setting `stop`
    aborts the work."""
    create_private(copy).close()
    with contextlib.closing(sqlite3.connect(copy)) as target:
        # These settings are safe because the copy is temporary and is deleted after any failure.
        target.execute("PRAGMA synchronous = OFF")
        target.execute("PRAGMA journal_mode = OFF")
        source.backup(target, pages=_PAGES_AT_ONCE, progress=lambda *_: go_on(stop))


def _check_source(database: Database) -> None:
    refuse_server(database)
    if not database.file.exists():
        raise no_database(database)


def files_in_use(connection: sqlite3.Connection) -> list[str]:
    """Return the hashes of the files to which messages and documents refer, sorted. The database may have an earlier
    schema."""
    queries = load_queries(SqliteDialect())
    found = {row["sha256"] for row in connection.execute(queries["blobs_in_use"])}
    if any(row["name"] == "rounds" for row in connection.execute("PRAGMA table_info(messages)")):
        for row in connection.execute(queries["rounds_with_pictures"]):
            # A row that cannot be read must not prevent a backup.
            with contextlib.suppress(ValueError, LookupError, TypeError):
                calls = [call for each in rounds_of(row["rounds"]) for call in each.calls]
                found |= {sha256 for call in calls for _, _, sha256 in call.pictures}
    if _has_documents(connection):
        found |= {row["sha256"] for row in connection.execute(queries["files_of_documents"])}
    return sorted(found)


def _size_of_blobs(connection: sqlite3.Connection) -> int:
    """Return the size of all stored files in bytes. The database may have an earlier schema."""
    names = ["size_of_blobs", *(["size_of_document_files"] if _has_documents(connection) else [])]
    queries = load_queries(SqliteDialect())
    return sum(int(connection.execute(queries[name]).fetchone()["bytes"]) for name in names)


def _has_documents(connection: sqlite3.Connection) -> bool:
    return connection.execute("PRAGMA table_info(knowledge_documents)").fetchone() is not None


# -- making one --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Contents:
    """The names of the migrations in the copied database, the number of its messages, and the hashes of its
    attachments."""

    migrations: Sequence[str]
    messages: int
    blobs: Sequence[str]


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    entry: Entry


@dataclass(frozen=True, slots=True)
class _Backup:
    """The work of making one backup."""

    database: Database
    path: Path
    now: int
    before: str | None
    at_rest: bool
    stop: threading.Event

    def make(self) -> BackupFile:
        part, copy = self._beside(".part"), self._beside(".db.part")
        try:
            private_folder(self.path.parent)
            with self._usable():
                self._copy(copy)
                contents = self._examine(copy)
            files = self._files(copy, contents)
            manifest = self._describe(contents, files)
            sources = {name: file.path for name, file in files.items()}
            write_archive(part, manifest, sources, self.stop, self.database.passphrase)
            self._verify(part)
            part.replace(self.path)
            sync_folder(self.path.parent)
        finally:
            part.unlink(missing_ok=True)
            copy.unlink(missing_ok=True)
        return described(self.path, manifest.summary, encrypted=self.database.passphrase is not None)

    def _beside(self, end: str) -> Path:
        return self.path.with_name(f".{self.path.name}{end}")

    def _copy(self, copy: Path) -> None:
        """Copy the database in its state at the start of the copy. The open transaction keeps this state visible until
        the end of the copy."""
        with looking_at(self.database.file, at_rest=self.at_rest) as source:
            source.execute("BEGIN")
            [(pages,)] = source.execute("PRAGMA page_count")
            [(page_size,)] = source.execute("PRAGMA page_size")
            blobs = _size_of_blobs(source)
            # There must be enough space for the copy and for the archive, which may be as large as its contents.
            check_room(copy.parent, 2 * pages * page_size + blobs, "a backup")
            copy_pages(source, copy, self.stop)

    def _examine(self, copy: Path) -> _Contents:
        queries = load_queries(SqliteDialect())
        with contextlib.closing(read_only(copy, immutable=True)) as connection:
            connection.set_progress_handler(self.stop.is_set, _STEPS_AT_ONCE)
            if damage := damage_in(connection):
                raise sqlite3.DatabaseError("; ".join(damage))
            return _Contents(
                migrations=[row["name"] for row in connection.execute(queries["applied_migrations"])],
                messages=connection.execute(queries["count_messages"]).fetchone()["number"],
                blobs=files_in_use(connection),
            )

    def _files(self, copy: Path, contents: _Contents) -> Mapping[str, _File]:
        """Return the files of the archive by name: the copy of the database, the key of the secrets if the archive is
        encrypted, and the attachments whose bytes exist and match their hashes."""
        hashes = {DATABASE: (copy, sha256_of(copy, self.stop) or "")}
        if self.database.passphrase is not None and (key := sha256_of(self.database.secrets_key, self.stop)):
            hashes[SECRETS] = self.database.secrets_key, key
        for sha256 in contents.blobs:
            path = self.database.blobs.path(sha256)
            if sha256_of(path, self.stop) == sha256:
                hashes[blob_name(sha256)] = path, sha256
        return {name: _File(path, Entry(sha256, path.stat().st_size)) for name, (path, sha256) in hashes.items()}

    def _describe(self, contents: _Contents, files: Mapping[str, _File]) -> Manifest:
        """Return the manifest. It lists attachments whose bytes are lost as missing, because a lost file must not
        prevent a backup."""
        return Manifest(
            created_at=self.now,
            before=self.before,
            migrations=contents.migrations,
            messages=contents.messages,
            missing=[sha256 for sha256 in contents.blobs if blob_name(sha256) not in files],
            files={name: file.entry for name, file in files.items()},
        )

    def _verify(self, part: Path) -> None:
        try:
            verify_archive(part, self.stop, self.database.passphrase)
        except BackupDamaged as error:
            raise StoreError(
                f"The backup {self.path} differs from the data that was written to it",
                why=error.why,
                fix="Try again. If the error repeats, check the disk for defects.",
            ) from error

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if is_full(error):
                raise as_store_error(error) from error
            raise StoreError(
                f"The database {self.database.file} cannot be backed up",
                why=str(error),
                fix="run `arvis doctor`; if the database is damaged, stop the daemon and restore a backup (`arvis restore`)",
            ) from error
