"""Requests and responses for workflow runs: results, logs, inputs, and a run as server-sent events.

The stream reads rows from the database, so that it is the same in every process; events on the bus only wake it. A
client that reconnects names the last line it received (`Last-Event-ID`, or `after`) and receives the later lines.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Self, TypeVar

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.errors import NotFound
from arvis.domain.events import Changed, RunAdvanced
from arvis.domain.executions import CUT_OFF, ExecutionStatus, WaitKind
from arvis.domain.workflows import ENDS, OUTPUT, STATE, LogEntry, LogType, RunStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.workflows import Place, RunChild, RunRetry, RunRow
from arvis.ports.workflows import RunView as RunPage
from arvis.web.api.messages import Watch
from arvis.web.api.questions import QuestionView
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.limits import Timeouts
from arvis.web.http.models import ABSENT, MEMBER, About, AnyObject, Body, Label, Time, View, Whole
from arvis.web.http.schema import one_of
from arvis.web.http.streams import KEEP_ALIVE
from arvis.workflows.document.kinds import LOG_TYPES
from arvis.workflows.runtime.joins import gate_of
from arvis.workflows.runtime.parts import drawn_id, name_of

# The state of each node of a run, computed from the run's rows: outputs, active nodes, and nodes that were never
# reached.


_Somewhere = TypeVar("_Somewhere", Place, RunChild)

#: The maximum number of characters of a shown output. The stored output can be longer.
LONGEST_OUTPUT = 4_000
_MICROS = 1_000_000
NODE_STATES = ("running", "waiting", "done", "failed", "skipped", "cancelled")


class NewRun(Body):
    input: Annotated[Any, About("A text or any other JSON value; default: the input in its start node.")] = None
    version: Annotated[Whole | None, About("Default: the version that new runs use.", minimum=1)] = None
    entry: Annotated[Label | None, About("The start or trigger node to begin at; default: its start node.")] = None


class RerunVersion(StrEnum):
    SAME = "same"
    NEWEST = "newest"


class Rerun(Body):
    node: Annotated[Label | None, About("The node to begin at; default: the entry of the earlier run.")] = None
    version: Annotated[RerunVersion | None, MEMBER, About("Default: same.")] = None


class ApprovalDecision(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


class ResumedRun(Body):
    decision: Annotated[ApprovalDecision, MEMBER, About("The answer to the open approval.")]
    note: str | None = None


class RunWorkflowView(View):
    id: str
    slug: str
    name: str


class RunView(View):
    id: str
    workflow: RunWorkflowView
    version: int
    status: RunStatus
    waiting_for_input: bool
    current_node_id: Annotated[str | None, About("The node with the oldest open question.")]
    source: Annotated[str, About("Its trigger: api, chat, message, schedule:ID, webhook:ID …")]
    entry: Annotated[str, About("The node at which it began.")]
    rerun_of: Annotated[str | None, About("The run that it repeats.")]
    error: str | None
    started_at: Time
    ended_at: Time | None
    cost_usd: Annotated[float, About("Including its child executions.")]

    @classmethod
    def of(cls, row: RunRow, /, **others: Any) -> Self:
        run = row.run
        return cls.showing(
            run,
            id=run.execution_id,
            workflow=RunWorkflowView(id=run.workflow_id, slug=row.slug, name=row.name),
            status=row.status,
            waiting_for_input=bool(row.open_questions),
            current_node_id=_asking_node(row),
            error=row.error,
            started_at=run.created_at,
            ended_at=row.ended_at,
            cost_usd=row.cost_micros / _MICROS,
            **others,
        )


class RetryView(View):
    attempts: int
    next_at: Time
    reason: str


class NodeView(View):
    state: Annotated[str, About(**one_of(NODE_STATES))]
    visits: int
    output: Annotated[Any, About("Its newest output, cut to 4,000 characters.")] = ABSENT
    at: Annotated[Time | None, About("The time of this output.")] = ABSENT
    tainted: Annotated[bool, About("It contains text from other people or sources.")] = ABSENT
    error: str | None = ABSENT
    retry: Annotated[
        RetryView,
        About("While its child waits for the next attempt: the failures so far and the last reason."),
    ] = ABSENT
    warnings: Annotated[
        list[str], About("Problems that did not stop the run, such as an answer that named no route.")
    ] = ABSENT


class ChildView(View):
    id: str
    graph: str
    status: ExecutionStatus
    created_at: Time


class RunLineView(View):
    number: int
    timestamp: Time
    node_id: str
    type: Annotated[str, About(**one_of((*LogType, *LOG_TYPES)))]
    content: str

    @classmethod
    def of(cls, entry: LogEntry) -> Self:
        return cls.showing(entry, timestamp=entry.at)


class RunDetailView(RunView):
    questions: Annotated[list[QuestionView], About("The open questions, the oldest first.")]
    nodes: Annotated[dict[str, NodeView], About("By node id. During the run, nodes that were not reached are omitted.")]
    state: Annotated[AnyObject, About("Outputs by node id.", additionalProperties=True)]
    result: Annotated[Any, About("Its result, once it has ended.")]
    input: Any
    message_id: Annotated[str | None, About("The message that it answers.")]
    children: list[ChildView]
    logs: Annotated[list[RunLineView], About("The newest 100 lines; GET /api/runs/{run}/log returns all.")]
    logs_total: int

    @classmethod
    def of_page(cls, page: RunPage, document: Mapping[str, Any], /, **others: Any) -> Self:
        return cls.of(
            page.row,
            nodes=nodes_view(page, document),
            state=outputs_view(page),
            result=result_view(page.execution.result),
            input=shortened(page.execution.state.get(STATE, {}).get("input")),
            message_id=page.message_id,
            children=[ChildView.showing(child) for child in page.children],
            logs_total=page.row.run.entries,
            **others,
        )


class RunLogView(View):
    items: list[RunLineView]
    last_number: Annotated[int, About("The number of the last line, for `after`.")]
    has_more: bool


class RunDocumentView(View):
    workflow_id: str
    version: int
    document: Annotated[AnyObject, About(additionalProperties=True)]


def is_over(row: RunRow) -> bool:
    return row.status in ENDS.values()


def nodes_view(view: RunPage, document: Mapping[str, Any]) -> dict[str, NodeView]:
    """Return the state of each node of the run's version, by node id. Until the run has ended, leave out the nodes that
    the run has not reached."""
    asking = {drawn_id(each.node) for each in view.row.open_questions if each.node is not None}
    places, retried = _by_node(view.places), _by_node([each for each in view.children if each.retry is not None])
    found: dict[str, NodeView] = {}
    for node_id in _ids(document):
        here = [*places.get(name_of(node_id), ()), *places.get(gate_of(node_id), ())]
        retries = [each.retry for each in retried.get(name_of(node_id), ()) if each.retry is not None]
        shown = _node(view, node_id, here, retries, asks=node_id in asking)
        if shown is not None:
            found[node_id] = shown
    return found


def outputs_view(view: RunPage) -> AnyObject:
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


def _node(
    view: RunPage, node_id: str, here: list[Place], retries: Sequence[RunRetry], *, asks: bool
) -> NodeView | None:
    kept = view.execution.state.get(OUTPUT + node_id)
    given: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
    state = _state(view, name_of(node_id), given, here, asks=asks)
    if state is None:
        return None
    busy = sum(place.node == name_of(node_id) for place in here) if not is_over(view.row) else 0
    shown: AnyObject = {"state": state, "visits": view.visits.get(name_of(node_id), 0) + busy}
    if retries and not is_over(view.row):
        last = max(retries, key=lambda each: each.next_at)
        shown["retry"] = RetryView.showing(last)
    if given:
        error = {} if given.get("failed") is None else {"error": str(given["failed"])}
        shown |= {"output": shortened(given.get("output")), "at": given.get("at"), **error}
        shown["tainted"] = bool(given.get("tainted"))
        shown |= {"warnings": list(given["warnings"])} if given.get("warnings") else {}
    elif state == "failed":
        shown["error"] = view.row.error
    return NodeView(**shown)


def _state(view: RunPage, name: str, given: Mapping[str, Any], here: list[Place], *, asks: bool) -> str | None:
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


def _has_logged_failure(view: RunPage) -> bool:
    """Return whether a node has stored its failure. If no node has stored one, a failed run failed at the nodes at
    which it stopped."""
    kept = [each for key, each in view.execution.state.items() if key.startswith(OUTPUT)]
    return any(isinstance(each, Mapping) and each.get("failed") is not None for each in kept)


def _is_blocked(view: RunPage, place: Place) -> bool:
    """Return whether the token is blocked: it waits for something other than its child execution, it waits for other
    branches before a node that joins them, or it pauses because another branch asks a question."""
    if place.waits_for is not None:
        return place.waits_for is not WaitKind.CHILD
    return drawn_id(place.node) is None or view.execution.status is ExecutionStatus.PAUSED


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
        last_status: AnyObject | None = None
        while True:
            # The status is read before the lines. If the run has ended, the lines that are read afterwards are complete.
            row = await attempt(self._row(run_id))
            if isinstance(row, Failure):
                yield event("error", row.to_json())
                return
            if last_status is None:
                yield event("start", RunView.of(row).to_json())
            async for entry in self._lines(run_id, after):
                after = entry.number
                yield event("log", RunLineView.of(entry).to_json(), number=after)
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
        return event(kind, {**RunView.of(row).to_json(), "result": result})


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


def run_status(row: RunRow) -> AnyObject:
    shown = RunView.of(row).to_json()
    return {name: shown[name] for name in ("status", "waitingForInput", "currentNodeId")}


def result_view(result: Any) -> Any:
    """Return the result of the run for display: the `output` in the result, or the whole result if it has no
    `output`."""
    output = result.get("output", result) if isinstance(result, Mapping) else result
    return shortened(output)


def event(kind: str, data: Mapping[str, Any], *, number: int | None = None) -> str:
    """Format a server-sent event. The JSON contains no line breaks, so one data line is enough."""
    named = "" if number is None else f"id: {number}\n"
    text = json.dumps(data, default=View.to_json, ensure_ascii=False, separators=(",", ":"))
    return f"{named}event: {kind}\ndata: {text}\n\n"
