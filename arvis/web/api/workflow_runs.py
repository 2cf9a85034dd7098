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
from arvis.domain.regex import regex
from arvis.domain.workflows import RunStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, WaitAnswer
from arvis.ports.store import Store, Transaction
from arvis.ports.workflows import RunView as RunPage
from arvis.services import workflow_runs
from arvis.web.api.messages import StatusWaiter
from arvis.web.api.questions import QuestionView
from arvis.web.api.workflow_run_models import (
    NewRun,
    Rerun,
    RerunVersion,
    ResumedRun,
    RunDetailView,
    RunDocumentView,
    RunLineView,
    RunLogView,
    RunStream,
    RunView,
    waking,
)
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.idempotency import request_of
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.limits import BodyLimit, Timeouts
from arvis.web.http.models import Page
from arvis.web.http.rate_limits import ConcurrencyLimit
from arvis.web.http.schema import INTEGER, LABEL, STRING, one_of
from arvis.web.http.streams import EventStream
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
_NUMBER = regex(r"\d{1,9}", re.ASCII)
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


class WorkflowRunRoutes(Routes):
    def __init__(self, *, deps: RunDependencies) -> None:
        self._deps = deps
        self._insights = deps.insights
        self._stream = RunStream(insights=deps.insights, clock=deps.clock, timeouts=deps.timeouts)
        self._slots = ConcurrencyLimit(most=_MOST, most_of_one=_MOST_OF_ONE)

    @route(
        "POST",
        _OF_WORKFLOW,
        "Start a run",
        OPERATE,
        {201: RunDetailView},
        body=NewRun,
        large=True,
        repeatable=True,
    )
    async def _begin(self, call: Call) -> Response:
        body = await call.read(NewRun, _INPUT)
        begun = await self._deps.store.write(
            _begin, call.id("workflow"), body.input, self._deps.clock.now(),
            version=body.version, entry=body.entry, by=await self._by(call), request=request_of(call),
        )  # fmt: skip
        return await self._shown(call, begun.id, 201)

    @route(
        "GET",
        _OF_WORKFLOW,
        "List runs of a workflow, newest first",
        READ,
        {200: Page[RunView]},
        query={**PAGING, **_STATUS},
    )
    async def _list_of_one(self, call: Call) -> Response:
        return await self._listed(call, str(call.request.path_params["workflow"]))

    @route(
        "GET",
        _RUNS,
        "List runs of all workflows, newest first",
        READ,
        {200: Page[RunView]},
        query={**PAGING, **_STATUS, "workflow": LABEL, "source": LABEL},
    )
    async def _list(self, call: Call) -> Response:
        return await self._listed(call, call.query("workflow"))

    @route("GET", _ONE, "Show a run and its state", READ, {200: RunDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call, call.id("run"))

    @route("GET", f"{_ONE}/document", "Show the document of a run's version", READ, {200: RunDocumentView})
    async def _document(self, call: Call) -> Response:
        workflow_id, version, document = await self._deps.store.read(_document_of, call.id("run"))
        return answer(RunDocumentView(workflow_id=workflow_id, version=version, document=document))

    @route(
        "GET",
        f"{_ONE}/log",
        "List the log of a run, in order",
        READ,
        {200: RunLogView},
        query={**_AFTER, "limit": PAGING["limit"]},
    )
    async def _log(self, call: Call) -> Response:
        after, limit = _after(call), call.limit
        found = await self._insights.run_log(call.id("run"), after=after, limit=limit + 1)
        if found is None:
            raise _no_run()
        lines = [RunLineView.of(entry) for entry in found[:limit]]
        last = lines[-1].number if lines else after
        return answer(RunLogView(items=lines, last_number=last, has_more=len(found) > limit))

    @route(
        "GET",
        f"{_ONE}/events",
        "Follow a run as server-sent events: start, log, state, done, error",
        READ,
        {200: STRING},
        query=_AFTER,
        media="text/event-stream",
    )
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

    @route("POST", f"{_ONE}/cancel", "Cancel a run and its child executions", OPERATE, {200: RunDetailView})
    async def _cancel(self, call: Call) -> Response:
        run_id = call.id("run")
        if await self._insights.run_head(run_id) is None:
            raise _no_run()
        by = (await self._deps.gate.asker(call.identity)).name
        await self._deps.operations.cancel_execution(run_id, by=by)
        self._deps.bus.publish(RunAdvanced(run_id))
        return await self._shown(call, run_id)

    @route(
        "POST",
        f"{_ONE}/resume",
        "Answer the oldest open approval of a run; the first answer wins",
        OPERATE,
        {200: RunDetailView},
        body=ResumedRun,
    )
    async def _resume(self, call: Call) -> Response:
        body, run_id = await call.read(ResumedRun), call.id("run")
        by = await self._deps.gate.principal(self._deps.gate.sender(call.identity))
        wait_id = await self._open_question(run_id)
        await self._deps.operations.answer_wait(wait_id, WaitAnswer(decision=body.decision, note=body.note), by)
        self._deps.bus.publish(RunAdvanced(run_id))
        return await self._shown(call, run_id)

    @route(
        "POST",
        f"{_ONE}/rerun",
        "Run it again, from its entry or from a node",
        OPERATE,
        {201: RunDetailView},
        body=Rerun,
        repeatable=True,
    )
    async def _again(self, call: Call) -> Response:
        body = await call.read(Rerun)
        begun = await self._deps.store.write(
            reruns.rerun, call.id("run"), body.node, self._deps.clock.now(),
            by=await self._by(call), newest=body.version is RerunVersion.NEWEST, request=request_of(call),
        )  # fmt: skip
        return await self._shown(call, begun.id, 201)

    async def _listed(self, call: Call, named: str | None) -> Response:
        workflow_id = None if named is None else await self._deps.store.read(_id_of, named)
        status = call.choice("status", RunStatus)
        page = await self._insights.runs(
            workflow_id=workflow_id,
            status=RunStatus(status) if status else None,
            source=call.query("source"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer_page([RunView.of(row) for row in page.items], page.next_cursor)

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
        page = await self._insights.run(run_id)
        if page is None:
            raise _no_run()
        _, _, document = await self._deps.store.read(_document_of, run_id)
        newest = await self._insights.run_log(run_id, after=max(page.row.run.entries - _LOGS, 0), limit=_LOGS)
        logs = [RunLineView.of(entry) for entry in newest or ()]
        questions = await self._questions(call, page)
        return answer(RunDetailView.of_page(page, document, logs=logs, questions=questions), status)

    async def _questions(self, call: Call, page: RunPage) -> list[QuestionView]:
        found = [await self._insights.question(asked.wait_id) for asked in page.row.open_questions]
        known = [each for each in found if each is not None]
        if not known:
            return []
        by = await self._deps.gate.asker(call.identity)
        rights = await self._deps.operations.wait_rights([each.wait for each in known], by)
        return [QuestionView.of_view(each, right) for each, right in zip(known, rights, strict=True)]


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
    """Return the number of the last line that the client has received. The number is in the query, or in the header
    that browsers send when they reconnect."""
    text = call.query("after") or call.request.headers.get("last-event-id") or "0"
    if not _NUMBER.fullmatch(text):
        raise Unprocessable("`after` must be the number of a line.", fix="Omit it for the whole log.")
    return int(text)


def _no_run() -> NotFound:
    return NotFound("There is no such run.", fix="GET /api/runs lists the runs. Old runs are deleted.")
