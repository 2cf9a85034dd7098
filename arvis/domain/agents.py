"""Agents, their bindings to channels, and the token arithmetic that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Respond


class AgentStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


CONDUCTOR = "conductor"

#: Tools that change nothing and reach nobody's data; every other tool makes its agent one for trusted people.
HARMLESS_TOOLS = frozenset({"web_search", "calculate", "get_time", "http_fetch"})

#: Plugins that bring no tools, or none but such; every other one makes its agent one for trusted people, too.
HARMLESS_PLUGINS = frozenset({"time", "environment", "helpers", "active_agents"})

#: Tools whose outputs are the house's own words; what any other says comes from outside, and taints the turn.
OWN_WORD_TOOLS = frozenset(
    {"calculate", "get_time", "get_variable", "schedule", "update_project", "start_workflow", "abort_workflow"}
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A configured assistant. `model` is `provider/model` or a bare name (None: the account's own);
    `context_tokens` is the ceiling of its prompt in tokens (None: the model's whole window). `on_new_message` says what a
    message does that comes while it works for the same person (None: by `completion`), `plugins` name what extends its
    prompts, `helpers` the slugs of those to whom it may hand a talk over. `allow_users` are the only people who may use it,
    besides owners (None: everybody; empty: owners alone)."""

    id: str
    slug: str
    name: str
    role: str = "custom"
    description: str = ""
    prompt: str = ""
    model: str | None = None
    fallbacks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    graph: str = "agent"
    completion: str = "implicit"
    context_tokens: int | None = 96_000
    timezone: str | None = None
    allow_users: tuple[str, ...] | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    on_new_message: str | None = None
    plugins: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        return self.status is AgentStatus.ACTIVE

    @property
    def has_risky_tools(self) -> bool:
        """Plugins may bring some."""
        return not (HARMLESS_TOOLS.issuperset(self.tools) and HARMLESS_PLUGINS.issuperset(self.plugins))

    @property
    def is_conductor(self) -> bool:
        return self.role == CONDUCTOR


class Permission(StrEnum):
    """What a binding lets people of its channel do with the agent (behaviour 1.4)."""

    FULL = "full"
    READ_ONLY = "read_only"
    NOTIFY_ONLY = "notify_only"


@dataclass(frozen=True, slots=True)
class Binding:
    """An agent that lives in a channel. `respond` says which of its messages are for the agent, `observe` how many others
    it reads along (None: as the bot there is set)."""

    platform: str
    channel: str
    agent_id: str
    permission: Permission = Permission.FULL
    respond: Respond | None = None
    observe: int | None = None


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """How an agent was from a time on (ms), with its bindings. `by_id` is a principal, `configuration` or `api`;
    versions count from 1."""

    agent_id: str
    version: int
    agent: Agent
    bindings: tuple[Binding, ...]
    by_id: str
    at: int
