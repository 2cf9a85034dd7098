"""Executions over HTTP: list, show and cancel turns, runs and their child executions, and show the current work of
each agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.executions import Execution, ExecutionStatus, Step, Wait
from arvis.graphs.planning.state import PlanningState
from arvis.ports.clock import Clock
from arvis.ports.insights import ExecutionView, Insights
from arvis.ports.operations import Operations
from arvis.ports.store import Store
from arvis.services.activity import Activity, ActivityKind, ActivityStatus, activities
from arvis.tasks.state import WorkState
from arvis.tasks.task import source_of
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.schema import (
    INTEGER,
    LABEL,
    NUMBER,
    STEP,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import Json, call_step, node_steps, page_view

_MICROS = 1_000_000
#: The maximum number of characters of an execution's result.
_LONGEST_OUTCOME = 2_000
#: The fields of a step that are shown. Its changes are not shown, because they are parts of the state.
_SHOWN = ("at", "step", "actor", "node", "decision", "durationMs")

_EXECUTION: dict[str, Schema] = {
    "id": STRING,
    "graph": STRING,
    "status": one_of(ExecutionStatus),
    "agent": optional(STRING),
    "source": {**STRING, "description": "The trigger of a run without a message: schedule:ID or webhook:ID."},
    "statusNote": {**STRING, "description": "Its current activity, in the agent's own words."},
    "steps": INTEGER,
    "error": optional(STRING),
    "createdAt": TIME,
    "updatedAt": TIME,
}
_STEP = object_schema({"number": INTEGER, "node": STRING, "decision": STRING, "at": TIME, "durationMs": INTEGER})
_WAIT = object_schema({"id": STRING, "kind": STRING, "prompt": STRING, "askedAt": TIME, "open": {"type": "boolean"}})
EXECUTION = object_schema(_EXECUTION)
LISTED_EXECUTION = object_schema({**_EXECUTION, "costUsd": NUMBER})
EXECUTION_DETAIL = object_schema(
    {
        **_EXECUTION,
        "conversationId": optional(STRING),
        "outcome": {**STRING, "description": "The beginning of its result, once it has ended."},
        "plan": {**optional(STRING), "description": "The current plan of a planning agent, in Markdown."},
        "path": array(_STEP),
        "steps": {**array(STEP), "description": "Its steps and model calls, in the format of timelines."},
        "costUsd": NUMBER,
        "inputTokens": INTEGER,
        "outputTokens": INTEGER,
        "waits": array(_WAIT),
        "children": array(EXECUTION),
    }
)


class ExecutionRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        one = "/api/executions/{execution}"
        filters = {"status": one_of(ExecutionStatus), "graph": LABEL}
        shown = {200: EXECUTION_DETAIL}
        return [
            Endpoint(
                "GET",
                "/api/executions",
                "List executions, newest first",
                READ,
                self._list,
                {200: page_schema(LISTED_EXECUTION)},
                query={**PAGING, **filters},
            ),
            Endpoint("GET", one, "Show an execution with its steps", READ, self._show, shown),
            Endpoint("POST", f"{one}/cancel", "Cancel an execution and its children", OPERATE, self._cancel, shown),
        ]

    async def _list(self, call: Call) -> Response:
        graph, status = call.query("graph"), call.choice("status", ExecutionStatus)
        page = await self._insights.executions(
            graph=graph, status=status, limit=call.limit, cursor=call.query("cursor")
        )
        if not page.items:
            return answer(page_view([], page.next_cursor))
        newest, oldest = page.items[0].id, page.items[-1].id
        costs = await self._insights.execution_costs(graph=graph, status=status, oldest=oldest, newest=newest)
        agents = await self._agents()
        items = [{**_view(each, agents), "costUsd": costs.get(each.id, 0) / _MICROS} for each in page.items]
        return answer(page_view(items, page.next_cursor))

    async def _show(self, call: Call) -> Response:
        found = await self._insights.execution(call.id("execution"))
        if found is None:
            raise NotFound(
                "There is no such execution.",
                fix="Look it up in the list (GET /api/executions); old executions are deleted.",
            )
        return answer(_detail(found, await self._agents()))

    async def _cancel(self, call: Call) -> Response:
        by = (await self._gate.asker(call.identity)).name
        await self._operations.cancel_execution(call.id("execution"), by=by)
        return await self._show(call)

    async def _agents(self) -> Mapping[str, str]:
        return {agent.id: agent.slug for agent in await self._insights.agents()}


def _view(execution: Execution, agents: Mapping[str, str]) -> Json:
    state = WorkState.from_json(execution.state)
    return {
        "id": execution.id,
        "graph": execution.graph,
        "status": execution.status,
        "agent": agents.get(state.agent, state.agent) if state.agent else None,
        "source": source_of(execution),
        "statusNote": state.status_note,
        "steps": execution.steps,
        "error": execution.error,
        "createdAt": execution.created_at,
        "updatedAt": execution.updated_at,
    }


def _detail(found: ExecutionView, agents: Mapping[str, str]) -> Json:
    """Return the execution without its state, because prompts and outputs in the state may contain secrets."""
    execution, calls = found.execution, found.calls
    state = PlanningState.from_json(execution.state)
    path = node_steps(found.steps, began=execution.created_at)
    steps = [*({name: each[name] for name in _SHOWN} for each in path), *map(call_step, calls)]
    return {
        **_view(execution, agents),
        "conversationId": state.conversation or None,
        "outcome": _outcome(execution.result),
        "plan": state.prd or None,
        "path": [_step(each, step["durationMs"]) for each, step in zip(found.steps, path, strict=True)],
        "steps": sorted(steps, key=lambda step: step["at"]),
        "costUsd": sum(call.cost_micros for call in calls) / _MICROS,
        "inputTokens": sum(call.input_tokens for call in calls),
        "outputTokens": sum(call.output_tokens for call in calls),
        "waits": [_wait(each) for each in found.waits],
        "children": [_view(each, agents) for each in found.children],
    }


def _outcome(result: object) -> str:
    if result is None:
        return ""
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return text if len(text) <= _LONGEST_OUTCOME else text[: _LONGEST_OUTCOME - 1] + "…"


def _step(step: Step, duration: int) -> Json:
    return {
        "number": step.number,
        "node": step.node,
        "decision": step.decision,
        "at": step.at,
        "durationMs": duration,
    }


def _wait(wait: Wait) -> Json:
    return {
        "id": wait.id,
        "kind": wait.kind,
        "prompt": wait.prompt,
        "askedAt": wait.asked_at,
        "open": wait.answered_at is None,
    }


ACTIVITY = object_schema(
    {
        "agentId": STRING,
        "agent": STRING,
        "name": STRING,
        "role": STRING,
        "description": STRING,
        "status": one_of(ActivityStatus),
        "type": optional(one_of(ActivityKind)),
        "graph": optional(STRING),
        "executionId": optional(STRING),
        "platform": optional(STRING),
        "channelId": optional(STRING),
        "startedAt": optional(TIME),
        "lastActiveAt": optional(TIME),
        "statusNote": {**optional(STRING), "description": "Its current activity, in its own words."},
        "process": {**optional(STRING), "description": "The process that runs it."},
    }
)


class ActivityRoutes:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        schema = {200: object_schema({"items": array(ACTIVITY)})}
        return [
            Endpoint("GET", "/api/activity", "List running executions, then idle agents", OPERATE, self._list, schema)
        ]

    async def _list(self, _call: Call) -> Response:
        found = await self._store.read(activities, self._clock.now(), whole=True)
        return answer({"items": [_activity_view(each) for each in found]})


def _activity_view(each: Activity) -> dict[str, Any]:
    agent, place = each.agent, each.address
    return {
        "agentId": agent.id,
        "agent": agent.slug,
        "name": agent.name,
        "role": agent.role,
        "description": agent.description,
        "status": each.status,
        "type": each.kind,
        "graph": each.graph,
        "executionId": each.execution_id,
        "platform": place.platform if place else None,
        "channelId": place.channel if place else None,
        "startedAt": each.started_at,
        "lastActiveAt": each.last_active_at,
        "statusNote": each.status_note or None,
        "process": each.node,
    }
