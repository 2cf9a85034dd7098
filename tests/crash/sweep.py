"""`python -m tests.crash.sweep`: kill the daemon at every system call that writes, syncs or renames.

The points of all acts are in one list. `--every 10` plays every tenth of them, `--from` and `--to` a part of the list,
`--point` a single one by its name, which is printed with every failure.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.crash import sweep_command
from tests.crash.sweep_acts import ACTS
from tests.crash.sweep_command import at_once, part_of, points_for, report_of
from tests.crash.sweep_play import theatre
from tests.crash.sweep_points import Point

REPORT = Path("build/sweep-report.json")


async def sweep(code: Path, options: argparse.Namespace) -> dict[str, Any]:
    started = time.monotonic()
    named = [Point.parse(text) for text in options.point or ()]
    acts = {point.act for point in named} or options.act or ACTS
    async with theatre(code) as stage:
        counted = {name: await stage.count(stage.acts[name]) for name in ACTS if name in acts}
        points = named or part_of(points_for(counted.values(), options), options)
        print(f"{len(points)} points of {sum(len(each.points) for each in counted.values())}", flush=True)
        outcomes = await at_once((stage.kill_at(point, counted[point.act].known) for point in points), options.parallel)
    shadowed = {
        name: dict(Counter(f"{call.call} {' '.join(call.paths)}" for call in each.shadowed))
        for name, each in counted.items()
    }
    return report_of(outcomes, time.monotonic() - started) | {"shadowed": shadowed}


if __name__ == "__main__":
    sys.exit(sweep_command.run(__doc__ or "", REPORT, sweep))
