"""Files that hold the content of messages and backups: their bytes arrive whole, and are synced in pieces."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest

from arvis.store.blobs import PIECE, Blobs, create_private


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7])
def test_a_file_is_stored_whole(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    blobs = Blobs(tmp_path)
    name = blobs.keep(data)
    assert name == hashlib.sha256(data).hexdigest()
    assert blobs.path(name).read_bytes() == data
    assert blobs.path(name).stat().st_mode & 0o777 == 0o600
    assert blobs.names() == [name]
    assert [path.name for path in blobs.path(name).parent.iterdir()] == [name[2:]], "no unfinished file is left"


def test_a_large_write_ends_where_a_piece_must_be_synced(tmp_path: Path) -> None:
    with create_private(tmp_path / "file") as file:
        assert isinstance(file, io.BufferedWriter)
        raw, data = file.raw, os.urandom(2 * PIECE)
        assert raw.write(data[:10]) == 10
        assert raw.write(data[10:]) == PIECE - 10
        assert raw.write(data[PIECE:]) == PIECE
    assert (tmp_path / "file").read_bytes() == data


def test_small_writes_arrive_in_order(tmp_path: Path) -> None:
    parts = [os.urandom(100_003) for _ in range(30)]
    with create_private(tmp_path / "file") as file:
        for part in parts:
            file.write(part)
    assert (tmp_path / "file").read_bytes() == b"".join(parts)
