"""Damage at rest is found, and the effects of a kill are not reported as damage.

These are short forms of `python -m tests.crash damage`, `… false-alarms` and `… repair-steps`. A broken build proves
that the judge can find faults.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

from tests.crash.builds import Edit, copied
from tests.crash.campaign import fresh_seed
from tests.crash.daemon import CHECKOUT
from tests.crash.damage import FILES, KINDS, campaign, damage
from tests.crash.damage_judge import Outcome, judge
from tests.crash.damaged_daemon import damaged_daemon
from tests.crash.false_alarms import campaign as alarms
from tests.crash.repair_steps import SITUATIONS
from tests.files.damage_kit import flip
from tests.parts import LONG

#: A build whose start does not check the checksums of pages.
BLIND = Edit("arvis/store/integrity/check.py", old="    if changed:\n", new="    if not sums:\n")


def test_two_damaged_folders_are_served_rightly_or_not_at_all() -> None:
    seeds = [fresh_seed(), fresh_seed()]
    print(f"seeds {seeds}")
    with copied() as code:
        assert campaign(seeds, code).complaints == []


def test_a_build_that_serves_what_was_changed_is_caught(tmp_path: Path) -> None:
    with copied(BLIND) as code, damaged_daemon(tmp_path, code, "control") as daemon:
        daemon.run(backup=True, killed=False)
        file = daemon.data / "arvis.db"
        flip(file, file.read_bytes().index(b"demo: say"))
        outcome, complaints = judge(daemon)
    assert outcome is Outcome.WHOLE
    assert "is now" in complaints[0]


def test_a_kill_is_not_called_damage() -> None:
    report = alarms(5, fresh_seed())
    assert report.complaints == []
    assert report.figures["commits"]


def test_what_was_begun_is_completed() -> None:
    """The program runs in its own process, because it forks."""
    command = [sys.executable, "-m", "tests.crash", "repair-steps", "--every", "19" if LONG else "37"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(name in done.stdout for name in SITUATIONS)


def test_damage_changes_one_file_in_place(tmp_path: Path) -> None:
    rng = Random(9)
    for name in FILES:
        (tmp_path / name).write_bytes(rng.randbytes(40_000))
    kinds = set()
    for _ in range(40):
        before = {path: (path.stat().st_ino, path.read_bytes()) for path in tmp_path.iterdir()}
        done = damage(tmp_path, rng)
        after = {path: (path.stat().st_ino, path.read_bytes()) for path in tmp_path.iterdir()}
        assert [path.name for path in before if before[path] != after[path]] == [done.file]
        assert [path for path in before if before[path][0] != after[path][0]] == []
        kinds.add(done.what)
        (tmp_path / done.file).write_bytes(rng.randbytes(40_000))
    assert kinds == KINDS.keys()
