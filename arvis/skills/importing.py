"""Import, change and removal of skills by people. A skill is imported from a text or a web address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from arvis.domain.errors import Conflict, NotFound, ToolError, Unprocessable
from arvis.domain.text import storable
from arvis.domain.versions import Versioned, version_before
from arvis.ports.automation import StoredSkill
from arvis.ports.clock import Clock
from arvis.ports.http import Fetched, Fetcher
from arvis.ports.store import Store, Transaction
from arvis.skills.registry import SkillRegistry, switch_skill
from arvis.skills.skill import Skill, Source, read_skill

_FETCHED_BYTES = 1 << 20
_FETCH_SECONDS = 15.0
_MOST = 500

#: The stored source of a skill that was given as a text.
BY_HAND = "text"


class Importer:
    """The service that imports skills. `fetcher` returns an HTTP client that connects only to public addresses. The
    client checks every address, also those after name resolution and redirects."""

    def __init__(
        self, *, fetcher: Callable[[], Awaitable[Fetcher]], store: Store, registry: SkillRegistry, clock: Clock
    ) -> None:
        self._fetcher = fetcher
        self._store = store
        self._clock = clock
        self.registry = registry

    async def from_text(self, text: str, *, by: str, replace: bool = False, source: str = BY_HAND) -> Skill:
        """Store a skill and return it. An imported skill with the same slug is replaced. A built-in or folder skill
        with the same slug is hidden until the imported skill is removed, but only if `replace` is True. `by` is the id
        of the person who imports. Raise `Unprocessable` for an unusable text, and `Conflict` if the skill may not be
        stored."""
        skill = read_skill(text, stem=None, source=Source.IMPORTED)
        shown = (await self.registry.look_again()).skills.get(skill.slug)
        if shown is not None and shown.source is not Source.IMPORTED and not replace:
            raise Conflict(
                f"There is already {_KINDS[shown.source]} with the slug {skill.slug}.",
                fix="Change the slug in your text, or choose to replace the existing skill.",
                code="slug_taken",
            )
        now = self._clock.now()
        row = StoredSkill(skill.slug, storable(text), source, by, created_at=now, updated_at=now)
        await self._store.write(put_skill, row)
        await self.registry.look_again()
        return skill

    async def from_address(self, url: str, *, by: str, replace: bool = False, seen: str | None = None) -> Skill:
        """Fetch the text at a public address and store it as `from_text` does. `seen` is the hash of the text that the
        person has read at this address. Raise `Conflict` if the text is different now."""
        text, source = await self._fetched(url)
        if seen is not None and read_skill(text, stem=None, source=Source.IMPORTED).hash != seen:
            raise Conflict(
                "The text at the address has changed since you read it.",
                fix="Read the text again, then import it.",
                code="changed_meanwhile",
            )
        return await self.from_text(text, by=by, replace=replace, source=source)

    async def preview(self, *, text: str | None = None, url: str | None = None) -> tuple[Skill, Skill | None]:
        """Return the skill that a text or an address contains, and the existing skill that it would replace. Store
        nothing. Raise `Unprocessable` if there is no usable skill."""
        if text is None:
            text, _ = await self._fetched(url or "")
        skill = read_skill(text, stem=None, source=Source.IMPORTED)
        return skill, (await self.registry.look_again()).skills.get(skill.slug)

    async def _fetched(self, url: str) -> tuple[str, str]:
        """Return the text at an address, and the final address after all redirects. Raise `Unprocessable` if there is
        no text."""
        try:
            fetched = await (await self._fetcher()).fetch(url, max_bytes=_FETCHED_BYTES, timeout=_FETCH_SECONDS)
        except ToolError as error:
            raise Unprocessable(
                f"The skill cannot be fetched: {error.what}",
                why=error.what,
                fix="Give a public http or https address, or the text itself.",
                code=error.code,
            ) from None
        return _text_of(fetched), fetched.url

    async def edit(self, slug: str, text: str, *, by: str) -> Skill:
        """Change the text of a skill. The new text is stored as an imported skill, which hides a built-in or folder
        skill. Raise `NotFound` or `Unprocessable`."""
        await self._known(slug)
        if read_skill(text, stem=None, source=Source.IMPORTED).slug != slug:
            raise Unprocessable(
                f"The text has another slug. This skill must keep its slug {slug}.", fix="Write this slug in the text."
            )
        return await self.from_text(text, by=by, replace=True)

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
    Source.BUILT_IN: "Import one with this slug to replace it.",
    Source.FOLDER: "Delete its file in the folder `skills` of the data folder.",
    Source.IMPORTED: "Try again.",
}


def no_skill() -> NotFound:
    return NotFound("There is no such skill.", fix="Look it up in the list (`arvis skills list`, GET /api/skills).")


def _text_of(fetched: Fetched) -> str:
    problem = None
    if fetched.status != HTTPStatus.OK:
        problem = f"it answers {fetched.status}"
    elif fetched.truncated:
        problem = f"it is larger than {_FETCHED_BYTES} bytes"
    try:
        text = fetched.body.decode("utf-8-sig")
    except UnicodeError:
        problem = problem or "it is not UTF-8 text"
        text = ""
    if problem is not None:
        raise Unprocessable(
            f"The address does not contain a skill: {problem}.",
            why=problem,
            fix="Open the address in a browser and check that it shows a Markdown file.",
        )
    return text


def put_skill(tx: Transaction, skill: StoredSkill) -> None:
    if tx.skills.get(skill.slug) is None and len(tx.skills.stamps()) >= _MOST:
        raise Conflict(f"There are {_MOST} imported skills already.", fix="Remove one that is not needed.")
    _keep(tx, tx.skills.get(skill.slug), skill, skill.by_id, skill.updated_at)
    tx.skills.put(skill)


def _remove(tx: Transaction, slug: str, by: str | None, now: int) -> bool:
    known = tx.skills.get(slug)
    if known is None:
        return False
    _keep(tx, known, None, by, now)
    return tx.skills.remove(slug)


def _undo(tx: Transaction, slug: str, by: str, now: int) -> None:
    known = tx.skills.get(slug)
    data = version_before(tx.versions.newest(Versioned.SKILL, slug, 2)).data
    if data is None:
        _remove(tx, slug, by, now)
        return
    begun, at = (known.created_at, max(now, known.updated_at + 1)) if known else (now, now)
    row = StoredSkill(slug, data["text"], data["source"], by, created_at=begun, updated_at=at)
    _keep(tx, known, row, by, now)
    tx.skills.put(row)


def _keep(tx: Transaction, before: StoredSkill | None, after: StoredSkill | None, by: str | None, now: int) -> None:
    """Store a version of a changed skill. If the text is unchanged, store none, because its undo would have no
    effect."""
    row = before or after
    if row is not None and (before is None or after is None or before.text != after.text):
        slug = row.slug
        tx.versions.keep(Versioned.SKILL, slug, _data_of(after), by, now, before=_data_of(before))


def _data_of(skill: StoredSkill | None) -> dict[str, str] | None:
    return None if skill is None else {"text": skill.text, "source": skill.source}
