"""How much room the data folder has. Below the low-water mark new work is refused (reliability.md, H24),
because a full disk cannot even delete."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

_MARK_BYTES = 200_000_000
_MARK_DIVISOR = 50


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """In bytes; `free` is what this user may still write."""

    free: int
    total: int

    @property
    def low_water(self) -> int:
        """The smaller of 200 MB and 2 % of the file system."""
        return min(_MARK_BYTES, self.total // _MARK_DIVISOR)

    @property
    def is_low(self) -> bool:
        return self.free < self.low_water


def disk_space(folder: Path) -> DiskSpace:
    usage = shutil.disk_usage(folder)
    return DiskSpace(free=usage.free, total=usage.total)
