"""The starts and stops in the daemon's own log.

Only the end of the newest files is read, and lines that cannot be parsed are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

#: Files, and bytes of each.
_FILES = 2
_TAIL = 4_000_000

_MS = 1000


@dataclass(frozen=True, slots=True)
class Start:
    """A daemon that became ready at `at` (ms) with these roles. `models` are its accounts; `ended` is true if it was
    stopped, false if it disappeared."""

    boot_id: str
    at: int
    roles: tuple[str, ...]
    models: tuple[str, ...]
    ended: bool = False


def starts(logs: Path) -> list[Start]:
    """Those that the log remembers, oldest first."""
    found: list[Start] = []
    for event in _events(logs):
        match event:
            case {
                "event": "ready",
                "boot": str(boot),
                "timestamp": str(stamp),
                "roles": list(roles),
                "models": list(models),
            }:
                at = round(datetime.fromisoformat(stamp).timestamp() * _MS)
                found.append(Start(boot, at, tuple(map(str, roles)), tuple(map(str, models))))
            case {"event": "stopping"} if found:
                found[-1] = replace(found[-1], ended=True)
    return found


def _events(logs: Path) -> Iterator[Any]:
    for file in sorted(logs.glob("arvis-????-??-??.log"))[-_FILES:]:
        for line in _tail(file).splitlines():
            # Most lines are of no use here, and JSON is slow.
            if b'"ready"' in line or b'"stopping"' in line:
                yield _read(line)


def _tail(file: Path) -> bytes:
    try:
        with file.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
            return log.read(_TAIL)
    except OSError:
        # A file that is gone in the meantime or is not readable is skipped.
        return b""


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
