"""Print results and errors, without characters that could control a terminal.

Results are JSON for programs and short tables for people. An error is printed on standard error, without a traceback:
what happened, why, and how to fix it. The command then ends with one of the exit codes below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from arvis.domain.errors import ArvisError, ConfigError, DaemonUnreachable, DataFolderInUse

_MS = 1000
_KILOBYTE = 1000
_MEGABYTE = 1_000_000


def print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))


def plain(text: object) -> str:
    """Return a text without its control characters except line breaks and tabs, because people or models wrote it."""
    return "".join(letter for letter in str(text) if letter.isprintable() or letter in "\n\t")


def one_line(value: object, most: int = 60) -> str:
    """Return a value as the text of a table's cell, at most `most` characters; a dash for None or an empty text."""
    text = " ".join(plain(value).split()) if value is not None else ""
    return (text if len(text) <= most else f"{text[: most - 1]}…") or "-"


def print_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str], *, nothing: str) -> None:
    """Print a table. `columns`: the keys of the rows to print. `nothing`: the text for an empty table."""
    if not rows:
        print(nothing)
        return
    cells = [[column.upper() for column in columns], *([one_line(row.get(key)) for key in columns] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def tell_more(page: Mapping[str, Any]) -> None:
    """If there is a next page, print the option that shows it."""
    if page["nextCursor"]:
        tell(f"There are more rows. Show them with --cursor {page['nextCursor']}")


def print_fields(data: Mapping[str, object]) -> None:
    """Print the fields of one object, one on each line, without those that are None."""
    width = max(map(len, data), default=0)
    for name, value in data.items():
        if value is not None:
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else plain(value)
            print(f"{name.ljust(width)}  {text}")


def moment(at: int | None) -> str | None:
    """Return a time (ms since the epoch) as text in this machine's time zone, to the second."""
    return None if at is None else datetime.fromtimestamp(at / _MS).astimezone().isoformat(" ", "seconds")


def file_size(size: int) -> str:
    """Return a number of bytes as text in megabytes, below one megabyte in kilobytes."""
    return f"{size / _MEGABYTE:.1f} MB" if size >= _MEGABYTE else f"{size / _KILOBYTE:.0f} kB"


def tell(line: str) -> None:
    """Print a note on standard error, so that it does not mix with the data on standard output."""
    print(line, file=sys.stderr)


# Errors.

FAILED = 1
WRONG_USE = 2
IN_USE = 3
UNREACHABLE = 4

#: The exit code after Ctrl-C, as shells expect it.
INTERRUPTED = 130

_CODES: tuple[tuple[type[ArvisError], int], ...] = (
    (ConfigError, WRONG_USE),
    (DataFolderInUse, IN_USE),
    (DaemonUnreachable, UNREACHABLE),
)


def exit_code(error: ArvisError) -> int:
    """Return the exit code for an error. `WRONG_USE` is only for errors of this command's own input, not for errors that
    the daemon reports."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def report(error: ArvisError) -> None:
    """Print what / why / fix to standard error."""
    lines = [
        error.what,
        *([f"  why: {error.why}"] if error.why else []),
        *([f"  fix: {error.fix}"] if error.fix else []),
    ]
    print("\n".join(lines), file=sys.stderr)


def known_in(group: BaseExceptionGroup[BaseException]) -> list[ArvisError] | None:
    """Return the errors of an exception group if all are `ArvisError`s. Return None if the group contains any other
    error, because such an error is a defect."""
    leaves = list(_leaves(group))
    ours = [leaf for leaf in leaves if isinstance(leaf, ArvisError)]
    return ours if len(ours) == len(leaves) else None


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
