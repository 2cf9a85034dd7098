"""Stands between the daemon and a program that it runs, as a process of its own, and leaves nobody behind.

Run as a script: `programs_guard.py LIFELINE MEMORY PROCESSES PROGRAM ARGUMENTS…`. LIFELINE is the descriptor of a pipe
that the daemon holds open at the other end: when the daemon closes it or dies, everything is ended, and a byte in it is
passed on as SIGTERM. MEMORY and PROCESSES are bounds of all together; 0 is none. What the program starts stays below
this process even when it forks away, for orphans come to their nearest subreaper (prctl(2)).
It ends as the program ended. Standard library only, no other module of ours: it is started for every program.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127

#: Seconds between two looks at what all processes hold together, and between two sweeps at the end.
_LOOK = 0.2
_SWEEP = 0.005

#: Shared memory up to here (bytes) is not worth the look at who shares it.
_SMALL = 1_048_576


def main(lifeline: int, memory: int, processes: int, argv: list[str]) -> int:
    """The wait status of the program, or of its violent end."""
    os.set_inheritable(lifeline, False)
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _become(argv)
    # The program's end is seen by the end of its streams; ours must not hold them open.
    for stream in (0, 1):
        os.close(stream)
    try:
        return _watch(child, lifeline, memory, processes)
    finally:
        _end_all(child)


def _become(argv: list[str]) -> NoReturn:
    try:
        os.setsid()  # A program that signals its group does not reach us.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Python ignores SIGPIPE and SIGXFSZ, and what is ignored stays so.
        for changed in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(changed, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 (a list of arguments, no shell)
    except OSError as error:
        os.write(2, f"{argv[0]} could not be started: {error.strerror}\n".encode())
    os._exit(_NOT_STARTED)


def _watch(child: int, lifeline: int, memory: int, processes: int) -> int:
    """Until the program ends, the daemon lets go, or all processes together take too much."""
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    status = _reaped(child)
    look = time.monotonic() + _LOOK
    while status is None:
        pause = max(0.0, look - time.monotonic()) if memory or processes else None
        ready, _, _ = select.select([lifeline, waking], [], [], pause)
        if lifeline in ready:
            if not os.read(lifeline, 4096):
                return signal.SIGKILL
            with suppress(OSError):
                os.killpg(child, signal.SIGTERM)
        if waking in ready:
            os.read(waking, 4096)
        status = _reaped(child)
        if status is None and pause is not None and time.monotonic() >= look:
            if (excess := _excess(memory, processes)) is not None:
                os.write(2, f"\nThe program was ended: {excess}.\n".encode())
                return signal.SIGKILL
            look = time.monotonic() + _LOOK
    return status


def _reaped(child: int) -> int | None:
    """The status of the program if it has ended; orphans that came to us are laid to rest by the way."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return None
            if pid == child:
                return status
    return None


def _excess(memory: int, processes: int) -> str | None:
    below = list(_descendants())
    if 0 < processes < len(below):
        return f"it had more than {processes} processes"
    if 0 < memory < sum(_held(pid) for pid in below):
        return f"its processes held more than {memory // 1_048_576} MiB of memory"
    return None


def _held(pid: int) -> int:
    """Return the bytes of memory that a process holds, in memory or swapped out: its own, and its part of what it shares with
    others through no file, or all of that where the kernel does not tell its part. What has ended holds none."""
    known = _fields(f"/proc/{pid}/status")
    own = known.get("RssAnon", 0) + known.get("VmSwap", 0)
    shared = known.get("RssShmem", 0)
    if shared > _SMALL:
        # Several processes that share it hold it once.
        shared = _fields(f"/proc/{pid}/smaps_rollup").get("Pss_Shmem", shared)
    return own + shared


def _fields(path: str) -> dict[str, int]:
    """Return the lines of a file of the kernel that name a size, in bytes."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (pathlib takes longer to import)
            for line in file:
                name, _, rest = line.partition(":")
                size, _, unit = rest.strip().partition(" ")
                if unit == "kB" and size.isdecimal():
                    found[name] = int(size) * 1024
    except OSError:
        return {}
    return found


def _descendants() -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for pid in _processes():
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (as above)
                # The name, in brackets, may hold anything.
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(pid)
    found = [os.getpid()]
    for pid in found:
        below = children.get(pid, [])
        found += below
        yield from below


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (as above)
    except OSError:
        return []


def _end_all(child: int) -> None:
    """Kill until nobody is left: whoever loses a parent becomes our child and is met by the next sweep."""
    while True:
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        for pid in _descendants():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_SWEEP)


def _prctl(option: int, value: int) -> None:
    """Where there is no such call, what remains is the group of the program."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_like(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        signum = os.WTERMSIG(status)
        with suppress(OSError, ValueError):  # SIGKILL cannot be set, and needs not.
            signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    _end_like(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
