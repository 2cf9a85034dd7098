"""Executions over HTTP: list, show and cancel turns, runs and their child executions, and show the current work of
each agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.executions import Execution, ExecutionStatus, Wait
from arvis.domain.money import MICROS
from arvis.graphs.planning.state import PlanningState
from arvis.ports.clock import Clock
from arvis.ports.insights import ExecutionView as ExecutionFound
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.ports.store import Store
from arvis.services.activity import Activity, ActivityKind, ActivityStatus, activities
from arvis.tasks.state import WorkState
from arvis.tasks.task import source_of
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.models import About, Page, Time, View
from arvis.web.http.schema import LABEL, one_of
from arvis.web.http.views import StepJson, call_step, node_steps

#: The maximum number of characters of an execution's result.
_LONGEST_OUTCOME = 2_000
#: The fields of a step that are shown. Its changes are not shown, because they are parts of the state.
_SHOWN = ("at", "step", "actor", "node", "decision", "durationMs")


class ExecutionHeadView(View):
    """The fields of every view of an execution."""

    id: str
    graph: str
    status: ExecutionStatus
    agent: str | None
    source: Annotated[str, About("The trigger of a run without a message: schedule:ID or webhook:ID.")]
    status_note: Annotated[str, About("Its current activity, in the agent's own words.")]
    error: str | None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, execution: Execution, agents: Mapping[str, str], /, **others: Any) -> Self:
        """Return an execution. `agents` maps agent ids to slugs; a deleted agent is shown by its id."""
        state = WorkState.from_json(execution.state)
        return cls.showing(
            execution,
            agent=agents.get(state.agent, state.agent) if state.agent else None,
            source=source_of(execution),
            status_note=state.status_note,
            **others,
        )


class ExecutionView(ExecutionHeadView):
    steps: int


class ListedExecutionView(ExecutionView):
    cost_usd: float


class ExecutionStepView(View):
    number: int
    node: str
    decision: str
    at: Time
    duration_ms: int


class ExecutionWaitView(View):
    id: str
    kind: str
    prompt: str
    asked_at: Time
    open: bool

    @classmethod
    def of(cls, wait: Wait) -> Self:
        return cls.showing(wait, open=wait.answered_at is None)


class ExecutionDetailView(ExecutionHeadView):
    conversation_id: str | None
    outcome: Annotated[str, About("The beginning of its result, once it has ended.")]
    plan: Annotated[str | None, About("The current plan of a planning agent, in Markdown.")]
    path: list[ExecutionStepView]
    steps: Annotated[list[StepJson], About("Its steps and model calls, in the format of timelines.")]
    cost_usd: float
    input_tokens: int
    output_tokens: int
    waits: list[ExecutionWaitView]
    children: list[ExecutionView]

    @classmethod
    def of_view(cls, found: ExecutionFound, agents: Mapping[str, str]) -> Self:
        """Return the execution without its state, because prompts and outputs in the state may contain secrets."""
        execution, calls = found.execution, found.calls
        state = PlanningState.from_json(execution.state)
        path = node_steps(found.steps, began=execution.created_at)
        steps = [*({name: each[name] for name in _SHOWN} for each in path), *map(call_step, calls)]
        return cls.of(
            execution,
            agents,
            conversation_id=state.conversation or None,
            outcome=_outcome(execution.result),
            plan=state.prd or None,
            path=[
                ExecutionStepView.showing(each, duration_ms=step["durationMs"])
                for each, step in zip(found.steps, path, strict=True)
            ],
            steps=sorted(steps, key=lambda step: step["at"]),
            cost_usd=sum(call.cost_micros for call in calls) / MICROS,
            input_tokens=sum(call.input_tokens for call in calls),
            output_tokens=sum(call.output_tokens for call in calls),
            waits=[ExecutionWaitView.of(each) for each in found.waits],
            children=[ExecutionView.of(each, agents) for each in found.children],
        )


def _outcome(result: object) -> str:
    if result is None:
        return ""
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return text if len(text) <= _LONGEST_OUTCOME else text[: _LONGEST_OUTCOME - 1] + "…"


_ONE = "/api/executions/{execution}"


class ExecutionRoutes(Routes):
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    @route(
        "GET",
        "/api/executions",
        "List executions, newest first",
        READ,
        {200: Page[ListedExecutionView]},
        query={**PAGING, "status": one_of(ExecutionStatus), "graph": LABEL},
    )
    async def _list(self, call: Call) -> Response:
        graph, status = call.query("graph"), call.choice("status", ExecutionStatus)
        page = await self._insights.executions(
            graph=graph, status=status, limit=call.limit, cursor=call.query("cursor")
        )
        if not page.items:
            return answer_page([], page.next_cursor)
        newest, oldest = page.items[0].id, page.items[-1].id
        costs = await self._insights.execution_costs(graph=graph, status=status, oldest=oldest, newest=newest)
        agents = await self._agents()
        items = [ListedExecutionView.of(each, agents, cost_usd=costs.get(each.id, 0) / MICROS) for each in page.items]
        return answer_page(items, page.next_cursor)

    @route("GET", _ONE, "Show an execution with its steps", READ, {200: ExecutionDetailView})
    async def _show(self, call: Call) -> Response:
        found = await self._insights.execution(call.id("execution"))
        if found is None:
            raise NotFound(
                "There is no such execution.",
                fix="GET /api/executions lists the executions. Old executions are deleted.",
            )
        return answer(ExecutionDetailView.of_view(found, await self._agents()))

    @route("POST", f"{_ONE}/cancel", "Cancel an execution and its children", OPERATE, {200: ExecutionDetailView})
    async def _cancel(self, call: Call) -> Response:
        by = (await self._gate.asker(call.identity)).name
        await self._operations.cancel_execution(call.id("execution"), by=by)
        return await self._show(call)

    async def _agents(self) -> Mapping[str, str]:
        return {agent.id: agent.slug for agent in await self._insights.agents()}


class ActivityView(View):
    agent_id: str
    agent: str
    name: str
    role: str
    description: str
    status: ActivityStatus
    type: ActivityKind | None
    graph: str | None
    execution_id: str | None
    platform: str | None
    channel_id: str | None
    started_at: Time | None
    last_active_at: Time | None
    status_note: Annotated[str | None, About("Its current activity, in its own words.")]
    process: Annotated[str | None, About("The process that runs it.")]

    @classmethod
    def of(cls, each: Activity) -> Self:
        agent, place = each.agent, each.address
        return cls.showing(
            each,
            agent_id=agent.id,
            agent=agent.slug,
            name=agent.name,
            role=agent.role,
            description=agent.description,
            type=each.kind,
            platform=place.platform if place else None,
            channel_id=place.channel if place else None,
            status_note=each.status_note or None,
            process=each.node,
        )


class ActivitiesView(View):
    items: list[ActivityView]


class ActivityRoutes(Routes):
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @route("GET", "/api/activity", "List running executions, then idle agents", OPERATE, {200: ActivitiesView})
    async def _list(self, _call: Call) -> Response:
        found = await self._store.read(activities, self._clock.now(), whole=True)
        return answer(ActivitiesView(items=[ActivityView.of(each) for each in found]))
