"""Skills over HTTP: what agents are told when a message calls for it (behaviour.md 1.8).

They stand in the prompts of all agents, so only owners bring some in and take them out.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.skills.importing import Importer, no_skill
from arvis.skills.skill import SLUG, Skill, Source
from arvis.web.bodies import unusable
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import OWN, READ
from arvis.web.schemas import BOOLEAN, OK, STRING, array, one_of, optional, record

SKILL = record(
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
    }
)
SKILLS = record(
    {
        "items": array(SKILL),
        "nextCursor": optional(STRING),
        "problems": {**array(STRING), "description": "What was passed over, and why."},
    }
)
SKILL_DETAIL = record({**SKILL["properties"], "keywords": array(STRING), "patterns": array(STRING), "body": STRING})
NEW_SKILL = record(
    {
        "text": {**STRING, "description": "A Markdown file with front matter; or `url`."},
        "url": {**STRING, "description": "A public address where one lies."},
        "replace": {**BOOLEAN, "description": "Also in the place of one of the house or the folder."},
    },
    required=(),
)

_LONGEST_ADDRESS = 2_000


class SkillRoutes:
    def __init__(self, *, importer: Importer, gate: Gate) -> None:
        self._importer = importer
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/skills", "/api/skills/{slug}"
        shown, made = {200: SKILL_DETAIL}, {201: SKILL_DETAIL}
        return [
            Endpoint("GET", all_, "Skills by slug", READ, self._list, {200: SKILLS}),
            Endpoint("GET", one, "One skill with its text", READ, self._show, shown),
            Endpoint("POST", all_, "Bring a skill in", OWN, self._add, made, body=NEW_SKILL, large=True),
            Endpoint("DELETE", one, "Take out one that was brought in", OWN, self._remove, {200: OK}),
        ]

    async def _list(self, _: Call) -> Response:
        shelved = await self._importer.shelf.current()
        items = [_view(skill) for skill in shelved.skills.values()]
        return answer({"items": items, "nextCursor": None, "problems": list(shelved.problems)})

    async def _show(self, call: Call) -> Response:
        skill = (await self._importer.shelf.current()).skills.get(_slug(call))
        if skill is None:
            raise no_skill()
        return answer(_detail(skill))

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        text, url, replace = fields.text("text"), fields.label("url", _LONGEST_ADDRESS), fields.raw("replace") or False
        if not isinstance(replace, bool):
            raise unusable("replace", "must be true or false")
        by = (await self._gate.principal(self._gate.sender(call.identity))).id
        match text, url:
            case str(), None:
                skill = await self._importer.from_text(text, by=by, replace=replace)
            case None, str():
                skill = await self._importer.from_address(url, by=by, replace=replace)
            case _:
                raise Unprocessable("Either `text` or `url` must be given.", fix="Give one of them.")
        return answer(_detail(skill), 201)

    async def _remove(self, call: Call) -> Response:
        await self._importer.remove(_slug(call))
        return answer({"ok": True})


def _slug(call: Call) -> str:
    slug = call.named("slug", SLUG)
    if slug is None:
        raise no_skill()
    return slug


def _view(skill: Skill) -> dict[str, Any]:
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
    }


def _detail(skill: Skill) -> dict[str, Any]:
    patterns = [pattern.text for pattern in skill.patterns]
    return {**_view(skill), "keywords": list(skill.keywords), "patterns": patterns, "body": skill.body}
