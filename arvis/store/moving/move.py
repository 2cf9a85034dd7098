"""Copies all data to another database, compares the two databases, and then makes the copy the database in use.

A copy is invisible until it is complete and equal to the source. The last rows in the copy show how far an interrupted
move came, so the next command continues there. At the end the source is marked as moved, and only then the copy becomes
visible. So a daemon can never use both databases at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict, NotFound, StoreError
from arvis.store.backups.swap import finish_restore
from arvis.store.location import Database
from arvis.store.moving.sqlite import open_copy, open_source
from arvis.store.moving.tables import Content, Source, Table, Target, content, tables
from arvis.store.open import bring_up_to_date, load_postgres, moved_to

#: A progress report is made after this number of copied rows.
_REPORT = 100_000


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of a move."""

    source: str
    target: str
    #: The number of rows of each table, by name. Source and target were equal.
    rows: dict[str, int]
    #: The number of stored files, and the number of them that were missing or changed in the source.
    blobs: int
    missing_blobs: int
    #: True if the move continued the copy of an interrupted command.
    resumed: bool


def address_of(database: Database) -> str:
    """Return the address of a database without its password, for people."""
    if database.url is None:
        return str(database.file.absolute())
    found: str = load_postgres("moving.postgres").address_of(database.url)
    return found


def move(source: Database, target: Database, now: int, tell: Callable[[str], None]) -> Moved:
    """Move all data from one database to another one. No process may use either of them, and the caller holds the lock
    of the data folder. Call `tell` with lines about the progress. Raise `Conflict`, `NotFound` or `StoreError` if the
    move fails. The source is then unchanged, and another call continues the move."""
    names = address_of(source), address_of(target)
    _check(source, target, *names)
    bring_up_to_date(source, now, moved=True)
    with _reading(source) as origin, _copying(target, names[0], now) as copy:
        resumed = copy.resumed
        if resumed:
            tell("An earlier move was interrupted. It continues now.")
        missing = _copy(origin, copy, tell)
        tell("Comparing the tables ...")
        if (different := _differences(origin, copy)) and resumed:
            tell(f"The source changed since the interruption ({', '.join(different)}). The move begins again.")
            copy.start_again()
            missing = _copy(origin, copy, tell)
            different = _differences(origin, copy)
        if different:
            raise _unequal(different)
        tell("Building the search index ...")
        copy.index_messages()
        rows = {table.name: content(copy.batches(table, None)).rows for table in tables()}
        blobs = len(copy.blobs())
        origin.mark_moved(names[1], now)
        copy.finish(now)
    return Moved(*names, rows, blobs, missing, resumed)


def _check(source: Database, target: Database, name: str, other: str) -> None:
    if name == other:
        raise Conflict(
            f"The data is already in {name}",
            fix="name the other database: `--to sqlite`, or `--to env:NAME` with the variable of a postgresql:// address",
        )
    if source.url is None and not source.file.exists():
        raise NotFound(f"There is no database {source.file}", fix="Start the daemon once. It creates the database.")
    if target.url is None:
        finish_restore(target)
    to = moved_to(source)
    if to is not None and (to != other or _is_used(target)):
        raise Conflict(
            f"The data of {name} was moved to {to}", fix="set `database` in the configuration to that address"
        )
    if _is_used(target):
        raise Conflict(
            f"There is already data in {other}",
            why="a move never replaces data",
            fix="name an empty PostgreSQL database, or move the files arvis.db* of the data folder to another folder",
        )


def _is_used(database: Database) -> bool:
    """Return True if a database contains data that was not moved to another database."""
    if database.url is None:
        return database.file.exists() and moved_to(database) is None
    used: bool = load_postgres("moving.postgres").is_used(database.url)
    return used


def _copy(source: Source, target: Target, tell: Callable[[str], None]) -> int:
    """Copy the rows and blobs that the target lacks. Return the number of blobs that are missing in the source."""
    for table in tables():
        rows = 0
        for batch in source.batches(table, target.last_key(table)):
            target.add(table, batch)
            rows += len(batch)
            if rows % _REPORT < len(batch):
                tell(f"{table.name}: {rows} rows copied")
    there, missing = {*target.blobs()}, 0
    for name in source.blobs():
        if name not in there:
            data = source.blob(name)
            missing += data is None
            if data is not None:
                target.put_blob(data)
    return missing


def _differences(source: Source, target: Target) -> list[str]:
    """Return the names of the tables whose rows differ."""

    def of(side: Source | Target, table: Table) -> Content:
        return content(side.batches(table, None))

    return [table.name for table in tables() if of(source, table) != of(target, table)]


def _unequal(names: Sequence[str]) -> StoreError:
    return StoreError(
        f"The copy differs from the source in {', '.join(names)}",
        why="another program changed one of the databases, or a disk returns wrong data",
        fix="stop all other programs and run the command again; the source is unchanged",
    )


def _reading(database: Database) -> AbstractContextManager[Source]:
    if database.url is None:
        return open_source(database)
    return load_postgres("moving.postgres").open_source(database.url)  # type: ignore[no-any-return]


def _copying(database: Database, source: str, now: int) -> AbstractContextManager[Target]:
    if database.url is None:
        return open_copy(database, source, now)
    return load_postgres("moving.postgres").open_copy(database.url, source, now)  # type: ignore[no-any-return]
