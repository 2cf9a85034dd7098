"""The sandbox for programs that models run, and the interface to run programs of the owner. `arvis/process` implements
both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Protocol

from arvis.domain.dataclass import dataclass

#: The path of a task's folder inside the sandbox.
WORKSPACE = "/workspace"

#: The path in the sandbox of the folder with the skills of the agent, each in a folder with its name.
SKILLS = "/skills"

#: The environment variable with the file descriptor of the bridge: a socket between the program and this process.
BRIDGE = "ARVIS_BRIDGE"

#: A function that gets a line from the bridge and returns the answer; None closes the bridge. Neither line includes its
#: line end.
Answerer = Callable[[bytes], Awaitable[bytes | None]]

#: The code of the `ToolError` if the program of a task does not exist.
PROGRAM_MISSING = "program_missing"


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a program, with its limits."""

    argv: Sequence[str]
    #: The working directory, and the only folder that the program may change. Its path in the sandbox is `WORKSPACE`.
    folder: Path
    stdin: bytes = b""
    #: The environment variables of the program. The sandbox adds only PATH, HOME and LANG.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Further folders that the program may read.
    readable: Sequence[Path] = ()
    #: Folders that the program may read under other paths: the absolute paths in the sandbox, with the folders.
    mounted: Mapping[str, Path] = field(default_factory=dict)
    #: True if the program may use the network. If False, it cannot even connect to other programs on this machine.
    network: bool = False
    #: The time limit in seconds.
    timeout: float = 30.0
    #: The maximum number of bytes that are kept of each output stream; further output is dropped.
    max_output: int = 2_097_152
    #: The maximum memory of all processes of the program together, in bytes.
    memory: int = 1_073_741_824
    #: The size in bytes of each folder in memory.
    scratch: int = 67_108_864


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a run."""

    #: Negative if a signal ended the program.
    exit_code: int
    stdout: bytes
    stderr: bytes
    #: True if the program was ended at its time limit.
    timed_out: bool = False
    #: True if a part of the output was dropped.
    truncated: bool = False


class Sandbox(Protocol):
    async def refusal(self) -> str | None:
        """Return the reason why this machine cannot run programs in a sandbox, followed by the fix; None if it can.
        Only the first call computes the result."""
        ...

    async def run(self, task: Task, *, answer: Answerer | None = None) -> Finished:
        """Run a program. With `answer`, the program has a bridge: the program writes lines to a stream socket, and
        `answer` answers each line with one line, one after the other. An exception of `answer` ends the program. The
        end of the program cancels a running `answer`. A cancellation, and the end of this process, end the program with
        all its child processes. Raise `ToolError` if the program cannot be started or the sandbox is unavailable."""
        ...


class Worker(Protocol):
    """A program that keeps running and answers each line with one line."""

    async def ask(self, line: bytes, *, timeout: float) -> bytes:
        """Send a line and return the program's answer; neither includes its line end. Raise `ToolError` if the program
        has ended or does not answer within `timeout` seconds. The program is then ended, and the worker cannot be used
        again."""
        ...

    async def close(self) -> None:
        """End the program and all its child processes."""
        ...


class Workers(Protocol):
    async def start(self, argv: Sequence[str], *, environment: Mapping[str, str], memory: int) -> Worker:
        """Start a program. `memory` (bytes) limits the program together with its child processes. Raise `ToolError` if
        the program cannot be started."""
        ...


class Programs(Protocol):
    """A runner for programs that the owner installed. The programs run outside the sandbox, with the rights of this
    process and with access to the network. They end at the latest when this process ends."""

    async def run(self, task: Task, *, on_stdout: Callable[[bytes], None] | None = None) -> Finished:
        """Run a program. The program gets only the variables of `task.environment`; `task.readable` and `task.network`
        are ignored. With `on_stdout`, each piece of the output is passed to this function when it arrives, and is not
        kept; an exception of the function ends the program. A cancellation, the time limit and the end of this process
        end the program with all its child processes. Raise `ToolError` if the program cannot be started, with the code
        `PROGRAM_MISSING` if it does not exist."""
        ...
