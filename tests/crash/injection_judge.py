"""Rules for a daemon on a failing disk: it continues and can be stopped, or it exits with an error that says what, why
and how to fix it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.crash.daemon import PYTHON_ERRORS
from tests.crash.sweep_phases import Ended
from tests.crash.verdict import Kind, Violation

#: The beginning of an error's fix, in the output of the command line and in a line of the log.
FIX = ("  fix: ", '"fix": "')
#: A failed write may count as an attempt of a job, so this rule does not apply.
RETRIED = "a crash counts no attempt"
#: Number of lines at the end of the log that must contain the fix.
LAST = 6


def visible_faults(ended: Ended) -> list[Violation]:
    """Return the complaints about the end of a disturbed process."""
    lines = ended.log.read_text(errors="replace").splitlines()
    return [Violation(visible_faults.__name__, Kind.OTHER, text) for text in _wrong(ended.code, lines)]


def not_from_failures(found: Sequence[Violation]) -> list[Violation]:
    """Return the violations without those that a failed write may cause in a job."""
    return [each for each in found if not each.detail.startswith(f"{RETRIED}: ")]


def tracebacks(log: Path) -> list[str]:
    """Return the log lines with a traceback: their event and the last line of the exception."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{") and '"exception"' in line:
            entry = json.loads(line)
            found.append(f"{entry['event']}: {entry['exception'].strip().splitlines()[-1]}")
    return found


def _wrong(code: int | None, lines: Sequence[str]) -> Iterator[str]:
    if code is None:
        yield "it hung"
    elif code < 0:
        yield f"it was killed by signal {-code}"
    elif code > 0 and not any(word in line for word in FIX for line in lines[-LAST:]):
        yield f"it exited with {code} and named no fix: {' | '.join(lines[-LAST:])}"
    for line in lines:
        if line.startswith(PYTHON_ERRORS):
            yield f"it showed a traceback: {line} … {lines[-1]}"
            return
