"""Agents, their bindings to channels, and their versions, over SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from arvis.domain.agents import Agent, AgentStatus, AgentVersion, Binding, Permission
from arvis.domain.messages import Respond
from arvis.store.repositories.messages import NOTHING
from arvis.store.sql.session import Row, Session, dump, each, first
from arvis.store.sql.unreadable import lenient, texts_of

#: The stored value of `allow_users` if everyone may use the agent.
EVERYBODY = "null"


def agent_of(row: Row) -> Agent:
    """Return the agent of a row. If the row is unreadable, return a paused agent without tools."""
    return lenient("agents", "slug", row, sound_agent, _paused_agent)


def _paused_agent(row: Row) -> Agent:
    allowed = EVERYBODY if row["allow_users"] == EVERYBODY else NOTHING
    emptied = dict.fromkeys(("fallbacks", "tools", "plugins", "helpers", "skills", "credentials", "knowledge"), NOTHING)
    sound = {"allow_users": allowed, "status": AgentStatus.PAUSED, **emptied}
    return sound_agent({name: row[name] for name in row.keys()} | sound)  # noqa: SIM118 a row of SQLite is no mapping


def sound_agent(row: Row) -> Agent:
    """Return the agent of a row. Raise one of `UNREADABLE` if a value is malformed."""
    return Agent(
        id=row["id"],
        slug=row["slug"],
        name=row["name"],
        role=row["role"],
        description=row["description"],
        prompt=row["prompt"],
        model=row["model"],
        fallbacks=_texts_of(row["fallbacks"]),
        tools=_texts_of(row["tools"]),
        graph=row["graph"],
        completion=row["completion"],
        context_tokens=row["context_tokens"],
        timezone=row["timezone"],
        allow_users=None if row["allow_users"] == EVERYBODY else _texts_of(row["allow_users"]),
        status=AgentStatus(row["status"]),
        on_new_message=row["on_new_message"],
        plugins=_texts_of(row["plugins"]),
        helpers=_texts_of(row["helpers"]),
        skills=_texts_of(row["skills"]),
        credentials=_texts_of(row["credentials"]),
        knowledge=_texts_of(row["knowledge"]),
        effort=row["effort"],
    )


def _texts_of(column: str) -> tuple[str, ...]:
    """Parse a JSON list of texts. Most lists are empty, and a comparison recognises them faster than the parser."""
    return texts_of(column) if column != NOTHING else ()


def binding_of(row: Row) -> Binding:
    return Binding(
        platform=row["platform"],
        channel=row["channel"],
        agent_id=row["agent_id"],
        permission=Permission(row["permission"]),
        respond=Respond(row["respond"]) if row["respond"] is not None else None,
        observe=row["observe"],
    )


def _columns_of(agent: Agent) -> dict[str, object]:
    return {
        "id": agent.id,
        "slug": agent.slug,
        "name": agent.name,
        "role": agent.role,
        "description": agent.description,
        "prompt": agent.prompt,
        "model": agent.model,
        "fallbacks": dump(list(agent.fallbacks)),
        "tools": dump(list(agent.tools)),
        "graph": agent.graph,
        "completion": agent.completion,
        "context_tokens": agent.context_tokens,
        "timezone": agent.timezone,
        "allow_users": EVERYBODY if agent.allow_users is None else dump(list(agent.allow_users)),
        "status": agent.status,
        "on_new_message": agent.on_new_message,
        "plugins": dump(list(agent.plugins)),
        "helpers": dump(list(agent.helpers)),
        "skills": dump(list(agent.skills)),
        "credentials": dump(list(agent.credentials)),
        "knowledge": dump(list(agent.knowledge)),
        "effort": agent.effort,
    }


def _data_of(version: AgentVersion) -> str:
    """Return the data of a version as JSON, without the agent's id, which has its own column."""
    agent = asdict(version.agent)
    del agent["id"]
    places = [
        [binding.platform, binding.channel, binding.permission, binding.respond, binding.observe]
        for binding in version.bindings
    ]
    return dump({"agent": agent, "bindings": places})


def version_of(row: Row) -> AgentVersion:
    data: dict[str, Any] = json.loads(row["data"])
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data["agent"].items()
    }
    agent = Agent(**{**fields, "id": row["agent_id"], "status": AgentStatus(fields["status"])})
    bindings = tuple(_kept_binding(agent.id, place) for place in data["bindings"])
    return AgentVersion(agent.id, row["version"], agent, bindings, by_id=row["by_id"], at=row["at"])


def _kept_binding(agent_id: str, place: list[Any]) -> Binding:
    """Return a binding from the data of a version. Earlier releases stored only the platform, the channel and the
    permission."""
    platform, channel, permission, respond, observe = [*place, None, None][:5]
    return Binding(platform, channel, agent_id, Permission(permission), Respond(respond) if respond else None, observe)


_AGENT, _AGENTS = first(agent_of), each(agent_of)
_BINDING, _BINDINGS = first(binding_of), each(binding_of)


class SqlAgents:
    """Implements the port `Agents` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, agent_id: str) -> Agent | None:
        return self._session.held("get_agent", _AGENT, id=agent_id)

    def by_slug(self, slug: str) -> Agent | None:
        return self._session.held("agent_by_slug", _AGENT, slug=slug)

    def all(self) -> Sequence[Agent]:
        return self._session.held("all_agents", _AGENTS)

    def active_after(self, slug: str, limit: int) -> Sequence[Agent]:
        return self._session.held("active_agents_after", _AGENTS, after=slug, limit=limit)

    def add(self, agent: Agent, now: int) -> None:
        self._session.execute("add_agent", **_columns_of(agent), now=now)

    def update(self, agent: Agent, now: int) -> None:
        self._session.execute("update_agent", **_columns_of(agent), now=now)

    def binding_at(self, platform: str, channel: str) -> Binding | None:
        return self._session.held("binding_at", _BINDING, platform=platform, channel=channel)

    def bindings(self, agent_id: str | None = None) -> Sequence[Binding]:
        if agent_id is None:
            return self._session.held("bindings", _BINDINGS)
        return self._session.held("bindings_of_agent", _BINDINGS, agent_id=agent_id)

    def bind(self, binding: Binding, now: int) -> None:
        self._session.execute(
            "add_binding",
            platform=binding.platform,
            channel=binding.channel,
            agent_id=binding.agent_id,
            permission=binding.permission,
            respond=binding.respond,
            observe=binding.observe,
            now=now,
        )

    def unbind(self, platform: str, channel: str) -> bool:
        return self._session.one("drop_binding", platform=platform, channel=channel) is not None

    def keep_version(self, version: AgentVersion) -> None:
        self._session.execute(
            "add_agent_version",
            agent_id=version.agent_id,
            version=version.version,
            data=_data_of(version),
            by_id=version.by_id,
            at=version.at,
        )

    def versions(self, agent_id: str, limit: int) -> list[AgentVersion]:
        return [version_of(row) for row in self._session.rows("agent_versions", agent_id=agent_id, limit=limit)]
