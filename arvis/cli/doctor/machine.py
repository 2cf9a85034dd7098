"""The machine and the software beneath."""

from __future__ import annotations

import codecs
import os
import resource
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.cli.output import moment
from arvis.store.health import SQLITE_THREADS, SQLITE_VERSION, sqlite_lacks

_OLDEST_PYTHON = (3, 11, 0)

#: The schema needs STRICT tables.
_OLDEST_SQLITE = (3, 37, 0)

#: Packages that are optional.
_LATER = {"FTS5"}

#: A few files for each chat that is open, some more for the model's connections.
_FEW_FILES = 1024
_MANY_OPEN = 0.8

_MEGABYTE = 1_000_000
_LITTLE_MEMORY = 128 * _MEGABYTE

_SMALL_STEP_MS = 60_000
_LARGE_STEP_MS = 600_000


def check_python(scene: Scene) -> Verdict:
    version = ".".join(map(str, scene.system.python))
    if scene.system.python < _OLDEST_PYTHON:
        return fail(f"Python {version} is too old", "Arvis needs 3.11 or newer.", "Install it under a newer Python.")
    return ok(f"Python {version}")


def check_sqlite(_: Scene) -> Verdict:
    version = ".".join(map(str, SQLITE_VERSION))
    fix = "Use a Python that brings a newer SQLite; those of Debian and of python.org do."
    if SQLITE_VERSION < _OLDEST_SQLITE:
        return fail(f"SQLite {version} is too old", f"Arvis needs {'.'.join(map(str, _OLDEST_SQLITE))}.", fix)
    lacks = sqlite_lacks()
    if not SQLITE_THREADS or set(lacks) - _LATER:
        why = f"It was built without {', '.join([*lacks, *([] if SQLITE_THREADS else ['threads'])])}."
        return fail(f"SQLite {version} cannot be used", why, fix)
    if lacks:
        why = f"It was built without {', '.join(lacks)}, which search will need."
        return warn(f"SQLite {version} is enough for this version only", why, fix)
    return ok(f"SQLite {version}")


def check_encoding(scene: Scene) -> Verdict:
    name = scene.system.encoding
    if codecs.lookup(name).name == "utf-8":
        return ok("Standard output takes every letter (UTF-8)")
    why = f"Its encoding is {name}: answers of the command line show a question mark for what that lacks."
    return warn("Standard output cannot show every letter", why, "Set LANG=C.UTF-8, or PYTHONUTF8=1.")


def check_time_zones(_: Scene) -> Verdict:
    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        why = "This machine has no data about them, so a schedule can be given in UTC only."
        return warn("Time zones are not known", why, "Install tzdata (Debian: apt-get install tzdata).")
    return ok("Time zones are known")


def check_clock(scene: Scene) -> Verdict | None:
    """Retries, waits and leases depend on the clock: if it went back, they wait for that much longer."""
    if scene.records is None:
        return None
    behind = scene.records.newest_at - scene.now
    if behind <= _SMALL_STEP_MS:
        return ok(f"The clock shows {moment(scene.now)}")
    what = f"The clock is {behind // 1000} s behind the database"
    why = f"The newest row is of {moment(scene.records.newest_at)}. What is due by the clock waits for as long."
    fix = "Set the clock, best by a time service (timedatectl set-ntp true)."
    return fail(what, why, fix) if behind > _LARGE_STEP_MS else warn(what, why, fix)


def check_open_files(scene: Scene) -> Verdict:
    """Check the limit of the running daemon, else the limit that a start from here would get."""
    figures = scene.daemon.figures if scene.daemon is not None else {}
    most = figures.get("process_max_fds", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    is_open = figures.get("process_open_fds", 0)
    fix = "Raise the limit: `ulimit -n 65536` before the start, or LimitNOFILE= in the service."
    if most != resource.RLIM_INFINITY and is_open > most * _MANY_OPEN:
        why = f"{is_open:.0f} of {most:.0f} are open; at the limit it takes no more connections."
        return fail("The daemon has almost no files left", why, fix)
    if most != resource.RLIM_INFINITY and most < _FEW_FILES:
        why = f"The limit is {most:.0f}, and every open chat takes one."
        return warn("A process may open few files", why, fix)
    return ok("A process may open enough files")


def check_memory(scene: Scene) -> Verdict | None:
    free = _available(scene.system.proc / "meminfo")
    group = _left_in_group(scene.system.control_group)
    left = min((size for size in (free, group) if size is not None), default=None)
    if left is None:
        return None
    if left < _LITTLE_MEMORY:
        why = f"{left // _MEGABYTE} MB are left; the system may end the daemon."
        return warn("There is little memory", why, "Give the machine or the container more, or stop something else.")
    return ok(f"{left // _MEGABYTE} MB of memory are left")


def _available(meminfo: Path) -> int | None:
    """Bytes that programs may still take; None where Linux does not say."""
    for line in _text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _left_in_group(group: Path) -> int | None:
    """Bytes up to the container's limit; what is only a copy of files counts as free. None where there is no limit."""
    most, used = _text(group / "memory.max").strip(), _text(group / "memory.current").strip()
    if not most.isdecimal() or not used.isdecimal():
        return None
    kept = [line.split()[1] for line in _text(group / "memory.stat").splitlines() if line.startswith("inactive_file ")]
    return max(0, int(most) - int(used) + sum(map(int, kept)))


def _text(file: Path) -> str:
    """Return the text of the file; "" on systems without it."""
    try:
        return file.read_text(encoding="ascii", errors="replace") if os.access(file, os.R_OK) else ""
    except OSError:
        return ""


GROUP = Group(
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
