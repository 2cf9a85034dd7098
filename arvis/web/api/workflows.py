"""Workflows over HTTP: drafts, validation, versions, import and export. Runs are in `workflow_runs.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from arvis.domain.dataclass import replace
from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.workflows import Workflow, WorkflowVersion
from arvis.ports.choices import Choices
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.services.workflow_runs import find
from arvis.web.api.workflow_models import (
    SCHEMA,
    ChangedWorkflow,
    CheckedBody,
    CheckedWorkflowView,
    ExampleView,
    ImportedWorkflow,
    NamesView,
    NewWorkflow,
    NodeKindsView,
    WorkflowDetailView,
    WorkflowVersionDetailView,
    WorkflowVersionView,
    WorkflowView,
    all_kinds,
    problem_views,
)
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import FLAG, PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.errors import failure_of
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.limits import BodyLimit
from arvis.web.http.models import OkView, Page
from arvis.web.http.requests import unusable
from arvis.web.http.schema import FILE, INTEGER, LABEL, one_of
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
_VERSIONS, _VERSION = f"{ONE}/versions", f"{ONE}/versions/{{version}}"
_REFUSED = 422
_MEDIA = {"json": "application/octet-stream", "yaml": "application/yaml"}


class WorkflowRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock, choices: Choices) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._choices = choices

    # -- documents -------------------------------------------------------------------------------------------

    @route(
        "POST",
        f"{ALL}/validate",
        "Validate a document",
        READ,
        {200: CheckedWorkflowView},
        body=CheckedBody,
        large=True,
        keyed=False,
    )
    async def _check(self, call: Call) -> Response:
        body = await call.read(CheckedBody, LIMIT)
        checked = await self._checked(body.document, body.workflow)
        found = problem_views(checked.problems)
        return answer(CheckedWorkflowView(document=dict(checked.document), problems=found, runnable=not checked.errors))

    @route(
        "GET",
        "/api/names",
        "List the names that documents may use",
        READ,
        {200: NamesView},
        query={"workflow": {**LABEL, "description": "The saved workflow of the document."}},
    )
    async def _names(self, call: Call) -> Response:
        return answer(NamesView.of(await self._known(call.query("workflow"))))

    @route("GET", f"{ALL}/kinds", "List the kinds of nodes and their fields", READ, {200: NodeKindsView})
    async def _kinds(self, _call: Call) -> Response:
        return answer(all_kinds())

    @route("GET", f"{ALL}/schema", "Show the JSON schema of documents", READ, {200: SCHEMA})
    async def _schema(self, _call: Call) -> Response:
        return answer(schema())

    @route("GET", f"{ALL}/examples", "List example workflows", READ, {200: Page[ExampleView]})
    async def _examples(self, _call: Call) -> Response:
        found = await asyncio.to_thread(examples)
        return answer_page([ExampleView.showing(each) for each in found], None)

    @route(
        "POST",
        f"{ALL}/import",
        "Import a workflow from a text",
        OPERATE,
        {201: WorkflowDetailView},
        body=ImportedWorkflow,
        large=True,
    )
    async def _import(self, call: Call) -> Response:
        body = await call.read(ImportedWorkflow, LIMIT)
        raw = await asyncio.to_thread(model.imported, body.text, body.form or "auto")
        texts = {name: text for name in ("name", "description") if isinstance(text := raw.get(name), str) and text}
        checked = await self._checked(raw)
        wanted = body.wanted(checked, name=body.name or texts.get("name") or "Imported workflow")
        if body.description is None:
            wanted = replace(wanted, description=texts.get("description"))
        return await self._made(call, wanted, checked, draft=bool(body.draft))

    @route(
        "GET",
        f"{ONE}/export",
        "Export a document as a file",
        READ,
        {200: FILE},
        query={"form": one_of(("json", "yaml")), **_NUMBER},
        media="application/octet-stream, application/yaml",
    )
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

    # -- workflows -------------------------------------------------------------------------------------------

    @route(
        "GET",
        ALL,
        "List workflows, newest first",
        READ,
        {200: Page[WorkflowView]},
        query={**PAGING, "q": LABEL, "enabled": FLAG},
    )
    async def _list(self, call: Call) -> Response:
        page = await self._insights.workflows(
            text=call.query("q"),
            enabled=None if call.query("enabled") is None else call.flag("enabled", default=True),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer_page([WorkflowView.of(row) for row in page.items], page.next_cursor)

    @route("POST", ALL, "Create a workflow", OPERATE, {201: WorkflowDetailView}, body=NewWorkflow, large=True)
    async def _create(self, call: Call) -> Response:
        body = await call.read(NewWorkflow, LIMIT)
        checked = await self._checked(model.BLANK if body.document is None else body.document)
        draft = body.draft or body.document is None
        return await self._made(call, body.wanted(checked, name=body.name), checked, draft=draft)

    @route("GET", ONE, "Show a workflow with its newest document, by id or slug", READ, {200: WorkflowDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("workflow"))

    @route(
        "PATCH",
        ONE,
        "Change the fields in the body",
        OPERATE,
        {200: WorkflowDetailView},
        body=ChangedWorkflow,
        large=True,
    )
    async def _update(self, call: Call) -> Response:
        body = await call.read(ChangedWorkflow, LIMIT)
        checked = None if body.document is None else await self._checked(body.document, call.id("workflow"))
        if checked is not None and checked.errors and not body.draft:
            return _refused(checked)
        known = await self._store.write(
            service.update,
            call.id("workflow"),
            body.wanted(checked, name=body.name, expected=body.version),
            self._clock.now(),
            by=await self._gate.principal_id(call.identity),
        )
        return await self._shown(known.id)

    @route("DELETE", ONE, "Delete a workflow; its active runs continue to their end", OPERATE, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        await self._store.write(
            service.remove, call.id("workflow"), self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return done()

    async def _made(self, call: Call, wanted: Wanted, checked: CheckedDocument, *, draft: bool) -> Response:
        if checked.errors and not draft:
            return _refused(checked)
        made = await self._store.write(
            service.create, wanted, self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return await self._shown(made.id, 201)

    # -- versions --------------------------------------------------------------------------------------------

    @route(
        "GET",
        _VERSIONS,
        "List its versions, newest first",
        READ,
        {200: Page[WorkflowVersionView]},
        query=PAGING,
    )
    async def _versions(self, call: Call) -> Response:
        workflow = await self._store.read(find, call.id("workflow"))
        page = await self._insights.workflow_versions(workflow.id, limit=call.limit, cursor=call.query("cursor"))
        return answer_page([WorkflowVersionView.of(row) for row in page.items], page.next_cursor)

    @route("GET", _VERSION, "Show a version with its document", READ, {200: WorkflowVersionDetailView}, names=_NUMBER)
    async def _version(self, call: Call) -> Response:
        number = _number(str(call.request.path_params["version"]))
        workflow, kept = await self._store.read(_look, call.id("workflow"), number)
        page = await self._insights.workflow_versions(workflow.id, limit=1, cursor=str(number + 1))
        problems = problem_views((await self._checked(kept.document, workflow.id)).problems)
        return answer(WorkflowVersionDetailView.of(page.items[0], document=kept.document, problems=problems))

    @route(
        "POST",
        f"{_VERSION}/restore",
        "Create a new version with the document of this one",
        OPERATE,
        {200: WorkflowDetailView},
        names=_NUMBER,
    )
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
            raise NotFound("There is no such workflow.", fix="GET /api/workflows lists the workflows.")
        checked = await self._checked(newest.document, None if workflow.removed_at else workflow.id)
        problems = problem_views(checked.problems)
        row = replace(row, workflow=workflow)
        return answer(WorkflowDetailView.of(row, document=newest.document, note=newest.note, problems=problems), status)

    async def _checked(self, raw: Mapping[str, Any], workflow: str | None = None) -> CheckedDocument:
        """Validate the document in a thread, because a large document would block the event loop. `workflow` is the id
        of the saved workflow to which the document belongs; None for an unsaved document."""
        return await asyncio.to_thread(service.check_document, raw, await self._known(workflow))

    async def _known(self, workflow: str | None) -> KnownNames:
        return await names_in(self._store, self._choices, workflow)


async def names_in(store: Store, choices: Choices, workflow: str | None) -> KnownNames:
    """Return the names that the document of this workflow may use. `workflow` is None for an unsaved workflow."""
    tools = {tool.spec.name for tool in await choices.tools()}
    available = AvailableNames(tools=tools, servers=set(choices.servers()), models=choices.served())
    return await store.read(service.known_in, available, workflow)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text)):  # noqa: PLR2004
        raise NotFound("There is no such version.", fix="Versions are numbered from 1.")
    return int(text)


def _refused(checked: CheckedDocument) -> Response:
    """Return the error in the usual format, with the problems of the document."""
    count = checked.errors
    error = Unprocessable(
        f"The document has {count} {'error' if count == 1 else 'errors'}.",
        fix="Fix the `problems`, or send `draft: true` to store the document with its problems.",
        code="problems",
    )
    return answer({**failure_of(error).to_json(), "problems": problem_views(checked.problems)}, _REFUSED)


def _look(tx: Transaction, name: str, version: int | None) -> tuple[Workflow, WorkflowVersion]:
    workflow = find(tx, name)
    return workflow, service.version_of(tx, workflow, workflow.version if version is None else version)
