"""Points of a sweep: the system calls of an undisturbed run, with names by which strace finds each of them again.

strace counts calls by thread and system call, and by path if it is given one. So a point is "the N-th CALL on PATH (or
on any file) of the first thread that makes N such calls". A call that no such name can identify is called shadowed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: System calls that change a folder or make a change durable.
WRITES = (
    *("write", "writev", "pwrite64", "pwritev", "pwritev2", "fallocate", "ftruncate", "copy_file_range", "sendfile"),
    *("fsync", "fdatasync", "sync_file_range"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"),
)
#: A line on which a call begins. An interrupted call continues on another line, which begins with `<...`.
_CALL = re.compile(r"(?P<thread>\d+)\s+(?P<name>\w+)\((?P<rest>.*)")
_PATHS = re.compile(r'^\d+<(/[^>]*)>|"(/[^"]*)"')
#: A name that contains the time differs in every run.
_TIMED = re.compile(r"\d{8}T\d{6}")
#: Log files are not part of the data; their lines may be lost.
_LOGS = "logs"


@dataclass(frozen=True, slots=True)
class Operation:
    """A call in a trace. `paths` are its paths inside the data folder, relative to it (two for `rename`)."""

    thread: str
    call: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A call at which a process is disturbed. `path` is relative to the data folder; None: on any file."""

    phase: str
    call: str
    path: str | None
    number: int

    def __str__(self) -> str:
        return f"{self.phase}:{self.call}:{self.path or '*'}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> Point:
        phase, call, path, number = text.split(":")
        return cls(phase, call, None if path == "*" else path, int(number))

    def options(self, data: Path, tampering: str, when: str = "") -> list[str]:
        """Return strace's options for tampering with this call, such as `signal=SIGKILL`. With `when` "+", they cover
        later calls too."""
        inject = f"inject={self.call}:{tampering}:when={self.number}{when}"
        path = [] if self.path is None else ["-P", str(data / self.path)]
        return ["-e", "signal=none", "-e", f"trace={self.call}", *path, "-e", inject]


def counting(calls: Sequence[str]) -> list[str]:
    """Return strace's options for recording these calls with their paths. `?` ignores calls that a kernel does not
    have."""
    return ["-y", "-s", "200", "-e", "signal=none", "-e", "trace=" + ",".join(f"?{call}" for call in calls)]


def operations(trace: str, data: Path) -> list[Operation]:
    """Return all calls of a trace, in the order in which they began."""
    found = []
    for line in trace.splitlines():
        if call := _CALL.match(line):
            paths = [Path(file or path) for file, path in _PATHS.findall(call["rest"])]
            inside = [str(path.relative_to(data)) for path in paths if _is_data(path, data)]
            found.append(Operation(call["thread"], call["name"], tuple(inside)))
    return found


def points_of(phase: str, before: Sequence[Operation], run: Sequence[Operation]) -> tuple[list[Point], list[Operation]]:
    """Return the points of a run in their order, and its shadowed calls.

    `before` is another run of the same phase. A path that only one of the runs has is a random name, which cannot be
    given to strace.
    """
    lasting = {path for each in before for path in each.paths if not _TIMED.search(path)}
    counts: Counter[tuple[str, str, str | None]] = Counter()
    taken: set[tuple[str, str | None, int]] = set()
    found: list[Point] = []
    shadowed: list[Operation] = []
    for each in run:
        own: list[Point] = []
        # strace compares only the first path of a call.
        for path in (*(path for path in each.paths[:1] if path in lasting), None):
            counts[each.thread, each.call, path] += 1
            number = counts[each.thread, each.call, path]
            if (each.call, path, number) not in taken:
                taken.add((each.call, path, number))
                own.append(Point(phase, each.call, path, number))
        if each.paths:
            found.extend(own[:1])
            shadowed.extend([each] if not own else [])
    return found, shadowed


def _is_data(path: Path, data: Path) -> bool:
    return path.is_relative_to(data) and not path.is_relative_to(data / _LOGS)
