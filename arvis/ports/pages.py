"""A page of a list, the result type of all list queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list, newest first; `next_cursor` is None at the end."""

    items: Sequence[T]
    next_cursor: str | None
