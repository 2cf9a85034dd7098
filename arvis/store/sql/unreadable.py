"""Handles rows with malformed values, which come from manual changes or defects. Such a row counts as disabled and is
reported, so that the daemon can still start and show lists."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from arvis.store.sql.session import Row

T = TypeVar("T")

log = logging.getLogger(__name__)

#: The exceptions that a malformed value raises: invalid JSON, an unknown choice, a value of a wrong type.
UNREADABLE = (ValueError, TypeError, KeyError)


def lenient(table: str, key: str, row: Row, read: Callable[[Row], T], disabled: Callable[[Row], T]) -> T:
    """Return the object that `read` makes from the row. If `read` raises one of `UNREADABLE`, log an error and return
    the object that `disabled` makes. `key` is the column that identifies the row in the log."""
    try:
        return read(row)
    except UNREADABLE as error:
        _report(table, str(row[key]), f"{type(error).__name__}: {error}")
        return disabled(row)


def complaint(table: str, key: str, row: Row, read: Callable[[Row], object]) -> str | None:
    """Return the reason why `read` cannot convert a row, in the form in which `arvis doctor` prints it. Return None if
    `read` can convert the row."""
    try:
        read(row)
    except UNREADABLE as error:
        return f"{table} {row[key]} ({type(error).__name__}: {error})"
    return None


def texts_of(column: str) -> tuple[str, ...]:
    """Parse a JSON list of texts. Raise `ValueError` for other JSON."""
    found = json.loads(column)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("it is not a list of texts")
    return tuple(found)


def object_of(found: Any) -> dict[str, Any]:
    """Return `found` if it is a JSON object. Raise `ValueError` for other values."""
    if isinstance(found, dict):
        return found
    raise ValueError("it is not an object")


def complaints(found: Sequence[str | None]) -> list[str]:
    return [each for each in found if each is not None]


@lru_cache(maxsize=256)
def _report(table: str, name: str, why: str) -> None:
    """Log the error. The cache ensures that this happens once for each row and reason, because some rows are read for
    every message."""
    fix = "It counts as disabled. Save it again in the dashboard or on the command line, or remove it."
    log.error("The row %s of the table %s cannot be read (%s). %s", name, table, why, fix)
