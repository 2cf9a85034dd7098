"""The data folder: there, ours, on a disk that keeps its promises, with room."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.domain.errors import ArvisError
from arvis.process.disk import DiskSpace, disk_space

_MEGABYTE = 1_000_000
_SHOWN = 5
_LARGE_LOGS = 1000 * _MEGABYTE

#: SQLite's log is shared memory: over a network it is not shared, and the database breaks.
_NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2",
    "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs", "virtiofs",
}  # fmt: skip
_PASSING = {
    "tmpfs": "It is memory: everything in it is gone when the machine restarts.",
    "ramfs": "It is memory: everything in it is gone when the machine restarts.",
    "overlay": "It is the container's own layer: everything in it is gone with the container.",
}

_OTHER_FOLDER = "Put the data folder on a local disk (a volume, in a container), and name it with --data."


def check_folder(scene: Scene) -> Verdict:
    folder = scene.folder
    if not folder.exists():
        return warn(f"{folder} does not exist", "The first start makes it.", "Run `arvis run`.")
    if not folder.is_dir():
        return fail(f"{folder} is no folder", "Something else is there.", "Name another folder with --data.")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        fix = "Run this command as the user that runs the daemon, or let this user write there."
        return fail(f"{folder} cannot be used", "Its owner, its mode or its disk forbids to read or to write it.", fix)
    return ok(f"{folder} can be read and written")


def check_lock(scene: Scene) -> Verdict | None:
    if not scene.folder.is_dir():
        return None
    if isinstance(scene.holder, ArvisError):
        return failed(scene.holder)
    return ok("One process at a time can hold the folder")


def check_owners(scene: Scene) -> Verdict | None:
    """A command that once ran as another user, mostly root, leaves files that the daemon cannot write."""
    if not _readable(scene.folder):
        return None
    owner = scene.folder.stat().st_uid
    strange = [file.name for file in scene.folder.iterdir() if file.lstat().st_uid != owner]
    if not strange:
        return ok(f"All files belong to {_name(owner)}")
    why = (
        f"{_name(owner)} owns the folder, but not {', '.join(sorted(strange)[:_SHOWN])}: a command ran as another user."
    )
    return fail("Some files belong to another user", why, f"Run `chown -R {_name(owner)} {scene.folder}`.")


def check_file_system(scene: Scene) -> Verdict | None:
    mount = _mount_of(_there(scene.folder), scene.system.proc / "self" / "mounts")
    if mount is None:
        return None
    if mount.kind in _NETWORK and scene.config.postgres_url is None:
        why = f"{mount.point} is {mount.kind}, where SQLite's log does not work."
        return fail("The data folder lies on a network file system", why, _OTHER_FOLDER)
    if mount.kind in _PASSING:
        return warn(
            "The data folder does not last", f"{mount.point} is {mount.kind}. {_PASSING[mount.kind]}", _OTHER_FOLDER
        )
    return ok(f"The file system of {mount.point} is {mount.kind}")


def check_room(scene: Scene) -> Verdict:
    place = _there(scene.folder)
    table = os.statvfs(place)
    if table.f_files and table.f_favail < table.f_files // 100:
        why = f"{table.f_favail} of {table.f_files} files can still be made."
        return fail(f"{place} can take almost no more files", why, "Remove files that you do not need.")
    return room(place, disk_space(place), _size(scene.config.database_file))


def room(place: Path, space: DiskSpace, database: int) -> Verdict:
    """Check that a disk has space for a database of this many bytes and for a backup of it."""
    free = f"{space.free // _MEGABYTE} MB free"
    if space.is_low:
        why = f"Below {space.low_water // _MEGABYTE} MB new messages are refused, so that those accepted can be kept."
        return fail(f"{place} has no room: {free}", why, "Free some space on its disk; Arvis goes on by itself.")
    if space.free - 2 * database < space.low_water:
        why = f"The database has {database // _MEGABYTE} MB, and a backup needs twice that for a while."
        return warn(f"The next backup may not fit: {free}", why, "Free some space, or lower backup.keep.")
    return ok(f"{free}, the database has {database // _MEGABYTE} MB")


def check_logs(scene: Scene) -> Verdict | None:
    size = sum(map(_size, _files(scene.folder / "logs")))
    if size > _LARGE_LOGS:
        why = f"They take {size // _MEGABYTE} MB for {scene.config.retention.logs_days} days."
        return warn("The logs are large", why, "Look what fills them, or lower retention.logs_days.")
    return ok(f"The logs take {size / _MEGABYTE:.1f} MB") if size else None


def check_aside(scene: Scene) -> Verdict | None:
    """Databases that a restore or a damage has put out of use: nothing removes them but a person who has looked."""
    aside = scene.folder / "aside"
    names = sorted(file.name for file in aside.iterdir()) if _readable(aside) else []
    if not names:
        return None
    why = f"Something else took the place of {', '.join(names[:_SHOWN])}; what is newer in there is in nothing else."
    fix = f"If nothing is missed, remove {aside}; the log tells why it was put there."
    return warn("A database was set aside", why, fix)


class _Mount(NamedTuple):
    point: Path
    kind: str


def _mount_of(folder: Path, mounts: Path) -> _Mount | None:
    """The file system that a folder lies on, as Linux lists them; None where it does not."""
    folder = folder.resolve()
    if not os.access(mounts, os.R_OK):
        return None
    lines = [line.split(" ") for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    # Linux writes a blank as \040; what was mounted last lies on top.
    listed = [_Mount(Path(parts[1].replace("\\040", " ")), parts[2]) for parts in lines]
    over = [mount for mount in listed if folder.is_relative_to(mount.point)]
    return max(reversed(over), key=lambda mount: len(mount.point.parts), default=None)


def _there(folder: Path) -> Path:
    """The folder, or the one above that exists already."""
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _readable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)


def _files(folder: Path) -> Iterator[Path]:
    return folder.iterdir() if _readable(folder) else iter(())


def _size(file: Path) -> int:
    """In bytes; what is not there, or gone meanwhile, has none."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


GROUP = Group(
    "data folder",
    (
        Check("data_folder", check_folder),
        Check("lock", check_lock),
        Check("owners", check_owners),
        Check("file_system", check_file_system),
        Check("room", check_room),
        Check("logs", check_logs),
        Check("aside", check_aside),
    ),
)
