"""The registry of all skills: those that Arvis contains, those in the operator's folder, and imported ones.

The registry is a cache of files and rows. It loads all skills again when a file or a row has changed. A skill that
cannot be read is skipped and reported once; the other skills still work.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import structlog

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.ports.automation import StoredSkill
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.skills.skill import LARGEST_FILE, Skill, Source, read_skill

log = structlog.get_logger(__name__)

BUILT_IN = Path(__file__).parent / "builtin"

#: The minimum number of seconds between two checks of the files and rows for changes.
_LOOK_SECONDS = 3.0
#: The maximum number of files that are read in a folder.
_MOST_FILES = 1_000

#: Data by which a change of the skills is detected: the time and size of each file by path, the time of each row by
#: slug, and the disabled slugs.
Stamp = tuple[Mapping[str, tuple[int, int]], Mapping[str, int], frozenset[str]]

#: The key in the table `settings` with the JSON list of disabled slugs.
_OFF = "skills.disabled"


@dataclass(frozen=True, slots=True)
class AvailableSkills:
    """The loaded skills. `skills` contains them by slug, without the skills that another skill hides. `problems` are
    sentences about ignored skills and ignored parts of skills. `off` contains the disabled slugs."""

    skills: Mapping[str, Skill]
    problems: Sequence[str]
    off: frozenset[str] = frozenset()

    @property
    def active(self) -> Sequence[Skill]:
        return [skill for slug, skill in self.skills.items() if slug not in self.off]


@dataclass(frozen=True, slots=True)
class _Look:
    stamp: Stamp
    available: AvailableSkills


class SkillRegistry:
    """The registry of skills. `folder` is the operator's folder (`DATA/skills`), which may be missing."""

    def __init__(self, *, store: Store, clock: Clock, folder: Path, built_in: Path = BUILT_IN) -> None:
        self._store = store
        self._clock = clock
        self._folders = {Source.BUILT_IN: built_in, Source.FOLDER: folder}
        self._reading = asyncio.Lock()
        self._last: _Look | None = None
        self._looked_at = 0.0
        self._reported: frozenset[str] = frozenset()

    async def current(self) -> AvailableSkills:
        """Return the skills. Changes of the last `_LOOK_SECONDS` seconds may be missing."""
        async with self._reading:
            if self._last is None or self._clock.monotonic() - self._looked_at >= _LOOK_SECONDS:
                self._last = await self._look(self._last)
                self._looked_at = self._clock.monotonic()
            return self._last.available

    async def look_again(self) -> AvailableSkills:
        """Return the skills after a new check of the files and rows, because one of them was just changed."""
        async with self._reading:
            self._last = None
        return await self.current()

    async def _look(self, last: _Look | None) -> _Look:
        files = await asyncio.to_thread(_stamps_of, tuple(self._folders.values()))
        stamp = (files, *await self._store.read(_stamps))
        if last is not None and last.stamp == stamp:
            return last
        rows = await self._store.read(_rows)
        available = replace(await asyncio.to_thread(_read_all, self._folders, rows), off=stamp[2])
        for problem in available.problems:
            if problem not in self._reported:
                log.warning("skill_problem", problem=problem)
        self._reported = frozenset(available.problems)
        return _Look(stamp, available)


def switch_skill(tx: Transaction, slug: str, enabled: bool, now: int) -> None:
    """Enable or disable a skill of any source by its slug. The setting stays when another skill replaces the skill."""
    off = off_of(tx)
    wanted = off | {slug} if not enabled else off - {slug}
    if wanted != off:
        tx.settings.put(_OFF, json.dumps(sorted(wanted)), now)


def off_of(tx: Transaction) -> frozenset[str]:
    return frozenset(json.loads(tx.settings.get(_OFF) or "[]"))


def _stamps(tx: Transaction) -> tuple[Mapping[str, int], frozenset[str]]:
    return tx.skills.stamps(), off_of(tx)


def _rows(tx: Transaction) -> Sequence[StoredSkill]:
    return tx.skills.all()


def _stamps_of(folders: Sequence[Path]) -> Mapping[str, tuple[int, int]]:
    """Return the time and the size of each file, by path. This reads the disk, so callers run it on a thread."""
    stamps = {}
    for folder in folders:
        for file in _files(folder):
            try:
                found = file.stat()
            except OSError:
                continue  # the file was deleted after it was listed
            stamps[str(file)] = (found.st_mtime_ns, found.st_size)
    return stamps


def _files(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files below a folder, ordered by path. Links to files outside the folder are ignored."""
    try:
        home = folder.resolve(strict=True)
        found = sorted(islice(folder.rglob("*.md"), _MOST_FILES))
    except OSError:
        return
    for file in found:
        try:
            place = file.resolve(strict=True)
        except (OSError, RuntimeError):
            continue  # a link whose target is missing, or that points to itself
        if place.is_relative_to(home) and place.is_file():
            yield file


def _read_all(folders: Mapping[Source, Path], rows: Sequence[StoredSkill]) -> AvailableSkills:
    found = _Found()
    for source, folder in folders.items():
        for file in _files(folder):
            found.take(source, str(file.relative_to(folder)), _text_of(file), stem=file.stem)
    for row in rows:
        found.take(Source.IMPORTED, row.slug, row.text, stem=None)
    return AvailableSkills(dict(sorted(found.skills.items())), found.problems)


class _Found:
    """A collection of the skills that were read so far. If two skills have the same slug, the one from the later source
    replaces the other."""

    def __init__(self) -> None:
        self.skills: dict[str, Skill] = {}
        self.problems: list[str] = []

    def take(self, source: Source, name: str, text: str | None, *, stem: str | None) -> None:
        where = f"{source.replace('_', '-')} skill {name}"
        if text is None:
            self.problems.append(f"{where}: it is not UTF-8 text, or not readable")
            return
        try:
            skill = read_skill(text, stem=stem, source=source)
        except Unprocessable as error:
            self.problems.append(f"{where}: {error.why}")
            return
        self.problems.extend(f"{where}: {warning}" for warning in skill.warnings)
        if skill.slug in self.skills and self.skills[skill.slug].source is source:
            self.problems.append(f"{where}: it is ignored, because another skill there has the slug {skill.slug} too")
        else:
            self.skills[skill.slug] = skill


def _text_of(file: Path) -> str | None:
    """Return the text of a file, or None if it is unreadable or not UTF-8. Of a file that is too large, only one byte
    more than the limit is read: enough for `read_skill` to refuse it."""
    try:
        with file.open("rb") as stream:
            return stream.read(LARGEST_FILE + 1).decode("utf-8")
    except (OSError, UnicodeError):
        return None
