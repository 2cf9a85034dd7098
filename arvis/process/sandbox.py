"""Runs programs in a sandbox: bubblewrap gives each program a separate file system, network and process ids.

Only the paths that this module names exist in the sandbox. `/proc` is read-only there, because root may change the
machine's settings in `/proc/sys`. If the daemon runs as root, the kernel treats the program as root too, regardless of
its user id in the sandbox. Namespaces do not separate the keys of a user, nor the sockets between a virtual machine and
its host (vsock). So a seccomp filter refuses system calls that no program needs; it is in the kernel's own format
(seccomp(2), `struct sock_filter`).
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import signal
import socket
import struct
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ToolError
from arvis.ports.sandbox import BRIDGE, WORKSPACE, Answerer, Finished, Task
from arvis.process.subprocesses import MAX_PROCESSES, PRIVATE_UMASK, Bounds, Lifeline, run_guarded, start_guarded


@dataclass(frozen=True, slots=True)
class _Machine:
    """The numbers of a processor architecture: its identifier in the kernel (`mark`), the number of the system call
    socket(2), and the numbers of the refused system calls. The refused calls are ptrace, syslog, keyctl, add_key,
    request_key, perf_event_open, bpf, userfaultfd, open_by_handle_at; the three calls of io_uring, which can make every
    other call without passing the filter; and memfd_create, memfd_secret, shmget and msgget, whose memory is not counted
    for any process."""

    mark: int
    socket: int
    refused: tuple[int, ...]


_MACHINES: Mapping[str, _Machine] = {
    "x86_64": _Machine(0xC000003E, 41, (101, 103, 250, 248, 249, 298, 321, 323, 304, 425, 426, 427, 319, 447, 29, 68)),
    "aarch64": _Machine(
        0xC00000B7, 198, (117, 116, 219, 217, 218, 241, 280, 282, 265, 425, 426, 427, 279, 447, 194, 186)
    ),
}

#: The allowed families of sockets: local, IPv4, IPv6, and netlink, which lists the network devices.
_FAMILIES = (1, 2, 10, 16)

#: On x86_64, system calls from this number on belong to a second ABI.
_SECOND_SET = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW_CALL = 0x7FFF0000
_REFUSE_CALL = 0x00050000 | 1  # "Operation not permitted"


def call_filter(machine: str) -> bytes | None:
    """Return the seccomp filter for an architecture; None if `_MACHINES` does not contain it."""
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
    """Return one instruction of the filter. A test with the result true skips the next `yes` instructions; a test with
    the result false skips the next `no` instructions."""
    return struct.pack("=HBBI", code, yes, no, value)


# A line-based channel between a program in the sandbox and this process: the program sends a line and gets a line. The
# program inherits one end of a socket pair. The socket has no name, so no other process can connect and no file
# remains. Lines from the program are untrusted: their length is limited. If the program also sends file descriptors,
# the kernel drops them, because this process does not receive them.


#: The maximum length of a line from the program, in bytes.
MOST_ASKED = 262_144


async def bridged(answer: Answerer, run: Callable[[int], Coroutine[Any, Any, Finished]]) -> Finished:
    """Run a program with a channel, and return its result. `run` gets the program's end of the channel; `answer`
    returns the answer to one line of the program."""
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
    """Answer the program's lines until the program closes the channel or `answer` returns None. Then close the
    channel."""
    reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MOST_ASKED)
    try:
        while (line := await _line(reader)) is not None and (reply := await answer(line)) is not None:
            with suppress(ConnectionError):  # the program may have ended without waiting for the answer
                writer.write(reply + b"\n")
                await writer.drain()
    finally:
        writer.transport.abort()  # answers that the program has not read are dropped
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """Return a line; None at the end of the stream, and for a line that is too long or has no end."""
    try:
        line = await reader.readline()
    except (ValueError, ConnectionError):
        return None
    return line[:-1] if line.endswith(b"\n") else None


#: The folders of the system's programs. A folder that is a link into /usr is created as a link.
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

#: The id of the user in the sandbox, independent of the user that runs the daemon.
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

#: The maximum size in bytes of one file.
_LARGEST_FILE = 268_435_456
_SCRATCH = 67_108_864
_TOO_LARGE = f"\nThe program was ended: a file was larger than {_LARGEST_FILE // 1_048_576} MiB.\n".encode()

#: The maximum number of threads of a program, and of a program that keeps running, such as a browser. The guard counts
#: processes and threads, and ends a program with too many of them. The kernel's limit `nproc`, which counts processes
#: and threads together, stops a program that starts them faster than the guard counts. `nproc` is twice as high, so
#: that normally the guard ends the program, because only the guard reports the reason. The kernel applies `nproc` to
#: every user except root.
_MAX_THREADS = 2 * MAX_PROCESSES
_MAX_LASTING_THREADS = 8 * MAX_PROCESSES

#: The limits of a program that keeps running. They do not limit the address space, because browsers reserve far more
#: addresses than they use.
_LASTING = {"nproc": 2 * _MAX_LASTING_THREADS, "fsize": _LARGEST_FILE, "core": 0}

#: The nice value of a program: the daemon gets nine times the processor time of one process of a program.
_PRIORITY = 10

#: The limit that is used for "no limit": a number that no folder reaches. It is not 0, because the guard cleans up only
#: folders that have a limit.
_UNBOUNDED = 1 << 62

#: Paths that the sandbox creates itself. No path of the machine may be mounted over them.
_OWN = (Path("/proc"), Path("/dev"), Path("/tmp"), Path(WORKSPACE))  # noqa: S108 (as above)

#: The exit codes by which a shell reports that a signal ended its program.
_SIGNALS = range(129, 193)

_ALLOW = (
    "Allow user namespaces: sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone; in a container, a "
    "security profile that permits them; on Ubuntu 24.04 an AppArmor profile for bwrap."
)
_FIXES = {"namespace": _ALLOW, "nknown option": "Install bubblewrap 0.8 or newer."}
_INSTALL = "Install it: apt-get install bubblewrap."


class Bubblewrap:
    """Implements `Sandbox` with bubblewrap. `hidden` are folders that no program may see, such as the data folder, even
    if they are inside a readable folder. The task's own folder may be inside a hidden folder. `machine` is the type of
    this machine (None: as the system reports it). `disk` (bytes) and `files` limit the task's folder; None: no
    limit."""

    def __init__(
        self,
        *,
        hidden: Sequence[Path] = (),
        program: str = "bwrap",
        machine: str | None = None,
        disk: int | None = 1_073_741_824,
        files: int | None = 20_000,
    ) -> None:
        self._hidden = tuple(folder.resolve() for folder in hidden)
        self._program = program
        self._machine = machine or platform.machine()
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
        """Run a program that does nothing in a complete sandbox. Return the reason if the program fails, else None."""
        if shutil.which(self._program) is None:
            return f"Programs cannot be run here: bubblewrap is missing. {_INSTALL}"
        try:
            with TemporaryDirectory() as folder:
                finished = await self._run(Task(["true"], Path(folder), timeout=10.0))
        except ToolError as error:
            return f"Programs cannot be run here: {error.why or error.what}"
        if finished.exit_code == 0:
            return None
        words = " ".join(finished.stderr.decode("utf-8", "replace").split())[:300] or "bubblewrap printed no reason"
        fix = next((fix for sign, fix in _FIXES.items() if sign in words), "Make bwrap work for the daemon's user.")
        return f"Programs cannot be run here: the sandbox does not start ({words}). {fix}"

    async def _run_bridged(self, task: Task, bridge: int) -> Finished:
        bridged = replace(task, environment={**task.environment, BRIDGE: str(bridge)})
        return await self._run(bridged, inherited=(bridge,))

    async def start(
        self, task: Task, lifeline: Lifeline, *, inherited: Sequence[int] = (), line: int = 65_536
    ) -> Process:
        """Start a program that keeps running, and return its guard. The program inherits the descriptors `inherited`.
        Only the task's limits of memory, processes and disk apply. `line` is the maximum length in bytes of a line that
        is read from the program. Raise `ToolError` if the program cannot be started or the sandbox is unavailable."""
        reason = await self.refusal()
        if reason is not None:
            raise ToolError(reason)
        with self._prepared(task, _LASTING) as (argv, environment, descriptors):
            try:
                return await start_guarded(
                    argv,
                    lifeline,
                    environment=environment,
                    bounds=Bounds(task.memory, MAX_PROCESSES, _MAX_LASTING_THREADS, self._disk, self._files),
                    folder=task.folder,
                    descriptors=(*descriptors, *inherited),
                    umask=PRIVATE_UMASK,
                    limit=line,
                )
            except (OSError, ValueError) as error:  # ValueError is raised for a NUL in an argument
                raise ToolError("The program could not be started.", why=str(error)) from None

    async def _run(self, task: Task, *, inherited: Sequence[int] = ()) -> Finished:
        with self._prepared(task, _limits(task)) as (argv, environment, descriptors):
            inside = replace(task, environment=environment)
            finished = await run_guarded(
                argv,
                inside,
                descriptors=(*descriptors, *inherited),
                threads=_MAX_THREADS,
                disk=self._disk,
                files=self._files,
            )
        code = finished.exit_code
        if code not in _SIGNALS:
            return finished
        stderr = finished.stderr + (_TOO_LARGE if code == 128 + signal.SIGXFSZ else b"")
        return replace(finished, exit_code=128 - code, stderr=stderr)

    @contextmanager
    def _prepared(
        self, task: Task, limits: Mapping[str, int]
    ) -> Iterator[tuple[Sequence[str], Mapping[str, str], Sequence[int]]]:
        """Yield the command that runs the task in the sandbox, its environment, and the descriptors that it inherits."""
        if not task.folder.is_dir():
            raise ToolError(f"The folder {task.folder.name} of the program does not exist.")
        with ExitStack() as stack:
            passwd, group = (_in_memory(stack, os.fsencode(text)) for text in (_PASSWD, _GROUP))
            calls = call_filter(self._machine)
            if calls is None:
                raise ToolError(
                    f"Arvis has no filter of system calls for the machine type {self._machine}. "
                    f"Use a machine of the type {' or '.join(_MACHINES)}."
                )
            seccomp = _in_memory(stack, calls)
            options = [
                *_NAMESPACES,
                *(["--share-net"] if task.network else []),
                *_IDENTITY,
                *self._walls(task, passwd, group),
                *_environment(task.environment),
                *("--seccomp", str(seccomp)),
            ]
            # The options are passed in a file, because arguments are visible to every user of the machine and to the
            # program.
            arguments = _in_memory(stack, os.fsencode("".join(f"{option}\0" for option in options)))
            argv = [self._program, "--args", str(arguments), "--", *_limited(limits), *task.argv]
            environment = {"PATH": os.environ.get("PATH", os.defpath)}
            yield argv, environment, (passwd, group, arguments, seccomp)

    def _walls(self, task: Task, passwd: int, group: int) -> Iterator[str]:
        """Yield the options for the file system. Parent folders come before the folders in them. The option that makes
        the root folder read-only comes last."""
        seen = [Path(path) for path in _SYSTEM if Path(path).is_dir()]
        seen += [Path(path) for path in (*_SETTINGS, *(_NETWORK_SETTINGS if task.network else ()))]
        yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--remount-ro", "/dev")
        for scratch in ("/tmp", "/dev/shm"):  # noqa: S108 (folders of the sandbox alone)
            yield from ("--perms", "0700", "--size", str(task.scratch), "--tmpfs", scratch)
        yield from _places(seen, task.readable, self._hidden)
        for path, folder in task.mounted.items():
            yield from ("--ro-bind", str(folder.resolve()), path)
        yield from ("--ro-bind-data", str(passwd), "/etc/passwd", "--ro-bind-data", str(group), "/etc/group")
        yield from ("--bind", str(task.folder.resolve()), WORKSPACE, "--chdir", WORKSPACE, "--remount-ro", "/")


def _places(system: Sequence[Path], readable: Sequence[Path], hidden: Sequence[Path]) -> Iterator[str]:
    """Yield the options for the readable paths. An empty folder is mounted over each hidden folder, and readable paths
    inside the hidden folder are mounted again. The empty folder is in memory, and is made read-only after these
    mounts."""
    asked = {path.resolve() for path in readable}
    if any(path.is_relative_to(place) for place in asked for path in _OWN):
        raise ToolError("The program cannot run, because it would read a folder whose path the sandbox itself uses.")
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
    for path in covered:
        yield from ("--remount-ro", str(path))


def _environment(asked: Mapping[str, str]) -> Iterator[str]:
    for name, value in {**_ENVIRONMENT, **asked}.items():
        # A NUL ends an option, so the text after it would be another option.
        if "\0" in name + value or "=" in name or not name:
            raise ToolError("An environment variable of the program has an invalid name or value.")
        yield from ("--setenv", name, value)


def _limits(task: Task) -> Mapping[str, int]:
    return {
        "as": task.memory,
        "cpu": int(task.timeout) + 1,
        "nproc": 2 * _MAX_THREADS,
        "fsize": _LARGEST_FILE,
        "core": 0,
    }


def _limited(limits: Mapping[str, int]) -> list[str]:
    """Return the command that sets the limits. It runs inside the sandbox; outside, the limit of processes would count
    all processes of the daemon's user. The program has a low priority, and the processes of bubblewrap do not: so the
    guard and the first process of the sandbox get processor time whenever they need it, however many processes the
    program starts."""
    prlimit = ["/usr/bin/prlimit", *(f"--{name}={figure}" for name, figure in limits.items()), "--"]
    return ["/usr/bin/nice", "-n", str(_PRIORITY), *prlimit]


def _in_memory(stack: ExitStack, data: bytes) -> int:
    """Return a file descriptor of an unnamed file in memory that contains `data`."""
    descriptor = os.memfd_create("arvis")
    stack.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
