"""`arvis config migrate`: rename the keys of a configuration file from an older version."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from arvis.cli.options import PlacedCommand
from arvis.cli.output import FAILED
from arvis.config import DEFAULT_FILE
from arvis.config.environment import DELIMITER, PREFIX
from arvis.config.renames import MIGRATE, Renamed, migrated, old_keys, old_variables
from arvis.config.yaml_text import MAX_TEXT, Document, UnreadableText
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError


@click.group()
def config() -> None:
    """Migrate a configuration file of an older version."""


@config.command(cls=PlacedCommand)
@click.option("--check", is_flag=True, help="List the old keys and change nothing; exit with 1 if there are any.")
def migrate(*, check: bool, config: Path | None, data: Path | None) -> None:  # noqa: ARG001 - every command takes both
    """Rename the old keys of the file, in place.

    Comments, values and the order of keys do not change. The old file is kept as FILE.bak. Settings that were changed
    in the dashboard are migrated with the database at the next start. Old environment variables are only listed: rename
    them yourself.
    """
    migration = ConfigMigration.of(config or DEFAULT_FILE)
    variables = old_variables(os.environ, PREFIX, DELIMITER)
    for renamed in migration.renamed:
        click.echo(f"{migration.file}: {renamed}")
    for name, renamed in variables:
        click.echo(f"environment variable {name}: {renamed}; rename it where the daemon is started")
    if not migration.needed:
        click.echo(f"{migration.file} has no old keys.")
    elif check:
        click.echo(f"Run `{MIGRATE}` to change the file.")
    else:
        click.echo(f"{migration.file} was changed; the old file is {migration.write()}.")
    if check and (migration.needed or variables):
        raise SystemExit(FAILED)


@dataclass(frozen=True, slots=True)
class ConfigMigration:
    """The migration of a configuration file from an older version."""

    file: Path
    renamed: Sequence[Renamed]
    old: str
    new: str

    @classmethod
    def of(cls, file: Path) -> ConfigMigration:
        """Read a file. Raise `ConfigError` if the file cannot be read or migrated."""
        text = _read(file)
        try:
            return cls(file, old_keys(Document(text.removeprefix("\ufeff")).values), text, migrated(text))
        except UnreadableText as error:
            where = f"{file}, line {error.line}" if error.line is not None else str(file)
            raise ConfigError(f"The configuration cannot be read: {where}", why=error.text, fix=error.fix) from error

    @property
    def needed(self) -> bool:
        return self.new != self.old

    def write(self) -> Path:
        """Replace the file, and return the path of the backup of its old content. Raise `ConfigError` if the file
        cannot be written."""
        return _replace(self.file.resolve(), self.old, self.new)


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as text:
            return text.read(MAX_TEXT + 1)
    except ValueError as error:
        fix = "Save the file as UTF-8 text."
        raise ConfigError(f"The configuration cannot be read: {file}", why="it is not UTF-8 text", fix=fix) from error
    except OSError as error:
        fix = "Name an existing file with --config."
        raise ConfigError(f"The configuration cannot be read: {file}", why=error.strerror or "", fix=fix) from error


def _replace(target: Path, old: str, new: str) -> Path:
    """Replace the old text of the file by the new text in one step. Keep the permissions of the file. Return the path
    of the backup."""
    mode = target.stat().st_mode & 0o777
    fresh = target.with_name(f".{target.name}.new")
    try:
        backup = _backup(target, old, mode)
        fresh.unlink(missing_ok=True)
        _write(fresh, new, mode)
        fresh.replace(target)
    except OSError as error:
        fix = "Give this user write permission for the folder of the file."
        raise ConfigError(f"{target} cannot be changed", why=error.strerror or str(error), fix=fix) from error
    finally:
        fresh.unlink(missing_ok=True)
    return backup


def _backup(target: Path, text: str, mode: int) -> Path:
    """Write the old text to a new backup file with the first name (`.bak`, `.bak2`, ...) that does not exist yet.
    Return the path of the backup."""
    number = 1
    while True:
        backup = target.with_name(f"{target.name}.bak{number if number > 1 else ''}")
        try:
            _write(backup, text, mode)
        except FileExistsError:
            number += 1
        else:
            return backup


def _write(file: Path, text: str, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(file, flags, mode), "w", encoding="utf-8", newline="") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
