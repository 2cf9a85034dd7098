"""Workflow runs over HTTP: start, follow, answer, cancel and rerun them."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

from starlette.responses import Response

from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.events import RunAdvanced
from arvis.domain.executions import Execution, WaitKind
from arvis.domain.workflows import STATE, RunStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, WaitAnswer
from arvis.ports.store import Store, Transaction
from arvis.ports.workflows import RunView
from arvis.services import workflow_runs
from arvis.web.api.messages import StatusWaiter
from arvis.web.api.questions import question_view
from arvis.web.api.workflow_run_models import (
    AGAIN,
    LOG,
    NEW_RUN,
    RESUMED,
    RUN,
    RUN_DETAIL,
    RUN_DOCUMENT,
    RunStream,
    line_view,
    nodes_view,
    outputs_view,
    result_view,
    run_view,
    shortened,
    waking,
)
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.idempotency import request_of
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.rate_limits import ConcurrencyLimit
from arvis.web.http.requests import BodyLimit, read_json, unusable
from arvis.web.http.schema import INTEGER, LABEL, STRING, one_of, page_schema
from arvis.web.http.streams import EventStream, Timeouts
from arvis.web.http.views import Json, page_view
from arvis.workflows import reruns

_RUNS, _ONE = "/api/runs", "/api/runs/{run}"
_OF_WORKFLOW = "/api/workflows/{workflow}/runs"
_STATUS = {"status": one_of(RunStatus)}
_AFTER = {
    "after": {**INTEGER, "minimum": 0, "description": "The number of the last known line; default 0."},
}
_INPUT = BodyLimit(size=1_000_000, marks=250_000)
#: The maximum number of log lines in the response for a run.
_LOGS = 100
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
#: The maximum number of concurrent streams: in total, and per key.
_MOST, _MOST_OF_ONE = 256, 64
_DECIDED = frozenset({WaitKind.APPROVAL, WaitKind.REVIEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDependencies:
    """The services that start and read runs."""

    insights: Insights
    operations: Operations
    store: Store
    gate: Authorizer
    board: StatusWaiter
    bus: EventBus
    clock: Clock
    timeouts: Timeouts


class WorkflowRunRoutes:
    def __init__(self, *, deps: RunDependencies) -> None:
        self._deps = deps
        self._insights = deps.insights
        self._stream = RunStream(insights=deps.insights, clock=deps.clock, timeouts=deps.timeouts)
        self._slots = ConcurrencyLimit(most=_MOST, most_of_one=_MOST_OF_ONE)

    def endpoints(self) -> list[Endpoint]:
        listed, shown, begun = {200: page_schema(RUN)}, {200: RUN_DETAIL}, {201: RUN_DETAIL}
        every = {**PAGING, **_STATUS, "workflow": LABEL, "source": LABEL}
        of_one = {**PAGING, **_STATUS}
        return [
            Endpoint("POST", _OF_WORKFLOW, "Start a run", OPERATE, self._begin, begun, NEW_RUN, large=True, repeatable=True),
            Endpoint("GET", _OF_WORKFLOW, "List runs of a workflow, newest first", READ, self._list, listed, query=of_one),
            Endpoint("GET", _RUNS, "List runs of all workflows, newest first", READ, self._list, listed, query=every),
            Endpoint("GET", _ONE, "Show a run and its state", READ, self._show, shown),
            Endpoint(
                "GET", f"{_ONE}/document", "Show the document of a run's version", READ, self._document,
                {200: RUN_DOCUMENT},
            ),
            Endpoint(
                "GET", f"{_ONE}/log", "List the log of a run, in order", READ, self._log, {200: LOG},
                query={**_AFTER, "limit": PAGING["limit"]},
            ),
            Endpoint(
                "GET", f"{_ONE}/events",
                "Follow a run as server-sent events: start, log, state, done, error", READ, self._events,
                {200: STRING}, query=_AFTER, media="text/event-stream",
            ),
            Endpoint("POST", f"{_ONE}/cancel", "Cancel a run and its child executions", OPERATE, self._cancel, shown),
            Endpoint(
                "POST", f"{_ONE}/resume", "Answer the oldest open approval of a run; the first answer wins", OPERATE,
                self._resume, shown, RESUMED,
            ),
            Endpoint(
                "POST", f"{_ONE}/rerun", "Run it again, from its entry or from a node", OPERATE, self._again, begun, AGAIN,
                repeatable=True,
            ),
        ]  # fmt: skip

    async def _begin(self, call: Call) -> Response:
        fields = await read_json(call.request, _INPUT)
        fields.refuse_others(NEW_RUN)
        version, entry = fields.whole("version"), fields.label("entry")
        begun = await self._deps.store.write(
            _begin, call.id("workflow"), fields.raw("input"), self._deps.clock.now(),
            version=version, entry=entry, by=await self._by(call), request=request_of(call),
        )  # fmt: skip
        return await self._shown(call, begun.id, 201)

    async def _list(self, call: Call) -> Response:
        named = call.request.path_params.get("workflow") or call.query("workflow")
        workflow_id = None if named is None else await self._deps.store.read(_id_of, str(named))
        status = call.choice("status", RunStatus)
        page = await self._insights.runs(
            workflow_id=workflow_id,
            status=RunStatus(status) if status else None,
            source=call.query("source"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer(page_view([run_view(row) for row in page.items], page.next_cursor))

    async def _show(self, call: Call) -> Response:
        return await self._shown(call, call.id("run"))

    async def _document(self, call: Call) -> Response:
        version = await self._deps.store.read(_document_of, call.id("run"))
        return answer({"workflowId": version[0], "version": version[1], "document": version[2]})

    async def _log(self, call: Call) -> Response:
        after, limit = _after(call), call.limit
        found = await self._insights.run_log(call.id("run"), after=after, limit=limit + 1)
        if found is None:
            raise _no_run()
        shown = [line_view(entry) for entry in found[:limit]]
        last = shown[-1]["number"] if shown else after
        return answer({"items": shown, "lastNumber": last, "hasMore": len(found) > limit})

    async def _events(self, call: Call) -> Response:
        run_id, after = call.id("run"), _after(call)
        if await self._insights.run_head(run_id) is None:
            raise _no_run()
        with ExitStack() as held:
            held.enter_context(self._slots.taken(call.identity.user_id))
            watch = held.enter_context(self._deps.board.watch(run_id, call.identity))
            held.enter_context(waking(self._deps.bus, run_id, watch))
            events = self._stream.events(run_id, after, watch)
            return EventStream(events, held=held.pop_all(), headers={"Cache-Control": "no-store"})

    async def _cancel(self, call: Call) -> Response:
        run_id = call.id("run")
        if await self._insights.run_head(run_id) is None:
            raise _no_run()
        by = (await self._deps.gate.asker(call.identity)).name
        await self._deps.operations.cancel_execution(run_id, by=by)
        self._deps.bus.publish(RunAdvanced(run_id))
        return await self._shown(call, run_id)

    async def _resume(self, call: Call) -> Response:
        fields, run_id = await call.fields(), call.id("run")
        decision = fields.required_text("decision")
        if decision not in {"approve", "reject"}:
            raise unusable("decision", "must be approve or reject")
        by = await self._deps.gate.principal(self._deps.gate.sender(call.identity))
        wait_id = await self._open_question(run_id)
        given = WaitAnswer(decision=decision, note=fields.text("note"))
        await self._deps.operations.answer_wait(wait_id, given, by)
        self._deps.bus.publish(RunAdvanced(run_id))
        return await self._shown(call, run_id)

    async def _again(self, call: Call) -> Response:
        fields = await call.fields()
        newest = fields.text("version")
        if newest not in {None, "same", "newest"}:
            raise unusable("version", "must be same or newest")
        begun = await self._deps.store.write(
            reruns.rerun, call.id("run"), fields.label("node"), self._deps.clock.now(),
            by=await self._by(call), newest=newest == "newest", request=request_of(call),
        )  # fmt: skip
        return await self._shown(call, begun.id, 201)

    async def _open_question(self, run_id: str) -> str:
        """Return the id of the run's oldest open approval. Raise `Conflict` if there is none."""
        row = await self._insights.run_head(run_id)
        if row is None:
            raise _no_run()
        for asked in row.open_questions:
            wait = await self._insights.wait(asked.wait_id)
            if wait is not None and wait.kind in _DECIDED and wait.answered_at is None:
                return wait.id
        raise Conflict(
            "This run does not wait for a decision.",
            why=f"It is {row.status}; another person may have answered first.",
            fix="Check its state (GET /api/runs/{run}).",
            code="not_waiting",
        )

    async def _by(self, call: Call) -> str:
        return (await self._deps.gate.principal(self._deps.gate.sender(call.identity))).id

    async def _shown(self, call: Call, run_id: str, status: int = 200) -> Response:
        view = await self._insights.run(run_id)
        if view is None:
            raise _no_run()
        _, _, document = await self._deps.store.read(_document_of, run_id)
        newest = await self._insights.run_log(run_id, after=max(view.row.run.entries - _LOGS, 0), limit=_LOGS)
        logs = [line_view(entry) for entry in newest or ()]
        return answer({**_detail(view, document), "logs": logs, "questions": await self._waits(call, view)}, status)

    async def _waits(self, call: Call, view: RunView) -> list[Json]:
        found = [await self._insights.question(asked.wait_id) for asked in view.row.open_questions]
        known = [each for each in found if each is not None]
        if not known:
            return []
        by = await self._deps.gate.asker(call.identity)
        rights = await self._deps.operations.wait_rights([each.wait for each in known], by)
        return [question_view(each, right) for each, right in zip(known, rights, strict=True)]


