"""Prints errors as what, why and how to fix it on standard error, with an exit code and without a traceback.

This module defines all exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from arvis.domain.errors import ArvisError, ConfigError, DaemonUnreachable, DataFolderInUse

FAILED = 1
WRONG_USE = 2
IN_USE = 3
UNREACHABLE = 4

#: After Ctrl-C, as shells expect it.
INTERRUPTED = 130

_CODES: tuple[tuple[type[ArvisError], int], ...] = (
    (ConfigError, WRONG_USE),
    (DataFolderInUse, IN_USE),
    (DaemonUnreachable, UNREACHABLE),
)


def exit_code(error: ArvisError) -> int:
    """Return the exit code. An error that the daemon reported does not count as wrong arguments."""
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
    """The errors of a group, if all of them are ours; None: something else is among them, which is a defect."""
    leaves = list(_leaves(group))
    ours = [leaf for leaf in leaves if isinstance(leaf, ArvisError)]
    return ours if len(ours) == len(leaves) else None


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
