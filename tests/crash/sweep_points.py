"""Points of a sweep: the system calls of an undisturbed run, named so that strace finds each of them again.

strace counts calls by thread and system call, and only those on a path when it is told one. So a point is "the N-th
CALL on PATH (or anywhere) of the thread that comes to its N-th first", and a call that neither name leads to is said
to be shadowed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: What changes a folder or makes a change last.
WRITES = (
    *("write", "writev", "pwrite64", "pwritev", "pwritev2", "fallocate", "ftruncate", "copy_file_range", "sendfile"),
    *("fsync", "fdatasync", "sync_file_range"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"),
)
#: A line on which a call begins. What was interrupted is continued on another, which begins with `<...`.
_CALL = re.compile(r"(?P<thread>\d+)\s+(?P<name>\w+)\((?P<rest>.*)")
_PATHS = re.compile(r'^\d+<(/[^>]*)>|"(/[^"]*)"')
#: A name with the time in it is another one in every run.
_TIMED = re.compile(r"\d{8}T\d{6}")
#: A line of the log is no part of the data: it may be lost.
_LOGS = "logs"


@dataclass(frozen=True, slots=True)
class Operation:
    """A call of the trace. `paths` are those of the data folder, relative to it (two for a `rename`)."""

    thread: str
    call: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """`path` is relative to the data folder; None: on whatever file."""

    act: str
    call: str
    path: str | None
    number: int

    def __str__(self) -> str:
        return f"{self.act}:{self.call}:{self.path or '*'}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> Point:
        act, call, path, number = text.split(":")
        return cls(act, call, None if path == "*" else path, int(number))

    def options(self, data: Path, tampering: str, when: str = "") -> list[str]:
        """strace's, for a tampering such as `signal=SIGKILL` with this call, and with those after it if `when` is "+"."""
        inject = f"inject={self.call}:{tampering}:when={self.number}{when}"
        path = [] if self.path is None else ["-P", str(data / self.path)]
        return ["-e", "signal=none", "-e", f"trace={self.call}", *path, "-e", inject]


def counting(calls: Sequence[str]) -> list[str]:
    """strace's options to write these calls down with their paths. Some a kernel may lack, hence the `?`."""
    return ["-y", "-s", "200", "-e", "signal=none", "-e", "trace=" + ",".join(f"?{call}" for call in calls)]


def operations(trace: str, data: Path) -> list[Operation]:
    """All calls of a trace, in the order in which they began."""
    found = []
    for line in trace.splitlines():
        if call := _CALL.match(line):
            paths = [Path(file or path) for file, path in _PATHS.findall(call["rest"])]
            inside = [str(path.relative_to(data)) for path in paths if _is_data(path, data)]
            found.append(Operation(call["thread"], call["name"], tuple(inside)))
    return found


def points_of(act: str, before: Sequence[Operation], run: Sequence[Operation]) -> tuple[list[Point], list[Operation]]:
    """The points of a run in their order, and its shadowed calls. `before` is another run of the same: a path that
    only one of the two has is a random name, which strace cannot be told."""
    lasting = {path for each in before for path in each.paths if not _TIMED.search(path)}
    counts: Counter[tuple[str, str, str | None]] = Counter()
    taken: set[tuple[str, str | None, int]] = set()
    found: list[Point] = []
    shadowed: list[Operation] = []
    for each in run:
        own: list[Point] = []
        # strace compares the first path of a call only.
        for path in (*(path for path in each.paths[:1] if path in lasting), None):
            counts[each.thread, each.call, path] += 1
            number = counts[each.thread, each.call, path]
            if (each.call, path, number) not in taken:
                taken.add((each.call, path, number))
                own.append(Point(act, each.call, path, number))
        if each.paths:
            found.extend(own[:1])
            shadowed.extend([each] if not own else [])
    return found, shadowed


def _is_data(path: Path, data: Path) -> bool:
    return path.is_relative_to(data) and not path.is_relative_to(data / _LOGS)
