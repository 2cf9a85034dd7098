"""Requests and responses for workflows, their versions and their problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from arvis.domain.workflows import RunStatus
from arvis.ports.workflows import VersionRow, WorkflowRow
from arvis.web.http.models import About, AnyObject, Body, Time, View, Whole
from arvis.web.http.schema import Schema, one_of
from arvis.workflows.document import kinds
from arvis.workflows.service import CheckedDocument, Wanted
from arvis.workflows.validation.check import KnownNames
from arvis.workflows.validation.rules import Problem, Severity

#: The maximum number of problems of a document in a response.
_MOST_PROBLEMS = 1_000

_FORMAT = "In the format of GET /api/workflows/schema; at most 1 MB."
_Object = Annotated[AnyObject, About(additionalProperties=True)]
_Document = Annotated[AnyObject, About(_FORMAT, additionalProperties=True)]
_Name = Annotated[str, About(minLength=1, maxLength=200)]

SCHEMA: Schema = {"type": "object", "additionalProperties": True, "description": "A JSON schema (draft 2020-12)."}


class ProblemView(View):
    node: Annotated[str | None, About("The id of the node with the problem.")]
    connection: Annotated[str | None, About("The id of the connection with the problem.")]
    field: Annotated[str | None, About("The field of the node, such as `routes.0.label`.")]
    rule: str
    severity: Annotated[str, About(**one_of(("error", "warning")))]
    message: str
    fix: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the problem. Fields that do not apply are null."""
        return cls.showing(
            problem,
            node=problem.node or None,
            connection=problem.connection or None,
            field=problem.field or None,
        )


class LastRunView(View):
    id: str
    status: RunStatus
    at: Time


class WorkflowView(View):
    id: str
    slug: str
    name: str
    description: str
    enabled: bool
    version: Annotated[int, About("The newest version.")]
    runnable: Annotated[int | None, About("The version that new runs use; null: no version can run.")]
    problem_count: Annotated[int, About("Errors in the newest version.")]
    triggers: Annotated[list[str], About("The kinds of its active triggers.")]
    last_run: LastRunView | None
    live_runs: Annotated[int, About("The number of unfinished runs, counted up to 100.")]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, row: WorkflowRow, /, **others: Any) -> Self:
        return cls.showing(
            row.workflow,
            problem_count=row.problems,
            triggers=row.triggers,
            last_run=None if row.last_run is None else LastRunView.showing(row.last_run),
            live_runs=row.live,
            **others,
        )


class WorkflowDetailView(WorkflowView):
    document: Annotated[_Object, About("The document of the newest version.")]
    note: str
    problems: list[ProblemView]


class WorkflowVersionView(View):
    version: int
    problem_count: int
    note: str
    by: Annotated[str | None, About("The name of the person who saved it.")]
    at: Time

    @classmethod
    def of(cls, row: VersionRow, /, **others: Any) -> Self:
        return cls.showing(row, problem_count=row.problems, **others)


class WorkflowVersionDetailView(WorkflowVersionView):
    document: _Document
    problems: list[ProblemView]


class CheckedWorkflowView(View):
    document: _Document
    problems: list[ProblemView]
    runnable: bool


class ExampleView(View):
    slug: str
    name: str
    description: str
    document: _Document


class NamesView(View):
    agents: list[str]
    web_search_agents: Annotated[list[str], About("Agents that can search the web.")]
    tools: list[str]
    servers: Annotated[list[str], About("MCP servers; their tools are known once they are connected.")]
    models: Annotated[
        list[str] | None,
        About("`provider/model`, `model`, or `provider/*` (all models of a provider); null: every name."),
    ]
    workflows: list[str]
    active_triggers: Annotated[
        list[str],
        About("The kinds of triggers for which a schedule, heartbeat or webhook exists that starts it."),
    ]

    @classmethod
    def of(cls, known: KnownNames) -> Self:
        """Return the names, sorted. None (every name is allowed) stays None."""
        named = {
            "agents": known.agents,
            "web_search_agents": known.searching,
            "tools": known.tools,
            "servers": known.servers,
            "models": known.models,
            "workflows": known.workflows,
            "active_triggers": known.begun,
        }
        found: AnyObject = {name: None if each is None else sorted(each) for name, each in named.items()}
        return cls(**found)


