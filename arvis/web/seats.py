"""How many requests that take long may go on at once, in all and of one asker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from arvis.domain.errors import TooMany


class Seats:
    """There are `most` seats, of which one asker may hold `most_of_one`, so that nobody takes those of all others."""

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    @contextmanager
    def taken(self, user_id: str) -> Iterator[None]:
        """Holds a seat. Raises `TooMany`."""
        if self._held.total() >= self._most or self._held[user_id] >= self._most_of_one:
            raise TooMany("Too many requests of this kind go on.", fix="Wait until one of them is answered.")
        self._held[user_id] += 1
        try:
            yield
        finally:
            self._held[user_id] -= 1
            if not self._held[user_id]:
                del self._held[user_id]
