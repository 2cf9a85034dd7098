"""The graphs that each agent runs now."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from arvis.ports.clock import Clock
from arvis.ports.store import Store
from arvis.services.activity import Activity, ActivityKind, ActivityStatus, activities
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.schema import STRING, TIME, array, object_schema, one_of, optional

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
        return [Endpoint("GET", "/api/activity", "Running executions, then idle agents", OPERATE, self._list, schema)]

    async def _list(self, _call: Call) -> Response:
        found = await self._store.read(activities, self._clock.now(), whole=True)
        return answer({"items": [_view(each) for each in found]})


def _view(each: Activity) -> dict[str, Any]:
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
