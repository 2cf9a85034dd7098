"""System calls that fail, and a broken build that proves that this test can fail.

The long form is `python -m tests.crash injection`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.builds import Edit
from tests.crash.campaign import play_all
from tests.crash.injection import Fault, inject_fault, tracebacks, visible_faults
from tests.crash.sweep_phases import Ended
from tests.crash.test_sweep import expected_violations, strace_build

FAULTS = [
    Fault.parse(text)
    for text in (
        "ENOSPC:lasting:creation:fsync:node-id.new:1",
        "EIO:once:conversation:fdatasync:arvis.db-wal:3",
        "ENOSPC:once:conversation:pwrite64:arvis.db-wal:40",
        "ENOSPC:once:conversation:fsync:*:1",
        "EIO:lasting:recovery:rename:arvis.db-sums.new:1",
        # Regression: SQLite had checkpointed the log on close without the daemon, so the next start reported damage.
        "ENOSPC:once:recovery:pwrite64:arvis.db:14",
    )
]
#: strace counts the calls of each thread. Later openings of this file may be in another thread of the pool.
SUMS = Fault.parse("EIO:once:upgrade:openat:arvis.db-sums:1")
#: A build whose start does not explain errors of the file system.
UNEXPLAINED = Edit(
    "arvis/store/integrity/repair.py",
    old='disk_trouble(f"The database {database.file} cannot be examined"):',
    new="store_errors():",
)


async def test_calls_that_fail_lose_nothing_and_are_explained() -> None:
    async with strace_build() as build:
        outcomes = await play_all((inject_fault(build, fault) for fault in FAULTS), 2)
    assert [(each.seed, each.violations) for each in outcomes if each.violations] == []
    assert [each.seed for each in outcomes if not each.reached] == []


async def test_a_traceback_is_caught() -> None:
    async with strace_build(UNEXPLAINED) as build:
        injected = await inject_fault(build, SUMS)
    details = [violation.detail for violation in expected_violations(injected)]
    assert injected.reached
    assert any(detail.startswith("it showed a traceback") for detail in details)


# -- the end of a disturbed process ---------------------------------------------------------------------------

ADVICE = "The disk is full\n  why: it is\n  fix: free some space\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "x"\nOSError: [Errno 5]\n'


def wrong(folder: Path, code: int | None, log: str) -> list[str]:
    (folder / "log").write_text(log)
    return [each.detail.split(":")[0] for each in visible_faults(Ended(code, folder / "log", folder / "trace"))]


@pytest.mark.parametrize(
    ("code", "log"), [(0, ""), (1, ADVICE), (1, '{"event": "store_lost", "fix": "look at the disk"}\n')]
)
def test_a_process_may_stop_or_exit_with_a_fix(tmp_path: Path, code: int, log: str) -> None:
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
def test_a_wrong_end_of_a_process_is_caught(tmp_path: Path, code: int | None, log: str, says: str) -> None:
    assert wrong(tmp_path, code, log) == [says]


def test_a_traceback_in_a_line_of_the_log_is_counted(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"event": "job_failed", "exception": "Traceback\\nOSError: full"}\n' + ADVICE)
    assert tracebacks(tmp_path / "log") == ["job_failed: OSError: full"]


def test_the_name_of_a_fault_is_read_back() -> None:
    assert [str(fault) for fault in FAULTS][1] == "EIO:once:conversation:fdatasync:arvis.db-wal:3"
