"""Workflows over HTTP: drafts, validation, versions, import and export. Runs are in `workflow_runs.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.workflows import Workflow, WorkflowVersion
from arvis.ports.choices import Choices
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.services.workflow_runs import find
from arvis.web.api.workflow_models import (
    CHANGED_WORKFLOW,
    CHECKED,
    EXAMPLE,
    IMPORTED_WORKFLOW,
    KINDS,
    NAMES,
    NEW_WORKFLOW,
    SCHEMA,
    TO_CHECK,
    VERSION,
    VERSION_DETAIL,
    WORKFLOW,
    WORKFLOW_DETAIL,
    detail_view,
    kinds_view,
    names_view,
    problems_view,
    version_view,
    workflow_view,
)
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.http.errors import failure_of
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.requests import BodyLimit, Fields, read_json, unusable
from arvis.web.http.schema import FILE, INTEGER, LABEL, OK, one_of, page_schema
from arvis.web.http.views import Json, page_view
from arvis.workflows import service
from arvis.workflows.document import model
from arvis.workflows.document.model import MOST_MARKS, write
from arvis.workflows.document.schema import schema
from arvis.workflows.examples import examples
from arvis.workflows.service import AvailableNames, CheckedDocument, Wanted
from arvis.workflows.validation.check import KnownNames

ALL, ONE = "/api/workflows", "/api/workflows/{workflow}"
#: The limit of a body that contains a document with its name and description.
LIMIT = BodyLimit(size=1_048_576, marks=MOST_MARKS)
_NUMBER = {"version": {**INTEGER, "minimum": 1}}
_REFUSED = 422
_MEDIA = {"json": "application/octet-stream", "yaml": "application/yaml"}


class WorkflowRoutes:
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock, choices: Choices) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._choices = choices

    def endpoints(self) -> list[Endpoint]:
        shown, made = {200: WORKFLOW_DETAIL}, {201: WORKFLOW_DETAIL}
        filters = {**PAGING, "q": LABEL, "enabled": FLAG}
        listed = {200: page_schema(WORKFLOW)}
        return [
            *self._of_documents(),
            Endpoint("GET", ALL, "List workflows, newest first", READ, self._list, listed, query=filters),
            Endpoint("POST", ALL, "Create a workflow", OPERATE, self._create, made, NEW_WORKFLOW, large=True),
            Endpoint("GET", ONE, "Show a workflow with its newest document, by id or slug", READ, self._show, shown),
            Endpoint(
                "PATCH",
                ONE,
                "Change the fields in the body",
                OPERATE,
                self._update,
                shown,
                CHANGED_WORKFLOW,
                large=True,
            ),
            Endpoint(
                "DELETE",
                ONE,
                "Delete a workflow; its active runs continue to their end",
                OPERATE,
                self._remove,
                {200: OK},
            ),
            *self._of_versions(),
        ]

    def _of_documents(self) -> list[Endpoint]:
        made, examples = {201: WORKFLOW_DETAIL}, {200: page_schema(EXAMPLE)}
        return [
            Endpoint(
                "POST", f"{ALL}/validate", "Validate a document", READ, self._check, {200: CHECKED}, TO_CHECK,
                large=True, keyed=False,
            ),
            Endpoint(
                "GET", "/api/names", "List the names that documents may use", READ, self._names, {200: NAMES},
                query={"workflow": {**LABEL, "description": "The saved workflow of the document."}},
            ),
            Endpoint("GET", f"{ALL}/kinds", "List the kinds of nodes and their fields", READ, self._kinds, {200: KINDS}),
            Endpoint("GET", f"{ALL}/schema", "Show the JSON schema of documents", READ, self._schema, {200: SCHEMA}),
            Endpoint("GET", f"{ALL}/examples", "List example workflows", READ, self._examples, examples),
            Endpoint(
                "POST", f"{ALL}/import", "Import a workflow from a text", OPERATE, self._import, made, IMPORTED_WORKFLOW,
                large=True,
            ),
            Endpoint(
                "GET", f"{ONE}/export", "Export a document as a file", READ, self._export, {200: FILE},
                query={"form": one_of(("json", "yaml")), **_NUMBER}, media="application/octet-stream, application/yaml",
            ),
        ]  # fmt: skip

    def _of_versions(self) -> list[Endpoint]:
        all_, one = f"{ONE}/versions", f"{ONE}/versions/{{version}}"
        listed, shown, saved = {200: page_schema(VERSION)}, {200: VERSION_DETAIL}, {200: WORKFLOW_DETAIL}
        return [
            Endpoint("GET", all_, "List its versions, newest first", READ, self._versions, listed, query=PAGING),
            Endpoint("GET", one, "Show a version with its document", READ, self._version, shown, names=_NUMBER),
            Endpoint(
                "POST", f"{one}/restore", "Create a new version with the document of this one", OPERATE, self._restore,
                saved, names=_NUMBER,
            ),
        ]  # fmt: skip

    # -- workflows -------------------------------------------------------------------------------------------

    async def _list(self, call: Call) -> Response:
        page = await self._insights.workflows(
            text=call.query("q"),
            enabled=None if call.query("enabled") is None else call.flag("enabled", default=True),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer(page_view([workflow_view(row) for row in page.items], page.next_cursor))

    async def _create(self, call: Call) -> Response:
        fields = await _fields(call, NEW_WORKFLOW)
        raw = fields.mapping("document")
        return await self._made(call, fields, raw, name=fields.required_text("name"), draft=raw is None)

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("workflow"))

    async def _update(self, call: Call) -> Response:
        fields = await _fields(call, CHANGED_WORKFLOW)
        raw, draft = fields.mapping("document"), _switch(fields, "draft")
        checked = None if raw is None else await self._checked(raw, call.id("workflow"))
        if checked is not None and checked.errors and not draft:
            return _refused(checked)
        wanted = replace(_wanted(fields, checked), name=fields.text("name"), expected=fields.whole("version"))
        known = await self._store.write(
            service.update,
            call.id("workflow"),
            wanted,
            self._clock.now(),
            by=await self._gate.principal_id(call.identity),
        )
        return await self._shown(known.id)

    async def _remove(self, call: Call) -> Response:
        await self._store.write(
            service.remove, call.id("workflow"), self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return answer({"ok": True})

    async def _made(
        self, call: Call, fields: Fields, raw: Mapping[str, Any] | None, *, name: str, draft: bool = False
    ) -> Response:
        draft = bool(_switch(fields, "draft")) or draft
        checked = await self._checked(raw if raw is not None else model.BLANK)
        if checked.errors and not draft:
            return _refused(checked)
        wanted = replace(_wanted(fields, checked), name=name)
        made = await self._store.write(
            service.create, wanted, self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return await self._shown(made.id, 201)

    # -- documents -------------------------------------------------------------------------------------------

    async def _check(self, call: Call) -> Response:
        fields = await _fields(call, TO_CHECK)
        raw = fields.mapping("document")
        if raw is None:
            raise unusable("document", "is missing")
        checked = await self._checked(raw, fields.text("workflow"))
        found = problems_view(checked.problems)
        return answer({"document": checked.document, "problems": found, "runnable": not checked.errors})

    async def _kinds(self, _call: Call) -> Response:
        return answer(kinds_view())

    async def _schema(self, _call: Call) -> Response:
        return answer(schema())

    async def _examples(self, _call: Call) -> Response:
        found = await asyncio.to_thread(examples)
        return answer(page_view([each.to_json() for each in found], None))

    async def _import(self, call: Call) -> Response:
        fields = await _fields(call, IMPORTED_WORKFLOW)
        raw = await asyncio.to_thread(model.imported, fields.required_text("text"), fields.text("form") or "auto")
        texts = {name: text for name in ("name", "description") if isinstance(text := raw.get(name), str) and text}
        name = fields.text("name") or texts.get("name") or "Imported workflow"
        if "description" in texts:
            fields = fields.otherwise("description", texts["description"])
        return await self._made(call, fields, raw, name=name)

    async def _export(self, call: Call) -> Response:
        form, version = call.query("form") or "json", call.query("version")
        if form not in _MEDIA:
            raise unusable("form", "must be json or yaml")
        number = None if version is None else _number(version)
        workflow, kept = await self._store.read(_look, call.id("workflow"), number)
        text = await asyncio.to_thread(write, kept.document, "yaml" if form == "yaml" else "json")
        name = f"{workflow.slug}-{kept.version}.{form}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        return Response(text, media_type=_MEDIA[form], headers=headers)

    # -- versions --------------------------------------------------------------------------------------------

    async def _versions(self, call: Call) -> Response:
        workflow = await self._store.read(find, call.id("workflow"))
        page = await self._insights.workflow_versions(workflow.id, limit=call.limit, cursor=call.query("cursor"))
        return answer(page_view([version_view(row) for row in page.items], page.next_cursor))

    async def _version(self, call: Call) -> Response:
        number = _number(str(call.request.path_params["version"]))
        workflow, kept = await self._store.read(_look, call.id("workflow"), number)
        page = await self._insights.workflow_versions(workflow.id, limit=1, cursor=str(number + 1))
        problems = (await self._checked(kept.document, workflow.id)).problems
        found = problems_view(problems)
        return answer({**version_view(page.items[0]), "document": kept.document, "problems": found})

    async def _restore(self, call: Call) -> Response:
        number = _number(str(call.request.path_params["version"]))
        known = await self._known(call.id("workflow"))
        saved = await self._store.write(
            service.restore,
            call.id("workflow"),
            number,
            known,
            self._clock.now(),
            by=await self._gate.principal_id(call.identity),
        )
        return await self._shown(saved.id)

    # -- shared ----------------------------------------------------------------------------------------------

    async def _shown(self, name: str, status: int = 200) -> Response:
        workflow, newest = await self._store.read(_look, name, None)
        row = await self._insights.workflow(workflow.id)
        if row is None:
            raise NotFound("There is no such workflow.", fix="Look it up in the list (GET /api/workflows).")
        checked = await self._checked(newest.document, None if workflow.removed_at else workflow.id)
        return answer(detail_view(replace(row, workflow=workflow), newest, checked.problems), status)

    async def _checked(self, raw: Mapping[str, Any], workflow: str | None = None) -> CheckedDocument:
        """Validate the document in a thread, because a large document would block the event loop. `workflow`: the id of
        the saved workflow that the document belongs to, if any."""
        return await asyncio.to_thread(service.check_document, raw, await self._known(workflow))

    async def _known(self, workflow: str | None) -> KnownNames:
        return await names_in(self._store, self._choices, workflow)

    async def _names(self, call: Call) -> Response:
        return answer(names_view(await self._known(call.query("workflow"))))


async def names_in(store: Store, choices: Choices, workflow: str | None) -> KnownNames:
    """Return the names that the document of this workflow may use. `workflow` is None for an unsaved workflow."""
    tools = {tool.spec.name for tool in await choices.tools()}
    available = AvailableNames(tools=tools, servers=set(choices.servers()), models=choices.served())
    return await store.read(service.known_in, available, workflow)


async def _fields(call: Call, schema: Mapping[str, Any]) -> Fields:
    fields = await read_json(call.request, LIMIT)
    fields.refuse_others(dict(schema))
    return fields


def _wanted(fields: Fields, checked: CheckedDocument | None) -> Wanted:
    return Wanted(
        slug=fields.text("slug"),
        description=fields.text("description"),
        enabled=_switch(fields, "enabled"),
        checked=checked,
        note=fields.text("note") or "",
    )


def _switch(fields: Fields, name: str) -> bool | None:
    value = fields.raw(name)
    if value is not None and not isinstance(value, bool):
        raise unusable(name, "must be true or false")
    return value


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text)):  # noqa: PLR2004
        raise NotFound("There is no such version.", fix="Versions are numbered from 1.")
    return int(text)


def _refused(checked: CheckedDocument) -> Response:
    """Return the error in the usual format, with the problems of the document."""
    count = checked.errors
    error = Unprocessable(
        f"The document has {count} {'error' if count == 1 else 'errors'}.",
        fix="Fix the `problems`, or send `draft: true` to store it with them.",
        code="problems",
    )
    found: list[Json] = problems_view(checked.problems)
    return answer({**failure_of(error).to_json(), "problems": found}, _REFUSED)


def _look(tx: Transaction, name: str, version: int | None) -> tuple[Workflow, WorkflowVersion]:
    workflow = find(tx, name)
    return workflow, service.version_of(tx, workflow, workflow.version if version is None else version)
