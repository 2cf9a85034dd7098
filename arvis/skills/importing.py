"""Import, trust, change and removal of skills by people.

A skill from outside is used only after an owner has trusted its hash. An owner trusts the skill by sending its text, by
naming the hash in an import after a preview, or by a later call of `trust`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.errors import Conflict, NotFound, ToolError, Unprocessable
from arvis.domain.text import storable
from arvis.domain.versions import Versioned, version_before
from arvis.ports.automation import TRUSTED_BEFORE_HASHES, StoredSkill
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.skills.archives import packed
from arvis.skills.bundle import Bundle, bundle_of
from arvis.skills.files import StoredSkillFiles
from arvis.skills.registry import SkillRegistry, skill_of_row, switch_skill
from arvis.skills.scan import Remark, remarks_on
from arvis.skills.skill import Skill, Source, read_skill, with_files
from arvis.skills.sources import BY_HAND, Content, Given, Sources
from arvis.skills.specification import SKILL_FILE

_MOST = 500
#: The maximum number of bytes of a file that is shown.
_SHOWN = 262_144


@dataclass(frozen=True, slots=True)
class Preview:
    """The content of a source before its import."""

    skill: Skill
    #: The existing skill that the import would replace.
    replaces: Skill | None
    remarks: Sequence[Remark]


class Importer:
    """The service that imports skills. `files` reads the files of imported skills."""

    def __init__(
        self, *, sources: Sources, files: StoredSkillFiles, store: Store, registry: SkillRegistry, clock: Clock
    ) -> None:
        self._sources = sources
        self._files = files
        self._store = store
        self._clock = clock
        self.registry = registry

    async def create(self, given: Given, *, by: str, replace: bool = False, seen: str | None = None) -> Skill:
        """Import a skill and return it. An imported skill with the same slug is replaced. A built-in or folder skill with
        the same slug is hidden until the imported skill is removed, but only if `replace` is True. `by` is the id of the
        person who imports. The skill is trusted if the person has sent its text, or if `seen` is its hash. Raise
        `Unprocessable` for an unusable source, and `Conflict` if the skill may not be stored or `seen` is another
        hash."""
        content = await self._sources.read(given)
        if seen is not None and content.skill.hash != seen:
            raise _changed()
        return await self._store_content(
            content, by=by, replace=replace, trusted=given.text is not None or seen is not None
        )

    async def preview(self, given: Given) -> Preview:
        """Return the content of a source. Store nothing. Raise `Unprocessable` if there is no usable skill."""
        content = await self._sources.read(given)
        shown = (await self.registry.look_again()).skills.get(content.skill.slug)
        return Preview(content.skill, shown, await _remarks(content.skill, content.bundle))

    async def remarks(self, skill: Skill) -> Sequence[Remark]:
        """Return the remarks about an imported skill. Return no remarks about other skills, because these skills come
        from Arvis or the operator."""
        if skill.source is not Source.IMPORTED:
            return []
        try:
            return await _remarks(skill, await self._files.bundle(skill) if skill.files else None)
        except ToolError as error:
            return [Remark(SKILL_FILE, 0, f"cannot be checked: {error.what}")]

    async def file(self, slug: str, path: str) -> tuple[bytes, int]:
        """Return the beginning of a file of a skill, and the size of the whole file. Raise `NotFound` if the file does
        not exist, and `Conflict` if the files have changed since they were loaded."""
        skill = await self._known(slug)
        if path not in skill.files:
            raise NotFound("The skill has no such file.", fix="`arvis skills show` lists its files.")
        try:
            data = (await self._files.bundle(skill)).files[path]
        except ToolError as error:
            raise Conflict(error.what, fix="Import the skill again.", code="skill_changed") from None
        return data[:_SHOWN], len(data)

    async def trust(self, slug: str, *, seen: str, by: str) -> Skill:
        """Trust the content of an imported skill whose hash is `seen`. Raise `NotFound` if the skill does not exist.
        Raise `Conflict` if its content is different or it is not an imported skill."""
        skill = await self._known(slug)
        if skill.source is not Source.IMPORTED:
            raise Conflict(f"{slug} is {_KINDS[skill.source]} and needs no trust.", fix="Use it.", code="not_imported")
        if skill.hash != seen:
            raise _changed()
        if skill.files:
            await self.file(slug, next(iter(skill.files)))  # the stored files must have this hash
        if not await self._store.write(_trust, skill, by, self._clock.now()):
            raise _changed()
        return (await self.registry.look_again()).skills[slug]

    async def _store_content(self, content: Content, *, by: str, replace: bool, trusted: bool) -> Skill:
        skill = content.skill
        shown = (await self.registry.look_again()).skills.get(skill.slug)
        if shown is not None and shown.source is not Source.IMPORTED and not replace:
            raise Conflict(
                f"There is already {_KINDS[shown.source]} with the slug {skill.slug}.",
                fix="Change the name in your text, or choose to replace the existing skill.",
                code="slug_taken",
            )
        trusted = trusted or (shown is not None and shown.trusted and shown.hash == skill.hash)
        now = self._clock.now()
        row = StoredSkill(
            skill.slug,
            storable(skill.text),
            content.origin,
            by,
            created_at=now,
            updated_at=now,
            trusted=skill.hash if trusted else None,
            files=content.bundle.manifest if content.bundle is not None else {},
        )
        data = await asyncio.to_thread(packed, content.bundle) if content.bundle is not None else None
        await self._store.write(put_skill, row, data)
        return (await self.registry.look_again()).skills[skill.slug]

    async def edit(self, slug: str, text: str, *, by: str) -> Skill:
        """Change the text of a skill. The new text is stored as an imported skill, which hides a built-in or folder
        skill; the other files stay. Raise `NotFound` or `Unprocessable`."""
        known = await self._known(slug)
        skill = read_skill(text, stem=None, source=Source.IMPORTED)
        if skill.slug != slug:
            raise Unprocessable(
                f"The text has another name. This skill must keep the name {slug}.", fix="Write this name in the text."
            )
        if not known.files:
            return await self._store_content(Content(skill, None, BY_HAND), by=by, replace=True, trusted=True)
        try:
            files = (await self._files.bundle(known)).files
        except ToolError as error:
            raise Conflict(error.what, fix="Import the skill again.", code="skill_changed") from None
        bundle = bundle_of({**files, SKILL_FILE: skill.text.encode()}.items())
        skill = read_skill(bundle.text, stem=None, source=Source.IMPORTED)
        content = Content(with_files(skill, bundle), bundle, known.origin or BY_HAND)
        return await self._store_content(content, by=by, replace=True, trusted=known.trusted)

    async def switch(self, slug: str, *, enabled: bool) -> None:
        """Enable or disable a skill. Raise `NotFound`."""
        await self._known(slug)
        await self._store.write(switch_skill, slug, enabled, self._clock.now())
        await self.registry.look_again()

    async def undo(self, slug: str, *, by: str) -> Skill | None:
        """Undo the last change of an imported skill. Return the skill that is now used for this slug, or None. Raise
        `Conflict` if there is no change to undo."""
        await self._store.write(_undo, slug, by, self._clock.now())
        return (await self.registry.look_again()).skills.get(slug)

    async def _known(self, slug: str) -> Skill:
        skill = (await self.registry.look_again()).skills.get(slug)
        if skill is None:
            raise no_skill()
        return skill

    async def remove(self, slug: str, *, by: str | None = None) -> None:
        """Remove an imported skill. Raise `NotFound` if there is no skill with this slug, and `Conflict` for a built-in
        or folder skill."""
        if await self._store.write(_remove, slug, by, self._clock.now()):
            await self.registry.look_again()
            return
        shown = (await self.registry.look_again()).skills.get(slug)
        if shown is None:
            raise no_skill()
        raise Conflict(
            f"{slug} is {_KINDS[shown.source]} and cannot be removed here.",
            fix=_INSTEAD[shown.source],
            code="not_imported",
        )


_KINDS = {
    Source.BUILT_IN: "a built-in skill",
    Source.FOLDER: "a skill of the skills folder",
    Source.IMPORTED: "an imported skill",
}
_INSTEAD = {
    Source.BUILT_IN: "Import a skill with this slug to replace it.",
    Source.FOLDER: "Delete its file or directory in the folder `skills` of the data folder.",
    Source.IMPORTED: "Try again.",
}


def no_skill() -> NotFound:
    return NotFound("There is no such skill.", fix="`arvis skills list` and GET /api/skills list the skills.")


def _changed() -> Conflict:
    return Conflict(
        "The skill has changed since you read it.",
        fix="Read it again, then import or trust it.",
        code="changed_meanwhile",
    )


async def _remarks(skill: Skill, bundle: Bundle | None) -> Sequence[Remark]:
    files = bundle.files if bundle is not None else {SKILL_FILE: skill.text.encode()}
    return await asyncio.to_thread(remarks_on, skill, files)


@dataclass(frozen=True, slots=True)
class _Changed:
    """The author and the time (ms) of a change."""

    by: str | None
    now: int


def put_skill(tx: Transaction, skill: StoredSkill, bundle: bytes | None = None) -> None:
    """Store an imported skill, a version of it, and an entry in the audit log."""
    known = tx.skills.get(skill.slug)
    if known is None and len(tx.skills.stamps()) >= _MOST:
        raise Conflict(f"There are {_MOST} imported skills already.", fix="Remove one that is not needed.")
    _store_version(tx, skill.slug, skill, bundle, _Changed(skill.by_id, skill.updated_at))
    if known is not None:
        skill = replace(skill, updated_at=max(skill.updated_at, known.updated_at + 1))
    tx.skills.put(skill, bundle)
    _note(tx, AccessKind.SKILL_IMPORTED, skill, skill.by_id, skill.updated_at)


def _trust(tx: Transaction, skill: Skill, by: str, now: int) -> bool:
    slug, seen = skill.slug, skill.hash
    known = tx.skills.get(slug)
    if known is None or skill_of_row(known).hash != seen:
        return False
    trusted = replace(known, trusted=seen)
    bundle = tx.skills.bundle(slug) if known.files else None
    tx.versions.keep(Versioned.SKILL, slug, _data_of(trusted, bundle), by, now, before=_data_of(known, bundle))
    tx.versions.forget_old(Versioned.SKILL, slug)  # each version contains all files
    tx.skills.trust(slug, seen, max(now, known.updated_at + 1))
    _note(tx, AccessKind.SKILL_TRUSTED, trusted, by, now)
    return True


def _note(tx: Transaction, kind: AccessKind, skill: StoredSkill, by: str | None, now: int) -> None:
    details = {"source": skill.source, "trusted": skill.trusted, "files": len(skill.files)}
    tx.audit.add(access_entry(tx.new_id(), Access(kind, skill.slug, details), now, by))


def _remove(tx: Transaction, slug: str, by: str | None, now: int) -> bool:
    known = tx.skills.get(slug)
    if known is None:
        return False
    _store_version(tx, slug, None, None, _Changed(by, now))
    _note(tx, AccessKind.SKILL_REMOVED, known, by, now)
    return tx.skills.remove(slug)


def _undo(tx: Transaction, slug: str, by: str, now: int) -> None:
    known = tx.skills.get(slug)
    data = version_before(tx.versions.newest(Versioned.SKILL, slug, 2)).data
    if data is None:
        _remove(tx, slug, by, now)
        return
    begun, at = (known.created_at, max(now, known.updated_at + 1)) if known else (now, now)
    row = StoredSkill(
        slug,
        data["text"],
        data["source"],
        by,
        created_at=begun,
        updated_at=at,
        trusted=data.get("trusted", TRUSTED_BEFORE_HASHES),
        files={path: (size, digest) for path, (size, digest) in data.get("files", {}).items()},
    )
    bundle = base64.b64decode(data["bundle"]) if data.get("bundle") else None
    _store_version(tx, slug, row, bundle, _Changed(by, now))
    tx.skills.put(row, bundle)
    _note(tx, AccessKind.SKILL_IMPORTED, row, by, now)


def _store_version(
    tx: Transaction, slug: str, after: StoredSkill | None, bundle: bytes | None, changed: _Changed
) -> None:
    """Store a version of a changed skill. If text and files are unchanged, store no version, because undoing it would
    have no effect. `bundle` are the files of `after`."""
    before = tx.skills.get(slug)
    if before is not None and after is not None and _content_of(before) == _content_of(after):
        return
    kept = _data_of(before, tx.skills.bundle(slug) if before is not None and before.files else None)
    tx.versions.keep(Versioned.SKILL, slug, _data_of(after, bundle), changed.by, changed.now, before=kept)
    tx.versions.forget_old(Versioned.SKILL, slug)


def _content_of(skill: StoredSkill) -> tuple[str, dict[str, tuple[int, str]]]:
    return skill.text, dict(skill.files)


def _data_of(skill: StoredSkill | None, bundle: bytes | None) -> dict[str, Any] | None:
    if skill is None:
        return None
    data: dict[str, Any] = {"text": skill.text, "source": skill.source, "trusted": skill.trusted}
    if bundle is None:
        return data
    files = {path: list(each) for path, each in skill.files.items()}
    return {**data, "files": files, "bundle": base64.b64encode(bundle).decode()}
