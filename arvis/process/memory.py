"""Sets up the memory of the process: its garbage collector and the allocator of the C library.

By default, the collector scans all objects repeatedly, and each scan blocks the process for up to 50 ms. The scans take
2 % of the time of a message. They are of little use in a daemon: objects that are created at the start live until the
end, and objects of a turn are freed by reference counting.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager

#: The number of new objects after which the garbage collector scans its youngest generation.
_GATHERED = 10_000
#: The parameter of `mallopt` for the maximum number of arenas (`malloc.h`).
_ARENA_MAX = -8


@contextmanager
def importing() -> Iterator[None]:
    """Turn the garbage collector off until the end of the block, and exclude all present objects from later
    collections. Otherwise the collector would examine the imported objects again and again, which takes a sixth of the
    import time. Excluding the objects is safe, because they exist until the process ends."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def tuned_gc() -> Iterator[None]:
    """Exclude all present objects from garbage collection, and scan new objects less often, until the end of the
    block."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_GATHERED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def use_one_arena() -> None:
    """Let all threads share one arena of the allocator, which saves 2 MB, and more under load. The threads seldom wait
    for the arena, because they run Python code in turn. Call this before other threads start. Of the C libraries, only
    glibc has arenas."""
    # Only the daemon needs `ctypes`; this module is also imported by all commands.
    c_library = importlib.import_module("ctypes").CDLL(None)
    set_option = getattr(c_library, "mallopt", None)
    if set_option is not None:
        set_option(_ARENA_MAX, 1)
