"""Damage a file of a data folder at rest, start the daemon, and judge its data.

Either no value is lost, or the daemon reports the damage and continues with the backup or the undamaged part of the
log, value by value. The program keeps a folder that breaks this rule.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.crash.campaign import seeds_of
from tests.crash.damage_judge import Outcome, judge
from tests.crash.damage_kinds import Damage, damage
from tests.crash.damaged_daemon import damaged_daemon
from tests.crash.report import Report
from tests.crash.variants.build import copied

FILES = 30


def play_one(seed: str, code: Path, folder: Path) -> tuple[Damage, Outcome, list[str]]:
    """Play one folder. Return the damage, the daemon's reaction, and the complaints."""
    with damaged_daemon(folder, code, seed) as daemon:
        daemon.run_before_damage()
        done = damage(daemon.data, daemon.rng)
        return done, *judge(daemon)


def campaign(seeds: Sequence[str], code: Path) -> Report:
    """Play one folder for each seed and print each result."""
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        started = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix="arvis-damage-"))
        done, outcome, complaints = play_one(seed, code, folder)
        if complaints:
            complaints.append(f"(seed {seed}, kept in {folder})")
        else:
            shutil.rmtree(folder)
        outcomes[f"{done.file}: {outcome}"] += 1
        wrong += complaints
        print(f"seed {seed}: {done}: {outcome}, {time.monotonic() - started:.0f} s: {len(complaints)} bad", flush=True)
    return Report({"files": len(seeds), **dict(sorted(outcomes.items()))}, wrong, failed=bool(wrong))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=FILES)


def play(options: argparse.Namespace) -> Report:
    with copied() as code:
        return campaign(seeds_of(options.seed, options.files), code)
