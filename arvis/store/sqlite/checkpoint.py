"""Checkpoints that keep the sums of the pages in step with the file (see `page_sums`).

A checkpoint folds the log into the file. Before anything else may be written, which could begin the log again from its
start, the new sums are on the disk. Whatever opens the file for writing closes it through here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import structlog

from arvis.store.blobs import sync_folder
from arvis.store.sqlite.errors import is_fatal
from arvis.store.sqlite.page_checksums import PageSums, SumsDamaged, sums_file
from arvis.store.sqlite.session import connect
from arvis.store.sqlite.wal import Mark, open_log, with_suffix

log = structlog.get_logger(__name__)


@contextlib.contextmanager
def sealed(file: Path) -> Iterator[sqlite3.Connection]:
    """A writing connection to a database that nobody else has open; afterwards the sums are those of the file."""
    with contextlib.closing(connect(file, writing=True)) as connection:
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        sealing = Sealing(connection=connection, file=file)
        sealing.fold("FULL")
        try:
            yield connection
        finally:
            sealing.close()
    if not sealing.is_sealed and _is_empty(log_file(file)):
        _save(PageSums.of_file(file, page_size), file)


def log_file(database: Path) -> Path:
    return with_suffix(database, "-wal")


def kept_log(database: Path) -> Path:
    """A second name of the log. Any program that only looks into the file after a crash folds the log away when it
    ends; by this name it can be had back."""
    return with_suffix(database, "-kept")


class Sealing:
    """The checkpoints of one connection in WAL mode. Nobody else may write meanwhile."""

    def __init__(self, *, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file
        self._opened = _identity(file)
        self._sums = _load(sums_file(file))
        _keep(log_file(file), kept_log(file))

    @property
    def is_sealed(self) -> bool:
        """Whether there are sums that are kept in step."""
        return self._sums is not None

    def fold(self, mode: str = "PASSIVE") -> bool:
        """Fold the log into the file; whether all of it could be. What could not is as safe in the log."""
        if _identity(self._file) != self._opened:
            # The folder was moved: the sums could not be kept in step. What stands in the log stays there.
            return False
        frames = self._checkpoint(mode)
        if frames and self._sums is not None:
            self._seal(self._sums, frames)
        return frames is not None

    def close(self) -> None:
        """Fold what waits, and close. What cannot be folded, SQLite tries once more when it closes, and does not say how
        that went: the next start asks the second name of the log."""
        if self.fold("FULL"):
            self._checkpoint("TRUNCATE")
            self._connection.close()
            if not log_file(self._file).exists():
                kept_log(self._file).unlink(missing_ok=True)
            return
        if not kept_log(self._file).exists():
            _forget(self._file, "the last checkpoint could not be made")
        self._connection.close()

    def _checkpoint(self, mode: str) -> int | None:
        """The number of frames in the log, all of them folded; None: not all of them."""
        try:
            [(busy, frames, folded)] = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        except sqlite3.Error as error:
            if is_fatal(error):
                raise
            return None
        return None if busy or frames != folded else int(frames)

    def _seal(self, sums: PageSums, frames: int) -> None:
        """The first `frames` of the log stand in the file now."""
        try:
            is_news = self._take(sums, frames)
        except SumsDamaged:
            self._sums = None
            _forget(self._file, "the log cannot be read")
        else:
            if is_news:
                _save(sums, self._file)

    def _take(self, sums: PageSums, frames: int) -> bool:
        """Take the sums of these frames; whether any were new. Raises `SumsDamaged`."""
        with open_log(log_file(self._file)) as found:
            if found is None or found.header is None:
                raise SumsDamaged
            upto = Mark(found.header.salts, frames)
            if upto == sums.folded:
                return False
            sums.fold(found, upto)
            return True


def _save(sums: PageSums, file: Path) -> None:
    """What cannot be saved now is still right in memory, and saved with the next checkpoint."""
    try:
        sums.save(sums_file(file))
    except OSError as error:
        _forget(file, str(error))


def _forget(file: Path, why: str) -> None:
    """Sums that are behind the file would accuse it of damage. The next start takes new ones."""
    log.warning("page_sums_lost", why=why, fix="nothing: the next start checks the database and takes new ones")
    sums_file(file).unlink(missing_ok=True)
    sync_folder(file.parent)


def _identity(file: Path) -> tuple[int, int] | None:
    """Which file this path leads to: its device and inode."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_empty(file: Path) -> bool:
    return not file.exists() or not file.stat().st_size


def _load(path: Path) -> PageSums | None:
    try:
        return PageSums.load(path)
    except (FileNotFoundError, SumsDamaged):
        return None


def _keep(log: Path, kept: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system knows second names
        if kept.exists() and log.samefile(kept):
            return
        kept.unlink(missing_ok=True)
        os.link(log, kept)
