"""What the machine can do at best, in plain loops: the measure of every figure, taken in the same run."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

BODY = "x" * 200


class RawCommits:
    """One insert of 200 bytes a commit, WAL and `synchronous=FULL`, nothing else."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def once(self) -> float:
        """Seconds of one commit."""
        begun = time.perf_counter()
        self._connection.execute("INSERT INTO rows (body) VALUES (?)", (BODY,))
        return time.perf_counter() - begun

    def rate(self, commits: int) -> float:
        """Commits a second."""
        begun = time.perf_counter()
        for _ in range(commits):
            self._connection.execute("INSERT INTO rows (body) VALUES (?)", (BODY,))
        return commits / (time.perf_counter() - begun)


@contextmanager
def raw_commits(folder: Path) -> Iterator[RawCommits]:
    with closing(sqlite3.connect(folder / "control.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
        yield RawCommits(connection)


class ThreadTrip:
    """asyncio → another thread → asyncio, with nothing done there."""

    def __init__(self, requests: queue.SimpleQueue[asyncio.Future[None] | None]) -> None:
        self._requests = requests

    async def once(self) -> float:
        """Seconds of one round trip."""
        loop = asyncio.get_running_loop()
        begun = time.perf_counter()
        future: asyncio.Future[None] = loop.create_future()
        self._requests.put(future)
        await future
        return time.perf_counter() - begun


@contextmanager
def thread_trip() -> Iterator[ThreadTrip]:
    requests: queue.SimpleQueue[asyncio.Future[None] | None] = queue.SimpleQueue()

    def serve() -> None:
        while (future := requests.get()) is not None:
            future.get_loop().call_soon_threadsafe(future.set_result, None)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield ThreadTrip(requests)
    finally:
        requests.put(None)
        thread.join()


def interpreter_start() -> float:
    """Seconds until a bare interpreter has started and ended."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - begun


def p50(samples: list[float]) -> float:
    return median(samples)
