"""Finds code that blocks the event loop: each pass of the loop is timed, and a pass that takes too long is logged with
its stack.

The loop's selector measures the times, which costs two readings of the clock for each pass. A thread reads the stack
during a long pass. The thread sleeps while the loop waits, so it costs an idle daemon nothing.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import structlog

from arvis.domain.dataclass import dataclass

log = structlog.get_logger(__name__)

#: A pass that takes more seconds than this is reported.
LIMIT = 0.05
#: While the loop works, the thread checks it at intervals of this many seconds. The thread sleeps when it finds the loop
#: waiting.
_LOOK = 0.03
#: The minimum time in seconds between two log lines. Stalls in between are only counted.
BETWEEN_LINES = 10.0
_MOST_FRAMES = 12
_HERE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Stalls:
    """The stalls (passes longer than `LIMIT`) since the watch began: their number, their total time and the time of the
    longest one, in seconds."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0


class LoopWatch:
    """The watch of an event loop. `new_loop` creates the loop, and `watching` watches it. `between_lines` is the
    minimum time in seconds between two log lines."""

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
        """Watch the loop until the end of the block. Call it on the loop's thread. The block does not include the start
        and the stop of the daemon, because long passes are normal then."""
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
                    self._seen = number, _stack_of(frame)

    def _rest(self) -> None:
        """Sleep until the loop is working again."""
        self._wake.clear()
        self._sleeping = True
        if self._waits and self._watched:
            self._wake.wait()
        self._sleeping = False


class _TimedSelector(selectors.DefaultSelector):
    """The selector of a watched loop. The loop waits inside `select` and works between two calls of it."""

    def __init__(self, watch: LoopWatch) -> None:
        super().__init__()
        self._watch = watch

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._watch.ends_pass()
        ready = super().select(timeout)
        self._watch.begins_pass()
        return ready


def _stack_of(frame: FrameType) -> str:
    """Return the innermost frames of a stack, outermost first. Variables are left out, because they may contain
    people's messages."""
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
