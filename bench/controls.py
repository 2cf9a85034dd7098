"""Controls for figures: the maximum rates of the machine in plain loops, measured in the same run."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from typing import Protocol, Self

import psycopg

BODY = "x" * 200


class RawCommits(Protocol):
    """A control that makes one insert of 200 bytes in each durable commit, and nothing else."""

    def once(self) -> float:
        """Return the seconds of one commit."""
        ...

    def rate(self, commits: int) -> float:
        """Return commits per second."""
        ...


class SqliteCommits:
    """Commits to SQLite in WAL mode with `synchronous=FULL`. `connection` must belong to a new database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")

    def once(self) -> float:
        begun = time.perf_counter()
        self._connection.execute("INSERT INTO rows (body) VALUES (?)", (BODY,))
        return time.perf_counter() - begun

    def rate(self, commits: int) -> float:
        begun = time.perf_counter()
        for _ in range(commits):
            self._connection.execute("INSERT INTO rows (body) VALUES (?)", (BODY,))
        return commits / (time.perf_counter() - begun)


class PostgresCommits:
    """A context manager for commits to PostgreSQL on this number of `connections`, each with a thread that commits one
    row after the other."""

    def __init__(self, url: str, connections: int) -> None:
        self._connections = [psycopg.connect(url, autocommit=True) for _ in range(connections)]
        self._threads = ThreadPoolExecutor(connections)
        self._connections[0].execute("CREATE TABLE IF NOT EXISTS rows (body text NOT NULL)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def once(self) -> float:
        return self._seconds(self._connections[0], 1)

    def rate(self, commits: int) -> float:
        each = commits // len(self._connections)
        begun = time.perf_counter()
        list(self._threads.map(lambda connection: self._seconds(connection, each), self._connections))
        return each * len(self._connections) / (time.perf_counter() - begun)

    def _seconds(self, connection: psycopg.Connection, commits: int) -> float:
        begun = time.perf_counter()
        for _ in range(commits):
            connection.execute("INSERT INTO rows (body) VALUES (%s)", (BODY,))
        return time.perf_counter() - begun


class ThreadTrip:
    """A round trip from asyncio to another thread and back, without any work."""

    def __init__(self, requests: queue.SimpleQueue[asyncio.Future[None] | None]) -> None:
        self._requests = requests

    async def once(self) -> float:
        """Return the seconds of one round trip."""
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
    """Return the seconds until a bare interpreter has started and ended."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - begun


def p50(samples: list[float]) -> float:
    return median(samples)
