"""A page of a list, the result type of all list queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from arvis.domain.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list. `next_cursor` is the cursor of the next page; None on the last page."""

    items: Sequence[T]
    next_cursor: str | None
