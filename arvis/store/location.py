"""The locations of the data. This module opens nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arvis.store.blobs import Blobs


@dataclass(frozen=True, slots=True)
class Database:
    """The locations: a file, or `url` of a server. `folder` holds blobs and backups; `keep` backups of each kind are
    kept."""

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
        """The folder of databases that a restore has replaced. Arvis never deletes from it."""
        return self.folder / "aside"
