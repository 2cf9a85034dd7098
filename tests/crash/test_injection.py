"""System calls that fail, and a broken build that proves that this test can fail.

The long form is `python -m tests.crash injection`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.injection import Fault, strike
from tests.crash.injection_judge import as_people_see_it, tracebacks
from tests.crash.sweep import at_once
from tests.crash.sweep_acts import Ended
from tests.crash.sweep_play import Outcome
from tests.crash.test_sweep import found_as_expected, playing
from tests.crash.variants.build import Edit

FAULTS = [
    Fault.parse(text)
    for text in (
        "ENOSPC:lasting:birth:fsync:node-id.new:1",
        "EIO:once:talk:fdatasync:arvis.db-wal:3",
        "ENOSPC:once:talk:pwrite64:arvis.db-wal:40",
        "ENOSPC:once:talk:fsync:*:1",
        "EIO:lasting:return:rename:arvis.db-sums.new:1",
        # Regression: SQLite had checkpointed the log on close without the daemon, so the next start reported damage.
        "ENOSPC:once:return:pwrite64:arvis.db:14",
    )
]
SUMS = Fault.parse("EIO:once:upgrade:openat:arvis.db-sums:2")
#: A build whose start does not explain errors of the file system.
UNTOLD = Edit(
    "arvis/store/open.py",
    old='        disk_trouble(f"The database {database.file} cannot be opened"),\n        sealed',
    new="        sealed",
)


async def test_calls_that_fail_lose_nothing_and_are_told_in_words() -> None:
    async with playing() as stage:

        async def outcome_of(fault: Fault) -> Outcome:
            return (await strike(stage, fault)).outcome

        outcomes = await at_once(map(outcome_of, FAULTS), 2)
    assert [(each.point, each.violations) for each in outcomes if each.violations] == []
    assert [each.point for each in outcomes if not each.reached] == []


async def test_a_traceback_is_caught() -> None:
    async with playing(UNTOLD) as stage:
        struck = await strike(stage, SUMS)
    details = [violation.detail for violation in found_as_expected(struck.outcome)]
    assert struck.outcome.reached
    assert any(detail.startswith("it showed a traceback") for detail in details)


# -- the end of a disturbed life ---------------------------------------------------------------------------

ADVICE = "The disk is full\n  why: it is\n  fix: free some space\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "x"\nOSError: [Errno 5]\n'


def wrong(folder: Path, code: int | None, log: str) -> list[str]:
    (folder / "log").write_text(log)
    return [each.detail.split(":")[0] for each in as_people_see_it(Ended(code, folder / "log", folder / "trace"))]


@pytest.mark.parametrize(
    ("code", "log"), [(0, ""), (1, ADVICE), (1, '{"event": "store_lost", "fix": "look at the disk"}\n')]
)
def test_a_life_may_be_stopped_or_leave_with_advice(tmp_path: Path, code: int, log: str) -> None:
    assert wrong(tmp_path, code, log) == []


@pytest.mark.parametrize(
    ("code", "log", "says"),
    [
        (None, "", "it hung"),
        (-7, "", "it was killed by signal 7"),
        (1, "", "it exited with 1 and named no fix"),
        (0, TRACEBACK, "it showed a traceback"),
    ],
)
def test_what_a_life_must_not_do_is_caught(tmp_path: Path, code: int | None, log: str, says: str) -> None:
    assert wrong(tmp_path, code, log) == [says]


def test_a_traceback_in_a_line_of_the_log_is_counted(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"event": "job_failed", "exception": "Traceback\\nOSError: full"}\n' + ADVICE)
    assert tracebacks(tmp_path / "log") == ["job_failed: OSError: full"]


def test_the_name_of_a_fault_is_read_back() -> None:
    assert [str(fault) for fault in FAULTS][1] == "EIO:once:talk:fdatasync:arvis.db-wal:3"
