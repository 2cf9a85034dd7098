"""Runs programs in a sandbox: bubblewrap gives each its own file system, network and process numbers.

Only the paths that are named here exist inside. `/proc` is read-only there: if the daemon runs as root, the kernel
treats the program as root, too, whatever its user number inside, and root may write the machine's settings in
`/proc/sys`. Namespaces do not part the keys of a user nor the sockets between a machine and its host (vsock), so a filter
refuses calls of the kernel that no program needs: a program for the kernel in its own format (seccomp(2),
`struct sock_filter`).
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import struct
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arvis.domain.errors import ToolError
from arvis.ports.sandbox import BRIDGE, WORKSPACE, Answerer, Finished, Task
from arvis.process.subprocesses import MAX_PROCESSES, run_guarded


@dataclass(frozen=True, slots=True)
class _Machine:
    """The kernel's mark of an architecture, its number of socket(2) and those of the calls that are refused: ptrace,
    syslog, keyctl, add_key, request_key, perf_event_open, bpf, userfaultfd, open_by_handle_at, io_uring's three, which make
    every other call unseen, and memfd_create, memfd_secret and shmget, whose memory belongs to no process and is counted for none."""

    mark: int
    socket: int
    refused: tuple[int, ...]


_MACHINES: Mapping[str, _Machine] = {
    "x86_64": _Machine(0xC000003E, 41, (101, 103, 250, 248, 249, 298, 321, 323, 304, 425, 426, 427, 319, 447, 29)),
    "aarch64": _Machine(0xC00000B7, 198, (117, 116, 219, 217, 218, 241, 280, 282, 265, 425, 426, 427, 279, 447, 194)),
}

#: Local sockets, both kinds of internet, and what lists the network's devices.
_FAMILIES = (1, 2, 10, 16)

#: Numbers from here on belong to a second set of calls on x86_64.
_SECOND_SET = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW_CALL = 0x7FFF0000
_REFUSE_CALL = 0x00050000 | 1  # "Operation not permitted"


def call_filter(machine: str) -> bytes | None:
    """The filter for a machine of this name; None for one whose numbers are not known here."""
    known = _MACHINES.get(machine)
    if known is None:
        return None
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, known.mark, yes=1),
        _step(_RETURN, _REFUSE_CALL),
        _step(_LOAD, _NUMBER),
        *_unless(_step(_AT_LEAST, _SECOND_SET, no=1)),
    ]
    for number in known.refused:
        steps += _unless(_step(_EQUAL, number, no=1))
    steps += [_step(_EQUAL, known.socket, yes=1), _step(_RETURN, _ALLOW_CALL), _step(_LOAD, _FIRST_ARGUMENT)]
    for family in _FAMILIES:
        steps += [_step(_EQUAL, family, no=1), _step(_RETURN, _ALLOW_CALL)]
    return b"".join([*steps, _step(_RETURN, _REFUSE_CALL)])


def _unless(test: bytes) -> list[bytes]:
    return [test, _step(_RETURN, _REFUSE_CALL)]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """`yes` and `no` are the numbers of steps that a test skips."""
    return struct.pack("=HBBI", code, yes, no, value)


# A line-based channel between a program in the sandbox and this process: the program sends one line and gets one
# line. It inherits one end of a socket pair; no socket has a name, so no other process can connect and nothing is
# left behind. Input from it is as hostile as the program: lines have a limit, and the kernel drops descriptors that
# are sent along, because this process does not receive them.


#: Bytes of one line from the program.
MOST_ASKED = 262_144


async def bridged(answer: Answerer, run: Callable[[int], Coroutine[Any, Any, Finished]]) -> Finished:
    """Return the result of `run`, which gets the far end of the channel."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        program = asyncio.create_task(run(theirs.fileno()))
        talk = asyncio.create_task(_talk(ours, answer))
        try:
            await asyncio.wait({program, talk}, return_when=asyncio.FIRST_COMPLETED)
            if talk.done() and not program.done():
                talk.result()
            return await program
        finally:
            program.cancel()
            talk.cancel()
            await asyncio.gather(program, talk, return_exceptions=True)


