"""Gathers the input of the checks once, so that each external source is queried only once for all checks.

The daemon itself is queried, because the environment of this command may differ from the daemon's. The starts of the
daemon are read from the end of the newest logs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

from arvis.app.database import database_of
from arvis.cli.api_client import daemon_url, left_in, request
from arvis.config import Config
from arvis.config.stored import Sifted
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ArvisError, ConfigError, DaemonUnreachable
from arvis.process.data_folder import Holder, address_file, api_key_file, holder_of
from arvis.store.health import DatabaseState, Records, inspect

# The starts and stops in the daemon's own log. Lines that cannot be parsed are skipped.

#: The maximum number of log files that are read, and the maximum number of bytes that are read from the end of each
#: file.
_FILES = 2
_TAIL = 4_000_000

_MS = 1000


@dataclass(frozen=True, slots=True)
class Start:
    """A start of the daemon."""

    boot_id: str
    #: The time (ms) at which the daemon was ready.
    at: int
    roles: tuple[str, ...]
    #: The accounts of the daemon's configuration.
    models: tuple[str, ...]
    #: True if the daemon was stopped; False if it still runs or crashed.
    ended: bool = False


def starts(logs: Path) -> list[Start]:
    """Return the starts of the daemon that the newest log files record, oldest first."""
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
            # Only lines that contain these words are parsed, because parsing JSON is slow.
            if b'"ready"' in line or b'"stopping"' in line:
                yield _read(line)


def log_lines(folder: Path, most: int) -> list[str]:
    """Return the newest lines of the daemon's log, oldest first, at most `most`."""
    logs = folder / "logs"
    files = sorted(logs.glob("arvis-????-??-??.log"))[-_FILES:] if os.access(logs, os.R_OK | os.X_OK) else []
    return [line for file in files for line in _tail(file).decode("utf-8", "replace").splitlines()][-most:]


def _tail(file: Path) -> bytes:
    try:
        with file.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
            return log.read(_TAIL)
    except OSError:
        # A file that was removed meanwhile or is not readable is skipped.
        return b""


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


# The reports of the running daemon: its version, readiness and metrics.

#: The timeout of a request in seconds.
_TIMEOUT = 3.0

_WAIT = "If the daemon has just started, wait a moment. Otherwise read its log and restart it."

_WORDS = {"database": "the database", "disk": "space on the disk", "eventLoop": "the event loop"}

_OK = 200
_NOT_KNOWN = 401


@dataclass(frozen=True, slots=True)
class DaemonView:
    """The state of the daemon that uses the data folder."""

    pid: int
    #: The address of the daemon; None if it does not run the role `web`.
    url: str | None
    #: The start of this daemon in the log; None if the log does not contain it.
    start: Start | None
    version: str | None = None
    #: The parts of the daemon that are not ready.
    down: tuple[str, ...] = ()
    #: The metrics of the daemon's process.
    figures: Mapping[str, float] = field(default_factory=dict)
    #: The reason why the daemon could not be queried.
    trouble: ArvisError | None = None


def ask(config: Config, holder: Holder, lives: list[Start]) -> DaemonView:
    """Query the daemon, and return its state. Values that the daemon does not report keep their defaults."""
    start = next((life for life in lives if life.boot_id == holder.boot_id), None)
    # The daemon may have been started with other roles than those in the configuration.
    roles = config.roles if start is None else start.roles
    if "web" not in roles and not address_file(config.data_dir).exists():
        return DaemonView(holder.pid, None, start)
    url = daemon_url(config.data_dir, config.web.host, config.web.port)
    try:
        health = request(url, "GET", "/health", timeout=_TIMEOUT)
        match health.data:
            case {"status": "ok", "version": str(version)}:
                figures = _figures(url, api_key_file(config.data_dir))
                return DaemonView(holder.pid, url, start, version=version, down=_down(url), figures=figures)
            case _:
                raise _stranger(url)
    except DaemonUnreachable as error:
        # The daemon runs, so the usual advice to start it would be wrong.
        trouble = DaemonUnreachable(error.what, why=error.why, fix=_WAIT)
        return DaemonView(holder.pid, url, start, trouble=trouble)
    except ConfigError as error:
        return DaemonView(holder.pid, url, start, trouble=error)


