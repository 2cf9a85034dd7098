"""Repeatedly cut the power under load and count the losses.

The disk of an episode loses everything that was not synced (see `Disk`). Users and rules are those of the chats.
`--unsynced` plays a build that commits without waiting for the disk, with cuts immediately after an acknowledgement;
the rules must find its losses. The campaign needs root and loop devices.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.crash import chat_episode
from tests.crash.builds import Edit, copied
from tests.crash.campaign import cases_of, play_all
from tests.crash.chat_episode import ChatPlan
from tests.crash.daemon import Daemon
from tests.crash.disturbances import Instant
from tests.crash.namespace import Refused, enter, run
from tests.crash.oracle import every_accepted_message_is_answered
from tests.crash.report import Report, report_of, totals

#: `FS_IOC_GOINGDOWN` of the kernel's headers, and its flag for a shutdown without a write of the journal.
_GOING_DOWN = 0x8004587D
_NO_LOG_FLUSH = 2

_DISK_BYTES = 256 << 20
_FROZEN_WITHIN = 10.0

#: Repeatedly writes a number, syncs it and reports it. A correct cut keeps every reported number.
_CONTROL = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
os.fsync(os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY))
number = int(sys.argv[2])
while True:
    number += 1
    os.pwrite(file, b"%020d" % number, 0)
    os.fdatasync(file)
    os.write(1, b"%020d" % number)
    time.sleep(0.005)
"""


class Disk:
    """A disk mounted at `place`: an ext4 file system in a file. `Refused` means that the machine does not allow it.

    A forced shutdown of the file system simulates a power cut: it discards everything that is not yet on the device. The
    kernel's own file system tests use the same method.
    """

    def __init__(self, *, image: Path, place: Path) -> None:
        self._image = image
        self._place = place

    def make(self) -> None:
        """Create the file system."""
        self._place.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(_DISK_BYTES)
        run(["mkfs.ext4", "-q", "-F", str(self._image)])

    def mount(self) -> None:
        run(["mount", "-o", "loop", str(self._image), str(self._place)])

    def cut(self) -> None:
        """Cut the power: discard the cache and let no more writes reach the device."""
        root = os.open(self._place, os.O_RDONLY)
        try:
            fcntl.ioctl(root, _GOING_DOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(root)

    def unmount(self) -> None:
        run(["umount", str(self._place)])

    @property
    def mounted(self) -> bool:
        return self._place.is_mount()


class Control:
    """A process beside the daemon that only writes and syncs. It shows whether a cut has discarded synced data."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None
        self._synced = 0

    def start(self) -> None:
        command = [sys.executable, "-S", "-E", "-c", _CONTROL, str(self._file), str(self._synced)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def end(self) -> None:
        """Kill the process and record the last number that it reported as synced."""
        assert self._process is not None
        self._process.kill()
        output, _ = self._process.communicate()
        if output:
            self._synced = int(output[-20:])

    def has_lost(self) -> bool:
        """Return whether the disk has lost synced data."""
        if not self._synced:
            return False
        kept = self._file.read_bytes() if self._file.exists() else b""
        return int(kept or b"0") < self._synced


@dataclass
class Meter:
    """The cuts of a campaign. After an `invalid` one the control has lost synced data too, so it proves nothing about the
    daemon."""

    cuts: int = 0
    invalid: int = 0


class PoweredDaemon(Daemon):
    """A daemon that loses its power instead of being killed."""

    def __init__(self, *, folder: Path, meter: Meter, **others: Any) -> None:
        super().__init__(folder=folder, **others)
        self._meter = meter
        self._disk = Disk(image=folder / "disk.img", place=folder / "data")
        self._control = Control(folder / "data" / "control")
        self._disk.make()

    async def start(self) -> None:
        if not self._disk.mounted:
            self._disk.mount()
            self._meter.invalid += self._control.has_lost()
        self._control.start()
        await super().start()

    def kill(self) -> None:
        """Suspend the processes, cut the power, and then kill them.

        The kernel may report success for a sync of a running process that is in progress at the cut.
        """
        if self.alive:
            for pid in (self._current().pid, self._control.pid):
                freeze(pid)
            self._disk.cut()
            self._meter.cuts += 1
            self._control.end()
        super().kill()

    async def killed(self) -> None:
        await super().killed()
        self._disk.unmount()

    async def stopped(self) -> None:
        await super().stopped()
        self._control.end()

    async def close(self) -> None:
        await super().close()
        if self._disk.mounted:
            self._disk.unmount()


def freeze(pid: int) -> None:
    """Suspend a process and wait until each of its threads has left the kernel."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + _FROZEN_WITHIN
    while not _is_frozen(pid):
        assert time.monotonic() < end, f"process {pid} does not stop"
        time.sleep(0.001)


def _is_frozen(pid: int) -> bool:
    """Return whether each thread is stopped or has ended."""
    states = set()
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            states.add(task.read_text().rpartition(")")[2].split()[0])
    return states <= {"T", "Z", "X"}


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
