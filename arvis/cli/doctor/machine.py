"""Checks of the machine, and of the data folder on its disk."""

from __future__ import annotations

import codecs
import os
import pwd
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.cli.output import moment
from arvis.domain.errors import ArvisError
from arvis.process.disk import DiskSpace, disk_space
from arvis.store.health import SQLITE_THREADS, SQLITE_VERSION, sqlite_lacks

_OLDEST_PYTHON = (3, 11, 0)

#: The first version of SQLite with STRICT tables, which the schema needs.
_OLDEST_SQLITE = (3, 37, 0)

#: A limit of open files below this number is reported, because each open chat and each connection to a vendor needs an
#: open file.
_FEW_FILES = 1024
_MANY_OPEN = 0.8

_MEGABYTE = 1_000_000
_LITTLE_MEMORY = 128 * _MEGABYTE

_SMALL_STEP_MS = 60_000
_LARGE_STEP_MS = 600_000


def check_python(scene: Scene) -> Verdict:
    version = ".".join(map(str, scene.system.python))
    if scene.system.python < _OLDEST_PYTHON:
        return fail(
            f"Python {version} is too old",
            "Arvis needs 3.11 or newer.",
            "Install Python 3.11 or newer, and install Arvis with it.",
        )
    return ok(f"Python {version}")


def check_sqlite(_: Scene) -> Verdict:
    version = ".".join(map(str, SQLITE_VERSION))
    fix = "Use a Python build with a newer SQLite, such as the one from Debian or python.org."
    if SQLITE_VERSION < _OLDEST_SQLITE:
        return fail(f"SQLite {version} is too old", f"Arvis needs {'.'.join(map(str, _OLDEST_SQLITE))} or newer.", fix)
    lacks = sqlite_lacks()
    if lacks or not SQLITE_THREADS:
        why = f"It was built without {', '.join([*lacks, *([] if SQLITE_THREADS else ['threads'])])}."
        return fail(f"SQLite {version} cannot be used", why, fix)
    return ok(f"SQLite {version}")


def check_encoding(scene: Scene) -> Verdict:
    name = scene.system.encoding
    if codecs.lookup(name).name == "utf-8":
        return ok("Standard output can show every character (UTF-8)")
    why = f"Its encoding is {name}, so the output of commands shows question marks in place of some characters."
    return warn("Standard output cannot show every character", why, "Set LANG=C.UTF-8, or PYTHONUTF8=1.")


def check_time_zones(_: Scene) -> Verdict:
    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        why = "This machine has no time zone data, so schedules can use only UTC."
        return warn("Time zones are not available", why, "Install tzdata (Debian: apt-get install tzdata).")
    return ok("Time zones are known")


def check_clock(scene: Scene) -> Verdict | None:
    """Report a clock that is behind the time of the newest row in the database, because retries, waits and leases are
    then late by the difference."""
    if scene.records is None:
        return None
    behind = scene.records.newest_at - scene.now
    if behind <= _SMALL_STEP_MS:
        return ok(f"The clock shows {moment(scene.now)}")
    what = f"The clock is {behind // 1000} s behind the database"
    why = (
        f"The newest row was written at {moment(scene.records.newest_at)}. Retries and schedules are late by "
        "this difference."
    )
    fix = "Set the clock, preferably with a time service: timedatectl set-ntp true."
    return fail(what, why, fix) if behind > _LARGE_STEP_MS else warn(what, why, fix)


