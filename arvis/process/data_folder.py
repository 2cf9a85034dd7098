"""The data folder. Only the user that runs the daemon can access it. Only one process at a time uses it. The daemon
checks that the folder is not moved, removed or replaced.

The operating system manages the lock, so the lock always ends with the process, even after a crash. The lock file
itself is never removed: otherwise two processes could lock two different files of the same name.

If the folder is renamed, the open files move with it: the daemon would continue to write to the new path, and a second
daemon could start with an empty folder at the old path. So the daemon ends if its folder was moved, removed or
replaced.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError, DataFolderInUse, DiskFull

#: The folder is checked at intervals of this many seconds.
WATCH_EVERY = 2.0

#: The device and inode of a file.
_Identity = tuple[int, int]


class FolderWatch:
    """A detector of a moved, removed or replaced folder. A path in the folder must always lead to the same file as when
    this object was created."""

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._folder = folder
        self._known = {file: _identity(file) for file in files}

    def lost(self) -> ConfigError | None:
        """Return the error with which the daemon must end; None if every path still leads to the same file."""
        for file, known in self._known.items():
            if _identity(file) != known:
                return ConfigError(
                    f"The data folder {self._folder} was moved, removed or replaced while Arvis ran",
                    why=f"{file.name} in this folder is not the file that Arvis has open.",
                    fix="Move the folder back, or start Arvis with --data and the new path.",
                )
        return None

    async def until_lost(self) -> ConfigError:
        while (lost := self.lost()) is None:  # noqa: ASYNC110 a renamed folder sends no event
            await asyncio.sleep(WATCH_EVERY)
        return lost


def _identity(file: Path) -> _Identity | None:
    try:
        found = file.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_PRIVATE_UMASK = 0o077
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_MAX_LINE = 200
_MAX_KEPT = 4096
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})

#: The text that a command writes to the lock file in place of a boot id.
_COMMAND = "command"


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A data folder that this process has locked. `node_id` never changes for one folder. `boot_id` identifies this
    start of the daemon, and `api_key` is the owner's key for the command line. `private` is False if the folder's mode
    could not be set to 0700, because another user owns the folder."""

    path: Path
    node_id: str
    boot_id: str
    first_start: bool
    private: bool
    api_key: str = field(repr=False)

    @property
    def database(self) -> Path:
        return self.path / "arvis.db"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def blobs(self) -> Path:
        return self.path / "blobs"

    @property
    def sessions(self) -> Path:
        """The parent of the folders of conversations."""
        return self.path / "sessions"

    @property
    def browser(self) -> Path:
        """The parent of the browser profiles of agents."""
        return self.path / "browser"

    @property
    def backups(self) -> Path:
        return self.path / "backups"


def api_key_file(folder: Path) -> Path:
    """Return the file in which the daemon stores the key for the command line."""
    return folder / "api-key"


def address_file(folder: Path) -> Path:
    """Return the file in which the daemon stores the address of its web server while it runs."""
    return folder / "address"


@contextmanager
def hold_data_folder(path: Path, *, new_id: Callable[[], str], new_key: Callable[[], str]) -> Iterator[DataFolder]:
    """Create the folder if needed, and lock it until the end of the block. Files that are created inside the block are
    private.

    `new_id` makes sortable ids, and `new_key` makes secrets. Raise `DataFolderInUse`, which names the process that has
    the lock, if another process has locked the folder. Raise `ConfigError` if the folder cannot be used.
    """
    with _private_umask():
        with _usable(path):
            private = _make_private(path)
        with _locked(path) as lock:
            boot_id = new_id()
            with _usable(path):
                _sign(lock, boot_id)
                first_start = not (path / "node-id").exists()
                node_id = _kept(path / "node-id", new_id)
                api_key = _kept(api_key_file(path), new_key)
            yield DataFolder(path, node_id, boot_id, first_start, private, api_key)


