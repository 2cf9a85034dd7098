"""Skills over HTTP: instructions that an agent receives when a message matches them.

Skills enter the prompts of all matching agents, so only owners may add and remove them.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.skills.importing import Importer, no_skill
from arvis.skills.skill import SLUG, Skill, Source
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OWN, READ
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import BOOLEAN, OK, STRING, array, object_schema, one_of, optional

SKILL = object_schema(
    {
        "slug": STRING,
        "name": STRING,
        "description": STRING,
        "category": STRING,
        "author": STRING,
        "version": STRING,
        "requiredTools": array(STRING),
        "source": one_of(Source),
        "warnings": array(STRING),
        "enabled": {**BOOLEAN, "description": "It is added to prompts."},
        "hash": {**STRING, "description": "Changes with the text."},
    }
)
SKILLS = object_schema(
    {
        "items": array(SKILL),
        "nextCursor": optional(STRING),
        "problems": {**array(STRING), "description": "Ignored files, with the reason."},
    }
)
SKILL_DETAIL = object_schema(
    {**SKILL["properties"], "keywords": array(STRING), "patterns": array(STRING), "body": STRING, "text": STRING}
)
CHANGED_SKILL = object_schema(
    {
        "enabled": BOOLEAN,
        "text": {**STRING, "description": "The whole file."},
    },
    required=(),
)
UNDONE = object_schema({"skill": {**optional(SKILL_DETAIL), "description": "null: there was no earlier version."}})
NEW_SKILL = object_schema(
    {
        "text": {**STRING, "description": "A Markdown file with front matter; required without a `url`."},
        "url": {**STRING, "description": "The public address of such a file."},
        "replace": {**BOOLEAN, "description": "Replace a built-in skill or a skill in the folder with the same slug."},
        "expectedHash": {
            **STRING,
            "description": "The hash of the text that was read from `url`; 409 if the text has changed since.",
        },
    },
    required=(),
)
TRIED_SKILL = object_schema(
    {"text": NEW_SKILL["properties"]["text"], "url": NEW_SKILL["properties"]["url"]}, required=()
)
TRIED = object_schema(
    {
        "skill": SKILL_DETAIL,
        "replaces": {**optional(one_of(Source)), "description": "The source of an existing skill with this slug."},
    }
)

_LONGEST_ADDRESS = 2_000


class SkillRoutes:
    def __init__(self, *, importer: Importer, gate: Authorizer) -> None:
        self._importer = importer
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/skills", "/api/skills/{slug}"
        shown, made = {200: SKILL_DETAIL}, {201: SKILL_DETAIL}
        return [
            Endpoint("GET", all_, "List skills by slug", READ, self._list, {200: SKILLS}),
            Endpoint(
                "POST",
                f"{all_}/test",
                "Read a skill without storing it",
                OWN,
                self._try,
                {200: TRIED},
                TRIED_SKILL,
                large=True,
            ),
            Endpoint("GET", one, "Show a skill with its text", READ, self._show, shown),
            Endpoint("POST", all_, "Import a skill", OWN, self._add, made, body=NEW_SKILL, large=True),
            Endpoint(
                "PATCH",
                one,
                "Change, enable or disable a skill",
                OWN,
                self._change,
                shown,
                body=CHANGED_SKILL,
                large=True,
            ),
            Endpoint("POST", f"{one}/undo", "Restore the previous text", OWN, self._undo, {200: UNDONE}),
            Endpoint("DELETE", one, "Delete an imported skill", OWN, self._remove, {200: OK}),
        ]

    async def _list(self, _: Call) -> Response:
        shelved = await self._importer.shelf.current()
        items = [_view(skill, shelved.off) for skill in shelved.skills.values()]
        return answer({"items": items, "nextCursor": None, "problems": list(shelved.problems)})

    async def _show(self, call: Call) -> Response:
        return await self._shown(_slug(call))

    async def _change(self, call: Call) -> Response:
        slug, fields = _slug(call), await call.fields()
        text, enabled = fields.text("text"), fields.raw("enabled")
        if enabled is not None and not isinstance(enabled, bool):
            raise unusable("enabled", "must be true or false")
        if text is not None:
            await self._importer.edit(slug, text, by=await self._gate.principal_id(call.identity))
        if enabled is not None:
            await self._importer.switch(slug, enabled=enabled)
        return await self._shown(slug)

    async def _undo(self, call: Call) -> Response:
        skill = await self._importer.undo(_slug(call), by=await self._gate.principal_id(call.identity))
        shelved = await self._importer.shelf.current()
        return answer({"skill": None if skill is None else _detail(skill, shelved.off)})

    async def _shown(self, slug: str, status: int = 200) -> Response:
        shelved = await self._importer.shelf.current()
        skill = shelved.skills.get(slug)
        if skill is None:
            raise no_skill()
        return answer(_detail(skill, shelved.off), status)

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        replace, seen = fields.raw("replace") or False, fields.label("expectedHash")
        if not isinstance(replace, bool):
            raise unusable("replace", "must be true or false")
        by = await self._gate.principal_id(call.identity)
        text, url = _given(fields)
        if text is not None:
            skill = await self._importer.from_text(text, by=by, replace=replace)
        else:
            skill = await self._importer.from_address(url or "", by=by, replace=replace, seen=seen)
        return await self._shown(skill.slug, 201)

    async def _try(self, call: Call) -> Response:
        text, url = _given(await call.fields())
        skill, there = await self._importer.preview(text=text, url=url)
        return answer({"skill": _detail(skill, frozenset()), "replaces": None if there is None else there.source})

    async def _remove(self, call: Call) -> Response:
        await self._importer.remove(_slug(call), by=await self._gate.principal_id(call.identity))
        return answer({"ok": True})


def _given(fields: Fields) -> tuple[str | None, str | None]:
    """Return the text and the address from the body. Raise `Unprocessable` unless exactly one of them is present."""
    text, url = fields.text("text"), fields.label("url", _LONGEST_ADDRESS)
    if (text is None) == (url is None):
        raise Unprocessable("Either `text` or `url` is required.", fix="Send one of them.")
    return text, url


def _slug(call: Call) -> str:
    slug = call.named("slug", SLUG)
    if slug is None:
        raise no_skill()
    return slug


def _view(skill: Skill, off: frozenset[str]) -> dict[str, Any]:
    return {
        "slug": skill.slug,
        "name": skill.name,
        "description": skill.description,
        "category": skill.category,
        "author": skill.author,
        "version": skill.version,
        "requiredTools": list(skill.required_tools),
        "source": skill.source,
        "warnings": list(skill.warnings),
        "enabled": skill.slug not in off,
        "hash": skill.hash,
    }


def _detail(skill: Skill, off: frozenset[str]) -> dict[str, Any]:
    patterns = [pattern.text for pattern in skill.patterns]
    more = {"keywords": list(skill.keywords), "patterns": patterns, "body": skill.body, "text": skill.text}
    return {**_view(skill, off), **more}
