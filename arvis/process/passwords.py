"""Passwords are kept as argon2id, one computation at a time: each takes 19 MiB and some ten milliseconds of a core.

The library is loaded with the first password.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from typing import TypeVar

from arvis.domain.errors import TooMany

T = TypeVar("T")

#: OWASP's minimum: 19 MiB, two passes.
MEMORY_BYTES = 19 * 1024 * 1024
PASSES = 2

#: Computations that may wait for their turn.
_MOST_WAITING = 32

#: Hash of a random password, for users without one: the check takes equally long.
_NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$06rjI21Zqe2MIxHHxHRb5w$0G6gObFF6R0cJZkU/nUXa+9jLfpEaXIkDc0r+K/D1Yw"


class Argon2Passwords:
    """`Passwords` by libsodium, each in a thread, one after the other."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: set[asyncio.Task[object]] = set()

    async def hashed(self, password: str) -> str:
        return await self._in_turn(lambda: _hashed(password))

    async def matches(self, password: str, kept: str | None) -> bool:
        same = await self._in_turn(lambda: _matches(password, kept or _NOBODYS))
        return same and kept is not None

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """A cancelled caller does not stop the running hash: a thread cannot be stopped, and two at once would need
        twice the memory."""
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
    """Normalise the text, so that the same letters are the same password on every keyboard."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
