"""The paths of the database, its blobs and its backups. This module opens no file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arvis.store.blobs import Blobs


@dataclass(frozen=True, slots=True)
class Database:
    """The location of the data: the SQLite `file`, or the `url` of a PostgreSQL server. `folder` contains blobs and
    backups; `keep` is the number of backups that are kept of each kind."""

    file: Path
    url: str | None
    folder: Path
    keep: int = 7

    @property
    def blobs(self) -> Blobs:
        return Blobs(self.folder / "blobs")

    @property
    def backups(self) -> Path:
        return self.folder / "backups"

    @property
    def aside(self) -> Path:
        """The folder for databases that a restore or a repair has replaced. Arvis deletes no database from it."""
        return self.folder / "aside"
