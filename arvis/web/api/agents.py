"""Agents over HTTP: list, create, change, pause, delete, bind to channels, and restore earlier versions.

Viewers may read, and operators may pause and resume. Only owners may change an agent, because its tools run with the
owners' rights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import Response

from arvis.domain.agents import COMPLETIONS, ON_NEW_MESSAGE, SLUG, Agent, AgentStatus, AgentVersion, Binding, Permission
from arvis.domain.errors import Unprocessable
from arvis.domain.messages import Respond
from arvis.domain.money import MICROS
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy
from arvis.ports.store import Store, Transaction
from arvis.services import agents
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN, READ
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    AGENT,
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
    page_schema,
)
from arvis.web.http.views import Json, agent_view, page_view

# Requests and responses for agents. The rules for values are in `arvis.domain.agents`.

_TEXTS = ("slug", "name", "role", "description", "prompt", "graph", "completion")
_LISTS = {
    "fallbacks": "fallbacks",
    "tools": "tools",
    "allow_users": "allowUsers",
    "plugins": "plugins",
    "helpers": "helpers",
}

BINDING = object_schema(
    {
        "platform": STRING,
        "channel": STRING,
        "permission": one_of(Permission),
        "respond": {
            **optional(one_of(Respond)),
            "description": "The group messages that the agent answers; null: the bot's setting.",
        },
        "observe": {
            **optional(INTEGER),
            "description": "The number of other messages that it reads as context; null: the bot's setting.",
        },
    }
)
NEW_BINDING = object_schema(BINDING["properties"], required=("platform", "channel"))
_MORE: dict[str, Schema] = {
    "prompt": STRING,
    "fallbacks": {**array(STRING), "description": "Models to try after `model`, as provider/model."},
    "tools": {**array(STRING), "description": "Names of tools, or `server.*`."},
    "completion": one_of(COMPLETIONS),
    "contextTokens": {
        **optional(INTEGER),
        "description": "The maximum size of its prompt in tokens; null: the model's context window.",
    },
    "timezone": optional(STRING),
    "allowUsers": {
        **optional(array(STRING)),
        "description": "The only people, besides owners, who may ask it; null: everyone; empty: only owners.",
    },
    "onNewMessage": {
        **optional(one_of(ON_NEW_MESSAGE)),
        "description": "The effect of a message that arrives while it works.",
    },
    "plugins": {**array(STRING), "description": "Plugins that extend its prompts."},
    "helpers": {**array(STRING), "description": "Slugs of the agents to which it may hand over a conversation."},
}
_WRITTEN: dict[str, Schema] = {
    "name": STRING,
    "role": STRING,
    "description": STRING,
    "model": {**optional(STRING), "description": "provider/model; null: the account's default model."},
    "graph": {**STRING, "description": "The graph that it runs: one of GET /api/graphs, or `workflow:SLUG`."},
    **_MORE,
}
AGENT_DETAIL = object_schema({**AGENT["properties"], **_MORE, "bindings": array(BINDING)})
NEW_AGENT = object_schema(
    {
        "slug": {**STRING, "pattern": f"^{SLUG.pattern}$"},
        **_WRITTEN,
        "name": {**STRING, "description": "Default: the slug."},
        "bindings": array(NEW_BINDING),
    },
    required=("slug",),
)
CHANGED_AGENT = {**object_schema(_WRITTEN, required=()), "description": "Omitted fields are unchanged."}
VERSION = object_schema(
    {
        "version": INTEGER,
        "at": TIME,
        "by": {**STRING, "description": "The id of a principal, or `configuration`."},
        "agent": AGENT_DETAIL,
    }
)


def written(fields: Fields) -> Json:
    """Return the fields of the body under their names in `Agent`. `null` is a value for fields that can be None in
    `Agent`; for all other fields it counts as omitted."""
    found: Json = {name: value for name in _TEXTS if (value := fields.text(name)) is not None}
    found |= {name: fields.texts(sent) for name, sent in _LISTS.items() if fields.raw(sent) is not None}
    found |= {name: fields.text(name) for name in ("model", "timezone") if fields.has(name)}
    if fields.has("allowUsers") and fields.raw("allowUsers") is None:
        found["allow_users"] = None
    if fields.has("onNewMessage"):
        found["on_new_message"] = fields.text("onNewMessage")
    if fields.has("contextTokens"):
        found["context_tokens"] = fields.whole("contextTokens")
    return found


def binding_of(fields: Fields, agent_id: str) -> Binding:
    permission = fields.text("permission") or Permission.FULL
    if permission not in set(Permission):
        raise unusable("permission", "must be one of " + ", ".join(Permission))
    respond = fields.text("respond")
    if respond is not None and respond not in set(Respond):
        raise unusable("respond", "must be one of " + ", ".join(Respond))
    return Binding(
        platform=fields.required_text("platform"),
        channel=fields.required_text("channel"),
        agent_id=agent_id,
        permission=Permission(permission),
        respond=Respond(respond) if respond is not None else None,
        observe=fields.whole("observe"),
    )


def binding_view(binding: Binding) -> Json:
    return {
        "platform": binding.platform,
        "channel": binding.channel,
        "permission": binding.permission,
        "respond": binding.respond,
        "observe": binding.observe,
    }


def detail_view(agent: Agent, bindings: Sequence[Binding]) -> Json:
    return {
        **agent_view(agent),
        "prompt": agent.prompt,
        "fallbacks": list(agent.fallbacks),
        "tools": list(agent.tools),
        "completion": agent.completion,
        "contextTokens": agent.context_tokens,
        "timezone": agent.timezone,
        "allowUsers": None if agent.allow_users is None else list(agent.allow_users),
        "onNewMessage": agent.on_new_message,
        "plugins": list(agent.plugins),
        "helpers": list(agent.helpers),
        "bindings": [binding_view(binding) for binding in bindings],
    }


def version_view(version: AgentVersion) -> Json:
    return {
        "version": version.version,
        "at": version.at,
        "by": version.by_id,
        "agent": detail_view(version.agent, version.bindings),
    }


_DAY_MS = 86_400_000

_SPAN = object_schema(
    {"calls": INTEGER, "inputTokens": INTEGER, "outputTokens": INTEGER, "costUsd": NUMBER, "errors": INTEGER}
)
STATS = object_schema(
    {"week": _SPAN, "month": _SPAN, "lastActive": {**optional(TIME), "description": "The time of its newest message."}}
)


class AgentStatRoutes:
    def __init__(self, *, insights: Insights, store: Store, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock
        self._zone = zone

    def endpoints(self) -> list[Endpoint]:
        path = "/api/agents/{agent}/stats"
        return [Endpoint("GET", path, "Its calls and costs of the last 7 and 30 days", READ, self._show, {200: STATS})]

    async def _show(self, call: Call) -> Response:
        agent = await self._store.read(agents.find, call.id("agent"))
        if agent is None:
            raise agents.no_agent()
        newest = await self._insights.conversations(agent=agent.slug, limit=1, cursor=None)
        return answer(
            {
                "week": await self._span(agent, 7),
                "month": await self._span(agent, 30),
                "lastActive": newest.items[0].last_message_at if newest.items else None,
            }
        )

    async def _span(self, agent: Agent, days: int) -> dict[str, Any]:
        now = self._clock.now()
        report = await self._insights.usage(UsageBy.AGENT, now - days * _DAY_MS, now + 1, self._zone)
        sums = next((group.sums for group in report.groups if group.key == agent.id), None)
        if sums is None:
            return {"calls": 0, "inputTokens": 0, "outputTokens": 0, "costUsd": 0, "errors": 0}
        return {
            "calls": sums.calls,
            "inputTokens": sums.input_tokens,
            "outputTokens": sums.output_tokens,
            "costUsd": sums.cost_micros / MICROS,
            "errors": sums.errors,
        }


_ALL = "/api/agents"
_ONE = "/api/agents/{agent}"

#: The maximum number of versions on a page. It is small because each version contains a whole prompt.
_MOST_VERSIONS = 20

#: A transaction script that changes an agent, such as `agents.update`.
Change = Callable[..., Agent]


class AgentRoutes:
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        shown, made = {200: AGENT_DETAIL}, {201: AGENT_DETAIL}
        filters = {"status": one_of(AgentStatus), "role": LABEL}
        return [
            Endpoint(
                "GET",
                _ALL,
                "List agents in order of creation",
                READ,
                self._list,
                {200: page_schema(AGENT)},
                query=filters,
            ),
            Endpoint("GET", _ONE, "Show an agent, by id or slug", READ, self._show, shown),
            Endpoint("POST", _ALL, "Create an agent", OWN, self._create, made, body=NEW_AGENT, large=True),
            Endpoint(
                "PATCH", _ONE, "Change the fields in the body", OWN, self._update, shown, CHANGED_AGENT, large=True
            ),
            Endpoint("DELETE", _ONE, "Delete an agent; undo restores it", OWN, self._archive, shown),
            Endpoint(
                "POST", f"{_ONE}/pause", "Pause an agent, so that it answers no messages", OPERATE, self._pause, shown
            ),
            Endpoint("POST", f"{_ONE}/resume", "Resume an agent", OPERATE, self._resume, shown),
            Endpoint("POST", f"{_ONE}/undo", "Restore the previous version", OWN, self._undo, shown),
            Endpoint(
                "GET",
                f"{_ONE}/versions",
                "List its versions, newest first",
                READ,
                self._versions,
                {200: page_schema(VERSION)},
                query={"limit": {**PAGING["limit"], "description": f"{_MOST_VERSIONS} at most."}},
            ),
            *self._binding_endpoints(),
        ]

    def _binding_endpoints(self) -> list[Endpoint]:
        path, place = f"{_ONE}/bindings", {"platform": LABEL, "channel": LABEL}
        return [
            Endpoint(
                "GET", path, "List the channels that it is bound to", READ, self._bindings, {200: page_schema(BINDING)}
            ),
            Endpoint("POST", path, "Bind it to a channel", OWN, self._bind, {201: AGENT_DETAIL}, body=NEW_BINDING),
            Endpoint("DELETE", path, "Remove it from a channel", OWN, self._unbind, {200: AGENT_DETAIL}, query=place),
        ]

    async def _list(self, call: Call) -> Response:
        status, role = call.choice("status", AgentStatus), call.query("role")
        known = await self._insights.agents(archived=status == AgentStatus.ARCHIVED)
        found = [agent for agent in known if status in {None, agent.status} and role in {None, agent.role}]
        return answer(page_view([agent_view(agent) for agent in found], None))

    async def _show(self, call: Call) -> Response:
        return await self._shown(await self._agent(call))

    async def _create(self, call: Call) -> Response:
        fields = await call.fields()
        slug = fields.required_text("slug")
        agent = agents.changed_agent(Agent(id="", slug=slug, name=slug), written(fields))
        bindings = [binding_of(each, "") for each in fields.objects("bindings")]
        made = await self._store.write(
            agents.create, agent, bindings, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        return await self._shown(made, 201)

    async def _update(self, call: Call) -> Response:
        changes = written(await call.fields())
        return await self._shown(await self._changed(call, agents.update, changes))

    async def _archive(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.archive))

    async def _pause(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.set_status, AgentStatus.PAUSED))

    async def _resume(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.set_status, AgentStatus.ACTIVE))

    async def _undo(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.undo))

    async def _versions(self, call: Call) -> Response:
        agent = await self._agent(call)
        versions = await self._store.read(agents.versions, agent.id, min(call.limit, _MOST_VERSIONS))
        return answer(page_view([version_view(version) for version in versions], None))

    async def _bindings(self, call: Call) -> Response:
        bindings = await self._store.read(_bindings_of, (await self._agent(call)).id)
        return answer(page_view([binding_view(binding) for binding in bindings], None))

    async def _bind(self, call: Call) -> Response:
        agent = await self._agent(call)
        binding = binding_of(await call.fields(), agent.id)
        await self._store.write(
            agents.bind, binding, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        return await self._shown(agent, 201)

    async def _unbind(self, call: Call) -> Response:
        platform, channel = call.query("platform"), call.query("channel")
        if platform is None or channel is None:
            raise Unprocessable("`platform` and `channel` are required.", fix="Name the channel in the query.")
        agent = await self._agent(call)
        binding = Binding(platform, channel, agent.id, Permission.FULL)
        await self._store.write(
            agents.unbind, binding, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        return await self._shown(agent)

    async def _changed(self, call: Call, change: Change, *arguments: Any) -> Agent:
        agent = await self._agent(call)
        return await self._store.write(
            change, agent.id, *arguments, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )

    async def _agent(self, call: Call) -> Agent:
        agent = await self._store.read(agents.find, call.id("agent"))
        if agent is None:
            raise agents.no_agent()
        return agent

    async def _shown(self, agent: Agent, status: int = 200) -> Response:
        return answer(detail_view(agent, await self._store.read(_bindings_of, agent.id)), status)


def _bindings_of(tx: Transaction, agent_id: str) -> list[Binding]:
    return tx.agents.bindings(agent_id)
