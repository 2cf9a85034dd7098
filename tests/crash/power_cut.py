"""`python -m tests.crash.power_cut --cuts 50`: repeatedly cut the power under load and count the losses.

The disk of an episode loses everything that was not synced (see `power`). Users and rules are those of the kills.
`--unsynced` plays a build that commits without waiting for the disk, with cuts immediately after an acknowledgement;
the rules must find its losses. The program needs root and loop devices. If the machine does not allow them, it prints
the reason and exits with code 77.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.crash.blows import Aim
from tests.crash.campaign import ARVIS, CHECKOUT, Case, cases_of, fresh_seed
from tests.crash.episode import Plan, play
from tests.crash.namespace import REFUSED, Refused, enter, is_private
from tests.crash.oracle import every_accepted_message_is_answered
from tests.crash.power import Disk, Meter, PoweredDaemon
from tests.crash.report import Result, explain, result_of, table, totals
from tests.crash.variants.build import Edit, edited

#: The usual setting for this journal mode. With it, a commit may not be on the disk yet.
UNSYNCED = Edit("arvis/store/sqlite/session.py", old="PRAGMA synchronous = FULL", new="PRAGMA synchronous = NORMAL")


def main() -> int:
    options = _options()
    try:
        if not is_private():
            enter("tests.crash.power_cut", sys.argv[1:])
        try_a_disk()
    except Refused as refused:
        print(f"This machine does not allow a simulated power cut: {refused}")
        return REFUSED
    seed = options.seed or fresh_seed()
    print(f"seed {seed}", flush=True)
    meter = Meter()
    with edited([UNSYNCED] if options.unsynced else [], CHECKOUT) as code:
        results = asyncio.run(play_all(cases_of(seed, options.cuts, options.episode), code, options, meter))
    return _judge(results, meter, options)


async def play_all(cases: Sequence[Case], code: Path, options: argparse.Namespace, meter: Meter) -> list[Result]:
    results = []
    for case in cases:
        results.append(await play_one(case, code, options, meter))
        print(f"seed {case.seed}: {meter.cuts} cuts so far, {len(results[-1].violations)} violations", flush=True)
    return results


async def play_one(case: Case, code: Path, options: argparse.Namespace, meter: Meter) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="arvis-power-"))
    plan = Plan(
        seed=case.seed,
        blows=case.blows,
        command=ARVIS,
        code=code,
        folder=folder,
        aim=Aim.ACKNOWLEDGED if options.unsynced else Aim.RANDOM,
        window=options.window,
        daemon=partial(PoweredDaemon, meter=meter),
        patience=5.0 if options.unsynced else 90.0,
    )
    started = time.monotonic()
    history = await play(plan)
    result = result_of(case.seed, history, time.monotonic() - started)
    if result.violations and not options.unsynced:
        return replace(result, evidence=str(folder))
    shutil.rmtree(folder)
    return result


def try_a_disk() -> None:
    """Create a disk and cut its power. Raise `Refused` if the machine does not allow it."""
    with tempfile.TemporaryDirectory(prefix="arvis-power-") as name:
        disk = Disk(image=Path(name) / "disk.img", place=Path(name) / "data")
        disk.make()
        disk.mount()
        try:
            disk.cut()
        except OSError as error:
            raise Refused(f"the file system cannot be shut down: {error.strerror}") from error
        finally:
            disk.unmount()


def _judge(results: Sequence[Result], meter: Meter, options: argparse.Namespace) -> int:
    figures = {"cuts": meter.cuts, "cutsThatTheControlDenies": meter.lying, **totals(results)}
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        document = {"totals": figures, "episodes": [result.document() for result in results]}
        options.report.write_text(json.dumps(document, indent=2) + "\n")
    print(table(figures))
    print(explain(results))
    broken = {violation.rule for result in results for violation in result.violations}
    if options.unsynced:
        caught = every_accepted_message_is_answered.__name__ in broken
        print("A build that does not sync is " + ("caught" if caught else "NOT CAUGHT"))
        return 0 if caught else 1
    return 1 if broken or meter.cuts < options.cuts else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.power_cut", description=__doc__)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--seed", help="replay: the seed of an earlier run")
    parser.add_argument("--episode", type=int, default=10, help="cuts per data folder (default 10)")
    parser.add_argument("--window", type=float, default=2.0, help="maximum seconds from ready to a cut")
    parser.add_argument("--unsynced", action="store_true", help="a build that loses commits, which must be caught")
    parser.add_argument("--report", type=Path, help="write the figures to this JSON file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
