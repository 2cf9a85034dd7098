"""Encrypts secrets with a key that is stored beside the database, never in it (docs/adr/0015), and hashes passwords.

The libraries are loaded and the key is created at their first use, because most processes never need them. Passwords
are stored as argon2id hashes. One hash is computed at a time, because each takes 19 MiB and some ten milliseconds of
CPU time.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import threading
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError, SecretLost, TooMany

T = TypeVar("T")

#: The memory and the number of passes for one hash: the minimum that OWASP recommends.
MEMORY_BYTES = 19 * 1024 * 1024
PASSES = 2

#: The maximum number of callers that wait for a computation.
_MOST_WAITING = 32

#: The hash of a random password. If a user has no password, the entered password is compared with this hash, so that
#: all checks take equally long.
_NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$06rjI21Zqe2MIxHHxHRb5w$0G6gObFF6R0cJZkU/nUXa+9jLfpEaXIkDc0r+K/D1Yw"


class Argon2Passwords:
    """Computes and compares hashes of passwords with libsodium, in a thread and one after the other."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: set[asyncio.Task[object]] = set()

    async def hashed(self, password: str) -> str:
        """Return the hash of a password for storing. Raise `TooMany` if too many calls are already waiting."""
        return await self._in_turn(lambda: _hashed(password))

    async def matches(self, password: str, kept: str | None) -> bool:
        """Return whether `kept` is the stored hash of this password. If `kept` is None, return False, but only after
        the time that a comparison takes. Raise `TooMany` if too many calls are already waiting."""
        same = await self._in_turn(lambda: _matches(password, kept or _NOBODYS))
        return same and kept is not None

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """Compute a hash after the computations of earlier callers have ended. If the caller is cancelled, the
        computation continues, because a thread cannot be stopped. The next computation still waits until it ends,
        because two computations at once would need twice the memory."""
        if len(self._running) > _MOST_WAITING:
            raise TooMany("Too many people log in at this moment.", fix="Try again in a few seconds.")
        task: asyncio.Task[T] = asyncio.create_task(self._one(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _one(self, work: Callable[[], T]) -> T:
        async with self._turn:
            return await asyncio.to_thread(work)


def _hashed(password: str) -> str:
    from nacl.pwhash import argon2id  # noqa: PLC0415 - see the module's docstring

    return argon2id.str(_bytes(password), opslimit=PASSES, memlimit=MEMORY_BYTES).decode("ascii")


def _matches(password: str, kept: str) -> bool:
    from nacl.exceptions import InvalidkeyError  # noqa: PLC0415 - see the module's docstring
    from nacl.pwhash import argon2id  # noqa: PLC0415

    try:
        return argon2id.verify(kept.encode("ascii"), _bytes(password))
    except InvalidkeyError:
        return False


def _bytes(password: str) -> bytes:
    """Return the normalised text as bytes, so that a password has the same bytes on every keyboard and system."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


KEY_BYTES = 32

_VERSION = "v1"
_PRIVATE_FILE = 0o600
_MAX_FILE = 4096

#: Shorter texts are not reported to the log filter: they are easily guessed, and hiding them would make logs
#: unreadable.
_SHORTEST_SECRET = 4

_NEW_KEY = "python3 -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())'"
_SHARING = "Processes that share a PostgreSQL database share no folder: set the same `encryption_key` for each of them."


def secrets_key_file(folder: Path) -> Path:
    """Return the key file that is used if the configuration gives no key. Backups do not contain it."""
    return folder / "secrets.key"


@dataclass(frozen=True, slots=True)
class _Key:
    data: bytes = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """An identifier of the key that reveals nothing about the key."""
        return hashlib.blake2b(self.data, digest_size=4, person=b"arvis-secrets").hexdigest()


class SealedBox:
    """Implements `SecretBox` with libsodium's secret box (XSalsa20 and Poly1305). Any thread may call this object.

    `file` contains the key, which is created at the first encryption. `given` is a key from the configuration, in base
    64. If `given` is set, `file` is not used. `tell` is called with every secret that is encrypted or decrypted, for
    the log filter. `random_bytes` makes keys. The constructor raises `ConfigError` if `given` is invalid.
    """

    def __init__(
        self,
        *,
        file: Path,
        given: str | None,
        tell: Callable[[Iterable[str]], None],
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._file = file
        self._tell = tell
        self._random_bytes = random_bytes
        self._guard = threading.Lock()
        self._is_given = given is not None
        self._key = None if given is None else _given_key(given)

    def seal(self, text: str) -> str:
        """Return the encrypted text as `v1.FINGERPRINT.BASE64`. Raise `ConfigError` if a new key cannot be stored."""
        sealed = self._sealed(text)
        self._pass_on(text)
        return sealed

    def open(self, sealed: str) -> str:
        text = self._opened(sealed)
        self._pass_on(text)
        return text

    def unheard(self) -> Unheard:
        return Unheard(seal=self._sealed, open_=self._opened)

    def _sealed(self, text: str) -> str:
        from nacl.secret import SecretBox  # noqa: PLC0415 - see the module's docstring

        with self._guard:
            if self._key is None:
                self._key = _key_in(self._file) or _kept(_Key(self._random_bytes(KEY_BYTES)), self._file)
            key = self._key
        sealed = base64.urlsafe_b64encode(SecretBox(key.data).encrypt(text.encode())).decode()
        return f"{_VERSION}.{key.fingerprint}.{sealed}"

    def _opened(self, sealed: str) -> str:
        from nacl.exceptions import CryptoError  # noqa: PLC0415 - see the module's docstring
        from nacl.secret import SecretBox  # noqa: PLC0415

        version, _, rest = sealed.partition(".")
        fingerprint, _, data = rest.partition(".")
        if version != _VERSION:
            raise _lost("a newer version of Arvis encrypted it", "Start that version, or enter the secret again.")
        key = self._key_to_open(fingerprint)
        try:
            return SecretBox(key.data).decrypt(base64.b64decode(data, altchars=b"-_", validate=True)).decode()
        except (binascii.Error, ValueError, CryptoError):
            raise _lost(
                "it was changed after it was encrypted", "Enter the secret again, or restore a backup."
            ) from None

    def _pass_on(self, text: str) -> None:
        if len(text) >= _SHORTEST_SECRET:
            self._tell([text])

    def _key_to_open(self, fingerprint: str) -> _Key:
        with self._guard:
            if self._key is None:
                self._key = _key_in(self._file)
            key = self._key
        if key is not None and key.fingerprint == fingerprint:
            return key
        here = f"the key here is {key.fingerprint}" if key is not None else "there is no key here"
        fix = (
            "Set `encryption_key` to the key that encrypted it"
            if self._is_given
            else f"Restore the old file {self._file}"
        )
        raise _lost(
            f"it was encrypted with the key {fingerprint}, and {here}", f"{fix}, or enter the secret again. {_SHARING}"
        )


class Unheard:
    """A `SecretBox` that uses the key of another box and does not report secrets to the log filter."""

    def __init__(self, *, seal: Callable[[str], str], open_: Callable[[str], str]) -> None:
        self._seal = seal
        self._open = open_

    def seal(self, text: str) -> str:
        return self._seal(text)

    def open(self, sealed: str) -> str:
        return self._open(sealed)

    def unheard(self) -> Unheard:
        return self


def _given_key(text: str) -> _Key:
    key = _decoded(text)
    if key is None:
        raise ConfigError(
            "The configuration cannot be used: `encryption_key` is not a valid key",
            why=f"{KEY_BYTES} bytes in base 64 are required.",
            fix=f"Create a key with {_NEW_KEY}, or copy the content of the file secrets.key of another process.",
        )
    return key


def _decoded(text: str) -> _Key | None:
    try:
        data = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return _Key(data) if len(data) == KEY_BYTES else None


def _key_in(file: Path) -> _Key | None:
    """Return the key in a file; None if the file does not exist. Links are not followed."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="ascii", errors="replace") as kept:
            text = kept.read(_MAX_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = f"Give the user that runs Arvis read permission for {file}. {_SHARING}"
        raise _lost(f"its key {file} cannot be read: {error.strerror or error}", fix) from error
    key = _decoded(text)
    if key is None:
        raise _lost(
            f"{file} does not contain a valid key",
            f"Restore the right file, or remove it to start with a new key. {_SHARING}",
        )
    return key


def _kept(key: _Key, file: Path) -> _Key:
    """Store a new key and return it. The file is on disk before the key is used, because secrets could not be decrypted
    without it. No other process can store a different key, because this process has locked the data folder."""
    fresh = file.with_name(f"{file.name}.new")
    try:
        with suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(base64.b64encode(key.data).decode() + "\n")
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(file)
        _sync(file.parent)
    except OSError as error:
        raise ConfigError(
            f"The key for secrets cannot be stored in {file}",
            why=f"{error.strerror or error}.",
            fix="Give this user write permission for the folder, or set a key with `encryption_key`.",
        ) from error
    return key


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lost(why: str, fix: str) -> SecretLost:
    return SecretLost("A stored secret cannot be decrypted", why=f"{why[0].upper()}{why[1:]}.", fix=fix)
