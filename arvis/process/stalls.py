"""Keeps the event loop free: each pass of the loop is timed, a pass that is too long is reported with the stack of
what it was doing, and Python's collector of reference cycles scans less often.

The loop's selector takes the times, which costs two looks at the clock a pass. A thread looks at the stack of a pass while
it is still under way; it sleeps while the loop does, so an idle daemon stays idle.

By default the collector scans all objects repeatedly and blocks the process: 2 % of a message's time, up to 50 ms per
scan. In a daemon, objects of the start live to the end, and objects of a turn are freed without it.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import structlog

#: New objects before the youngest generation is scanned.
_GATHERED = 10_000


@contextmanager
def tuned_gc() -> Iterator[None]:
    """Exclude all current objects from collection, and scan the others less often."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_GATHERED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


log = structlog.get_logger(__name__)

#: Seconds that one pass of the loop may take.
LIMIT = 0.05
#: The thread looks this often (seconds) while the loop works, and sleeps once it sees the loop wait.
_LOOK = 0.03
#: Seconds between two lines of the log. Stalls in between are counted.
BETWEEN_LINES = 10.0
_MOST_FRAMES = 12
_HERE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Stalls:
    """The stalls since the watch began: their number, their total in seconds, and the longest one."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0


class LoopWatch:
    """Makes the loop that it watches (`new_loop`). Watches inside of `watching`. `between_lines` is in seconds."""

    def __init__(self, *, between_lines: float = BETWEEN_LINES) -> None:
        self._between_lines = between_lines
        self._thread_id = 0
        self._since = 0.0
        self._pass = 0
        self._waits = True
        self._sleeping = False
        self._watched = False
        self._wake = threading.Event()
        self._seen: tuple[int, str] = (0, "")
        self._next_line = 0.0
        self._unsaid = 0
        self.stalls = Stalls()

    def new_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.SelectorEventLoop(_TimedSelector(self))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """On the loop's thread, for the time in which others may wait for it: not while it starts or stops."""
        self._thread_id, self._since, self._watched = threading.get_ident(), time.monotonic(), True
        thread = threading.Thread(target=self._look, name="arvis-loop-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._watched = False
            self._wake.set()
            thread.join()

    # -- on the loop's thread --------------------------------------------------------------------------------

    def ends_pass(self) -> None:
        self._waits = True
        if self._watched and (seconds := time.monotonic() - self._since) > LIMIT:
            self._report(seconds)

    def begins_pass(self) -> None:
        self._since = time.monotonic()
        self._pass += 1
        self._waits = False
        if self._sleeping:
            self._wake.set()

    def _report(self, seconds: float) -> None:
        before = self.stalls
        self.stalls = Stalls(before.count + 1, before.seconds + seconds, max(before.longest, seconds))
        now = time.monotonic()
        if now < self._next_line:
            self._unsaid += 1
            return
        number, stack = self._seen
        log.warning(
            "event_loop_blocked",
            seconds=round(seconds, 3),
            stack=stack if number == self._pass else "not seen",
            not_logged=self._unsaid,
        )
        self._next_line, self._unsaid = now + self._between_lines, 0

    # -- in a thread -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        while self._watched:
            if self._waits:
                self._rest()
            time.sleep(_LOOK)
            number = self._pass
            if not self._waits and number != self._seen[0] and time.monotonic() - self._since > LIMIT:
                frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 the documented way to a thread's stack
                if frame is not None and number == self._pass:
                    self._seen = number, _told(frame)

    def _rest(self) -> None:
        """Until the loop works again."""
        self._wake.clear()
        self._sleeping = True
        if self._waits and self._watched:
            self._wake.wait()
        self._sleeping = False


class _TimedSelector(selectors.DefaultSelector):
    """The selector of a watched loop: between two calls of `select` the loop works."""

    def __init__(self, watch: LoopWatch) -> None:
        super().__init__()
        self._watch = watch

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._watch.ends_pass()
        ready = super().select(timeout)
        self._watch.begins_pass()
        return ready


def _told(frame: FrameType) -> str:
    """The innermost frames, outermost first. No values: they may hold what people wrote."""
    found: list[str] = []
    each: FrameType | None = frame
    while each is not None and len(found) < _MOST_FRAMES:
        found.append(f"{_place(each.f_code.co_filename)}:{each.f_lineno} {each.f_code.co_name}")
        each = each.f_back
    return " > ".join(reversed(found))


def _place(file: str) -> str:
    path = Path(file)
    ours = path.is_relative_to(_HERE) and "site-packages" not in path.parts
    return str(path.relative_to(_HERE)) if ours else "/".join(path.parts[-2:])
