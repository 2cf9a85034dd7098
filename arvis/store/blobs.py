"""Files that came with messages, under their SHA-256: the same bytes are stored once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from pathlib import Path


class Blobs:
    """A folder of `ab/cdef…` files. A blob is on disk, synced, before `put` returns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, data: bytes) -> str:
        return await asyncio.to_thread(self._put, data)

    def path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:]

    def _put(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        path = self.path(name)
        if path.exists():
            return name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)
        _sync_folder(path.parent)
        _sync_folder(self._folder)
        return name


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
