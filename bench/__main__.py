"""`python -m bench [NAMES] [--json FILE] [--short]`: run the rows (all, or those named) and print them."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench import draining, enqueuing, resting, talking
from bench.report import CORES, Figure, Run, Verdict, table
from bench.rounds import FULL, SHORT, Setting

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
    "prompt": talking.prompt,
    "size": resting.size,
}


async def measure(names: Sequence[str], *, folder: Path, short: bool) -> Run:
    """Run these rows one after another, each in an empty folder below `folder`, which is on the disk to measure."""
    before = os.getloadavg()[0]
    figures: list[Figure] = []
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        place = Path(tempfile.mkdtemp(prefix=f"bench-{name}-", dir=folder))
        try:
            figures += await ROWS[name](Setting(place, SHORT if short else FULL))
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return Run(figures, short=short, load_before=before, load_after=os.getloadavg()[0])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--short", action="store_true", help="a tenth of the work, for a smoke test")
    parser.add_argument("--folder", type=Path, default=ROOT / "data", help="a folder on the disk to measure")
    given = parser.parse_args()
    if unknown := set(given.names) - ROWS.keys():
        parser.error(f"there is no row {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    given.folder.mkdir(parents=True, exist_ok=True)
    run = asyncio.run(measure(given.names or list(ROWS), folder=given.folder, short=given.short))
    print(table(run.figures))
    print(f"load average {run.load_before:.1f} before, {run.load_after:.1f} after, on {CORES} cores")
    if run.busy:
        print(
            "The machine was busy with other work: trust the CPU times, the ratios a little, the wall times not at all."
        )
    if given.json is not None:
        run.write(given.json)
    sys.exit(any(figure.verdict is Verdict.DEFECT for figure in run.figures) and not run.busy)


if __name__ == "__main__":
    main()
