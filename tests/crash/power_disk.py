"""A disk whose power can be cut, and a daemon whose data folder is on it.

The disk is an ext4 file system in a file. A forced shutdown of the file system simulates a power cut: it discards
everything that is not yet on the device. The kernel's own file system tests use the same method. The processes are
suspended just before, because the kernel may report success for a sync that is in progress at that moment.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.daemon import Daemon
from tests.crash.namespace import run

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
    """A disk mounted at `place`. Its operations raise `Refused` if the machine does not allow them."""

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
        """Suspend the processes, cut the power, and then kill them."""
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
