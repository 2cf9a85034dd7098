"""Repeatedly cut the power under load and count the losses.

The disk of an episode loses everything that was not synced (see `power`). Users and rules are those of the chats.
`--unsynced` plays a build that commits without waiting for the disk, with cuts immediately after an acknowledgement;
the rules must find its losses. The campaign needs root and loop devices.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from functools import partial
from pathlib import Path

from tests.crash import chat_episode
from tests.crash.campaign import cases_of, play_all
from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.namespace import Refused, enter
from tests.crash.oracle import every_accepted_message_is_answered
from tests.crash.power_disk import Disk, Meter, PoweredDaemon
from tests.crash.report import Report, report_of, totals
from tests.crash.variants.build import Edit, copied

#: The usual setting for this journal mode. With it, a commit may not be on the disk yet.
UNSYNCED = Edit("arvis/store/sqlite/session.py", old="PRAGMA synchronous = FULL", new="PRAGMA synchronous = NORMAL")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--episode", type=int, default=10, help="cuts per data folder (default 10)")
    parser.add_argument("--window", type=float, default=2.0, help="maximum seconds from ready to a cut")
    parser.add_argument("--unsynced", action="store_true", help="a build that loses commits, which must be caught")


def play(options: argparse.Namespace) -> Report:
    enter(options.seed)
    try_a_disk()
    meter = Meter()
    with copied(*[UNSYNCED] if options.unsynced else []) as code:
        plans = [
            ChatPlan(
                seed=case.seed,
                disturbances=case.disturbances,
                code=code,
                instant=Instant.ACKNOWLEDGED if options.unsynced else Instant.RANDOM,
                window=options.window,
                daemon=partial(PoweredDaemon, meter=meter),
                patience=5.0 if options.unsynced else 90.0,
            )
            for case in cases_of(options.seed, options.cuts, options.episode)
        ]
        results = asyncio.run(play_all(map(chat_episode.play, plans)))
    figures = {"cuts": meter.cuts, "invalidCuts": meter.invalid, **totals(results)}
    broken = {violation.rule for result in results for violation in result.violations}
    if not options.unsynced:
        return report_of(figures, results, failed=bool(broken) or meter.cuts < options.cuts)
    for result in results:
        if result.evidence is not None:  # the folder of a broken build is of no further use
            shutil.rmtree(result.evidence)
    caught = every_accepted_message_is_answered.__name__ in broken
    print("A build that does not sync is " + ("caught" if caught else "NOT CAUGHT"))
    return report_of(figures, results, failed=not caught)


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
