"""Prints results and errors, without characters that could control a terminal.

Results are JSON for programs, and short tables or texts for people. An error is printed on standard error, without a
traceback. Its text says what happened, why, and how to fix it. The command then ends with one of the exit codes below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from arvis.domain.errors import (
    ArvisError,
    ConfigError,
    DaemonUnreachable,
    DataFolderInUse,
    MigrationFailed,
    SchemaTooNew,
    UpgradeFailed,
)

_MS = 1000
_KILOBYTE = 1000
_MEGABYTE = 1_000_000

Row = Mapping[str, Any]
Cell = str | Callable[[Row], object]


class Output:
    """The result of a command: `data` for programs, and `texts` for people, separated by blank lines.

    The command prints `notes` for people on standard error, so that the notes do not mix with the result. If `failed`
    is True, the command ends with the exit code `FAILED`.
    """

    def __init__(self, data: Any, *texts: str | Iterator[str], notes: Iterable[str] = (), failed: bool = False) -> None:
        self._data = data
        self._texts = texts
        self._notes = notes
        self._failed = failed

    def print(self, *, as_json: bool) -> None:
        if as_json:
            print_json(self._data)
        else:
            shown = (text if isinstance(text, str) else "\n".join(text) for text in self._texts)
            if text := "\n\n".join(filter(None, shown)):
                print(plain(text))
            for note in self._notes:
                tell(note)
        if self._failed:
            sys.exit(FAILED)


class Table:
    """The columns of a table. Each column is the name of a field, or a pair. The first entry of a pair is the title;
    the second is the name of a field, or a function of the row. `nothing` is the text for an empty table."""

    def __init__(self, *columns: str | tuple[str, Cell], nothing: str = "") -> None:
        self._columns = [(each, each) if isinstance(each, str) else each for each in columns]
        self._nothing = nothing

    def text(self, rows: Sequence[Row]) -> str:
        if not rows:
            return self._nothing
        head = [title.upper() for title, _ in self._columns]
        cells = [head, *([one_line(_value(row, of)) for _, of in self._columns] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)
        return "\n".join(line.rstrip() for line in lines)

    def page(self, page: Row) -> Output:
        """Return the output of a command that lists a page of the API."""
        cursor = page.get("nextCursor")
        more = [f"There are more rows. Show them with --cursor {cursor}"] if cursor else []
        return Output(page, self.text(page["items"]), notes=more)


def _value(row: Row, cell: Cell) -> object:
    return row.get(cell) if isinstance(cell, str) else cell(row)


def fields(data: Row, *times: str, **changed: object) -> str:
    """Return the fields of one object as text, one on each line, without fields that are None. `times` are the fields
    that are times. `changed` are values that replace the object's values."""
    shown = {**data, **{name: moment(data[name]) for name in times}, **changed}
    width = max(map(len, shown), default=0)
    return "\n".join(
        f"{name.ljust(width)}  {json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value}"
        for name, value in shown.items()
        if value is not None
    )


def print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))


def tell(line: str) -> None:
    """Print a note on standard error, so that the note does not mix with the data on standard output."""
    print(plain(line), file=sys.stderr)


# Parts of texts and tables.


def plain(text: object) -> str:
    """Return a text that people or models wrote, without control characters. Line breaks and tabs stay."""
    return "".join(letter for letter in str(text) if letter.isprintable() or letter in "\n\t")


def one_line(value: object, most: int = 60) -> str:
    """Return a value as the text of a table cell with at most `most` characters. For None or an empty text, return a
    dash."""
    text = " ".join(plain(value).split()) if value is not None else ""
    return (text if len(text) <= most else f"{text[: most - 1]}…") or "-"


def moment(at: int | None) -> str | None:
    """Return a time (ms since the epoch) as text in this machine's time zone, to the second."""
    return None if at is None else datetime.fromtimestamp(at / _MS).astimezone().isoformat(" ", "seconds")


def at(field: str) -> Callable[[Row], str | None]:
    """Return a function that shows this field of a row as a time."""
    return lambda row: moment(row[field])


def yes_or_no(value: object) -> str:
    return "yes" if value else "no"


def channel(row: Row) -> str | None:
    """Return the channel of a row in the form that `--to` accepts; None if the row has no channel."""
    return f"{row['platform']}:{row['channelId']}" if row["platform"] else None


def file_size(size: int) -> str:
    """Return a number of bytes as text. Below one megabyte the unit is the kilobyte, otherwise the megabyte."""
    return f"{size / _MEGABYTE:.1f} MB" if size >= _MEGABYTE else f"{size / _KILOBYTE:.0f} kB"


# Errors.

FAILED = 1
WRONG_USE = 2
IN_USE = 3
UNREACHABLE = 4
#: The exit code if the data does not fit this version of Arvis. A repeated start would fail in the same way.
WRONG_VERSION = 5

#: The exit code after Ctrl-C, as shells expect it.
INTERRUPTED = 130

_CODES: tuple[tuple[type[ArvisError], int], ...] = (
    (ConfigError, WRONG_USE),
    (DataFolderInUse, IN_USE),
    (DaemonUnreachable, UNREACHABLE),
    (SchemaTooNew, WRONG_VERSION),
    (MigrationFailed, WRONG_VERSION),
    (UpgradeFailed, WRONG_VERSION),
)


def exit_code(error: ArvisError) -> int:
    """Return the exit code for an error. `WRONG_USE` is only for errors of this command's own input, not for errors that
    the daemon reports."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def error_text(error: ArvisError) -> str:
    """Return the text of an error on three lines: what happened, why, and how to fix it."""
    why = [f"  why: {error.why}"] if error.why else []
    fix = [f"  fix: {error.fix}"] if error.fix else []
    return "\n".join([error.what, *why, *fix])


def known_in(group: BaseExceptionGroup[BaseException]) -> list[ArvisError] | None:
    """Return the errors of an exception group. Return None if the group contains an error that is not an `ArvisError`,
    because such an error is a defect."""
    leaves = list(_leaves(group))
    ours = [leaf for leaf in leaves if isinstance(leaf, ArvisError)]
    return ours if len(ours) == len(leaves) else None


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
