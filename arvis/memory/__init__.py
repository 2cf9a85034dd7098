"""What agents keep in mind: kept once, brought up to date, recalled where it belongs, forgotten when nobody needs it."""

from __future__ import annotations

from arvis.memory.decay import decay
from arvis.memory.recall import Recall, recall, touch
from arvis.memory.service import Kept, Refused, Remembered, confirm, forget, put_state, remember, undo

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
