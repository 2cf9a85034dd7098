"""What agents keep in mind: kept once, brought up to date, recalled where it belongs, forgotten when nobody needs it."""

from __future__ import annotations

from arvis.memory.decay import decay
from arvis.memory.keeping import Kept, Refused, Remembered, confirm, forget, put_state, remember, undo
from arvis.memory.recall import Recall, recall, touch

__all__ = [
    "Kept",
    "Recall",
    "Refused",
    "Remembered",
    "confirm",
    "decay",
    "forget",
    "put_state",
    "recall",
    "remember",
    "touch",
    "undo",
]
