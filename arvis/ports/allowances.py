"""The repository of what people have used of their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Allowance:
    """Of one person and one kind: `used` in the window that began at `since`; `notified_at`: when they were last told that nothing is
    left. Times in ms."""

    since: int
    used: int
    notified_at: int | None = None


class Allowances(Protocol):
    def get(self, principal_id: str, kind: str) -> Allowance | None: ...

    def put(self, principal_id: str, kind: str, allowance: Allowance) -> None: ...

    def prune(self, before: int) -> None: ...
