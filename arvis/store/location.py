"""The paths of the database, its blobs and its backups. This module opens no file."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.store.blobs import Blobs


@dataclass(frozen=True, slots=True)
class Database:
    """The location of the database, its blobs and its backups."""

    #: The path of the SQLite database, which is used if `url` is None.
    file: Path
    #: The address of a PostgreSQL database, or None.
    url: str | None
    #: The data folder, which contains blobs and backups.
    folder: Path
    #: The number of backups of each kind that are kept.
    keep: int = 7
    #: The passphrase that encrypts new backups and decrypts old ones, or None.
    passphrase: str | None = field(default=None, repr=False)

    @property
    def blobs(self) -> Blobs:
        return Blobs(self.folder / "blobs")

    @property
    def secrets_key(self) -> Path:
        """The file with the key that encrypts secrets in the database. It may be missing."""
        return self.folder / "secrets.key"

    @property
    def backups(self) -> Path:
        return self.folder / "backups"

    @property
    def aside(self) -> Path:
        """The folder for databases that a restore or a repair has replaced. Arvis never deletes these databases."""
        return self.folder / "aside"
