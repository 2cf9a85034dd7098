"""`python -m tests.crash.flips --files 30`: damage a file of a data folder at rest, start the daemon, and judge its
data.

Either no value is lost, or the daemon reports the damage and continues with the backup or the undamaged part of the
log, value by value. The program keeps a folder that breaks this rule.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.crash.campaign import CHECKOUT
from tests.crash.flip_damage import Damage, damage
from tests.crash.flip_judge import Outcome, judge
from tests.crash.flip_scene import scene
from tests.crash.variants.build import copied

FILES = 30


def play(seed: str, code: Path, folder: Path) -> tuple[Damage, Outcome, list[str]]:
    """Play one folder. Return the damage, the daemon's reaction, and the complaints."""
    with scene(folder, code, seed) as lived:
        lived.live()
        done = damage(lived.data, lived.rng)
        return done, *judge(lived)


def campaign(seeds: Sequence[str], code: Path) -> list[str]:
    """Play one folder for each seed, print each result, and return the complaints."""
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        started = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix="arvis-flips-"))
        done, outcome, complaints = play(seed, code, folder)
        if complaints:
            complaints.append(f"(seed {seed}, kept in {folder})")
        else:
            shutil.rmtree(folder)
        outcomes[f"{done.file}: {outcome}"] += 1
        wrong += complaints
        verdict = "; ".join(complaints) or "right"
        print(f"seed {seed}: {done}: {outcome}, {time.monotonic() - started:.0f} s: {verdict}", flush=True)
    print(json.dumps(dict(sorted(outcomes.items())), indent=1))
    return wrong


def seeds_of(seed: str, files: int) -> list[str]:
    return [seed] if files == 1 else [f"{seed}.{number}" for number in range(files)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.flips", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--seed", default=secrets.token_hex(4), help="seed of an earlier run, or of one of its files")
    options = parser.parse_args()
    with copied(CHECKOUT) as code:
        wrong = campaign(seeds_of(options.seed, options.files), code)
    print(f"{options.files} files, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
