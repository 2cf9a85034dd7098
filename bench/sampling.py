"""Attribute the processor time of this process to threads, modules and steps of a message. Every thread is sampled many
times a second. Its processor time between two samples counts half for each of the two places where it was found.

Function calls are not instrumented, so small functions cost no more than usual. Time in which a thread waits, for
another thread or for the disk, is not processor time and is not counted.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bench.steps import step_of

#: Seconds between two samples.
INTERVAL = 0.0002
#: The functions in which threads wait for work, by module and function. No time is counted for them.
WAITS = frozenset(
    [
        ("selectors", "select"),
        ("threading", "wait"),
        ("concurrent.futures.thread", "_worker"),
        ("arvis.store.sqlite.store", "run"),
    ]
)
#: The maximum seconds for which another thread keeps the interpreter while the sampler waits for it.
_SWITCH = 0.0001


class Sampler:
    """The processor seconds by thread, by (thread, module), and by (thread, step of a message)."""

    def __init__(self) -> None:
        self.threads: dict[str, float] = defaultdict(float)
        self.modules: dict[tuple[str, str], float] = defaultdict(float)
        self.steps: dict[tuple[str, str], float] = defaultdict(float)
        #: The place and the processor seconds of each thread at the last sample.
        self._last: dict[int, tuple[tuple[str, str] | None, float]] = {}
        self._ended = threading.Event()

    def run(self) -> None:
        me = threading.get_ident()
        while not self._ended.wait(INTERVAL):
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                # CPython 3.11 sometimes returns a frame that has been freed, and another object in its place.
                if ident != me and ident in names and isinstance(frame, FrameType):
                    self._count(ident, _kind(names[ident]), frame)

    def end(self) -> None:
        self._ended.set()

    def _count(self, ident: int, thread: str, frame: FrameType) -> None:
        used = _processor_seconds(ident)
        if used is None:
            return
        waits = (frame.f_globals.get("__name__"), frame.f_code.co_name) in WAITS
        place = None if waits else (_module(frame), step_of(frame))
        before, since = self._last.get(ident, (None, used))
        self._last[ident] = place, used
        places = [each for each in (before, place) if each is not None]
        for module, step in places:
            share = (used - since) / len(places)
            self.threads[thread] += share
            self.modules[thread, module] += share
            self.steps[thread, step] += share


@contextmanager
def sampling() -> Iterator[Sampler]:
    sampler = Sampler()
    thread = threading.Thread(target=sampler.run, name="sampler")
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    thread.start()
    try:
        yield sampler
    finally:
        sampler.end()
        thread.join()
        sys.setswitchinterval(before)


def processor_seconds_by_thread() -> dict[str, float]:
    """Return the processor seconds of the threads of this process, by kind of thread."""
    used: dict[str, float] = defaultdict(float)
    for thread in threading.enumerate():
        if thread.ident is not None:
            used[_kind(thread.name)] += _processor_seconds(thread.ident) or 0.0
    return used


def _processor_seconds(ident: int) -> float | None:
    """Return the processor seconds of a thread; None if it has just ended."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(ident))
    except OSError:
        return None


def _kind(name: str) -> str:
    """Return the kind of a thread. All threads of a pool have the same kind."""
    if name == "MainThread":
        return "event loop"
    return name.rstrip("0123456789-_() ") or name


def _module(frame: FrameType) -> str:
    """Return the name of the module that runs; for a module outside Arvis, the name of its package."""
    name: str = frame.f_globals.get("__name__", "?")
    return name if name.startswith("arvis.") else name.partition(".")[0]
