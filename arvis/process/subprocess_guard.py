"""The guard: a process between the daemon and a program. The guard ends every process that the program starts.

Run as a script: `subprocess_guard.py LIFELINE MEMORY PROCESSES THREADS DISK FILES PROGRAM ARGUMENTS…`. LIFELINE is the
file descriptor of a pipe. When the daemon closes the other end or dies, the guard ends all processes; when the daemon
writes a byte, the guard sends SIGTERM to the program. MEMORY (bytes), PROCESSES and THREADS limit all processes
together. DISK (bytes) and FILES limit the folder in which the program is started; 0 means no limit. At the end, a
limited folder is cleaned of setuid bits, pipes, sockets and devices. A process whose parent has ended becomes a child
of the guard, because the guard is a subreaper (prctl(2)); so no process can escape by forking. The exit status is the
program's. This script uses only the standard library and no other module of Arvis, because it is started for every
program.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from typing import NamedTuple, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127

#: The limits are checked every `_LOOK` seconds. After the program has ended, the remaining processes are killed every
#: `_SWEEP` seconds.
_LOOK = 0.2
_SWEEP = 0.005

#: The change of the guard's nice value. With it, the guard can count the processes even if a program uses all
#: processors.
_PRIORITY = -10

#: The beginning of the name of a control group; the process id of its guard follows.
_GROUP = "arvis-program-"

#: After a scan of the folder, the pause before the next scan is this many times as long as the scan took.
_SPARED = 10

#: The maximum depth of nested folders, and the flags with which a folder is opened.
_DEEPEST = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

#: The errors that occur if another process removes or replaces a file during a scan.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

#: The name of a folder in memory (`/tmp` in the sandbox) that only the program uses.
_SCRATCH = "tmp"

#: Shared memory up to this size (bytes) is counted in full, because finding out how many processes share it takes long.
_SMALL = 1_048_576


class Bounds(NamedTuple):
    """The limits of all processes together (bytes of memory, numbers of processes and threads) and of the folder
    (bytes, number of files). 0 means no limit."""

    memory: int
    processes: int
    threads: int
    disk: int
    files: int


def main(lifeline: int, bounds: Bounds, argv: list[str]) -> int:
    """Run the program, and end it if a limit is exceeded or the lifeline is closed. Return its wait status, or SIGKILL
    if the guard ended it."""
    os.set_inheritable(lifeline, False)
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    folder = Folder(bounds.disk, bounds.files)
    group = _control_group(2 * bounds.threads) if bounds.threads and not os.geteuid() else ""
    child = os.fork()
    if child == 0:
        if group:
            with suppress(OSError):
                _write(f"{group}/cgroup.procs", "0")
        _become(argv, expendable=any(bounds))
    with suppress(OSError):  # only root may raise a priority
        os.nice(_PRIORITY)
    # The daemon detects the program's end by the end of its streams, so the guard must not keep them open.
    for stream in (0, 1):
        os.close(stream)
    try:
        return _watch(child, lifeline, bounds, folder)
    finally:
        _end_all(child)
        folder.tidy()
        if group:
            with suppress(OSError):
                os.rmdir(group)  # noqa: PTH106 (as below)


def _control_group(most: int) -> str:
    """Return the folder of a new control group with at most this many processes and threads; "" if no group can be
    created. Only root needs the group, because the kernel limits the processes of every other user by RLIMIT_NPROC (ADR
    0082)."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:  # noqa: PTH123 (as below)
            groups = {kinds: path.rstrip("\n/") for _, kinds, path in (line.split(":", 2) for line in file)}
        if "pids" not in groups:
            return ""
        parent = f"/sys/fs/cgroup/pids{groups['pids']}"
        for name in os.listdir(parent):  # noqa: PTH208 (as below)
            left = name.startswith(_GROUP) and not os.path.exists(f"/proc/{name.removeprefix(_GROUP)}")  # noqa: PTH110 (as below)
            if left:
                with suppress(OSError):  # processes may still be in it
                    os.rmdir(f"{parent}/{name}")  # noqa: PTH106 (as below)
        group = f"{parent}/{_GROUP}{os.getpid()}"
        with suppress(FileExistsError):  # left by an earlier guard with the same process id
            os.mkdir(group)  # noqa: PTH102 (as below)
        _write(f"{group}/pids.max", str(most))
    except (OSError, ValueError):
        return ""
    return group


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 (as below)
        file.write(text)


