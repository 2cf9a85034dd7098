"""The input of the checks, gathered once: each external source is queried one time, for any number of checks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from arvis.app.database import database_of
from arvis.cli.doctor.asking import DaemonView, ask
from arvis.cli.doctor.journal import Start, starts
from arvis.config import Config
from arvis.config.stored import Sifted
from arvis.domain.errors import ArvisError
from arvis.process.data_folder import Holder, holder_of
from arvis.store.health import DatabaseState, Records, inspect

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
