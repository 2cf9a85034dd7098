"""What a daemon may do on a disk that fails: go on and be stopped, or leave and say what, why and how to fix it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.crash.daemon import PYTHONS_OWN
from tests.crash.sweep_acts import Ended
from tests.crash.verdict import Kind, Violation

#: The words by which an error tells its remedy, in the text of the command line and in a line of the log.
FIX = ("  fix: ", '"fix": "')
#: A write that fails may cost a job a try, and that is counted.
RETRIED = "a crash counts no attempt"
#: The words are looked for at the end of the log, in so many lines.
LAST = 6


def as_people_see_it(ended: Ended) -> list[Violation]:
    """What is wrong with the end of a disturbed life."""
    lines = ended.log.read_text(errors="replace").splitlines()
    return [Violation(as_people_see_it.__name__, Kind.OTHER, text) for text in _wrong(ended.code, lines)]


def not_from_failures(found: Sequence[Violation]) -> list[Violation]:
    """Without what a failed write may do to a job."""
    return [each for each in found if not each.detail.startswith(f"{RETRIED}: ")]


def tracebacks(log: Path) -> list[str]:
    """The events of log lines that carry one, with the exception's last line."""
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
        yield f"it died of signal {-code}"
    elif code > 0 and not any(word in line for word in FIX for line in lines[-LAST:]):
        yield f"it left with {code} and without a word of advice: {' | '.join(lines[-LAST:])}"
    for line in lines:
        if line.startswith(PYTHONS_OWN):
            yield f"it showed a traceback: {line} … {lines[-1]}"
            return
