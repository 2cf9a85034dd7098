"""Skills over HTTP: instructions, scripts and references for agents.

Skills give instructions to models and contain programs, so only owners may add, trust and remove them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.dataclass import replace
from arvis.domain.errors import Unprocessable
from arvis.domain.text import storable
from arvis.skills.importing import Importer, no_skill
from arvis.skills.scan import Remark
from arvis.skills.skill import SLUG, Skill, Source
from arvis.skills.sources import Given
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Routes, answer, done, route
from arvis.web.http.identity import OWN, READ
from arvis.web.http.models import About, Body, Label, OkView, Printable, View
from arvis.web.http.schema import LABEL


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
    enabled: Annotated[bool, About("False: an owner has disabled it.")]
    trusted: Annotated[bool, About("False: Arvis does not use it until an owner trusts it.")]
    changed: Annotated[bool, About("True: its content differs from the content that an owner has trusted.")]
    origin: Annotated[str, About("The address of the import; empty for other skills.")]
    hash: Annotated[str, About("The SHA-256 of its text, or of all its files.")]

    @classmethod
    def of(cls, skill: Skill, off: frozenset[str], /, **others: Any) -> Self:
        return cls.showing(skill, enabled=skill.slug not in off, **others)


class SkillFileView(View):
    path: str
    size: int


class RemarkView(View):
    path: str
    line: Annotated[int, About("0: the whole file.")]
    text: Annotated[str, About("Completes the sentence: This file …")]
    excerpt: str


class SkillDetailView(SkillView):
    keywords: list[str]
    patterns: list[str]
    license: str
    compatibility: str
    allowed_tools: Annotated[list[str], About("Tools that its author expects. They give no permission.")]
    files: Annotated[list[SkillFileView], About("Without `SKILL.md`.")]
    remarks: Annotated[list[RemarkView], About("Places to check before you trust an imported skill.")]
    body: str
    text: str

    @classmethod
    def of(cls, skill: Skill, off: frozenset[str], /, *, remarks: Sequence[Remark] = (), **others: Any) -> Self:
        return super().of(
            skill,
            off,
            patterns=[pattern.text for pattern in skill.patterns],
            files=[SkillFileView(path=path, size=size) for path, size in skill.files.items()],
            remarks=[RemarkView.showing(remark) for remark in remarks],
            **others,
        )


class SkillFileTextView(View):
    path: str
    size: int
    text: Annotated[str | None, About("At most 256 KB; null: this is not a text file.")]


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
    text: Annotated[
        str | None, About("The text of a `SKILL.md`. Exactly one of the first four fields is required.")
    ] = None
    url: Annotated[
        Annotated[str, Printable(2_000)] | None, About("The public address of such a file or an archive.")
    ] = None
    archive: Annotated[str | None, About("A zip or tar archive of the directory.", contentEncoding="base64")] = None
    git: Annotated[Annotated[str, Printable(2_000)] | None, About("The public https address of a repository.")] = None
    directory: Annotated[
        Annotated[str, Printable(200)] | None, About("The directory of the skill in the archive or repository.")
    ] = None

    def given(self) -> Given:
        if [self.text, self.url, self.archive, self.git].count(None) != 3:  # noqa: PLR2004 - one of the four
            raise Unprocessable(
                "Exactly one of `text`, `url`, `archive` and `git` is required.", fix="Send one of them."
            )
        try:
            archive = base64.b64decode(self.archive, validate=True) if self.archive is not None else None
        except (binascii.Error, ValueError):
            raise Unprocessable("`archive` must be base64.", fix="Send the bytes of the file in base64.") from None
        return Given(self.text, archive, self.url, self.git, self.directory)


class NewSkill(TestedSkill):
    replace: Annotated[bool | None, About("Replace a built-in skill or a skill in the folder with the same slug.")] = (
        None
    )
    expected_hash: Annotated[
        Label | None,
        About("The hash that a test has returned: the skill is trusted at once; 409 if it has changed since."),
    ] = None


class TrustedSkill(Body):
    hash: Annotated[Label, About("The hash of the content that you have read.")]


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
        found = await self._importer.preview(body.given())
        shown = SkillDetailView.of(replace(found.skill, trusted=False), frozenset(), remarks=found.remarks)
        return answer(TestedSkillView(skill=shown, replaces=None if found.replaces is None else found.replaces.source))

    @route("GET", _ONE, "Show a skill with its text", READ, {200: SkillDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(_slug(call))

    @route("POST", _ALL, "Import a skill", OWN, {201: SkillDetailView}, body=NewSkill, large=True)
    async def _add(self, call: Call) -> Response:
        body, by = await call.read(NewSkill), await self._gate.principal_id(call.identity)
        skill = await self._importer.create(body.given(), by=by, replace=body.replace or False, seen=body.expected_hash)
        return await self._shown(skill.slug, 201)

    @route(
        "GET",
        f"{_ONE}/file",
        "Show a file of a skill",
        READ,
        {200: SkillFileTextView},
        query={"path": LABEL},
    )
    async def _file(self, call: Call) -> Response:
        path = call.query("path") or ""
        data, size = await self._importer.file(_slug(call), path)
        return answer(SkillFileTextView(path=path, size=size, text=_text_of(data)))

    @route(
        "POST",
        f"{_ONE}/trust",
        "Trust the content of an imported skill",
        OWN,
        {200: SkillDetailView},
        body=TrustedSkill,
    )
    async def _trust(self, call: Call) -> Response:
        body, by = await call.read(TrustedSkill), await self._gate.principal_id(call.identity)
        await self._importer.trust(_slug(call), seen=body.hash, by=by)
        return await self._shown(_slug(call))

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
        remarks = await self._importer.remarks(skill)
        return answer(SkillDetailView.of(skill, available.off, remarks=remarks), status)


def _text_of(data: bytes) -> str | None:
    """Return the beginning of a file as text; None if it is not UTF-8 text."""
    try:
        return storable(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        cut = error.start >= len(data) - 3 and error.reason == "unexpected end of data"
        return storable(data[: error.start].decode("utf-8-sig")) if cut else None


def _slug(call: Call) -> str:
    slug = call.named("slug", SLUG)
    if slug is None:
        raise no_skill()
    return slug