class NodeFieldView(View):
    name: str
    form: Annotated[
        str, About(**one_of(("line", "text", "number", "switch", "choice", "rows", "switches", "object", "list")))
    ]
    label: str
    help: str
    required: bool
    default: Annotated[Any, About("The value of an omitted field.")]
    minimum: int | None
    maximum: int | None
    choices: list[str]
    hidden_choices: Annotated[
        list[str], About("Choices that Arvis does not support, but that imported documents may contain.")
    ]
    fields: Annotated[list[_Object], About("In the same format.")]
    options_from: Annotated[str, About("The list of options: agents, tools, workflows, models, platforms or people.")]

    @classmethod
    def of(cls, field: kinds.Field) -> Self:
        return cls.showing(
            field,
            minimum=field.least,
            maximum=field.most,
            hidden_choices=field.unoffered,
            fields=[cls.of(each) for each in field.fields],
            options_from=field.offers,
        )


class RowHandlesView(View):
    field: str
    prefix: str


class NodeKindView(View):
    name: str
    label: str
    category: kinds.Category
    help: str
    fields: list[NodeFieldView]
    outputs: Annotated[list[str], About("Source handles; the empty handle is the default output.")]
    row_handles: RowHandlesView | None
    inputs: list[str]
    selects_output: bool
    is_trigger: bool

    @classmethod
    def of(cls, kind: kinds.Kind) -> Self:
        rows = kind.row_handles
        return cls.showing(
            kind,
            fields=[NodeFieldView.of(field) for field in kind.fields],
            outputs=list(kind.outs),
            row_handles=None if rows is None else RowHandlesView(field=rows[0], prefix=rows[1]),
            inputs=list(kind.ins),
            selects_output=kind.chooses,
            is_trigger=kind.begins,
        )


class NodeKindsView(View):
    kinds: list[NodeKindView]
    settings: Annotated[list[NodeFieldView], About("Fields of a whole document.")]
    joins: Annotated[list[NodeFieldView], About("Fields of every node that has an incoming connection.")]
    max_nodes: int
    max_connections: int
    max_bytes: int


def all_kinds() -> NodeKindsView:
    return NodeKindsView(
        kinds=[NodeKindView.of(kind) for kind in kinds.KINDS.values()],
        settings=[NodeFieldView.of(field) for field in kinds.SETTINGS],
        joins=[NodeFieldView.of(field) for field in (kinds.JOIN, kinds.JOIN_COUNT)],
        max_nodes=kinds.MOST_NODES,
        max_connections=kinds.MOST_CONNECTIONS,
        max_bytes=kinds.MOST_BYTES,
    )


class _SavedWorkflow(Body):
    slug: Annotated[_Name | None, About("Default: made from the name.")] = None
    description: str | None = None
    draft: Annotated[bool | None, About("Store it even with errors; runs continue to use the previous version.")] = None
    note: Annotated[str | None, About("A comment on this version.")] = None
    enabled: Annotated[bool | None, About("False: its triggers do not start it; default true.")] = None

    def wanted(self, checked: CheckedDocument | None, *, name: str | None, expected: int | None = None) -> Wanted:
        return Wanted(
            name=name,
            slug=self.slug,
            description=self.description,
            enabled=self.enabled,
            checked=checked,
            note=self.note or "",
            expected=expected,
        )


class NewWorkflow(_SavedWorkflow):
    name: _Name
    document: Annotated[_Object | None, About("Default: a document with only a start node.")] = None


class ChangedWorkflow(_SavedWorkflow):
    name: _Name | None = None
    slug: _Name | None = None
    document: Annotated[_Object | None, About("A changed document becomes a new version.")] = None
    version: Annotated[Whole | None, About("The version that was edited; 409 if there is a newer one.")] = None


class ImportedWorkflow(_SavedWorkflow):
    text: Annotated[str, About("A document, or one of the forms that docs/how-to/workflows.md names.")]
    form: Annotated[str | None, About("Default: auto.", **one_of(("json", "yaml", "auto")))] = None
    name: Annotated[_Name | None, About("Default: the name in the document.")] = None


class CheckedBody(Body):
    document: _Object
    workflow: Annotated[
        _Name | None,
        About("The saved workflow of the document, by id or slug. Its schedules and webhooks are considered."),
    ] = None


def problem_views(problems: Sequence[Problem]) -> list[ProblemView]:
    """Return at most `_MOST_PROBLEMS` problems, because a document can have thousands. Warnings are left out before
    errors."""
    if len(problems) > _MOST_PROBLEMS:
        problems = sorted(problems, key=lambda each: each.severity is not Severity.ERROR)[:_MOST_PROBLEMS]
    return [ProblemView.of(each) for each in problems]
