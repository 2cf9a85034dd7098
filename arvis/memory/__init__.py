"""Memory of agents: each fact is stored once, updated, recalled where it belongs, and forgotten when it is unused."""

from __future__ import annotations

from arvis.memory.recall import Recall, recall, touch
from arvis.memory.service import Kept, Refused, Remembered, confirm, decay, forget, put_state, remember, undo

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
