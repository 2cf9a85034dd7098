"""Starts a program below its guard (`programs_guard.py`), by the pipe that keeps both alive."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_GUARD = Path(__file__).with_name("programs_guard.py")
_LINE = 65_536


class Lifeline:
    """A pipe whose far `end` a guard inherits; it reads the end of it when this process closes it or dies."""

    def __init__(self) -> None:
        self.end, self._held = os.pipe()
        os.set_blocking(self._held, False)

    def ask(self) -> None:
        """The guard passes SIGTERM on to the program and its group, and waits."""
        with suppress(OSError):
            os.write(self._held, b"?")

    def close(self) -> None:
        for descriptor in (self.end, self._held):
            if descriptor >= 0:
                os.close(descriptor)
        self.end = self._held = -1


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a program and all that it starts may hold together: bytes of memory, and processes; and what their folder may
    hold: bytes on the disk, and files. 0: no bound, and nobody looks, which is for programs that stay."""

    memory: int = 0
    processes: int = 0
    disk: int = 0
    files: int = 0


async def start_guarded(
    argv: Sequence[str],
    lifeline: Lifeline,
    *,
    environment: Mapping[str, str],
    bounds: Bounds,
    folder: Path | None = None,
    descriptors: Sequence[int] = (),
    umask: int = -1,
    limit: int = _LINE,
) -> Process:
    """The guard as a process; its pipes are the program's, which inherits the `descriptors`, too. `limit` is that of a
    line read from it, in bytes; `umask` is ours when negative. Raises `OSError`, and `ValueError` for a NUL in an
    argument; a program that is not there shows only by its exit code."""
    figures = (lifeline.end, bounds.memory, bounds.processes, bounds.disk, bounds.files)
    guard = [str(_GUARD), *map(str, figures)]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", "-B"),
        *guard,
        *argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
        pass_fds=(lifeline.end, *descriptors),
        umask=umask,
        limit=limit,
    )
