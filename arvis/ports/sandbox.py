"""Programs that models run, isolated from all data that is not theirs (implemented in `arvis/process`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

#: The name of a task's folder inside the sandbox.
WORKSPACE = "/workspace"

#: The environment variable with the file descriptor of the program's bridge to this process, if it has one.
BRIDGE = "ARVIS_BRIDGE"

#: Answers a line from the program over the bridge, both without the end of the line; None closes the bridge.
Answerer = Callable[[bytes], Awaitable[bytes | None]]

#: The code of the error if the program of a task does not exist.
PROGRAM_MISSING = "program_missing"


@dataclass(frozen=True, slots=True)
class Task:
    """A program run."""

    argv: Sequence[str]
    #: The only writable folder, and the working directory. Its name in the sandbox is `WORKSPACE`.
    folder: Path
    stdin: bytes = b""
    #: The whole environment besides PATH, HOME and LANG.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Further folders that the program may read.
    readable: Sequence[Path] = ()
    #: Without it the program cannot reach anything, not even this machine.
    network: bool = False
    #: In seconds.
    timeout: float = 30.0
    #: Output of each stream beyond this many bytes is read and dropped.
    max_output: int = 2_097_152
    #: Limits all its processes together, in bytes.
    memory: int = 1_073_741_824


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run. `exit_code` is negative if a signal ended the program; `timed_out`: the time limit ended it."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


class Sandbox(Protocol):
    async def refusal(self) -> str | None:
        """Return why nothing can be run here, with the fix, in a sentence; None if programs can be run. Checked once."""
        ...

    async def run(self, task: Task, *, answer: Answerer | None = None) -> Finished:
        """Run a program. With `answer` the program has a bridge: a stream socket on which each line it writes is
        answered by one line, one after the other. An exception of `answer` ends the program, and the end of the
        program cancels `answer`. Raises `ToolError` if the program cannot be started or the sandbox is unavailable.
        Cancellation ends the program and all its child processes; so does the end of this process."""
        ...


class Worker(Protocol):
    """A long-running program that answers lines with lines, one at a time."""

    async def ask(self, line: bytes, *, timeout: float) -> bytes:
        """Return the program's answer to a line, both without the end of the line. Raises `ToolError` if the program
        has ended, or does not answer within this number of seconds; then it is ended and cannot be used again."""
        ...

    async def close(self) -> None:
        """End the program and all its child processes."""
        ...


class Workers(Protocol):
    async def start(self, argv: Sequence[str], *, environment: Mapping[str, str], memory: int) -> Worker:
        """Start a program. `memory` limits it together with all its child processes, in bytes. Raises `ToolError` if
        it cannot be started."""
        ...


class Programs(Protocol):
    """Programs that the owner installed, run with the rights of this process and the network, but never longer."""

    async def run(self, task: Task, *, on_stdout: Callable[[bytes], None] | None = None) -> Finished:
        """`environment` is all that the program finds; `readable` and `network` mean nothing here. With `on_stdout`,
        which is given each piece as it arrives, none of it is kept; what it raises ends the program. Raises
        `ToolError` when it cannot be started, with the code `PROGRAM_MISSING` when it is not there. Cancellation, the
        time limit and the end of this process end the program with all that it started."""
        ...
