"""A real PostgreSQL server in a temporary folder, reached through a Unix socket only."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

#: Time limit in seconds; a start takes about one.
START_DEADLINE = 60

#: Settings for speed; a crash test must not use them.
NOT_DURABLE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server; `folder` holds the socket, and `pid` is the process, which tests may kill."""

    folder: Path
    pid: int

    def url(self, database: str) -> str:
        return f"postgresql:///{database}?host={self.folder}&user=arvis"

    @contextmanager
    def database(self, name: str, *, template: str = "template1") -> Iterator[str]:
        """Create a copy of the template and yield its address. It is dropped at the end, even with open connections."""
        self.create(name, template=template)
        try:
            yield self.url(name)
        finally:
            self._administer(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def create(self, name: str, *, template: str = "template1") -> None:
        """Create a copy of the template, which must have no connections. It lives as long as the server."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self._administer(statement.format(sql.Identifier(name), sql.Identifier(template)))

    def _administer(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def running_postgres(initdb: Path, *, durable: bool = False) -> Iterator[PostgresServer]:
    """Run a server until the end of the block, with the programs in the folder of `initdb`.

    Under root, the server runs as `nobody`, because PostgreSQL refuses root. The folder's path is short, since a
    socket's path may have only about 107 bytes.
    """
    folder = Path(tempfile.mkdtemp(prefix="arvis-pg-", dir="/tmp" if durable else folder_of_files()))
    try:
        identity = identity_in(folder)
        with (folder / "log").open("w+b") as log:
            make_cluster(initdb, folder, identity, log)
            server = start_server(initdb.with_name("postgres"), folder, identity, log, () if durable else NOT_DURABLE)
            try:
                await_ready(server, folder)
                yield PostgresServer(folder, server.pid)
            finally:
                server.send_signal(signal.SIGINT)  # "fast": ends sessions, then the server
                server.wait()
    finally:
        shutil.rmtree(folder)


def folder_of_files() -> str:
    """Return the folder for temporary files, which may be in memory, if the path of a socket in it is short enough."""
    return folder if len(folder := tempfile.gettempdir()) < 40 else "/tmp"


def identity_in(folder: Path) -> dict[str, Any]:
    """Return the user and the working directory for the programs, which fail in an unreadable directory."""
    if os.geteuid() != 0:
        return {"cwd": folder}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"cwd": folder, "user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def make_cluster(initdb: Path, folder: Path, identity: dict[str, Any], log: Any) -> None:
    options = ["-U", "arvis", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    subprocess.run([initdb, "-D", folder / "data", *options], stdout=log, stderr=log, check=True, **identity)


def start_server(
    program: Path, folder: Path, identity: dict[str, Any], log: Any, settings: Sequence[str]
) -> subprocess.Popen[bytes]:
    options = [text for setting in ("listen_addresses=", *settings) for text in ("-c", setting)]
    command = [str(program), "-D", str(folder / "data"), "-k", str(folder), *options]
    return subprocess.Popen[bytes](command, stdout=log, stderr=log, **identity)


def await_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE
    while True:
        try:
            psycopg.connect(PostgresServer(folder, server.pid).url("postgres")).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}") from None
            time.sleep(0.02)  # the server reports "ready" only in its log
        else:
            return
