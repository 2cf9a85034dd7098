"""Skills over HTTP: instructions that an agent receives when a message matches them.

Skills enter the prompts of all matching agents, so only owners may add and remove them.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.skills.importing import Importer, no_skill
from arvis.skills.skill import SLUG, Skill, Source
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Routes, answer, done, route
from arvis.web.http.identity import OWN, READ
from arvis.web.http.models import About, Body, Label, OkView, Printable, View


class SkillView(View):
    slug: str
    name: str
    description: str
    category: str
    author: str
    version: str
    required_tools: list[str]
    source: Source
    warnings: list[str]
    enabled: Annotated[bool, About("It is added to prompts.")]
    hash: Annotated[str, About("Changes with the text.")]

    @classmethod
    def of(cls, skill: Skill, off: frozenset[str], /, **others: Any) -> Self:
        return cls.showing(skill, enabled=skill.slug not in off, **others)


class SkillDetailView(SkillView):
    keywords: list[str]
    patterns: list[str]
    body: str
    text: str

    @classmethod
    def of(cls, skill: Skill, off: frozenset[str], /, **others: Any) -> Self:
        return super().of(skill, off, patterns=[pattern.text for pattern in skill.patterns], **others)


class SkillsView(View):
    items: list[SkillView]
    next_cursor: str | None
    problems: Annotated[list[str], About("Ignored files, with the reason.")]


class UndoneSkillView(View):
    skill: Annotated[SkillDetailView | None, About("null: there was no earlier version.")]


class TestedSkillView(View):
    skill: SkillDetailView
    replaces: Annotated[Source | None, About("The source of an existing skill with this slug.")]


class TestedSkill(Body):
    text: Annotated[str | None, About("A Markdown file with front matter; required without a `url`.")] = None
    url: Annotated[Annotated[str, Printable(2_000)] | None, About("The public address of such a file.")] = None

    def check(self) -> None:
        if (self.text is None) == (self.url is None):
            raise Unprocessable("Either `text` or `url` is required.", fix="Send one of them.")


class NewSkill(TestedSkill):
    replace: Annotated[bool | None, About("Replace a built-in skill or a skill in the folder with the same slug.")] = (
        None
    )
    expected_hash: Annotated[
        Label | None,
        About("The hash of the text that was read from `url`; 409 if the text has changed since."),
    ] = None


class ChangedSkill(Body):
    enabled: bool | None = None
    text: Annotated[str | None, About("The whole file.")] = None


_ALL, _ONE = "/api/skills", "/api/skills/{slug}"


class SkillRoutes(Routes):
    def __init__(self, *, importer: Importer, gate: Authorizer) -> None:
        self._importer = importer
        self._gate = gate

    @route("GET", _ALL, "List skills by slug", READ, {200: SkillsView})
    async def _list(self, _: Call) -> Response:
        available = await self._importer.registry.current()
        items = [SkillView.of(skill, available.off) for skill in available.skills.values()]
        return answer(SkillsView(items=items, next_cursor=None, problems=list(available.problems)))

    @route(
        "POST",
        f"{_ALL}/test",
        "Read a skill without storing it",
        OWN,
        {200: TestedSkillView},
        body=TestedSkill,
        large=True,
    )
    async def _try(self, call: Call) -> Response:
        body = await call.read(TestedSkill)
        body.check()
        skill, there = await self._importer.preview(text=body.text, url=body.url)
        shown = SkillDetailView.of(skill, frozenset())
        return answer(TestedSkillView(skill=shown, replaces=None if there is None else there.source))

    @route("GET", _ONE, "Show a skill with its text", READ, {200: SkillDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(_slug(call))

    @route("POST", _ALL, "Import a skill", OWN, {201: SkillDetailView}, body=NewSkill, large=True)
    async def _add(self, call: Call) -> Response:
        body, by = await call.read(NewSkill), await self._gate.principal_id(call.identity)
        body.check()
        replace = body.replace or False
        if body.text is not None:
            skill = await self._importer.from_text(body.text, by=by, replace=replace)
        else:
            skill = await self._importer.from_address(body.url or "", by=by, replace=replace, seen=body.expected_hash)
        return await self._shown(skill.slug, 201)

    @route(
        "PATCH",
        _ONE,
        "Change, enable or disable a skill",
        OWN,
        {200: SkillDetailView},
        body=ChangedSkill,
        large=True,
    )
    async def _change(self, call: Call) -> Response:
        slug, body = _slug(call), await call.read(ChangedSkill)
        if body.text is not None:
            await self._importer.edit(slug, body.text, by=await self._gate.principal_id(call.identity))
        if body.enabled is not None:
            await self._importer.switch(slug, enabled=body.enabled)
        return await self._shown(slug)

    @route("POST", f"{_ONE}/undo", "Restore the previous text", OWN, {200: UndoneSkillView})
    async def _undo(self, call: Call) -> Response:
        skill = await self._importer.undo(_slug(call), by=await self._gate.principal_id(call.identity))
        available = await self._importer.registry.current()
        return answer(UndoneSkillView(skill=None if skill is None else SkillDetailView.of(skill, available.off)))

    @route("DELETE", _ONE, "Delete an imported skill", OWN, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        await self._importer.remove(_slug(call), by=await self._gate.principal_id(call.identity))
        return done()

    async def _shown(self, slug: str, status: int = 200) -> Response:
        available = await self._importer.registry.current()
        skill = available.skills.get(slug)
        if skill is None:
            raise no_skill()
        return answer(SkillDetailView.of(skill, available.off), status)


def _slug(call: Call) -> str:
    slug = call.named("slug", SLUG)
    if slug is None:
        raise no_skill()
    return slug
