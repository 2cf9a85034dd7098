"""Requests and responses for workflows, their versions and their problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.workflows import RunStatus, WorkflowVersion
from arvis.ports.workflows import VersionRow, WorkflowRow
from arvis.web.http.schema import BOOLEAN, INTEGER, LABEL, STRING, TIME, Schema, array, object_schema, one_of, optional
from arvis.workflows.document import kinds
from arvis.workflows.validation.check import KnownNames
from arvis.workflows.validation.rules import Problem, Severity

Json = dict[str, Any]

#: The maximum number of problems of a document in a response.
_MOST_PROBLEMS = 1_000

_DOCUMENT: Schema = {
    "type": "object",
    "additionalProperties": True,
    "description": "In the format of GET /api/workflows/schema; at most 1 MB.",
}
_SAVED: dict[str, Schema] = {
    "slug": {**LABEL, "description": "Default: made from the name."},
    "description": STRING,
    "document": {**_DOCUMENT, "description": "Default: a document with only a start node."},
    "draft": {**BOOLEAN, "description": "Store it even with errors; runs continue to use the previous version."},
    "note": {**STRING, "description": "A comment on this version."},
    "enabled": {**BOOLEAN, "description": "False: its triggers do not start it; default true."},
}
PROBLEM = object_schema(
    {
        "node": {**optional(STRING), "description": "The id of the node with the problem."},
        "connection": {**optional(STRING), "description": "The id of the connection with the problem."},
        "field": {**optional(STRING), "description": "The field of the node, such as `routes.0.label`."},
        "rule": STRING,
        "severity": one_of(("error", "warning")),
        "message": STRING,
        "fix": STRING,
    }
)
LAST_RUN = object_schema({"id": STRING, "status": one_of(RunStatus), "at": TIME})
WORKFLOW = object_schema(
    {
        "id": STRING,
        "slug": STRING,
        "name": STRING,
        "description": STRING,
        "enabled": BOOLEAN,
        "version": {**INTEGER, "description": "The newest version."},
        "runnable": {**optional(INTEGER), "description": "The version that new runs use; null: no version can run."},
        "problemCount": {**INTEGER, "description": "Errors in the newest version."},
        "triggers": {**array(STRING), "description": "The kinds of its active triggers."},
        "lastRun": optional(LAST_RUN),
        "liveRuns": {**INTEGER, "description": "The number of unfinished runs, counted up to 100."},
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
WORKFLOW_DETAIL = object_schema(
    {
        **WORKFLOW["properties"],
        "document": {**_DOCUMENT, "description": "The document of the newest version."},
        "note": STRING,
        "problems": array(PROBLEM),
    }
)
NEW_WORKFLOW = object_schema({"name": LABEL, **_SAVED}, required=("name",))
CHANGED_WORKFLOW = object_schema(
    {
        "name": LABEL,
        **_SAVED,
        "slug": LABEL,
        "document": {**_DOCUMENT, "description": "A changed document becomes a new version."},
        "version": {**INTEGER, "description": "The version that was edited; 409 if there is a newer one."},
    },
    required=(),
)
IMPORTED_WORKFLOW = object_schema(
    {
        "text": {**STRING, "description": "A document, or one of the forms that docs/how-to/workflows.md names."},
        "form": {**one_of(("json", "yaml", "auto")), "description": "Default: auto."},
        "name": {**LABEL, "description": "Default: the name in the document."},
        **{name: _SAVED[name] for name in ("slug", "description", "draft", "note", "enabled")},
    },
    required=("text",),
)
VERSION = object_schema(
    {
        "version": INTEGER,
        "problemCount": INTEGER,
        "note": STRING,
        "by": {**optional(STRING), "description": "The name of the person who saved it."},
        "at": TIME,
    }
)
VERSION_DETAIL = object_schema({**VERSION["properties"], "document": _DOCUMENT, "problems": array(PROBLEM)})
TO_CHECK = object_schema(
    {
        "document": {"type": "object", "additionalProperties": True},
        "workflow": {
            **LABEL,
            "description": "The saved workflow of the document, by id or slug, whose schedules and web hooks count.",
        },
    },
    required=("document",),
)
CHECKED = object_schema({"document": _DOCUMENT, "problems": array(PROBLEM), "runnable": BOOLEAN})
SCHEMA: Schema = {"type": "object", "additionalProperties": True, "description": "A JSON schema (draft 2020-12)."}
EXAMPLE = object_schema({"slug": STRING, "name": STRING, "description": STRING, "document": _DOCUMENT})

NAMES = object_schema(
    {
        "agents": array(STRING),
        "webSearchAgents": {**array(STRING), "description": "Agents that can search the web."},
        "tools": array(STRING),
        "servers": {**array(STRING), "description": "MCP servers; their tools are known once they are connected."},
        "models": {
            **optional(array(STRING)),
            "description": "`provider/model`, `model`, or `provider/*` (all models of a provider); null: every name.",
        },
        "workflows": array(STRING),
        "activeTriggers": {
            **array(STRING),
            "description": "The kinds of triggers for which a schedule, heartbeat or webhook exists that starts it.",
        },
    }
)

_FIELD = object_schema(
    {
        "name": STRING,
        "form": one_of(("line", "text", "number", "switch", "choice", "rows", "switches", "object", "list")),
        "label": STRING,
        "help": STRING,
        "required": BOOLEAN,
        "default": {"description": "The value of an omitted field."},
        "minimum": optional(INTEGER),
        "maximum": optional(INTEGER),
        "choices": array(STRING),
        "hiddenChoices": {
            **array(STRING),
            "description": "Choices that Arvis does not support, but that imported documents may contain.",
        },
        "fields": {**array({"type": "object", "additionalProperties": True}), "description": "In the same format."},
        "optionsFrom": {
            **STRING,
            "description": "The list of options: agents, tools, workflows, models, platforms or people.",
        },
    }
)
_KIND = object_schema(
    {
        "name": STRING,
        "label": STRING,
        "category": STRING,
        "help": STRING,
        "fields": array(_FIELD),
        "outputs": {**array(STRING), "description": "Source handles; the empty one is the default output."},
        "rowHandles": optional(object_schema({"field": STRING, "prefix": STRING})),
        "inputs": array(STRING),
        "selectsOutput": BOOLEAN,
        "isTrigger": BOOLEAN,
    }
)
KINDS = object_schema(
    {
        "kinds": array(_KIND),
        "settings": {**array(_FIELD), "description": "Fields of a whole document."},
        "joins": {**array(_FIELD), "description": "Fields of every node that has an incoming connection."},
        "maxNodes": INTEGER,
        "maxConnections": INTEGER,
        "maxBytes": INTEGER,
    }
)


def workflow_view(row: WorkflowRow) -> Json:
    workflow, last = row.workflow, row.last_run
    shown = None if last is None else {"id": last.id, "status": last.status, "at": last.at}
    return {
        "id": workflow.id,
        "slug": workflow.slug,
        "name": workflow.name,
        "description": workflow.description,
        "enabled": workflow.enabled,
        "version": workflow.version,
        "runnable": workflow.runnable,
        "problemCount": row.problems,
        "triggers": list(row.triggers),
        "lastRun": shown,
        "liveRuns": row.live,
        "createdAt": workflow.created_at,
        "updatedAt": workflow.updated_at,
    }


def detail_view(row: WorkflowRow, newest: WorkflowVersion, problems: Sequence[Problem]) -> Json:
    found = problems_view(problems)
    return {**workflow_view(row), "document": newest.document, "note": newest.note, "problems": found}


def version_view(row: VersionRow) -> Json:
    return {"version": row.version, "problemCount": row.problems, "note": row.note, "by": row.by, "at": row.at}


def problems_view(problems: Sequence[Problem]) -> list[Json]:
    """Return at most `_MOST_PROBLEMS` problems, because a document can have thousands. If some problems are left out,
    errors come before warnings."""
    if len(problems) <= _MOST_PROBLEMS:
        return [problem_view(each) for each in problems]
    worst = sorted(problems, key=lambda each: each.severity is not Severity.ERROR)
    return [problem_view(each) for each in worst[:_MOST_PROBLEMS]]


def problem_view(problem: Problem) -> Json:
    """Return the problem. Fields that do not apply are null."""
    return {
        "node": problem.node or None,
        "connection": problem.connection or None,
        "field": problem.field or None,
        "rule": problem.rule,
        "severity": problem.severity,
        "message": problem.message,
        "fix": problem.fix,
    }


def names_view(known: KnownNames) -> Json:
    """Return the names, sorted. None (every name is allowed) stays None."""
    named = {
        "agents": known.agents,
        "webSearchAgents": known.searching,
        "tools": known.tools,
        "servers": known.servers,
        "models": known.models,
        "workflows": known.workflows,
        "activeTriggers": known.begun,
    }
    return {name: None if each is None else sorted(each) for name, each in named.items()}


def kinds_view() -> Json:
    return {
        "kinds": [_kind_view(kind) for kind in kinds.KINDS.values()],
        "settings": [_field_view(field) for field in kinds.SETTINGS],
        "joins": [_field_view(field) for field in (kinds.JOIN, kinds.JOIN_COUNT)],
        "maxNodes": kinds.MOST_NODES,
        "maxConnections": kinds.MOST_CONNECTIONS,
        "maxBytes": kinds.MOST_BYTES,
    }


def _kind_view(kind: kinds.Kind) -> Json:
    rows = None if kind.row_handles is None else {"field": kind.row_handles[0], "prefix": kind.row_handles[1]}
    return {
        "name": kind.name,
        "label": kind.label,
        "category": kind.category,
        "help": kind.help,
        "fields": [_field_view(field) for field in kind.fields],
        "outputs": list(kind.outs),
        "rowHandles": rows,
        "inputs": list(kind.ins),
        "selectsOutput": kind.chooses,
        "isTrigger": kind.begins,
    }


def _field_view(field: kinds.Field) -> Json:
    return {
        "name": field.name,
        "form": field.form,
        "label": field.label,
        "help": field.help,
        "required": field.required,
        "default": field.default,
        "minimum": field.least,
        "maximum": field.most,
        "choices": list(field.choices),
        "hiddenChoices": list(field.unoffered),
        "fields": [_field_view(each) for each in field.fields],
        "optionsFrom": field.offers,
    }
