"""Agents, their bindings to channels, and the related token arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Respond


class AgentStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


CONDUCTOR = "conductor"

#: Tools that change nothing and read no data of others. An agent with any other tool is for trusted people only.
HARMLESS_TOOLS = frozenset({"web_search", "calculate", "get_time", "http_fetch"})

#: Plugins without tools or with safe tools only. An agent with any other plugin is for trusted people only.
HARMLESS_PLUGINS = frozenset({"time", "environment", "helpers", "active_agents"})

#: Tools whose output the daemon writes itself. The output of every other tool comes from outside and taints the turn.
OWN_WORD_TOOLS = frozenset(
    {"calculate", "get_time", "get_variable", "schedule", "update_project", "start_workflow", "abort_workflow"}
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A configured assistant."""

    id: str
    slug: str
    name: str
    role: str = "custom"
    description: str = ""
    prompt: str = ""
    #: `provider/model` or a bare name; None: the account's model.
    model: str | None = None
    fallbacks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    graph: str = "agent"
    completion: str = "implicit"
    #: The maximum size of its prompt in tokens; None: the whole context window of the model.
    context_tokens: int | None = 96_000
    timezone: str | None = None
    #: Only these people and owners may use it; None: everyone; empty: owners only.
    allow_users: tuple[str, ...] | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    #: Decides about a message that arrives while the agent works for the same person; None: by `completion`.
    on_new_message: str | None = None
    #: The names of its plugins.
    plugins: tuple[str, ...] = ()
    #: The slugs of the agents to which it may hand a conversation over.
    helpers: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        return self.status is AgentStatus.ACTIVE

    @property
    def has_risky_tools(self) -> bool:
        """Return whether the agent has risky tools, including those that its plugins may add."""
        return not (HARMLESS_TOOLS.issuperset(self.tools) and HARMLESS_PLUGINS.issuperset(self.plugins))

    @property
    def is_conductor(self) -> bool:
        return self.role == CONDUCTOR


class Permission(StrEnum):
    """The permission that a binding gives people of its channel (behaviour 1.4)."""

    FULL = "full"
    READ_ONLY = "read_only"
    NOTIFY_ONLY = "notify_only"


@dataclass(frozen=True, slots=True)
class Binding:
    """The assignment of an agent to a channel. `respond` selects the messages that it answers; `observe` is the
    number of other messages that it reads as context (None for both: as set for the bot there)."""

    platform: str
    channel: str
    agent_id: str
    permission: Permission = Permission.FULL
    respond: Respond | None = None
    observe: int | None = None


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """An agent and its bindings as they were from a time (ms) on. `by_id` is a principal, `configuration` or `api`;
    versions count from 1."""

    agent_id: str
    version: int
    agent: Agent
    bindings: tuple[Binding, ...]
    by_id: str
    at: int
