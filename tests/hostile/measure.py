"""Measurements of the daemon from outside: stalls of its event loop, its memory, and processes that it left behind."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

#: Seconds between two requests.
EVERY = 0.02
_PATIENCE = 60.0
_PROC = Path("/proc")


@dataclass(slots=True)
class Stall:
    """The longest answer time of a trivial request in seconds, minus the lateness of the client itself."""

    longest: float = 0.0
    asked: int = 0
    lateness: float = field(default=0.0, repr=False)


class StallProbe:
    """Requests `/health` every 20 ms, in its own thread and over its own connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._current = Stall()
        self._since = time.monotonic()

    @contextmanager
    def running(self) -> Iterator[StallProbe]:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()
            self._connection.close()

    def take(self) -> Stall:
        """Return the longest stall since the last call, including the time of an open request."""
        with self._lock:
            taken, self._current = self._current, Stall()
            open_ = time.monotonic() - self._since
            taken.longest = max(taken.longest, open_ if open_ > EVERY * 3 else 0.0)
            return taken

    def _run(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            time.sleep(EVERY)
            late = time.monotonic() - began - EVERY
            with self._lock:
                self._since = time.monotonic()
            # Other rules report a daemon that has ended.
            with suppress(OSError, http.client.HTTPException):
                self._connection.request("GET", "/health")
                self._connection.getresponse().read()
            with self._lock:
                took = time.monotonic() - self._since
                self._since = time.monotonic()
                self._current.asked += 1
                self._current.lateness = max(self._current.lateness, late)
                self._current.longest = max(self._current.longest, took - late)


def memory_of(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    for line in (_PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def left_behind(folder: Path, daemon: int) -> list[str]:
    """Return the processes that the daemon has started. Their environment or command contains the folder."""
    found = []
    mark = str(folder).encode()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) in {daemon, os.getpid()}:
            continue
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if mark in command or mark in (entry / "environ").read_bytes():
                found.append(f"{entry.name}: {command.replace(bytes(1), b' ').decode(errors='replace')[:100]}")
    return found