async def _talk(ours: socket.socket, answer: Answerer) -> None:
    """Until one of both has enough; then the program reads the end of the stream."""
    reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MOST_ASKED)
    try:
        while (line := await _line(reader)) is not None and (told := await answer(line)) is not None:
            with suppress(ConnectionError):  # it need not wait for an answer
                writer.write(told + b"\n")
                await writer.drain()
    finally:
        writer.transport.abort()  # a program that has not read its answer by now ends
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """None at the end, and for what is no line within bounds."""
    try:
        line = await reader.readline()
    except (ValueError, ConnectionError):
        return None
    return line[:-1] if line.endswith(b"\n") else None


#: The system's programs; where these are links into /usr they are made as links.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_NETWORK_SETTINGS = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
)

#: The user inside has this number and name, whichever user runs the daemon.
_USER = 1000
_PASSWD = f"arvis:x:{_USER}:{_USER}::/tmp:/bin/sh\n"
_GROUP = f"arvis:x:{_USER}:\n"

_NAMESPACES = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
)
_IDENTITY = ("--uid", str(_USER), "--gid", str(_USER), "--hostname", "sandbox", "--cap-drop", "ALL")
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 (as above)

#: Bytes of one file, and of all files in memory.
_LARGEST_FILE = 268_435_456
_SCRATCH = 67_108_864

#: More than any folder holds: it is left in order all the same.
_UNBOUNDED = 1 << 62

#: Paths that the sandbox creates itself; no path of the machine may be mounted over them.
_OWN = (Path("/proc"), Path("/dev"), Path("/tmp"), Path(WORKSPACE))  # noqa: S108 (as above)

#: A shell's way to say that a signal ended its program.
_SIGNALS = range(129, 193)

_ALLOW = (
    "Allow user namespaces: sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone; in a container, a "
    "security profile that permits them; on Ubuntu 24.04 an AppArmor profile for bwrap."
)
_FIXES = {"namespace": _ALLOW, "nknown option": "Install bubblewrap 0.8 or newer."}
_INSTALL = "Install it: apt-get install bubblewrap."


