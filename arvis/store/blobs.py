"""Files that came with messages, under their SHA-256: the same bytes are stored once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from pathlib import Path

from arvis.store.files import disk_trouble, private_folder, sync_folder


class Blobs:
    """A folder of `ab/cdef…` files. A blob is on disk, synced, before `put` returns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, data: bytes) -> str:
        return await asyncio.to_thread(self.keep, data)

    async def get(self, sha256: str) -> bytes | None:
        """None when they are gone."""
        return await asyncio.to_thread(self._read, sha256)

    def path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:]

    def keep(self, data: bytes) -> str:
        """What `put` does, for those who have a thread of their own."""
        name = hashlib.sha256(data).hexdigest()
        path = self.path(name)
        if path.exists():
            return name
        with disk_trouble("A file that came with a message cannot be stored"):
            self._write(path, data)
        return name

    def _read(self, sha256: str) -> bytes | None:
        with disk_trouble("A file that came with a message cannot be read"):
            try:
                return self.path(sha256).read_bytes()
            except FileNotFoundError:
                return None

    def _write(self, path: Path, data: bytes) -> None:
        private_folder(path.parent)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                Path(file.name).unlink()  # half a file would keep the room that is missing
                raise
        Path(file.name).replace(path)
        sync_folder(path.parent)
        sync_folder(self._folder)
