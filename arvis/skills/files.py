"""The files of skills for tools: read, checked against their hashes, and written to a folder for programs in the
sandbox.

The files of a skill are written to a folder whose name is their hash when a program first needs them. So programs see
only the files that were loaded and trusted, and no other files of the skill's directory, such as a hidden file.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from arvis.domain.agents import Agent
from arvis.domain.errors import ToolError, Unprocessable
from arvis.ports.clock import Clock
from arvis.ports.skills import SkillFile
from arvis.ports.store import Store, Transaction
from arvis.skills.bundle import Bundle, bundle_of_folder
from arvis.skills.registry import AvailableSkills
from arvis.skills.skill import Skill, skills_of
from arvis.skills.specification import SKILL_FILE

log = structlog.get_logger(__name__)

#: A folder that no program has used for this time is removed.
_UNUSED_MS = 86_400_000
_PRIVATE, _PROGRAM = 0o600, 0o700
#: The maximum number of names that an error lists.
_MOST_LISTED = 10


class StoredSkillFiles:
    """Implements `SkillFiles`. `skills` returns the current skills. `folder` contains the files for programs; the
    daemon creates it."""

    def __init__(
        self, *, skills: Callable[[], Awaitable[AvailableSkills]], store: Store, folder: Path, clock: Clock
    ) -> None:
        self._skills = skills
        self._store = store
        self._folder = folder
        self._clock = clock
        self._laying = asyncio.Lock()

    async def read(self, agent: Agent, skill: str, path: str) -> SkillFile:
        known = {each.slug: each for each in await self._of(agent)}
        found = known.get(skill)
        if found is None:
            raise ToolError(f"You have no skill {skill[:64]!r}. Your skills: {_listed(known)}.")
        if path == SKILL_FILE:
            return SkillFile(found.text.encode(), found.files)
        if path not in found.files:
            raise ToolError(f"The skill {skill} has no file {path[:100]!r}. Its files: {_listed(found.files)}.")
        return SkillFile((await self.bundle(found)).files[path], {})

    async def folders(self, agent: Agent) -> Mapping[str, Path]:
        if not agent.skills:
            return {}
        found = [skill for skill in await self._of(agent) if skill.files]
        return {skill.slug: await self._laid_out(skill) for skill in found}

    async def bundle(self, skill: Skill) -> Bundle:
        """Return the files of a skill. Raise `ToolError` if the files differ from those that were loaded and
        trusted."""
        try:
            if skill.folder is not None:
                bundle = await asyncio.to_thread(bundle_of_folder, skill.folder)
            else:
                packed = await self._store.read(_packed, skill.slug)
                bundle = await asyncio.to_thread(_unpacked, packed or b"")
        except Unprocessable as error:
            raise ToolError(f"The files of the skill {skill.slug} cannot be read: {error.why}.") from None
        if bundle.digest != skill.digest:
            log.warning("skill_files_changed", skill=skill.slug, expected=skill.digest, found=bundle.digest)
            raise ToolError(f"The files of the skill {skill.slug} do not match its hash, so they are not used.")
        return bundle

    async def _of(self, agent: Agent) -> list[Skill]:
        return skills_of(agent.skills, (await self._skills()).active) if agent.skills else []

    async def _laid_out(self, skill: Skill) -> Path:
        """Return the folder with the files of a skill, after a check of its content."""
        target = self._folder / skill.digest
        async with self._laying:
            if await asyncio.to_thread(_has, target, skill.digest):
                return target
            bundle = await self.bundle(skill)
            if target.exists():
                log.warning("skill_files_changed", skill=skill.slug, folder=str(target))
            try:
                await asyncio.to_thread(_lay_out, bundle, target, self._clock.now())
            except OSError as error:
                why = error.strerror or type(error).__name__
                raise ToolError(f"The files of the skill {skill.slug} could not be written: {why}.") from None
        return target


def _listed(names: Collection[str]) -> str:
    """Return a text with the first names and the number of the other names."""
    more = len(names) - _MOST_LISTED
    shown = ", ".join([*names][:_MOST_LISTED]) or "none"
    return f"{shown} and {more} more" if more > 0 else shown


def _packed(tx: Transaction, slug: str) -> bytes | None:
    return tx.skills.bundle(slug)


def _unpacked(data: bytes) -> Bundle:
    from arvis.skills.archives import bundle_of_archive  # noqa: PLC0415 - most agents have no skills with files

    return bundle_of_archive(data, "", whole=False)


def _has(folder: Path, digest: str) -> bool:
    try:
        found = folder.is_dir() and bundle_of_folder(folder).digest == digest
        if found:
            folder.touch()  # shows that the folder is used
    except (OSError, Unprocessable):
        return False
    return found


def _lay_out(bundle: Bundle, target: Path, now: int) -> None:
    """Write the files. If the process crashes, a folder with another name remains, which a later call removes."""
    target.parent.mkdir(mode=_PROGRAM, parents=True, exist_ok=True)
    for other in target.parent.iterdir():
        with suppress(FileNotFoundError):
            if other == target or other.stat().st_mtime * 1000 < now - _UNUSED_MS:
                shutil.rmtree(other, ignore_errors=True)
    draft = target.parent / f".{secrets.token_hex(8)}"
    for path, data in bundle.files.items():
        file = draft / path
        file.parent.mkdir(mode=_PROGRAM, parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(_PROGRAM if data.startswith(b"#!") else _PRIVATE)
    try:
        draft.rename(target)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not target.is_dir():  # else another process was faster; the caller checks its files at the next use
            raise
