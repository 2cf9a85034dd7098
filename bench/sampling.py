"""Attribute the processor time of this process to threads and modules. Every thread is sampled many times a second, and
its processor time since the last sample counts for the module that it is running.

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

#: Seconds between two samples.
INTERVAL = 0.0002
#: The modules that only run the code of other modules. Work is attributed to the next module on the stack instead.
CARRIERS = frozenset(
    [
        *(
            "arvis.queue.queue",
            "arvis.app.daemon",
            "arvis.app.roles",
            "arvis.bus",
            "arvis.bus",
            "arvis.engine.graph",
        ),
        *(
            "arvis.engine.engine",
            "arvis.process.supervisor",
            "arvis.queue.queue",
            "arvis.queue.slots",
            "arvis.store.transaction",
        ),
        *(
            "arvis.store.sql.session",
            "arvis.store.sqlite.store",
            "arvis.store.sqlite.session",
            "arvis.store.sqlite.store",
        ),
        *("arvis.store.transaction", "arvis.store.sqlite.store", "arvis.web.http.errors"),
    ]
)
#: The functions in which threads wait for work, by module and function. If a sample finds a thread there, the time since
#: the last sample was used by work that has ended, so the sample is not counted.
WAITS = frozenset(
    [
        ("selectors", "select"),
        ("threading", "wait"),
        ("concurrent.futures.thread", "_worker"),
        ("arvis.store.sqlite.store", "run"),
        ("arvis.store.sqlite.store", "run"),
    ]
)
#: The maximum seconds for which another thread keeps the interpreter while the sampler waits for it.
_SWITCH = 0.0001


class Sampler:
    """The processor seconds by thread, by (thread, module), and by (thread, module of Arvis that started the work)."""

    def __init__(self) -> None:
        self.threads: dict[str, float] = defaultdict(float)
        self.modules: dict[tuple[str, str], float] = defaultdict(float)
        self.served: dict[tuple[str, str], float] = defaultdict(float)
        self._used: dict[int, float] = {}
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
        since = used - self._used.get(ident, used)
        self._used[ident] = used
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) not in WAITS:
            self.threads[thread] += since
            self.modules[thread, _module(frame)] += since
            self.served[thread, _served(frame)] += since


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


def _served(frame: FrameType | None) -> str:
    """Return the module of Arvis that started the work: the outermost one on the stack that is not in `CARRIERS`."""
    ours: list[str] = []
    while frame is not None:
        if (name := _module(frame)).startswith("arvis."):
            ours.append(name)
        frame = frame.f_back
    begun_for = [name for name in reversed(ours) if name not in CARRIERS]
    return (begun_for or ours or ["(none of ours)"])[0]