def _become(argv: list[str], *, expendable: bool) -> NoReturn:
    """Replace this process by the program. If the machine runs out of memory, the kernel ends an `expendable` program
    before other programs such as the daemon."""
    try:
        if expendable:
            with suppress(OSError):
                _write("/proc/self/oom_score_adj", "1000")
        os.setsid()  # Signals that the program sends to its process group do not reach the guard.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Python ignores SIGPIPE and SIGXFSZ, and a started program would inherit that.
        for changed in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(changed, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 (a list of arguments, no shell)
    except OSError as error:
        os.write(2, f"{argv[0]} could not be started: {error.strerror}\n".encode())
    os._exit(_NOT_STARTED)


def _watch(child: int, lifeline: int, bounds: Bounds, folder: Folder) -> int:
    """Wait until the program ends, the daemon closes the lifeline, or a limit is exceeded. Return the wait status."""
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    status = _reaped(child)
    look = time.monotonic() + _LOOK
    while status is None:
        pause = max(0.0, look - time.monotonic()) if any(bounds) else None
        ready, _, _ = select.select([lifeline, waking], [], [], pause)
        if lifeline in ready:
            if not os.read(lifeline, 4096):
                return signal.SIGKILL
            with suppress(OSError):
                os.killpg(child, signal.SIGTERM)
        if waking in ready:
            os.read(waking, 4096)
        status = _reaped(child)
        if status is None and pause is not None and time.monotonic() >= look:
            if (excess := _excess(child, bounds) or folder.excess()) is not None:
                os.write(2, f"\nThe program was ended: {excess}.\n".encode())
                return signal.SIGKILL
            look = time.monotonic() + _LOOK
    return status


def _reaped(child: int) -> int | None:
    """Return the status of the program if it has ended, else None. Also reap other ended processes."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return None
            if pid == child:
                return status
    return None


def _excess(child: int, bounds: Bounds) -> str | None:
    if bounds.processes and _crowded(_namespace_init(child), bounds.processes):
        return f"it had more than {bounds.processes} processes"
    below = list(_descendants())
    if 0 < bounds.processes < len(below):
        return f"it had more than {bounds.processes} processes"
    known = {pid: _fields(f"/proc/{pid}/status") for pid in below}
    if 0 < bounds.threads < sum(fields.get("Threads", 0) for fields in known.values()):
        return f"its processes had more than {bounds.threads} threads"
    if 0 < bounds.memory < sum(_held(pid, fields) for pid, fields in known.items()):
        return f"its processes held more than {bounds.memory // 1_048_576} MiB of memory"
    return None


def _namespace_init(child: int) -> int:
    """Return the first process of the sandbox's process namespace, or 0 if there is no sandbox."""
    with suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{child}/task/{child}/children", encoding="ascii") as file:  # noqa: PTH123 (as below)
            first = int(file.read().split()[0])
        if os.readlink(f"/proc/{first}/ns/pid") != os.readlink("/proc/self/ns/pid"):  # noqa: PTH115 (as below)
            return first
    return 0


def _crowded(init: int, most: int) -> bool:
    """Return whether more than `most` processes are in the namespace of `init`. This takes milliseconds even while the
    program starts thousands of processes; `_descendants` would then take seconds."""
    number = 0
    if init:
        proc = f"/proc/{init}/root/proc"
        with suppress(OSError):
            # Until bubblewrap has changed its root, it has the machine's /proc, which lists the processes of all users.
            if os.stat(proc).st_dev == os.stat("/proc").st_dev:  # noqa: PTH116 (as below)
                return False
            with os.scandir(proc) as entries:
                for entry in entries:
                    number += entry.name.isdecimal()
                    if number > most:
                        return True
    return False


class Folder:
    """The folder in which the program is started. If it already exceeds a limit at the start, its present size becomes
    the limit."""

    def __init__(self, disk: int, files: int) -> None:
        self._bounded = bool(disk or files)
        self._disk, self._files, self._deepest = disk, files, _DEEPEST
        self._next = 0.0
        if not self._bounded:
            return
        self._root = os.open(".", _FOLDER)
        self._device = os.fstat(self._root).st_dev
        try:
            held, number = self._look(all_of_it=True)
        except OSError:
            # The folder cannot be scanned, and the program did not cause this, so no limit of the folder is checked.
            self._deepest = 0
            return
        self._disk, self._files = disk and max(disk, held), files and max(files, number)

    def excess(self) -> str | None:
        """Return the exceeded limit as text, else None. If the last scan was recent, return None without a new scan,
        because the scan of a large folder takes long."""
        if not self._bounded or not self._deepest or time.monotonic() < self._next:
            return None
        begun = time.monotonic()
        try:
            held, number = self._look()
        except OSError:
            return "it created folders that cannot be read, or that are nested too deeply"
        self._next = time.monotonic() + _SPARED * (time.monotonic() - begun)
        if self._files and max(number, _in_scratch()) > self._files:
            return f"its folder holds more than {self._files} files; remove some, or write fewer"
        if self._disk and held + self._removed() > self._disk:
            return f"its folder holds more than {self._disk // 1_048_576} MiB; remove files, or write less"
        return None

    def tidy(self) -> None:
        """Remove setuid, setgid and sticky bits. Delete every entry that is not a file, folder or link."""
        if not self._bounded:
            return
        with suppress(OSError):
            for folder, name, found in _entries(self._root, _DEEPEST):
                with suppress(OSError):
                    _tidy(folder, name, found.st_mode)

    def _look(self, *, all_of_it: bool = False) -> tuple[int, int]:
        """Return the bytes on disk and the number of entries of the folder. Unless `all_of_it` is set, stop as soon as
        a limit is exceeded."""
        held = number = 0
        linked = set()
        with closing(_entries(self._root, self._deepest)) as entries:
            for _, _, found in entries:
                number += 1
                if found.st_nlink == 1 or found.st_ino not in linked:
                    held += found.st_blocks * 512
                if found.st_nlink > 1:
                    linked.add(found.st_ino)
                beyond = (self._files and number > self._files) or (self._disk and held > self._disk)
                if beyond and not all_of_it:
                    break
        return held, number

    def _removed(self) -> int:
        """Return the number of bytes on disk of files that were deleted but are still open."""
        found = {}
        for pid in _descendants():
            with suppress(OSError):
                for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 (as below)
                    with suppress(OSError):
                        file = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116 (as below)
                        if not file.st_nlink and file.st_dev == self._device and stat.S_ISREG(file.st_mode):
                            found[file.st_ino] = file.st_blocks * 512
        return sum(found.values())


def _entries(folder: int, deepest: int) -> Generator[tuple[int, str, os.stat_result]]:
    """Yield each entry below an open folder as three values: the folder that contains the entry, its name, and its
    status. Do not follow links. Raise `OSError` if a folder cannot be read or is nested too deeply."""
    if deepest <= 0:
        raise OSError(errno.ENAMETOOLONG, "too deep")
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
                yield folder, entry.name, found
                if not stat.S_ISDIR(found.st_mode):
                    continue
                below = os.open(entry.name, _FOLDER, dir_fd=folder)
            except OSError as error:
                if error.errno in _GONE:
                    continue
                raise
            try:
                yield from _entries(below, deepest - 1)
            finally:
                os.close(below)


def _tidy(folder: int, name: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=folder)
        return
    wanted = stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX)
    if stat.S_ISDIR(mode):
        wanted |= stat.S_IRWXU
    if wanted == stat.S_IMODE(mode):
        return
    # The mode is changed through a handle, because another process may have replaced the file by a link.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISLNK(os.fstat(handle).st_mode):
            os.chmod(f"/proc/self/fd/{handle}", wanted)  # noqa: PTH101 (as below)
    finally:
        os.close(handle)


