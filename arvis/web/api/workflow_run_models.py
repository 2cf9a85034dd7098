"""Requests and responses for workflow runs: results, logs, inputs, and a run as server-sent events.

The stream reads rows from the database, so that it is the same in every process; events on the bus only wake it. A
client that reconnects names the last line it received (`Last-Event-ID`, or `after`) and receives the later lines.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.errors import NotFound
from arvis.domain.events import Changed, RunAdvanced
from arvis.domain.executions import CUT_OFF, ExecutionStatus, WaitKind
from arvis.domain.workflows import ENDS, OUTPUT, LogEntry, LogType, RunStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.workflows import Place, RunChild, RunRetry, RunRow, RunView
from arvis.web.api.messages import Watch
from arvis.web.api.questions import WAIT
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.schema import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    LABEL,
    NUMBER,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
)
from arvis.web.http.streams import KEEP_ALIVE, Timeouts
from arvis.workflows.document.kinds import LOG_TYPES
from arvis.workflows.runtime.joins import gate_of
from arvis.workflows.runtime.parts import drawn_id, name_of

# The state of each node of a run, computed from the run's rows: outputs, active nodes, and nodes that were never
# reached.


Json = dict[str, Any]

_Somewhere = TypeVar("_Somewhere", Place, RunChild)

#: The maximum number of characters of a shown output. The stored output can be longer.
LONGEST_OUTPUT = 4_000
_MICROS = 1_000_000


def is_over(row: RunRow) -> bool:
    return row.status in ENDS.values()


def run_view(row: RunRow) -> Json:
    run = row.run
    return {
        "id": run.execution_id,
        "workflow": {"id": run.workflow_id, "slug": row.slug, "name": row.name},
        "version": run.version,
        "status": row.status,
        "waitingForInput": bool(row.open_questions),
        "currentNodeId": _asking_node(row),
        "source": run.source,
        "entry": run.entry,
        "rerunOf": run.rerun_of,
        "error": row.error,
        "startedAt": run.created_at,
        "endedAt": row.ended_at,
        "costUsd": row.cost_micros / _MICROS,
    }


def nodes_view(view: RunView, document: Mapping[str, Any]) -> Json:
    """Return the state of each node of the run's version, by node id. Until the run has ended, leave out the nodes that
    the run has not reached."""
    asking = {drawn_id(each.node) for each in view.row.open_questions if each.node is not None}
    places, retried = _by_node(view.places), _by_node([each for each in view.children if each.retry is not None])
    found: Json = {}
    for node_id in _ids(document):
        here = [*places.get(name_of(node_id), ()), *places.get(gate_of(node_id), ())]
        retries = [each.retry for each in retried.get(name_of(node_id), ()) if each.retry is not None]
        shown = _node(view, node_id, here, retries, asks=node_id in asking)
        if shown is not None:
            found[node_id] = shown
    return found


def outputs_view(view: RunView) -> Json:
    state = view.execution.state
    kept = {key.removeprefix(OUTPUT): each for key, each in state.items() if key.startswith(OUTPUT)}
    return {node_id: shortened(each.get("output")) for node_id, each in kept.items() if isinstance(each, Mapping)}


def shortened(output: Any) -> Any:
    """Return the output unchanged, or the beginning of its text if the text is longer than `LONGEST_OUTPUT`."""
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return output if len(text) <= LONGEST_OUTPUT else f"{text[:LONGEST_OUTPUT]}…"


def _asking_node(row: RunRow) -> str | None:
    """Return the node with the oldest open question."""
    place = row.open_questions[0].node if row.open_questions else None
    return None if place is None else drawn_id(place)


def _ids(document: Mapping[str, Any]) -> list[str]:
    nodes = document.get("nodes")
    return [str(node["id"]) for node in nodes if "id" in node] if isinstance(nodes, list) else []


def _by_node(each_somewhere: Sequence[_Somewhere]) -> dict[str | None, list[_Somewhere]]:
    """Group the tokens or children by node in one pass, because a run can have hundreds of them."""
    found = defaultdict[str | None, list[_Somewhere]](list)
    for each in each_somewhere:
        found[each.node].append(each)
    return found


def _node(view: RunView, node_id: str, here: list[Place], retries: Sequence[RunRetry], *, asks: bool) -> Json | None:
    kept = view.execution.state.get(OUTPUT + node_id)
    given: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
    state = _state(view, name_of(node_id), given, here, asks=asks)
    if state is None:
        return None
    busy = sum(place.node == name_of(node_id) for place in here) if not is_over(view.row) else 0
    shown: Json = {"state": state, "visits": view.visits.get(name_of(node_id), 0) + busy}
    if retries and not is_over(view.row):
        last = max(retries, key=lambda each: each.next_at)
        shown["retry"] = {"attempts": last.attempts, "nextAt": last.next_at, "reason": last.reason}
    if given:
        error = {} if given.get("failed") is None else {"error": str(given["failed"])}
        shown |= {"output": shortened(given.get("output")), "at": given.get("at"), **error}
        shown["tainted"] = bool(given.get("tainted"))
        shown |= {"warnings": list(given["warnings"])} if given.get("warnings") else {}
    elif state == "failed":
        shown["error"] = view.row.error
    return shown


def _state(view: RunView, name: str, given: Mapping[str, Any], here: list[Place], *, asks: bool) -> str | None:
    over = is_over(view.row)
    if given.get("failed") is not None and (over or not here):
        return "failed"
    if over and here and view.row.status is RunStatus.FAILED and not _has_logged_failure(view):
        return "failed"
    if here and not over:
        return "waiting" if asks or all(_is_blocked(view, place) for place in here) else "running"
    if given:
        return "done"
    if over and name in view.execution.state.get(CUT_OFF, ()):
        return "cancelled"
    return "skipped" if over else None


def _has_logged_failure(view: RunView) -> bool:
    """Return whether a node has stored its failure. If no node has, a failed run has failed at the nodes at which it
    stopped."""
    kept = [each for key, each in view.execution.state.items() if key.startswith(OUTPUT)]
    return any(isinstance(each, Mapping) and each.get("failed") is not None for each in kept)


def _is_blocked(view: RunView, place: Place) -> bool:
    """Return whether the token is blocked: it waits for something other than its child execution, it waits for other
    branches before a node that joins them, or it pauses because another branch asks a question."""
    if place.waits_for is not None:
        return place.waits_for is not WaitKind.CHILD
    return drawn_id(place.node) is None or view.execution.status is ExecutionStatus.PAUSED


NODE_STATES = ("running", "waiting", "done", "failed", "skipped", "cancelled")
NEW_RUN = object_schema(
    {
        "input": {"description": "A text or any other JSON value; default: the input in its start node."},
        "version": {**INTEGER, "minimum": 1, "description": "Default: the version that new runs use."},
        "entry": {**LABEL, "description": "The start or trigger node to begin at; default: its start node."},
    },
    required=(),
)
AGAIN = object_schema(
    {
        "node": {**LABEL, "description": "The node to begin at; default: the entry of the earlier run."},
        "version": {**one_of(("same", "newest")), "description": "Default: same."},
    },
    required=(),
)
RESUMED = object_schema(
    {
        "decision": {**one_of(("approve", "reject")), "description": "The answer to the open approval."},
        "note": STRING,
    },
    required=("decision",),
)
RUN = object_schema(
    {
        "id": STRING,
        "workflow": object_schema({"id": STRING, "slug": STRING, "name": STRING}),
        "version": INTEGER,
        "status": one_of(RunStatus),
        "waitingForInput": BOOLEAN,
        "currentNodeId": {**optional(STRING), "description": "The node with the oldest open question."},
        "source": {**STRING, "description": "Its trigger: api, chat, message, schedule:ID, webhook:ID …"},
        "entry": {**STRING, "description": "The node at which it began."},
        "rerunOf": {**optional(STRING), "description": "The run that it repeats."},
        "error": optional(STRING),
        "startedAt": TIME,
        "endedAt": optional(TIME),
        "costUsd": {**NUMBER, "description": "Including its child executions."},
    }
)
NODE: Schema = object_schema(
    {
        "state": one_of(NODE_STATES),
        "visits": INTEGER,
        "output": {"description": "Its newest output, cut to 4,000 characters."},
        "at": {**optional(TIME), "description": "The time of this output."},
        "tainted": {**BOOLEAN, "description": "It contains text from other people or sources."},
        "error": optional(STRING),
        "retry": {
            **object_schema({"attempts": INTEGER, "nextAt": TIME, "reason": STRING}),
            "description": "While its child waits for the next attempt: the failures so far and the last reason.",
        },
        "warnings": {
            **array(STRING),
            "description": "Problems that did not stop the run, such as an answer that named no route.",
        },
    },
    required=("state", "visits"),
)
CHILD = object_schema({"id": STRING, "graph": STRING, "status": one_of(ExecutionStatus), "createdAt": TIME})
LOG_LINE = object_schema(
    {"number": INTEGER, "timestamp": TIME, "nodeId": STRING, "type": one_of((*LogType, *LOG_TYPES)), "content": STRING}
)
RUN_DETAIL = object_schema(
    {
        **RUN["properties"],
        "questions": {**array(WAIT), "description": "The open questions, the oldest first."},
        "nodes": {
            "type": "object",
            "additionalProperties": NODE,
            "description": "By node id. During the run, nodes that were not reached are omitted.",
        },
        "state": {
            "type": "object",
            "additionalProperties": True,
            "description": "Outputs by node id.",
        },
        "result": {**ANYTHING, "description": "Its result, once it has ended."},
        "input": ANYTHING,
        "messageId": {**optional(STRING), "description": "The message that it answers."},
        "children": array(CHILD),
        "logs": {**array(LOG_LINE), "description": "The newest 100 lines; GET /api/runs/{run}/log returns all."},
        "logsTotal": INTEGER,
    }
)
LOG = object_schema(
    {
        "items": array(LOG_LINE),
        "lastNumber": {**INTEGER, "description": "The number of the last line, for `after`."},
        "hasMore": BOOLEAN,
    }
)
RUN_DOCUMENT = object_schema(
    {"workflowId": STRING, "version": INTEGER, "document": {"type": "object", "additionalProperties": True}}
)


# The run as a stream of events: each line of its log exactly once and in order, and each change of its status.

#: The maximum number of log lines per read.
_LINES = 200


class RunStream:
    def __init__(self, *, insights: Insights, clock: Clock, timeouts: Timeouts) -> None:
        self._insights = insights
        self._clock = clock
        self._timeouts = timeouts

    async def events(self, run_id: str, after: int, watch: Watch) -> AsyncIterator[str]:
        """Yield the log lines after the line with number `after` and the changes of the status, until the run ends. An
        error becomes the last event."""
        last_status: Json | None = None
        while True:
            # The status is read before the lines, so that a finished run has all its lines.
            row = await attempt(self._row(run_id))
            if isinstance(row, Failure):
                yield event("error", row.to_json())
                return
            if last_status is None:
                yield event("start", run_view(row))
            async for entry in self._lines(run_id, after):
                after = entry.number
                yield event("log", line_view(entry), number=after)
            now = run_status(row)
            if now != last_status:
                last_status = now
                yield event("state", now)
            if is_over(row):
                yield await self._end(row)
                return
            if watch.closed:
                yield event("error", watch.failure.to_json())
                return
            before = self._clock.monotonic()
            await watch.changed(self._timeouts.keepalive)
            if self._clock.monotonic() - before >= self._timeouts.keepalive:
                yield KEEP_ALIVE

    async def _row(self, run_id: str) -> RunRow:
        row = await self._insights.run_head(run_id)
        if row is None:
            raise NotFound("The run has been deleted.", fix="Old runs are deleted; start the workflow again.")
        return row

    async def _lines(self, run_id: str, after: int) -> AsyncIterator[LogEntry]:
        while entries := await self._insights.run_log(run_id, after=after, limit=_LINES):
            for entry in entries:
                after = entry.number
                yield entry
            if len(entries) < _LINES:
                return

    async def _end(self, row: RunRow) -> str:
        view = await attempt(self._insights.run(row.run.execution_id))
        result = None if view is None or isinstance(view, Failure) else result_view(view.execution.result)
        kind = "error" if row.status is RunStatus.FAILED else "done"
        return event(kind, {**run_view(row), "result": result})


@contextlib.contextmanager
def waking(bus: EventBus, run_id: str, watch: Watch) -> Iterator[None]:
    """Wake the watch at every event of this run, while the context is open."""

    def advanced(news: RunAdvanced) -> None:
        if news.run_id == run_id:
            watch.wake()

    def changed(news: Changed) -> None:
        if news.topic == ChangeTopic.WORKFLOWS and news.id in {None, run_id}:
            watch.wake()

    endings = [bus.subscribe(RunAdvanced, advanced), bus.subscribe(Changed, changed)]
    try:
        yield
    finally:
        for end in endings:
            end()


def line_view(entry: LogEntry) -> Json:
    return {
        "number": entry.number,
        "timestamp": entry.at,
        "nodeId": entry.node_id,
        "type": entry.type,
        "content": entry.content,
    }


def run_status(row: RunRow) -> Json:
    shown = run_view(row)
    return {name: shown[name] for name in ("status", "waitingForInput", "currentNodeId")}


def result_view(result: Any) -> Any:
    """Return the result of the run for display: the `output` in the result, or the whole result if it has none."""
    output = result.get("output", result) if isinstance(result, Mapping) else result
    return shortened(output)


def event(kind: str, data: Mapping[str, Any], *, number: int | None = None) -> str:
    """Format a server-sent event. The JSON contains no line breaks, so one data line is enough."""
    named = "" if number is None else f"id: {number}\n"
    return f"{named}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
