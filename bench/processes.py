"""The processor time and memory of other processes, as the system reports them. Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections import defaultdict
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Return the processor time (user and system) of a process and all its threads, in seconds with a resolution of
    nanoseconds. `/proc` counts only hundredths of a second, and an idle daemon uses less than that in ten seconds."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if error:
        raise OSError(error, os.strerror(error))
    return time.clock_gettime(clock.value)


def cpu_seconds_of_family(pid: int) -> float:
    """Return the processor seconds of a process and all its descendants. Ended ones count with a resolution of
    hundredths of a second, from when their parent has waited for them."""
    total = 0.0
    for member in family(pid):
        with contextlib.suppress(OSError):
            total += cpu_seconds(member) + _cpu_seconds_of_ended_children(member)
    return total


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process and its descendants, in MB of 1,000,000 bytes. A page that several
    processes share is counted for each of them."""
    return sum(_resident_kib(member) for member in family(pid)) * 1024 / 1_000_000


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (parent := _status(int(entry.name)).get("PPid")):
            children[int(parent)].append(int(entry.name))
    members = [pid]
    for member in members:
        members += children[member]
    return members


def _cpu_seconds_of_ended_children(pid: int) -> float:
    # The command's name is in brackets, and may contain spaces. The third field follows it.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _resident_kib(pid: int) -> int:
    """Return the resident memory of a process in KiB; 0 if it has just ended."""
    return int(_status(pid).get("VmRSS", "0 kB").split()[0])


def _status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
