"""The input of the checks, gathered once: each external source is queried one time, for any number of checks.

The daemon is asked, because the environment of this command may differ from the daemon's. Its earlier starts are read
from the end of the newest logs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from arvis.app.database import database_of
from arvis.cli.api_client import daemon_url, left_in, request
from arvis.config import Config
from arvis.config.stored import Sifted
from arvis.domain.errors import ArvisError, ConfigError, DaemonUnreachable
from arvis.process.data_folder import Holder, address_file, api_key_file, holder_of
from arvis.store.health import DatabaseState, Records, inspect

# The starts and stops in the daemon's own log. Lines that cannot be parsed are skipped.

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


# The running daemon's own reports: version, readiness, metrics.

#: Seconds that one answer may take.
_TIMEOUT = 3.0

_WAIT = "If the daemon has just started, wait a moment. Otherwise read its log and restart it."

_WORDS = {"database": "the database", "disk": "room on the disk", "eventLoop": "the event loop"}

_OK = 200
_NOT_KNOWN = 401


@dataclass(frozen=True, slots=True)
class DaemonView:
    """A daemon that holds the data folder. `url` is None if it does not run the role `web`; `trouble` is the reason
    why it could not be asked. `down` names the parts that are not ready, `figures` are the metrics of its process,
    `start` is the entry of this start in its log."""

    pid: int
    url: str | None
    start: Start | None
    version: str | None = None
    down: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    trouble: ArvisError | None = None


def ask(config: Config, holder: Holder, lives: list[Start]) -> DaemonView:
    """One look at the daemon; what cannot be learned is left out."""
    start = next((life for life in lives if life.boot_id == holder.boot_id), None)
    # It may have been started with other roles than the configuration names.
    roles = config.roles if start is None else start.roles
    if "web" not in roles and not address_file(config.data_dir).exists():
        return DaemonView(holder.pid, None, start)
    url = daemon_url(config)
    try:
        health = request(url, "GET", "/health", timeout=_TIMEOUT)
        match health.data:
            case {"status": "ok", "version": str(version)}:
                figures = _figures(url, api_key_file(config.data_dir))
                return DaemonView(holder.pid, url, start, version=version, down=_down(url), figures=figures)
            case _:
                raise _stranger(url)
    except DaemonUnreachable as error:
        # That it runs is known: the usual advice, to start it, would mislead.
        trouble = DaemonUnreachable(error.what, why=error.why, fix=_WAIT)
        return DaemonView(holder.pid, url, start, trouble=trouble)
    except ConfigError as error:
        return DaemonView(holder.pid, url, start, trouble=error)


def _down(url: str) -> tuple[str, ...]:
    """Return the reasons why it is not ready, as text."""
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
    """Those without labels, of Prometheus's text."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name.isidentifier() and not line.startswith("#"):
            yield name, float(value)


def _stranger(url: str) -> DaemonUnreachable:
    return DaemonUnreachable(f"Another program answers at {url}", why="Its responses are not those of Arvis.")


# The scene.

#: The placeholder for the value of a variable that is not set here.
PLACEHOLDER = "not-set-in-this-environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The machine. `encoding` is that of standard output, `proc` and `control_group` are where Linux shows itself."""

    python: tuple[int, int, int]
    encoding: str
    proc: Path = Path("/proc")
    control_group: Path = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """`unset` are variables that the configuration refers to and that are not set here. `holder` is the process that
    holds the data folder, or the reason why that is unknown; `daemon` is None if none runs; `lives` are the earlier
    starts in the log. `database` is None if there is none, or while a command works on it; `stored` are the values of
    the dashboard if the rows can be read, and then `config` is the configuration that a start would use."""

    config: Config
    unset: tuple[str, ...]
    system: System
    now: int
    holder: Holder | ArvisError | None
    lives: list[Start]
    daemon: DaemonView | None
    database: DatabaseState | ArvisError | None
    stored: Sifted | None = None

    @property
    def folder(self) -> Path:
        return self.config.data_dir

    @property
    def records(self) -> Records | None:
        """The rows, where nothing is wrong with them."""
        rows = self.database.rows if isinstance(self.database, DatabaseState) else None
        return rows if isinstance(rows, Records) else None


def gather(config: Config, *, unset: tuple[str, ...], system: System, now: int) -> Scene:
    """A daemon that starts in the middle of a look without one may have changed what was seen: it is looked at again."""
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
    """While a command works in the folder, the database is its own."""
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
