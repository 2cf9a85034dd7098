"""Agents over HTTP: listed, made, changed, paused, deleted, bound to channels and set back.

Viewers may look, operators pause and resume, only owners change what an agent is: its tools run in their name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from arvis.agents import roster
from arvis.domain.agents import Agent, AgentStatus, Binding, Permission
from arvis.domain.errors import Unprocessable
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.agent_shapes import (
    AGENT_DETAIL,
    BINDING,
    CHANGED_AGENT,
    NEW_AGENT,
    NEW_BINDING,
    VERSION,
    binding_of,
    binding_view,
    detail_view,
    version_view,
    written,
)
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import OPERATE, OWN, READ
from arvis.web.schemas import AGENT, LABEL, listing, one_of
from arvis.web.views import agent_view, page_view

_ALL = "/api/agents"
_ONE = "/api/agents/{agent}"

#: Each holds a whole prompt.
_MOST_VERSIONS = 20

#: A script that changes an agent, but for its arguments.
Change = Callable[..., Agent]


class AgentRoutes:
    def __init__(self, *, insights: Insights, store: Store, gate: Gate, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        shown, made = {200: AGENT_DETAIL}, {201: AGENT_DETAIL}
        filters = {"status": one_of(AgentStatus), "role": LABEL}
        return [
            Endpoint(
                "GET", _ALL, "Agents in order of creation", READ, self._list, {200: listing(AGENT)}, query=filters
            ),
            Endpoint("GET", _ONE, "One agent, by id or slug", READ, self._show, shown),
            Endpoint("POST", _ALL, "Make an agent", OWN, self._create, made, body=NEW_AGENT, large=True),
            Endpoint("PATCH", _ONE, "Change what the body names", OWN, self._update, shown, CHANGED_AGENT, large=True),
            Endpoint("DELETE", _ONE, "Delete an agent; undo brings it back", OWN, self._archive, shown),
            Endpoint("POST", f"{_ONE}/pause", "Let it answer nobody for now", OPERATE, self._pause, shown),
            Endpoint("POST", f"{_ONE}/resume", "Let it go on", OPERATE, self._resume, shown),
            Endpoint("POST", f"{_ONE}/undo", "Back to the version before", OWN, self._undo, shown),
            Endpoint(
                "GET",
                f"{_ONE}/versions",
                "How it was, the newest first",
                READ,
                self._versions,
                {200: listing(VERSION)},
                query={"limit": {**PAGING["limit"], "description": f"{_MOST_VERSIONS} at most."}},
            ),
            *self._binding_endpoints(),
        ]

    def _binding_endpoints(self) -> list[Endpoint]:
        path, place = f"{_ONE}/bindings", {"platform": LABEL, "channel": LABEL}
        return [
            Endpoint("GET", path, "Channels where it lives", READ, self._bindings, {200: listing(BINDING)}),
            Endpoint("POST", path, "Let it live in a channel", OWN, self._bind, {201: AGENT_DETAIL}, body=NEW_BINDING),
            Endpoint("DELETE", path, "There no more", OWN, self._unbind, {200: AGENT_DETAIL}, query=place),
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
        agent = roster.changed_agent(Agent(id="", slug=slug, name=slug), written(fields))
        bindings = [binding_of(each, "") for each in fields.objects("bindings")]
        made = await self._store.write(roster.create, agent, bindings, by=await self._by(call), now=self._clock.now())
        return await self._shown(made, 201)

    async def _update(self, call: Call) -> Response:
        changes = written(await call.fields())
        return await self._shown(await self._changed(call, roster.update, changes))

    async def _archive(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, roster.archive))

    async def _pause(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, roster.set_status, AgentStatus.PAUSED))

    async def _resume(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, roster.set_status, AgentStatus.ACTIVE))

    async def _undo(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, roster.undo))

    async def _versions(self, call: Call) -> Response:
        agent = await self._agent(call)
        versions = await self._store.read(roster.versions, agent.id, min(call.limit, _MOST_VERSIONS))
        return answer(page_view([version_view(version) for version in versions], None))

    async def _bindings(self, call: Call) -> Response:
        bindings = await self._store.read(_bindings_of, (await self._agent(call)).id)
        return answer(page_view([binding_view(binding) for binding in bindings], None))

    async def _bind(self, call: Call) -> Response:
        agent = await self._agent(call)
        binding = binding_of(await call.fields(), agent.id)
        await self._store.write(roster.bind, binding, by=await self._by(call), now=self._clock.now())
        return await self._shown(agent, 201)

    async def _unbind(self, call: Call) -> Response:
        platform, channel = call.query("platform"), call.query("channel")
        if platform is None or channel is None:
            raise Unprocessable("`platform` and `channel` must be given.", fix="Name the channel in the query.")
        agent = await self._agent(call)
        binding = Binding(platform, channel, agent.id, Permission.FULL)
        await self._store.write(roster.unbind, binding, by=await self._by(call), now=self._clock.now())
        return await self._shown(agent)

    async def _changed(self, call: Call, change: Change, *arguments: Any) -> Agent:
        agent = await self._agent(call)
        return await self._store.write(change, agent.id, *arguments, by=await self._by(call), now=self._clock.now())

    async def _by(self, call: Call) -> str:
        return (await self._gate.principal(self._gate.sender(call.identity))).id

    async def _agent(self, call: Call) -> Agent:
        agent = await self._store.read(roster.find, call.id("agent"))
        if agent is None:
            raise roster.no_agent()
        return agent

    async def _shown(self, agent: Agent, status: int = 200) -> Response:
        return answer(detail_view(agent, await self._store.read(_bindings_of, agent.id)), status)


def _bindings_of(tx: Transaction, agent_id: str) -> list[Binding]:
    return tx.agents.bindings(agent_id)
