"""Programs that models ask for, run apart from everything that is not theirs (implemented in `arvis/process`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Task:
    """What to run. Only `folder` may be written and is where it starts; `readable` are further places that it may see.
    `environment` is all that it finds there besides PATH, HOME and LANG. Without `network` it reaches nothing, not even
    this machine. `timeout` in seconds; output beyond `max_output` bytes is cut; `memory` bounds it in bytes."""

    argv: Sequence[str]
    folder: Path
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    readable: Sequence[Path] = ()
    network: bool = False
    timeout: float = 30.0
    max_output: int = 2_097_152
    memory: int = 1_073_741_824


@dataclass(frozen=True, slots=True)
class Finished:
    """How it ended. `exit_code` is negative when a signal ended it; `timed_out`: it was ended at its time limit."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


class Sandbox(Protocol):
    async def refusal(self) -> str | None:
        """Why nothing can be run here, with the fix, in a sentence; None when it can. Found out once."""
        ...

    async def run(self, task: Task) -> Finished:
        """Raises `ToolError` when it cannot be started or nothing can be run here. Cancellation ends the program with
        all that it started; so does the end of this process."""
        ...
