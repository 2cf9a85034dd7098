"""Encrypts backups with a passphrase, and decrypts them, piece by piece.

An encrypted file begins with a line that names the format, and a line of JSON with the time, the number of messages and
the parameters of the key. Anyone can read these two lines. The archive follows in pieces, which libsodium's
`secretstream` (XChaCha20-Poly1305) encrypts and authenticates. The authentication covers the two lines, the order of
the pieces and the end of the archive, so a changed, exchanged, missing or additional piece is always detected. Argon2id
derives the key from the passphrase.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import BackupLocked
from arvis.store.blobs import PIECE

_FIRST_LINE = b"Arvis encrypted backup 1\n"
_LONGEST_HEADER = 4096
_SALT = 16
_KEY = 32
#: The cost of one guess of the passphrase: four passes over 64 MB of memory. A header is untrusted, so it may demand at
#: most `_MOST_MEMORY` and `_MOST_PASSES`.
_PASSES, _MEMORY = 4, 64 << 20
_MOST_PASSES, _MOST_MEMORY = 16, 1 << 30


@dataclass(frozen=True, slots=True)
class Summary:
    """The data of a backup that can be read without its passphrase. `created_at` is in ms."""

    created_at: int
    before: str | None
    messages: int
    missing: int


@dataclass(frozen=True, slots=True)
class _Header:
    summary: Summary
    salt: bytes
    passes: int
    memory: int
    #: A hash of the key, which a wrong passphrase does not match.
    check: str
    #: The bytes of the two lines before the archive.
    lines: bytes


def read_header(file: BinaryIO) -> Summary | None:
    """Return the summary of an encrypted backup, or None if the file is not an encrypted backup. Raise `ValueError` if
    the header is damaged."""
    header = _read(file)
    return None if header is None else header.summary


@contextlib.contextmanager
def encrypting(out: BinaryIO, summary: Summary, passphrase: str) -> Iterator[io.RawIOBase]:
    """Yield a file for writing. Its content is written to `out` in encrypted form. The end of the block completes the
    stream, unless the block raised an error."""
    salt = os.urandom(_SALT)
    key = _derive(passphrase, salt, _PASSES, _MEMORY)
    fields = {
        "createdAt": summary.created_at,
        "before": summary.before,
        "messages": summary.messages,
        "missing": summary.missing,
        "salt": salt.hex(),
        "passes": _PASSES,
        "memory": _MEMORY,
        "check": _check(key),
    }
    lines = _FIRST_LINE + json.dumps(fields, separators=(",", ":")).encode() + b"\n"
    out.write(lines)
    stream = _Encrypting(out, key, lines)
    yield stream
    stream.complete()


def decrypting(path: Path, file: BinaryIO, passphrase: str | None) -> BinaryIO:
    """Return a file from which the caller reads the decrypted archive. If `file` is not encrypted, return `file`
    itself. Raise `BackupLocked` if the passphrase is missing or wrong, and `ValueError` if the file is damaged."""
    header = _read(file)
    if header is None:
        file.seek(0)
        return file
    if passphrase is None:
        fix = "set `backup.passphrase` in the configuration to the passphrase of this backup"
        raise BackupLocked(f"{path} is encrypted", why="no passphrase is configured", fix=fix)
    key = _derive(passphrase, header.salt, header.passes, header.memory)
    if not hmac.compare_digest(_check(key), header.check):
        fix = "set `backup.passphrase` to the passphrase that was configured when this backup was made"
        raise BackupLocked(f"{path} cannot be decrypted", why="the passphrase is wrong", fix=fix)
    return io.BufferedReader(_Decrypting(file, key, header.lines), PIECE)


def _read(file: BinaryIO) -> _Header | None:
    if file.read(len(_FIRST_LINE)) != _FIRST_LINE:
        return None
    line = file.readline(_LONGEST_HEADER)
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise ValueError("its header cannot be read") from error
    return _header_of(fields, _FIRST_LINE + line)


def _header_of(fields: Any, lines: bytes) -> _Header:
    match fields:
        case {
            "createdAt": int(created_at),
            "before": None | str() as before,
            "messages": int(messages),
            "missing": int(missing),
            "salt": str(salt),
            "passes": int(passes),
            "memory": int(memory),
            "check": str(check),
        } if passes <= _MOST_PASSES and memory <= _MOST_MEMORY and len(salt) == 2 * _SALT and check.isascii():
            return _Header(
                Summary(created_at, before, messages, missing), bytes.fromhex(salt), passes, memory, check, lines
            )
    raise ValueError("its header has an unknown format")


def _derive(passphrase: str, salt: bytes, passes: int, memory: int) -> bytes:
    from nacl.exceptions import CryptoError  # noqa: PLC0415 - see arvis/process/secrets.py
    from nacl.pwhash import argon2id  # noqa: PLC0415

    try:
        return argon2id.kdf(_KEY, passphrase.encode(), salt, opslimit=passes, memlimit=memory)
    except (CryptoError, ValueError) as error:
        raise ValueError("its header has parameters that cannot be used") from error


def _check(key: bytes) -> str:
    return hashlib.blake2b(key, digest_size=16, person=b"arvis-check").hexdigest()


class _Encrypting(io.RawIOBase):
    """A file for writing that encrypts its content in pieces of equal size. The last piece is smaller."""

    def __init__(self, out: BinaryIO, key: bytes, lines: bytes) -> None:
        from nacl import bindings  # noqa: PLC0415 - see arvis/process/secrets.py

        self._stream = bindings
        self._out = out
        self._lines = lines
        self._waiting = bytearray()
        self._state = bindings.crypto_secretstream_xchacha20poly1305_state()
        out.write(bindings.crypto_secretstream_xchacha20poly1305_init_push(self._state, key))

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._waiting += data
        while len(self._waiting) >= PIECE:
            self._push(bytes(self._waiting[:PIECE]), self._stream.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE)
            del self._waiting[:PIECE]
        return len(data)

    def complete(self) -> None:
        self._push(bytes(self._waiting), self._stream.crypto_secretstream_xchacha20poly1305_TAG_FINAL)

    def _push(self, piece: bytes, tag: int) -> None:
        push = self._stream.crypto_secretstream_xchacha20poly1305_push
        self._out.write(push(self._state, piece, self._lines, tag))


class _Decrypting(io.RawIOBase):
    """A file for reading that decrypts and checks its content. The only position to which it can seek is its start.
    Reading changed content raises `ValueError`."""

    def __init__(self, file: BinaryIO, key: bytes, lines: bytes) -> None:
        from nacl import bindings  # noqa: PLC0415 - see arvis/process/secrets.py

        self._stream = bindings
        self._file = file
        self._key = key
        self._lines = lines
        self._piece, self._position, self._ended = memoryview(b""), 0, False
        self._begin()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_CUR and offset == 0:
            return self._position
        if whence != os.SEEK_SET or offset != 0:
            raise OSError("an encrypted backup can be read only from its start")
        self._begin()
        return 0

    def readinto(self, buffer: Any, /) -> int:
        while not self._piece and not self._ended:
            self._pull()
        taken = min(len(buffer), len(self._piece))
        buffer[:taken] = self._piece[:taken]
        self._piece = self._piece[taken:]
        self._position += taken
        return taken

    def close(self) -> None:
        self._file.close()
        super().close()

    def _begin(self) -> None:
        self._file.seek(len(self._lines))
        self._piece, self._position, self._ended = memoryview(b""), 0, False
        self._state = self._stream.crypto_secretstream_xchacha20poly1305_state()
        begin = self._file.read(self._stream.crypto_secretstream_xchacha20poly1305_HEADERBYTES)
        try:
            self._stream.crypto_secretstream_xchacha20poly1305_init_pull(self._state, begin, self._key)
        except (RuntimeError, ValueError) as error:
            raise ValueError("the file is incomplete") from error

    def _pull(self) -> None:
        sealed = self._file.read(PIECE + self._stream.crypto_secretstream_xchacha20poly1305_ABYTES)
        try:
            piece, tag = self._stream.crypto_secretstream_xchacha20poly1305_pull(self._state, sealed, self._lines)
        except (RuntimeError, ValueError) as error:
            raise ValueError("the file was changed or is incomplete") from error
        self._piece = memoryview(piece)
        if tag == self._stream.crypto_secretstream_xchacha20poly1305_TAG_FINAL:
            self._ended = True
            if self._file.read(1):
                raise ValueError("the file contains data after the end of the archive")
