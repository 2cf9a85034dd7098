"""Read, write and list the files of a conversation's own folder, and remove it. Nothing outside of it is accessed.

A path is opened from a handle of the folder, one name at a time, and no link is followed. Therefore a program that
replaces a part of the path at the same time cannot redirect the access.
"""

from __future__ import annotations

import asyncio
import errno
import mimetypes
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.messages import OutgoingFile
from arvis.ports.store import Store

#: The maximum size in bytes of a file that is sent.
_MOST_SENT = 20_971_520

#: The number of bytes that are written and synced in one step. A large file that is synced only at its end would delay
#: the commits of the database.
_PIECE = 1 << 20

#: The maximum length of a path in characters, and the maximum number of names in a path.
_LONGEST = 1_000
_DEEPEST = 32

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: `O_NONBLOCK` is set, because opening a pipe must not block.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.ELOOP: "it contains a link, and links are not followed",
    errno.ENOTDIR: "a part of it is not a folder",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "a name in it is too long",
    errno.ENXIO: "it is not a regular file",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full",
}


def read_bytes(workspace: Path, path: str, most: int) -> tuple[bytes, int]:
    """Return the first `most` bytes of a file, and the size of the whole file. Raise `ToolError` if the file cannot be
    read."""
    with _errors_about(path), _parent_of(workspace, path, make=False) as (folder, name):
        descriptor = os.open(name, _READ, dir_fd=folder)
        try:
            found = os.fstat(descriptor)
            _must_be_ours(path, found)
            data = bytearray()
            while len(data) < most and (piece := os.read(descriptor, most - len(data))):
                data += piece
        finally:
            os.close(descriptor)
    return bytes(data), found.st_size


def write_bytes(workspace: Path, path: str, data: bytes) -> None:
    """Write a file completely, or leave the old file unchanged and raise `ToolError`. Create missing folders. The data
    is on the disk when this function returns."""
    with _errors_about(path), _parent_of(workspace, path, make=True) as (folder, name):
        with suppress(FileNotFoundError):
            _must_be_ours(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        draft = f".{secrets.token_hex(8)}.part"
        try:
            _write_whole(folder, draft, data)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        os.fsync(folder)


async def outgoing_file(store: Store, workspace: Path, path: str) -> OutgoingFile:
    """Copy a file from a conversation's folder to the store, and return it for a delivery. Raise `ToolError` if the
    file cannot be sent."""
    data, size = await asyncio.to_thread(read_bytes, workspace, path, _MOST_SENT)
    if size > _MOST_SENT:
        raise ToolError(f"The file has {size} bytes; at most {_MOST_SENT} can be sent.")
    if not data:
        raise ToolError("The file is empty.")
    name = PurePosixPath(path).name
    content_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return OutgoingFile(name, content_type, len(data), await store.put_blob(data))


def _write_whole(folder: int, name: str, data: bytes) -> None:
    descriptor = os.open(name, _WRITE, _PRIVATE_FILE, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest[:_PIECE]) :]
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _parent_of(workspace: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """Open the folder that contains the file. Yield the handle of the folder and the file's own name. If `make` is
    True, create missing folders."""
    *folders, name = _names(path)
    if make:
        workspace.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    handle = os.open(workspace, _FOLDER)
    try:
        for folder in folders:
            inner = _enter(handle, folder, make=make)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


def _enter(handle: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, _PRIVATE_FOLDER, dir_fd=handle)
            os.fsync(handle)
    try:
        return os.open(name, _FOLDER, dir_fd=handle)
    except NotADirectoryError:
        # The kernel reports the same error for a link and for a file.
        if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a link") from None
        raise


def _names(path: str) -> list[str]:
    """Return the names that the path consists of. Raise `ToolError` if the path does not lead to a file inside the
    folder."""
    if path.startswith("/"):
        raise _refused(path, "it must be relative to your folder: omit the leading slash")
    names = [name for name in path.split("/") if name not in {"", "."}]
    if ".." in names:
        raise _refused(path, "it leads out of your folder")
    if not names or path.endswith("/"):
        raise _refused(path, "it names no file")
    if len(path) > _LONGEST or len(names) > _DEEPEST:
        raise _refused(path, "it is too long")
    if not path.isprintable():
        raise _refused(path, "it contains unprintable characters")
    return names


def _must_be_ours(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _refused(path, _REASONS[errno.EISDIR])
    if stat.S_ISLNK(found.st_mode):
        raise _refused(path, _REASONS[errno.ELOOP])
    if not stat.S_ISREG(found.st_mode):
        raise _refused(path, _REASONS[errno.ENXIO])
    if found.st_nlink > 1:
        raise _refused(path, "another path leads to the same file (a hard link)")


@contextmanager
def _errors_about(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _refused(path, _REASONS.get(error.errno or 0, error.strerror or "the disk does not answer")) from None


def _refused(path: str, why: str) -> ToolError:
    shown = "".join(char if char.isprintable() else "�" for char in path[:100])
    return ToolError(f"The path {shown!r} cannot be used: {why}.")


# -- the folder as a whole ---------------------------------------------------------------------------------------------


#: The maximum number of files that a listing examines. A program may have created any number of files.
_MOST_SEEN = 10_000


@dataclass(frozen=True, slots=True)
class Listed:
    """The paths and sizes (bytes) of files, sorted by path; `more` is the number of further files."""

    files: tuple[tuple[str, int], ...] = ()
    more: int = 0

    @property
    def lines(self) -> list[str]:
        rest = [f"… and {self.more} more"] if self.more else []
        return [*(f"{path} ({size} bytes)" for path, size in self.files), *rest]


def list_files(workspace: Path, most: int) -> Listed:
    """Return the regular files of a folder and its subfolders. No link is followed; if `workspace` is not a folder, the
    list is empty."""
    found: list[tuple[str, int]] = []
    for path, size in _walk(workspace):
        found.append((path, size))
        if len(found) == _MOST_SEEN:
            break
    found.sort()
    return Listed(tuple(found[:most]), max(len(found) - most, 0))


def remove_folder(folder: Path) -> None:
    """Remove a folder with its content, but not the targets of its links. Do nothing if the folder does not exist.
    Raise `OSError` if the folder cannot be removed."""
    try:
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            folder.unlink()
            return
        try:
            shutil.rmtree(folder)
        except PermissionError:
            _open_up(folder)
            shutil.rmtree(folder)
    except FileNotFoundError:
        return


def _walk(workspace: Path) -> Iterator[tuple[str, int]]:
    """Yield the path and size of each regular file. The walk uses handles, so that a link that replaces an entry
    meanwhile cannot redirect the walk. If `workspace` is a link, nothing is yielded."""
    with suppress(OSError):
        for folder, folders, names, handle in os.fwalk(workspace, follow_symlinks=False):
            place = os.path.relpath(folder, workspace)
            if place.count(os.sep) >= _DEEPEST:
                folders.clear()
            for name in names:
                path = name if place == "." else f"{place}/{name}"
                with suppress(OSError):
                    seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
                    if stat.S_ISREG(seen.st_mode) and path.isprintable():
                        yield path, seen.st_size


def _open_up(folder: Path) -> None:
    """Make all folders accessible to their owner again, because a program may have removed this permission."""
    folder.chmod(_PRIVATE_FOLDER)
    for place, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(place, name)
            if not inner.is_symlink():
                inner.chmod(_PRIVATE_FOLDER)
