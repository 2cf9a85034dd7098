"""A file that holds room for the worst moment: a full disk can store nothing, not even that something is deleted
(reliability.md H24, M4). Given up, it lets what is running be written to its end."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_BYTES = 16_000_000
#: On a small disk no more than this part of what is free.
_DIVISOR = 4


class Ballast:
    """`DATA/ballast`. What can be taken back is real: the blocks are allocated, not only promised."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._given_up = 0

    @property
    def held(self) -> int:
        """In bytes."""
        try:
            return self._file.stat().st_size
        except OSError:
            return 0

    def missing(self, free: int) -> int:
        """How many bytes it should take of so many that are free. What was given up is to come back whole; a ballast
        that was taken when there was little room grows when there is more."""
        held = self.held
        wanted = self._given_up or min(_BYTES, (free + held) // _DIVISOR)
        return wanted - held if held < wanted // 2 else 0

    def take(self, size: int) -> None:
        """Allocate so many bytes more. Raises `OSError` when the disk is full again, and holds no more than before."""
        held = self.held
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, held + size)
        except OSError:
            os.ftruncate(descriptor, held)
            raise
        finally:
            os.close(descriptor)
        self._given_up = 0

    def give_up(self) -> int:
        """Free its room; how many bytes that were."""
        freed = self.held
        if freed:
            self._given_up = freed
            with contextlib.suppress(OSError):  # a disk that forbids even this has no room to give
                self._file.unlink()
        return freed
