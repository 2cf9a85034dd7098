"""The files of a skill: read from a directory, limited, and hashed.

A skill from outside is treated as hostile input. Links, devices, absolute names, names that lead out of the directory,
and anything above the limits are refused.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from arvis.domain.errors import Unprocessable
from arvis.domain.text import storable
from arvis.skills.specification import SKILL_FILE, SKILL_FILES

#: The limits of a skill: the number of files, the bytes of one file and of all files, the characters of a path and the
#: number of names in it.
MOST_FILES = 500
LARGEST_FILE = 4_194_304
LARGEST_SKILL = 8_388_608
_LONGEST_PATH = 200
_DEEPEST = 8

#: The directory entries that are not part of a skill. Entries that begin with a dot, such as the history of a
#: repository, are left out too.
_LEFT_OUT = frozenset({"__pycache__", "__MACOSX", "node_modules"})


class Bundle:
    """The files of a skill by their paths, which are relative to the directory of the skill."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(sorted(files.items()))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all paths and contents. Two skills with the same digest have the same files."""
        return digest_of({path: digest for path, (_, digest) in self.manifest.items()})

    @cached_property
    def manifest(self) -> Mapping[str, tuple[int, str]]:
        """The size and the SHA-256 of each file by its path."""
        return {path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in self.files.items()}

    @property
    def text(self) -> str:
        """The text of `SKILL.md`."""
        return self.files[SKILL_FILE].decode()


def bundle_of_folder(folder: Path) -> Bundle:
    """Read a directory with a `SKILL.md`. Raise `Unprocessable` if it contains something that a skill must not
    contain."""
    return bundle_of(_files_in(folder))


def bundle_of(entries: Iterable[tuple[str, bytes]]) -> Bundle:
    """Return the bundle of these files. Raise `Unprocessable` if the files are not a skill."""
    files = dict(within_limits(entries))
    if SKILL_FILE not in files and (second := files.pop(SKILL_FILES[1], None)) is not None:
        files[SKILL_FILE] = second
    if SKILL_FILE not in files:
        raise refused(f"it has no file {SKILL_FILE}")
    try:
        text = storable(files[SKILL_FILE].decode("utf-8-sig"))
    except UnicodeError:
        raise refused(f"its {SKILL_FILE} is not UTF-8 text") from None
    return Bundle({**files, SKILL_FILE: text.encode()})


def digest_of(files: Mapping[str, str]) -> str:
    """Return the digest of a skill from the SHA-256 of each file."""
    lines = (f"{digest} {path}\n" for path, digest in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def within_limits(entries: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the files within the limits. Two names that some systems cannot distinguish are refused."""
    seen: set[str] = set()
    total = 0
    for path, data in entries:
        key = unicodedata.normalize("NFKC", path).casefold()
        total += len(data)
        if key in seen:
            raise refused(f"two files have the name {path[:60]!r}")
        if len(seen) == MOST_FILES:
            raise refused(f"it has more than {MOST_FILES} files")
        if len(data) > LARGEST_FILE or total > LARGEST_SKILL:
            raise too_large()
        seen.add(key)
        yield path, data


def refuse_name(path: str) -> None:
    """Raise `Unprocessable` if a file of a skill must not have this name."""
    names = path.split("/")
    if path.startswith("/") or "\\" in path or ":" in names[0]:
        raise refused(f"the name {path[:60]!r} is absolute")
    if any(name in {"", ".", ".."} for name in names):
        raise refused(f"the name {path[:60]!r} leads out of the skill")
    if len(path) > _LONGEST_PATH or len(names) > _DEEPEST:
        raise refused(f"the name {path[:60]!r} is too long")
    if not path.isprintable():
        raise refused(f"the name {path[:60]!r} contains characters that are not visible")


def is_left_out(path: str) -> bool:
    """Return True for a path that is not part of a skill, such as a path in `.git`."""
    return any(name.startswith(".") or name in _LEFT_OUT for name in path.split("/"))


def refused(why: str) -> Unprocessable:
    """Return the error for a skill that cannot be used."""
    return Unprocessable(
        f"The skill cannot be used: {why}.",
        why=why,
        fix=f"Give a directory, or a zip or tar archive of a directory, with a {SKILL_FILE} and regular files.",
        code="bad_skill",
    )


def too_large() -> Unprocessable:
    return refused(f"a file has more than {LARGEST_FILE:,} bytes, or all files together more than {LARGEST_SKILL:,}")


# -- directories -------------------------------------------------------------------------------------------------------


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files and links below a directory, in a fixed order. Entries that are not part of a skill are left out
    with everything below them, and links are not followed."""
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not is_left_out(name))
        links = [name for name in folders if Path(place, name).is_symlink()]
        yield from (Path(place, name) for name in sorted([*links, *names]) if not is_left_out(name))


def _files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    try:
        for file in files_below(folder):
            path = os.path.relpath(file, folder)
            if file.is_symlink():
                raise refused(f"{path[:60]!r} is a link")
            refuse_name(path)
            yield path, _read_regular(file, path)
    except OSError as error:
        raise refused(f"a file cannot be read ({error.strerror})") from None


def _read_regular(file: Path, path: str) -> bytes:
    """Return the content of a file. The file is opened without following a link and without waiting for a pipe."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise refused(f"{path[:60]!r} is not a regular file")
        return stream.read(LARGEST_FILE + 1)