def _in_scratch() -> int:
    """Return the number of files in the program's own folder in memory."""
    most = 0
    with suppress(OSError):
        ours = os.stat(f"/{_SCRATCH}").st_dev  # noqa: PTH116 (as below)
        for pid in _descendants():
            with suppress(OSError):
                path = f"/proc/{pid}/root/{_SCRATCH}"
                if os.stat(path).st_dev != ours:  # noqa: PTH116 (as below)
                    space = os.statvfs(path)
                    most = max(most, space.f_files - space.f_ffree)
    return most


def _held(pid: int, known: Mapping[str, int]) -> int:
    """Return the bytes of memory that a process uses, including swapped-out memory but no mapped files. `known` are the
    fields of its status. The result is the sum of its private memory and its share of the memory that several processes
    have in common. If the kernel does not report the share, all of the common memory is counted. Return 0 for a process
    that has ended."""
    own = known.get("RssAnon", 0) + known.get("VmSwap", 0)
    shared = known.get("RssShmem", 0)
    if shared > _SMALL:
        # Each process gets its share of common memory, so that this memory is counted only once in total.
        shared = _fields(f"/proc/{pid}/smaps_rollup").get("Pss_Shmem", shared)
    return own + shared


def _fields(path: str) -> dict[str, int]:
    """Read a file of the kernel such as `/proc/PID/status`. Return the numbers and the sizes (in bytes) in it, by their
    names."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (pathlib takes longer to import)
            for line in file:
                name, _, rest = line.partition(":")
                size, _, unit = rest.strip().partition(" ")
                if size.isdecimal():
                    found[name] = int(size) * (1024 if unit == "kB" else 1)
    except OSError:
        return {}
    return found


def _descendants() -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for pid in _processes():
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (as above)
                # The program's name is in brackets and may contain any character.
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(pid)
    found = [os.getpid()]
    for pid in found:
        below = children.get(pid, [])
        found += below
        yield from below


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (as above)
    except OSError:
        return []


def _end_all(child: int) -> None:
    """Kill all descendants until none is left. A process whose parent was killed becomes a child of the guard, and the
    next round kills it. Begin with the process group of the sandbox: the kernel kills a group at once, so that none of
    its processes can start another one meanwhile."""
    if init := _namespace_init(child):
        with suppress(OSError):
            os.killpg(init, signal.SIGKILL)
    while True:
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        for pid in _descendants():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_SWEEP)


def _prctl(option: int, value: int) -> None:
    """Call prctl(2). Without prctl(2), the guard can end only the program's process group."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_like(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        signum = os.WTERMSIG(status)
        with suppress(OSError, ValueError):  # the action for SIGKILL cannot be set, and needs no reset
            signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    _end_like(main(int(sys.argv[1]), Bounds(*map(int, sys.argv[2:7])), sys.argv[7:]))
