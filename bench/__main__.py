"""`python -m bench [NAMES]`: run the rows (all, or the named ones), print them and save them.

`--compare OLD.json` also compares the results with those of an earlier run. With a second file, nothing is run and the
two files are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench import (
    draining,
    enqueuing,
    growth,
    minding,
    opening,
    platforms,
    postgres,
    resting,
    results,
    running,
    scheduling,
    talking,
    watching,
)
from bench.places import Files
from bench.report import CORES, Figure, Run, Verdict, table
from bench.rounds import FULL, SHORT, Scale, Setting

ROOT = Path(__file__).parents[1]

Row = Callable[[Setting], Awaitable[list[Figure]]]

ROWS: dict[str, Row] = {
    "enqueue": enqueuing.enqueue,
    "pickup": enqueuing.pickup,
    "drain": draining.drain,
    "depth": draining.depth,
    "lanes": draining.lanes,
    "demo": talking.demo,
    "http": talking.http,
    "start": resting.start,
    "idle": resting.idle,
    "schedules": scheduling.schedules,
    "prompt": talking.prompt,
    "prompt_cost": minding.prompt_cost,
    "growth": growth.growth,
    "dashboard": watching.dashboard,
    "page": opening.page,
    "size": resting.size,
    "workflows": running.workflows,
    **platforms.ROWS,
    **postgres.ROWS,
}


async def measure(names: Sequence[str], *, folder: Path, scale: Scale, keep: Callable[[Run], None]) -> Run:
    """Run these rows one after another, each in an empty folder below `folder`, which is on the disk to measure. Call
    `keep` with all results so far after each row, so that they are not lost if a later row fails."""
    before, about = os.getloadavg()[0], results.about()
    figures: list[Figure] = []

    def seen() -> Run:
        return Run(list(figures), short=scale != FULL, load_before=before, load_after=os.getloadavg()[0], about=about)

    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        place = Path(tempfile.mkdtemp(prefix=f"bench-{name}-", dir=folder))
        try:
            figures += await ROWS[name](Setting(place, Files(place), scale))
        except LookupError as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        keep(seen())
    return seen()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the figures there, not in build/bench")
    parser.add_argument(
        "--compare", type=Path, nargs="+", metavar="FILE", help="the file of an earlier run, or two files"
    )
    parser.add_argument("--short", action="store_true", help="a tenth of the work, for a smoke test")
    parser.add_argument("--folder", type=Path, default=ROOT / "data", help="a folder on the disk to measure")
    given = parser.parse_args()
    if unknown := set(given.names) - ROWS.keys():
        parser.error(f"there is no row {', '.join(sorted(unknown))}; the rows are {', '.join(ROWS)}")
    earlier = [results.read(file) for file in given.compare or ()]
    if len(earlier) > 1:
        print(results.comparison(earlier[0], earlier[1]))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    scale = SHORT if given.short else FULL

    def keep(run: Run) -> None:
        run.write(given.json or results.file_for(run.about))

    run = asyncio.run(measure(given.names or list(ROWS), folder=given.folder, scale=scale, keep=keep))
    show(run)
    print(f"saved in {given.json or results.file_for(run.about)}")
    for old in earlier:
        print(f"\n{results.comparison(old, run.to_json())}")
    sys.exit(any(figure.verdict is Verdict.DEFECT for figure in run.figures) and not run.busy)


def show(run: Run) -> None:
    print(table(run.figures))
    print(f"load average {run.load_before:.1f} before, {run.load_after:.1f} after, on {CORES} cores")
    if run.busy:
        print(
            "The machine was busy with other work: the CPU times are reliable, the ratios are rough, the wall times useless."
        )


if __name__ == "__main__":
    main()
