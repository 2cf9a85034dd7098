"""The repository of personal usage limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Allowance:
    """The usage of one person for one kind of limit: `used` in the window that began at `since`; `notified_at` is
    when the person was last notified that the limit is used up. Times in ms."""

    since: int
    used: int
    notified_at: int | None = None


class Allowances(Protocol):
    def get(self, principal_id: str, kind: str) -> Allowance | None: ...

    def put(self, principal_id: str, kind: str, allowance: Allowance) -> None: ...

    def prune(self, before: int) -> None: ...
