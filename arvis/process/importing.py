"""Imports of many modules at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Turn the garbage collector off until the end of the block, and exclude all present objects from later collections.
    Otherwise the collector would examine the imported objects again and again, which takes a sixth of the import time.
    The objects live as long as the process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
