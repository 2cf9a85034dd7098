"""Memory of agents: facts are stored once, updated, recalled in their scopes, and faded if unused."""

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