def check_open_files(scene: Scene) -> Verdict:
    """Check the limit of open files of the running daemon, or the limit of this process if no daemon runs."""
    figures = scene.daemon.figures if scene.daemon is not None else {}
    most = figures.get("process_max_fds", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    is_open = figures.get("process_open_fds", 0)
    fix = "Raise the limit: `ulimit -n 65536` before the start, or LimitNOFILE= in the service."
    if most != resource.RLIM_INFINITY and is_open > most * _MANY_OPEN:
        why = (
            f"{is_open:.0f} of {most:.0f} files and connections are open. At the limit, the daemon accepts no more "
            "connections."
        )
        return fail("The daemon has almost reached its limit of open files", why, fix)
    if most != resource.RLIM_INFINITY and most < _FEW_FILES:
        why = f"The limit is {most:.0f} open files, and every open connection uses one."
        return warn("The limit of open files is low", why, fix)
    return ok("The limit of open files is high enough")


def check_memory(scene: Scene) -> Verdict | None:
    free = _available(scene.system.proc / "meminfo")
    group = _left_in_group(scene.system.control_group)
    left = min((size for size in (free, group) if size is not None), default=None)
    if left is None:
        return None
    if left < _LITTLE_MEMORY:
        why = f"{left // _MEGABYTE} MB are left, so the system may kill the daemon."
        return warn(
            "There is little memory", why, "Give the machine or the container more memory, or stop other programs."
        )
    return ok(f"{left // _MEGABYTE} MB of memory are left")


def _available(meminfo: Path) -> int | None:
    """Return the bytes of memory that programs can still use; None if Linux does not report them."""
    for line in _text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _left_in_group(group: Path) -> int | None:
    """Return the bytes of memory that the container can still use; None if it has no limit. Memory that only caches
    files counts as free."""
    most, used = _text(group / "memory.max").strip(), _text(group / "memory.current").strip()
    if not most.isdecimal() or not used.isdecimal():
        return None
    kept = [line.split()[1] for line in _text(group / "memory.stat").splitlines() if line.startswith("inactive_file ")]
    return max(0, int(most) - int(used) + sum(map(int, kept)))


def _text(file: Path) -> str:
    """Return the text of a file; an empty text if it does not exist or cannot be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace") if os.access(file, os.R_OK) else ""
    except OSError:
        return ""


MACHINE = Group(
    "machine",
    (
        Check("python", check_python),
        Check("sqlite", check_sqlite),
        Check("encoding", check_encoding),
        Check("time_zones", check_time_zones),
        Check("clock", check_clock),
        Check("open_files", check_open_files),
        Check("memory", check_memory),
    ),
)


# Checks that the data folder exists, that this user can use it, and that its disk is reliable and has free space.

_SHOWN = 5
_LARGE_LOGS = 1000 * _MEGABYTE

#: Network file systems. They would damage the database, because they do not have the shared memory that SQLite's log
#: needs.
_NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2",
    "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs", "virtiofs",
}  # fmt: skip
_PASSING = {
    "tmpfs": "It is memory: everything in it is lost when the machine restarts.",
    "ramfs": "It is memory: everything in it is lost when the machine restarts.",
    "overlay": "It is the container's own layer: everything in it is lost when the container is removed.",
}

_OTHER_FOLDER = "Put the data folder on a local disk (a volume, in a container), and name it with --data."


def check_folder(scene: Scene) -> Verdict:
    folder = scene.folder
    if not folder.exists():
        return warn(f"{folder} does not exist", "The first start of the daemon creates it.", "Run `arvis run`.")
    if not folder.is_dir():
        return fail(f"{folder} is not a folder", "A file with this name exists.", "Name another folder with --data.")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        fix = "Run this command as the user that runs the daemon, or give this user write permission for the folder."
        return fail(
            f"{folder} cannot be used",
            "Its owner, its permissions or its disk do not allow this user to read and write it.",
            fix,
        )
    return ok(f"{folder} can be read and written")


def check_lock(scene: Scene) -> Verdict | None:
    if not scene.folder.is_dir():
        return None
    if isinstance(scene.holder, ArvisError):
        return failed(scene.holder)
    return ok("The data folder can be locked, so only one process uses it at a time")


def check_owners(scene: Scene) -> Verdict | None:
    """Report files of another user, because the daemon cannot write to them. Usually a command that ran as root created
    these files."""
    if not _readable(scene.folder):
        return None
    owner = scene.folder.stat().st_uid
    strange = [file.name for file in scene.folder.iterdir() if file.lstat().st_uid != owner]
    if not strange:
        return ok(f"All files belong to {_name(owner)}")
    why = (
        f"{_name(owner)} owns the folder but not these files: {', '.join(sorted(strange)[:_SHOWN])}. A command was "
        "run as another user."
    )
    return fail("Some files belong to another user", why, f"Run `chown -R {_name(owner)} {scene.folder}`.")


def check_file_system(scene: Scene) -> Verdict | None:
    mount = _mount_of(_there(scene.folder), scene.system.proc / "self" / "mounts")
    if mount is None:
        return None
    if mount.kind in _NETWORK and scene.config.postgres_url is None:
        why = f"{mount.point} is {mount.kind}, where SQLite's log does not work."
        return fail("The data folder is on a network file system", why, _OTHER_FOLDER)
    if mount.kind in _PASSING:
        return warn(
            "The data folder is on temporary storage",
            f"{mount.point} is {mount.kind}. {_PASSING[mount.kind]}",
            _OTHER_FOLDER,
        )
    return ok(f"The file system of {mount.point} is {mount.kind}")


def check_room(scene: Scene) -> Verdict:
    place = _there(scene.folder)
    table = os.statvfs(place)
    if table.f_files and table.f_favail < table.f_files // 100:
        why = f"The disk can store {table.f_favail} more files, and at most {table.f_files} in total."
        return fail(f"{place} can store almost no more files", why, "Remove files that you do not need.")
    return room(place, disk_space(place), _size(scene.config.database_file))


def room(place: Path, space: DiskSpace, database: int) -> Verdict:
    """Check that a disk has space for a database of this many bytes and for a backup of it."""
    free = f"{space.free // _MEGABYTE} MB free"
    if space.is_low:
        why = (
            f"Below {space.low_water // _MEGABYTE} MB Arvis refuses new messages, so that it can still store the "
            "answers to accepted ones."
        )
        return fail(
            f"{place} has too little space: {free}",
            why,
            "Free some space on its disk. Arvis then resumes automatically.",
        )
    if space.free - 2 * database < space.low_water:
        why = f"The database has {database // _MEGABYTE} MB, and a backup temporarily needs twice that space."
        return warn(f"The next backup may not fit: {free}", why, "Free some space, or lower backup.keep.")
    return ok(f"{free}, the database has {database // _MEGABYTE} MB")


def check_logs(scene: Scene) -> Verdict | None:
    size = sum(map(_size, _files(scene.folder / "logs")))
    if size > _LARGE_LOGS:
        why = f"They take {size // _MEGABYTE} MB for {scene.config.retention.logs_days} days."
        return warn("The logs are large", why, "Find the most frequent log lines, or lower `retention.logs_days`.")
    return ok(f"The logs take {size / _MEGABYTE:.1f} MB") if size else None


def check_aside(scene: Scene) -> Verdict | None:
    """Report databases that a restore or a repair replaced. Arvis does not delete these databases, because a person
    must first check that their data is not needed."""
    aside = scene.folder / "aside"
    names = sorted(file.name for file in aside.iterdir()) if _readable(aside) else []
    if not names:
        return None
    why = (
        f"A restore or repair replaced these databases: {', '.join(names[:_SHOWN])}. Their newest entries may exist "
        "nowhere else."
    )
    fix = f"If no data is missing in Arvis, delete {aside}. The log shows why the databases were moved there."
    return warn("A replaced database still exists", why, fix)


class _Mount(NamedTuple):
    point: Path
    kind: str


def _mount_of(folder: Path, mounts: Path) -> _Mount | None:
    """Return the file system of a folder from Linux's list of mounts; None if there is no such list."""
    folder = folder.resolve()
    if not os.access(mounts, os.R_OK):
        return None
    lines = [line.split(" ") for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    # Linux writes a blank as \040. Of several mounts at one point, the last one hides the others.
    listed = [_Mount(Path(parts[1].replace("\\040", " ")), parts[2]) for parts in lines]
    over = [mount for mount in listed if folder.is_relative_to(mount.point)]
    return max(reversed(over), key=lambda mount: len(mount.point.parts), default=None)


def _there(folder: Path) -> Path:
    """Return the folder, or the nearest folder above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _readable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)


def _files(folder: Path) -> Iterator[Path]:
    return folder.iterdir() if _readable(folder) else iter(())


def _size(file: Path) -> int:
    """Return the size of a file in bytes; 0 if the file does not exist."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


FOLDER = Group(
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
