"""The registry of all skills: built-in skills, skills in the operator's folder, and imported skills.

A directory with a `SKILL.md` is one skill with all files below it. Any other Markdown file in the folder is a skill of
the earlier form. The registry is a cache of files and rows. It loads all skills again when a file or a row has changed.
A skill that cannot be read is skipped and reported once; the other skills still work.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import structlog

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.ports.automation import TRUSTED_BEFORE_HASHES, StoredSkill
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.skills.bundle import bundle_of_folder, digest_of, files_below
from arvis.skills.skill import LARGEST_FILE, Skill, Source, read_skill, with_files
from arvis.skills.specification import SKILL_FILE, SKILL_FILES

log = structlog.get_logger(__name__)

BUILT_IN = Path(__file__).parent / "builtin"

_CHANGED = (
    "it is not used, because its content has changed since an owner trusted it; read it, and trust it again "
    "(`arvis skills trust`)"
)

#: The minimum number of seconds between two checks of the files and rows for changes.
_LOOK_SECONDS = 3.0
#: The maximum number of Markdown files that are read in a folder, and of files of one skill whose times are compared.
_MOST_FILES = 5_000
_MOST_IN_SKILL = 1_000

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
        return [skill for slug, skill in self.skills.items() if skill.trusted and slug not in self.off]


@dataclass(frozen=True, slots=True)
class _Look:
    stamp: Stamp
    available: AvailableSkills


class SkillRegistry:
    """The registry of skills. `folder` is the operator's folder (`DATA/skills`), which may be missing. With `convert`, the
    first load turns its files of the earlier form into directories."""

    def __init__(
        self, *, store: Store, clock: Clock, folder: Path, built_in: Path = BUILT_IN, convert: bool = False
    ) -> None:
        self._convert = convert
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
        """Check the files and rows for changes, and return the skills. Call this after a change of a file or row."""
        async with self._reading:
            self._last = None
        return await self.current()

    async def _look(self, last: _Look | None) -> _Look:
        if self._convert:
            self._convert = False
            await asyncio.to_thread(_convert, self._folders[Source.FOLDER])
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


def _convert(folder: Path) -> None:
    files = _skills_in(folder)[1]
    if files:
        from arvis.skills.conversion import convert  # noqa: PLC0415 - few data folders have such files

        convert(files)


def _stamps_of(folders: Sequence[Path]) -> Mapping[str, tuple[int, int]]:
    """Return the time and the size of each file, by path. This reads the disk, so callers run it on a thread."""
    stamps = {}
    for folder in folders:
        directories, files = _skills_in(folder)
        below = (file for each in directories for file in islice(files_below(each), _MOST_IN_SKILL))
        for file in (*files, *below):
            try:
                found = file.lstat()
            except OSError:
                continue  # the file was deleted after it was listed
            stamps[str(file)] = (found.st_mtime_ns, found.st_size)
    return stamps


def _skills_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the directories that are skills, and the Markdown files outside of them, each sorted by path. Links that lead
    out of the folder are ignored."""
    found = list(_files(folder))
    named = {file.parent for file in found if file.name in SKILL_FILES and file.parent != folder}
    directories = sorted(each for each in named if not named & {*each.parents})
    inside = set(directories)
    return directories, [file for file in found if not inside & {*file.parents}]


def _files(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files below a folder, ordered by path. Links to files outside the folder are ignored."""
    try:
        home = folder.resolve(strict=True)
        texts = (file for file in files_below(folder) if file.suffix == ".md")
        found = sorted(islice(texts, _MOST_FILES))
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
        directories, files = _skills_in(folder)
        for each in directories:
            found.take(source, str(each.relative_to(folder)), partial(_read_directory, each, source))
        for file in files:
            found.take(source, str(file.relative_to(folder)), partial(_read_file, file, source))
    for row in rows:
        found.take(Source.IMPORTED, row.slug, partial(skill_of_row, row))
    return AvailableSkills(dict(sorted(found.skills.items())), found.problems)


class _Found:
    """A collection of the skills that were read so far. If two skills have the same slug, the skill from the later
    source replaces the other skill."""

    def __init__(self) -> None:
        self.skills: dict[str, Skill] = {}
        self.problems: list[str] = []

    def take(self, source: Source, name: str, read: Callable[[], Skill]) -> None:
        where = f"{source.replace('_', '-')} skill {name}"
        try:
            skill = read()
        except Unprocessable as error:
            self.problems.append(f"{where}: {error.why}")
            return
        self.problems.extend(f"{where}: {warning}" for warning in skill.warnings)
        if skill.slug in self.skills and self.skills[skill.slug].source is source:
            why = f"another skill of the same source has the slug {skill.slug}"
            self.problems.append(f"{where}: it is ignored, because {why}")
        else:
            self.skills[skill.slug] = skill


def _read_directory(folder: Path, source: Source) -> Skill:
    bundle = bundle_of_folder(folder)
    return with_files(read_skill(bundle.text, stem=None, source=source, folder=folder.name), bundle, folder)


def skill_of_row(row: StoredSkill) -> Skill:
    """Read an imported skill, and compare its hash with the hash that an owner has trusted."""
    skill = read_skill(row.text, stem=None, source=Source.IMPORTED)
    if row.files:
        own = hashlib.sha256(row.text.encode()).hexdigest()
        digest = digest_of({**{path: digest for path, (_, digest) in row.files.items()}, SKILL_FILE: own})
        files = {path: size for path, (size, _) in row.files.items() if path != SKILL_FILE}
        skill = replace(skill, files=files, digest=digest)
    trusted = row.trusted == skill.hash or (row.trusted == TRUSTED_BEFORE_HASHES and not row.files)
    changed = row.trusted is not None and not trusted
    warnings = (*skill.warnings, _CHANGED) if changed else skill.warnings
    return replace(skill, trusted=trusted, changed=changed, warnings=warnings, origin=row.source)


def _read_file(file: Path, source: Source) -> Skill:
    """Read a file of the earlier form. Read at most one byte more than the limit: this is enough for `read_skill` to
    refuse a file that is too large."""
    try:
        with file.open("rb") as stream:
            text = stream.read(LARGEST_FILE + 1).decode("utf-8")
    except (OSError, UnicodeError):
        why = "it is not UTF-8 text, or not readable"
        raise Unprocessable(f"The skill cannot be used: {why}.", why=why, fix="Save the file as UTF-8.") from None
    return read_skill(text, stem=file.stem, source=source)