@contextmanager
def lock_data_folder(path: Path) -> Iterator[None]:
    """Lock the folder while a command works in it, so that no daemon starts there. Only the folder and its lock file
    are created, so the next start of a daemon still counts as the first one. Raise the same errors as
    `hold_data_folder`."""
    with _private_umask():
        with _usable(path):
            path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        with _locked(path) as lock:
            with _usable(path):
                _sign(lock, _COMMAND)
            yield


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has locked a data folder. `boot_id` is None for a command. `pid` is 0 if the process has not
    written it yet."""

    pid: int
    boot_id: str | None


def holder_of(path: Path) -> Holder | None:
    """Return the process that has locked the folder; None if no process has locked it. This check creates and writes no
    file, and locks the folder only for a moment.

    Raise `ConfigError` if the check fails.
    """
    with _usable(path):
        try:
            lock = os.open(path / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        words = _signature(lock)  # the lock file is empty until the process that has locked it writes its ids
        pid = int(words[0]) if words and words[0].isdecimal() else 0
        return Holder(pid, words[1] if len(words) > 1 and words[1] != _COMMAND else None)
    except OSError as error:
        raise _not_lockable(path, error) from error
    finally:
        os.close(lock)
    return None


@contextmanager
def leave_address(folder: DataFolder, url: str) -> Iterator[None]:
    """Store the address of the web server until the end of the block, so that the command line finds the server. After
    a crash the file remains, although no server answers at that address."""
    file = address_file(folder.path)
    with _usable(folder.path):
        _write_whole(file, url)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


@contextmanager
def _private_umask() -> Iterator[None]:
    umask = os.umask(_PRIVATE_UMASK)
    try:
        yield
    finally:
        os.umask(umask)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    with _usable(path):
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE_FILE)
    try:
        _take(lock, path)
        yield lock
    finally:
        os.close(lock)


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            what, fix = (
                f"There is no free space for the data folder {path}",
                "Free some space on its disk, then start Arvis again.",
            )
            raise DiskFull(what, why=error.strerror or str(error), fix=fix) from error
        fix = "Give another folder with --data, or give this user write permission for this one."
        raise ConfigError(
            f"The data folder {path} cannot be used", why=error.strerror or str(error), fix=fix
        ) from error


def _make_private(path: Path) -> bool:
    path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    if path.stat().st_mode & _PRIVATE_UMASK == 0:
        return True
    try:
        path.chmod(_PRIVATE_FOLDER)
    except PermissionError:
        # A mounted volume may belong to root. Files in it are still private because of the umask.
        return False
    return True


def _take(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        words = _signature(lock)
        holder = f"process {words[0]}" if words else "another process"
        fix = "Stop that process or wait until it ends, or choose another folder with --data."
        raise DataFolderInUse(f"The data folder {path} is in use", why=f"{holder} uses it.", fix=fix) from None
    except OSError as error:
        raise _not_lockable(path, error) from error


def _not_lockable(path: Path, error: OSError) -> ConfigError:
    why = f"its file system cannot lock files ({errno.errorcode.get(error.errno or 0, 'unknown error')})"
    fix = "Put the data folder on a local disk."
    return ConfigError(f"The data folder {path} cannot be used", why=why, fix=fix)


def _signature(lock: int) -> list[str]:
    """Return the content of the lock file (see `_sign`), split into words."""
    return os.pread(lock, _MAX_LINE, 0).decode(errors="replace").split()


def _sign(lock: int, boot_id: str) -> None:
    """Write the ids of this process and this boot into the lock file, for the error message of a second process. The
    old text is overwritten, not deleted first. Overwriting needs no disk space, so the daemon can start on a full
    disk."""
    os.ftruncate(lock, os.pwrite(lock, f"{os.getpid()} {boot_id}\n".encode(), 0))


def _kept(file: Path, make: Callable[[], str]) -> str:
    """Return the line in `file`. If the file does not exist, or is empty because of a crash, store a new line from
    `make` and return it. Links are not followed."""
    with suppress(FileNotFoundError):
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as kept:
            os.fchmod(descriptor, _PRIVATE_FILE)
            line = kept.read(_MAX_KEPT).strip()
        if line:
            return line
    line = make()
    _write_whole(file, line)
    return line


def _write_whole(file: Path, line: str) -> None:
    """Write a file so that a reader sees the whole line or no file, even after a crash."""
    fresh = file.with_name(f"{file.name}.new")
    # An old file is removed, not overwritten, because it might be a link that another user created.
    fresh.unlink(missing_ok=True)
    with fresh.open("x", encoding="utf-8") as out:
        out.write(f"{line}\n")
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)