def _detail(view: RunView, document: Any) -> Json:
    part = view.execution.state.get(STATE, {})
    return {
        **run_view(view.row),
        "nodes": nodes_view(view, document),
        "state": outputs_view(view),
        "result": result_view(view.execution.result),
        "input": shortened(part.get("input")),
        "messageId": view.message_id,
        "children": [
            {"id": each.id, "graph": each.graph, "status": each.status, "createdAt": each.created_at}
            for each in view.children
        ],
        "logsTotal": view.row.run.entries,
    }


def _begin(
    tx: Transaction,
    name: str,
    given: Any,
    now: int,
    *,
    version: int | None,
    entry: str | None,
    by: str,
    request: str | None,
) -> Execution:
    workflow = workflow_runs.find(tx, name)
    whole, place = workflow_runs.whole_version(tx, workflow, version), workflow_runs.place_of(workflow)
    wanted = workflow_runs.NewWorkflowRun(
        workflow=workflow,
        agent=workflow_runs.agent_of(tx, whole, workflow_runs.asker_for(tx, by, place, {})),
        address=place,
        source="api",
        input=given,
        principal_id=by,
        version=whole.version,
        entry=entry,
        request=request,
    )
    return workflow_runs.begin(tx, wanted, now)


def _id_of(tx: Transaction, name: str) -> str:
    """Return the id of a workflow. A removed workflow is found only by its id, because its runs can still be listed."""
    gone = tx.workflows.get(name)
    return gone.id if gone is not None else workflow_runs.find(tx, name).id


def _document_of(tx: Transaction, run_id: str) -> tuple[str, int, Any]:
    run = tx.workflow_runs.get(run_id)
    version = None if run is None else tx.workflows.version(run.workflow_id, run.version)
    if version is None:
        raise _no_run()
    return version.workflow_id, version.version, version.document


def _after(call: Call) -> int:
    """Return the number of the last line that the client has received. It is in the query, or in the header that
    browsers send when they reconnect."""
    text = call.query("after") or call.request.headers.get("last-event-id") or "0"
    if not _NUMBER.fullmatch(text):
        raise Unprocessable("`after` must be the number of a line.", fix="Omit it for the whole log.")
    return int(text)


def _no_run() -> NotFound:
    return NotFound("There is no such run.", fix="Look it up in the list (GET /api/runs); old runs are deleted.")
