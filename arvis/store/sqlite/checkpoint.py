"""Checkpoints that keep the page checksums consistent with the file (see `page_sums`).

A checkpoint writes the log into the file. The new checksums are on disk before any other write, which could restart
the log from its beginning. All code that opens the file for writing closes it through this module.
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
    """Yield a writing connection to a database that no other process has open; afterwards the checksums match the
    file."""
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
    """Return the second name of the log. Any program that only reads the file after a crash checkpoints the log away
    when it closes; this name preserves it."""
    return with_suffix(database, "-kept")


class Sealing:
    """The checkpoints of one connection in WAL mode. No other connection may write meanwhile."""

    def __init__(self, *, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file
        self._opened = _identity(file)
        self._sums = _load(sums_file(file))
        _keep(log_file(file), kept_log(file))

    @property
    def is_sealed(self) -> bool:
        """True if there are checksums that are kept up to date."""
        return self._sums is not None

    def fold(self, mode: str = "PASSIVE") -> bool:
        """Write the log into the file; return whether all of it could be written. The remaining part is equally safe
        in the log."""
        if _identity(self._file) != self._opened:
            # The folder was moved: the checksums could not be kept up to date. The log keeps its content.
            return False
        frames = self._checkpoint(mode)
        if frames and self._sums is not None:
            self._seal(self._sums, frames)
        return frames is not None

    def close(self) -> None:
        """Write the remaining log into the file, and close. If this fails, SQLite tries once more when it closes, and
        does not report the result: the next start checks the second name of the log."""
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
        """Run a checkpoint; return the number of frames in the log if all were written, else None."""
        try:
            [(busy, frames, folded)] = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        except sqlite3.Error as error:
            if is_fatal(error):
                raise
            return None
        return None if busy or frames != folded else int(frames)

    def _seal(self, sums: PageSums, frames: int) -> None:
        """Note that the file now contains the first `frames` of the log."""
        try:
            is_news = self._take(sums, frames)
        except SumsDamaged:
            self._sums = None
            _forget(self._file, "the log cannot be read")
        else:
            if is_news:
                _save(sums, self._file)

    def _take(self, sums: PageSums, frames: int) -> bool:
        """Add the checksums of these frames; return whether any were new. Raises `SumsDamaged`."""
        with open_log(log_file(self._file)) as found:
            if found is None or found.header is None:
                raise SumsDamaged
            upto = Mark(found.header.salts, frames)
            if upto == sums.folded:
                return False
            sums.fold(found, upto)
            return True


def _save(sums: PageSums, file: Path) -> None:
    """If saving fails, the checksums are still correct in memory, and the next checkpoint saves them."""
    try:
        sums.save(sums_file(file))
    except OSError as error:
        _forget(file, str(error))


def _forget(file: Path, why: str) -> None:
    """Outdated checksums would report sound pages as damaged, so they are removed. The next start computes new ones."""
    log.warning("page_sums_lost", why=why, fix="nothing: the next start checks the database and takes new ones")
    sums_file(file).unlink(missing_ok=True)
    sync_folder(file.parent)


def _identity(file: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at this path."""
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