def _down(url: str) -> tuple[str, ...]:
    """Return the parts of the daemon that are not ready, each as text for people."""
    match request(url, "GET", "/ready", timeout=_TIMEOUT).data:
        case {"ready": bool(ready), "roles": dict(roles), **parts}:
            down = [f"the role {name}" for name, up in roles.items() if not up]
            down += [_WORDS.get(str(name), str(name)) for name, well in parts.items() if well is False]
            return () if ready else tuple(down or ["an unnamed part"])
        case _:
            raise _stranger(url)


def _figures(url: str, key_file: Path) -> Mapping[str, float]:
    answer = request(url, "GET", "/metrics", key=left_in(key_file), timeout=_TIMEOUT, decode=bytes.decode)
    if answer.status == _NOT_KNOWN:
        raise DaemonUnreachable(f"Another Arvis runs at {url}", why="It does not accept the key of this data folder.")
    return dict(_plain_figures(answer.data)) if answer.status == _OK else {}


def _plain_figures(text: str) -> Iterator[tuple[str, float]]:
    """Yield the metrics without labels from a text in Prometheus's format."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name.isidentifier() and not line.startswith("#"):
            yield name, float(value)


def _stranger(url: str) -> DaemonUnreachable:
    return DaemonUnreachable(f"Another program answers at {url}", why="Its responses are not those of Arvis.")


# The scene.

#: The placeholder for the value of a variable that is not set in the environment of this command.
PLACEHOLDER = "not-set-in-this-environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The properties of the machine that checks use."""

    #: The version of Python.
    python: tuple[int, int, int]
    #: The encoding of standard output.
    encoding: str
    #: The folder in which Linux describes processes.
    proc: Path = Path("/proc")
    #: The folder in which Linux describes the container's limits.
    control_group: Path = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The input of the checks."""

    config: Config
    #: The variables to which the configuration refers and that are not set in the environment of this command.
    unset: tuple[str, ...]
    system: System
    now: int
    #: The process that uses the data folder, or the reason why it is unknown.
    holder: Holder | ArvisError | None
    #: The starts of the daemon that its log records.
    lives: list[Start]
    #: None if no daemon runs.
    daemon: DaemonView | None
    #: None if the database does not exist, or while an Arvis command uses the data folder.
    database: DatabaseState | ArvisError | None
    #: The settings that people changed in the dashboard. If their rows can be read, `config` includes these settings.
    stored: Sifted | None = None

    @property
    def folder(self) -> Path:
        return self.config.data_dir

    @property
    def records(self) -> Records | None:
        """Return the values that were read from the rows of the database; None if the rows were not read."""
        rows = self.database.rows if isinstance(self.database, DatabaseState) else None
        return rows if isinstance(rows, Records) else None


def gather(config: Config, *, unset: tuple[str, ...], system: System, now: int) -> Scene:
    """Return the input of the checks. If a daemon started meanwhile, gather the input again, because the daemon may have
    changed the data."""
    scene = _gather(config, unset, system, now)
    started = scene.holder is None and scene.database is not None and _holder(config.data_dir) is not None
    return _gather(config, unset, system, now) if started else scene


def _gather(config: Config, unset: tuple[str, ...], system: System, now: int) -> Scene:
    readable = os.access(config.data_dir, os.R_OK | os.X_OK)
    holder = _holder(config.data_dir) if readable else None
    lives = starts(config.data_dir / "logs") if readable else []
    return Scene(
        config=config,
        unset=unset,
        system=system,
        now=now,
        holder=holder,
        lives=lives,
        daemon=ask(config, holder, lives) if isinstance(holder, Holder) and holder.boot_id else None,
        database=_database(config, holder, now) if readable or config.postgres_url else None,
    )


def _holder(folder: Path) -> Holder | ArvisError | None:
    try:
        return holder_of(folder)
    except ArvisError as error:
        return error


def _database(config: Config, holder: Holder | ArvisError | None, now: int) -> DatabaseState | ArvisError | None:
    """Return the state of the database. Return None if the database does not exist. Also return None if an Arvis
    command uses the data folder, because the command may be replacing the database."""
    database = database_of(config)
    is_ours = database.url is None and isinstance(holder, Holder) and holder.boot_id is None
    if is_ours or (database.url is None and not _holds_something(database.file)):
        return None
    try:
        return inspect(database, now=now, at_rest=holder is None)
    except ArvisError as error:
        return error


def _holds_something(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False
