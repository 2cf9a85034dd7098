"""Runs of workflows, what they tell and what begins one, as requests and answers have them (seed 002's words)."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import ExecutionStatus
from arvis.domain.workflows import LogType, RunStatus
from arvis.web.schemas import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    LABEL,
    NUMBER,
    STRING,
    TIME,
    Schema,
    array,
    one_of,
    optional,
    record,
)
from arvis.web.wait_shapes import WAIT

Json = dict[str, Any]

NODE_STATES = ("running", "waiting", "done", "failed", "skipped", "cancelled")
NEW_RUN = record(
    {
        "input": {"description": "What it begins with: a text or any other JSON; left out: what its start says."},
        "version": {**INTEGER, "minimum": 1, "description": "Left out: the one that runs."},
        "entry": {**LABEL, "description": "The start or trigger to begin at; left out: its start."},
    },
    required=(),
)
AGAIN = record(
    {
        "node": {**LABEL, "description": "The node to begin at; left out: where that run began."},
        "version": {**one_of(("same", "newest")), "description": "Default: same."},
    },
    required=(),
)
RESUMED = record(
    {
        "decision": {**one_of(("approve", "reject")), "description": "What a person decides."},
        "note": STRING,
    },
    required=("decision",),
)
RUN = record(
    {
        "id": STRING,
        "workflow": record({"id": STRING, "slug": STRING, "name": STRING}),
        "version": INTEGER,
        "status": one_of(RunStatus),
        "waitingForInput": BOOLEAN,
        "currentNodeId": {**optional(STRING), "description": "The node that asks a person now."},
        "source": {**STRING, "description": "What began it: api, chat, message, schedule:ID, webhook:ID …"},
        "entry": {**STRING, "description": "The node at which it began."},
        "againOf": {**optional(STRING), "description": "The run that it repeats."},
        "error": optional(STRING),
        "startedAt": TIME,
        "endedAt": optional(TIME),
        "costUsd": {**NUMBER, "description": "With all that works for it."},
    }
)
NODE: Schema = record(
    {
        "state": one_of(NODE_STATES),
        "visits": INTEGER,
        "output": {"description": "Its newest; texts are cut."},
        "at": {**optional(TIME), "description": "When it came there."},
        "tainted": {**BOOLEAN, "description": "It was made of what others wrote."},
        "error": optional(STRING),
        "retry": {
            **record({"attempts": INTEGER, "nextAt": TIME, "reason": STRING}),
            "description": "While what it called waits for its next try: how many failed, and why the last.",
        },
        "warnings": {
            **array(STRING),
            "description": "What it went on in spite of, such as an answer that named no route.",
        },
    },
    required=("state", "visits"),
)
CHILD = record({"id": STRING, "graph": STRING, "status": one_of(ExecutionStatus), "createdAt": TIME})
LOG_LINE = record({"number": INTEGER, "timestamp": TIME, "nodeId": STRING, "type": one_of(LogType), "content": STRING})
RUN_DETAIL = record(
    {
        **RUN["properties"],
        "waits": {**array(WAIT), "description": "The open questions, the oldest first."},
        "nodes": {
            "type": "object",
            "additionalProperties": NODE,
            "description": "By the ids of nodes; those that nothing came to are left out while it runs.",
        },
        "state": {
            "type": "object",
            "additionalProperties": True,
            "description": "By the ids of nodes, what they gave; seed 002's.",
        },
        "result": {**ANYTHING, "description": "What came of it, once it is over."},
        "input": ANYTHING,
        "messageId": {**optional(STRING), "description": "The message that it answers."},
        "children": array(CHILD),
        "logs": {**array(LOG_LINE), "description": "The newest hundred lines; GET /api/runs/{run}/log has all."},
        "logsTotal": INTEGER,
    }
)
LOG = record(
    {"items": array(LOG_LINE), "last": {**INTEGER, "description": "The number to ask after."}, "more": BOOLEAN}
)
RUN_DOCUMENT = record(
    {"workflowId": STRING, "version": INTEGER, "document": {"type": "object", "additionalProperties": True}}
)