class Bubblewrap:
    """`Sandbox` by bwrap. `hidden` are folders that no program may see, even where they lie inside one that it may
    (the data folder); the task's own folder may lie in one of them. `disk` (bytes) and `files` bound that folder; None: no
    bound."""

    def __init__(
        self,
        *,
        hidden: Sequence[Path] = (),
        program: str = "bwrap",
        disk: int | None = 1_073_741_824,
        files: int | None = 20_000,
    ) -> None:
        self._hidden = tuple(folder.resolve() for folder in hidden)
        self._program = program
        self._disk = disk or _UNBOUNDED
        self._files = files or _UNBOUNDED
        self._lock = asyncio.Lock()
        self._probed = False
        self._refusal: str | None = None

    async def refusal(self) -> str | None:
        async with self._lock:
            if not self._probed:
                self._refusal = await self._probe()
                self._probed = True
        return self._refusal

    async def run(self, task: Task, *, answer: Answerer | None = None) -> Finished:
        reason = await self.refusal()
        if reason is not None:
            raise ToolError(reason)
        return await (self._run(task) if answer is None else bridged(answer, partial(self._run_bridged, task)))

    async def _probe(self) -> str | None:
        """By running a program that does nothing, with everything that a real one gets."""
        if shutil.which(self._program) is None:
            return f"Programs cannot be run here: bubblewrap is missing. {_INSTALL}"
        try:
            with TemporaryDirectory() as folder:
                finished = await self._run(Task(["true"], Path(folder), timeout=10.0))
        except ToolError as error:
            return f"Programs cannot be run here: {error.why or error.what}"
        if finished.exit_code == 0:
            return None
        words = " ".join(finished.stderr.decode("utf-8", "replace").split())[:300] or "it did not say why"
        fix = next(
            (fix for sign, fix in _FIXES.items() if sign in words), "See that bwrap works for the daemon's user."
        )
        return f"Programs cannot be run here: the sandbox does not start ({words}). {fix}"

    async def _run_bridged(self, task: Task, bridge: int) -> Finished:
        told = replace(task, environment={**task.environment, BRIDGE: str(bridge)})
        return await self._run(told, inherited=(bridge,))

    async def _run(self, task: Task, *, inherited: Sequence[int] = ()) -> Finished:
        if not task.folder.is_dir():
            raise ToolError(f"The folder of the program is not there: {task.folder.name}.")
        with ExitStack() as stack:
            passwd, group = (_in_memory(stack, os.fsencode(text)) for text in (_PASSWD, _GROUP))
            calls = call_filter(platform.machine())
            filters = [] if calls is None else [_in_memory(stack, calls)]
            options = [
                *_NAMESPACES,
                *(["--share-net"] if task.network else []),
                *_IDENTITY,
                *self._walls(task, passwd, group),
                *_environment(task.environment),
                *(part for descriptor in filters for part in ("--seccomp", str(descriptor))),
            ]
            # Not as arguments: every user of the machine reads those, and the program itself.
            arguments = _in_memory(stack, os.fsencode("".join(f"{option}\0" for option in options)))
            argv = [self._program, "--args", str(arguments), "--", *_limits(task), *task.argv]
            inside = replace(task, environment={"PATH": os.environ.get("PATH", os.defpath)})
            descriptors = (passwd, group, arguments, *filters, *inherited)
            finished = await run_guarded(argv, inside, descriptors=descriptors, disk=self._disk, files=self._files)
        code = finished.exit_code
        return replace(finished, exit_code=128 - code) if code in _SIGNALS else finished

    def _walls(self, task: Task, passwd: int, group: int) -> Iterator[str]:
        """The file system: parents before what lies in them, and closed when all is in place."""
        seen = [Path(path) for path in _SYSTEM if Path(path).is_dir()]
        seen += [Path(path) for path in (*_SETTINGS, *(_NETWORK_SETTINGS if task.network else ()))]
        yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--remount-ro", "/dev")
        for scratch in ("/tmp", "/dev/shm"):  # noqa: S108 (folders of the sandbox alone)
            yield from ("--perms", "0700", "--size", str(_SCRATCH), "--tmpfs", scratch)
        yield from _places(seen, task.readable, self._hidden)
        yield from ("--ro-bind-data", str(passwd), "/etc/passwd", "--ro-bind-data", str(group), "/etc/group")
        yield from ("--bind", str(task.folder.resolve()), WORKSPACE, "--chdir", WORKSPACE, "--remount-ro", "/")


def _places(system: Sequence[Path], readable: Sequence[Path], hidden: Sequence[Path]) -> Iterator[str]:
    """Return the readable paths. A hidden folder is covered, and readable paths inside it are mounted again."""
    asked = {path.resolve() for path in readable}
    if any(path.is_relative_to(place) for place in asked for path in _OWN):
        raise ToolError("A folder for the program contains a path that the sandbox creates itself.")
    shown = asked | {path for path in system if not path.is_symlink()}
    covered = {
        path
        for path in hidden
        if path.is_dir() and path not in shown and any(path.is_relative_to(place) for place in shown)
    }
    for path in sorted(shown | covered, key=lambda path: len(path.parts)):
        yield from ("--tmpfs", str(path)) if path in covered else ("--ro-bind-try", str(path), str(path))
    for path in (*system, *readable):
        if path.is_symlink() and path not in shown:
            target = path.readlink() if path in system else path.resolve()
            yield from ("--symlink", str(target), str(path))


def _environment(asked: Mapping[str, str]) -> Iterator[str]:
    for name, value in {**_ENVIRONMENT, **asked}.items():
        # A NUL ends an option: the text after it would be a new option.
        if "\0" in name + value or "=" in name or not name:
            raise ToolError("A name or a value in the program's environment cannot be used.")
        yield from ("--setenv", name, value)


def _limits(task: Task) -> list[str]:
    """Set inside: outside, the number of processes would count all those of the daemon's user."""
    figures = {
        "as": task.memory,
        "cpu": int(task.timeout) + 1,
        "nproc": MAX_PROCESSES,
        "fsize": _LARGEST_FILE,
        "core": 0,
    }
    return ["/usr/bin/prlimit", *(f"--{name}={figure}" for name, figure in figures.items()), "--"]


def _in_memory(stack: ExitStack, data: bytes) -> int:
    """A file without a name that holds `data`."""
    descriptor = os.memfd_create("arvis")
    stack.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
