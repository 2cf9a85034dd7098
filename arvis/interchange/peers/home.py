"""Reads the files of a copy of another program's home directory.

The files are untrusted. Only files inside the directory are read, and nothing is written. A damaged file leads to a
remark, and the import continues with the other files.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from arvis.config.yaml_text import UnreadableText, read_texts
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.regex import regex

Row = Mapping[str, Any]
#: Yields the rows of tables of a SQLite file, as `arvis.store.copied_tables.read_tables` does.
ReadTables = Callable[[Path, Mapping[str, Sequence[str]]], Iterator[tuple[str, Row]]]

#: The maximum sizes in bytes of a file that is read whole, of a JSON Lines file, and of one line of such a file.
_LARGEST_TEXT = 8_000_000
_LARGEST_LINES = 1_000_000_000
_LONGEST_LINE = 16_000_000
_MOST_FILES = 100_000
_DEEPEST = 6

#: Strings and comments of JSON5. Strings are matched first, so that a `//` inside a string is not a comment.
_JSON5 = regex(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Remark:
    """A note about data that is changed or not imported, with the reason and the next step."""

    kind: str
    name: str
    why: str


class Home:
    """The files below `root`. A file name is a path relative to `root`, with `/` as separator. Problems are added to
    `remarks`."""

    def __init__(self, root: Path, *, tables: ReadTables) -> None:
        self.root = root.resolve()
        self.remarks: list[Remark] = []
        self._tables = tables

    def leave(self, kind: str, name: str, why: str) -> None:
        self.remarks.append(Remark(kind, name, why))

    def has(self, name: str) -> bool:
        return (self.root / name).exists()

    def text(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist or cannot be read."""
        file = self._file(name)
        if file is None:
            return None
        try:
            with file.open("rb") as opened:
                data = opened.read(_LARGEST_TEXT + 1)
        except OSError as error:
            self._unread(name, error.strerror or str(error))
            return None
        if len(data) > _LARGEST_TEXT:
            self._unread(name, f"it is larger than {_LARGEST_TEXT // 1_000_000} MB")
            return None
        return self._decoded(name, data)

    def values(self, name: str) -> dict[str, Any]:
        """Return the object in a file of JSON, JSON5 or YAML. In JSON5 and YAML files, all values are read as texts."""
        text = self.text(name)
        if text is None:
            return {}
        try:
            found = json.loads(text)
        except RecursionError:
            self._unread(name, "it is nested too deeply")
            return {}
        except ValueError:
            found = self._lenient(name, text)
        if isinstance(found, dict):
            return found
        if found is not None:
            self._unread(name, "it does not contain an object")
        return {}

    def lines(self, name: str) -> Iterator[tuple[int, Row]]:
        """Yield the objects of a file of JSON lines, with their line numbers. All lines that are not objects are
        reported in one remark."""
        file = self._file(name)
        if file is None:
            return
        bad = list[int]()
        try:
            if file.stat().st_size > _LARGEST_LINES:
                self._unread(name, f"it is larger than {_LARGEST_LINES // 1_000_000} MB")
                return
            with file.open("rb") as opened:
                for number, line in enumerate(_short_lines(opened), start=1):
                    row = _object(line)
                    if row is not None:
                        yield number, row
                    elif line is None or line.strip():
                        bad.append(number)
        except OSError as error:
            self._unread(name, error.strerror or str(error))
        if bad:
            shown = ", ".join(map(str, bad[:10])) + (", …" if len(bad) > 10 else "")  # noqa: PLR2004 - a list for people
            self.leave("files", name, f"{len(bad)} lines are not JSON objects and are left out: {shown}")

    def rows(self, name: str, wanted: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Row]]:
        """Yield the rows of tables of a SQLite file, each with the name of its table. The tables are in the order of
        `wanted`."""
        file = self._file(name)
        if file is None:
            return
        try:
            yield from self._tables(file, wanted)
        except Unprocessable as error:
            self.leave("files", name, f"it was read only in part: {error.why}. {error.fix}")

    def entries(self, folder: str) -> list[str]:
        """Return the names of the files and folders in a folder, in alphabetical order."""
        try:
            if not self._inside(folder):
                return []
            found = sorted(each.name for each in (self.root / folder).iterdir())
        except (NotADirectoryError, FileNotFoundError):
            return []
        except OSError as error:
            self._unread(folder, error.strerror or str(error))
            return []
        if len(found) > _MOST_FILES:
            self._unread(folder, f"it has more than {_MOST_FILES} entries; only the first {_MOST_FILES} are read")
        return [f"{folder}/{name}" if folder else name for name in found[:_MOST_FILES]]

    def below(self, folder: str, depth: int = _DEEPEST) -> Iterator[str]:
        """Yield the names of all files below a folder. Links to folders are not followed, so there are no cycles."""
        for name in self.entries(folder):
            path = self.root / name
            if path.is_dir() and not path.is_symlink():
                if depth > 0:
                    yield from self.below(name, depth - 1)
                else:
                    self._unread(name, f"it is more than {_DEEPEST} folders deep")
            elif not path.is_dir():
                yield name

    def inside(self, path: str, markers: Sequence[str]) -> str | None:
        """Convert a path of the other machine to a file name in this home; return None if the path is outside the other
        program's home. The home is the last folder of the path whose name is in `markers`."""
        parts = path.replace("\\", "/").split("/")
        ends = [number for number, part in enumerate(parts) if part in markers]
        return "/".join(parts[ends[-1] + 1 :]) if ends else None

    def _file(self, name: str) -> Path | None:
        """Return the path of a regular file inside the home; None if there is no such file."""
        path = self.root / name
        try:
            if not path.is_symlink() and not path.exists():
                return None
            if not self._inside(name):
                return None
            if not stat.S_ISREG(path.stat().st_mode):
                self._unread(name, "it is not a regular file")
                return None
        except (OSError, RuntimeError, ValueError) as error:
            self._unread(name, f"it is a broken link ({error})")
            return None
        return path

    def _inside(self, name: str) -> bool:
        """Return True if the file is inside the home after all links are followed."""
        try:
            found = (self.root / name).resolve(strict=True)
        except (RuntimeError, ValueError) as error:
            self._unread(name, f"it is a link to itself ({error})")
            return False
        if found.is_relative_to(self.root):
            return True
        self._unread(name, "it is a link to a path outside the directory; copy the target into the directory instead")
        return False

    def _decoded(self, name: str, data: bytes) -> str:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.leave("files", name, "it is not UTF-8; unreadable characters were replaced")
            return data.decode("utf-8", "replace")

    def _lenient(self, name: str, text: str) -> Any:
        try:
            return read_texts(_JSON5.sub(lambda found: found[1] or " ", text))
        except UnreadableText as error:
            self._unread(name, f"{error.text}. {error.fix}")
            return None

    def _unread(self, name: str, why: str) -> None:
        self.leave("files", name, why)


def _short_lines(opened: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the lines of a file. Yield None for a line that is too long."""
    while line := opened.readline(_LONGEST_LINE + 1):
        if len(line) <= _LONGEST_LINE:
            yield line
            continue
        while not line.endswith(b"\n") and (line := opened.readline(_LONGEST_LINE)):
            pass
        yield None


def _object(line: bytes | None) -> Row | None:
    try:
        found = json.loads(line) if line else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def as_map(value: Any) -> Row:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a text unchanged, and a whole number as its digits; return an empty text for any other value."""
    return (
        value
        if isinstance(value, str)
        else str(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else ""
    )
