"""Agents, their bindings to channels, and the rules for their values. The configuration, the API, the command line and
the conductor's tags use the same rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arvis.domain.dataclass import dataclass
from arvis.domain.effort import EFFORTS
from arvis.domain.messages import Respond
from arvis.domain.regex import regex
from arvis.domain.workflows import PREFIX


class AgentStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


CONDUCTOR = "conductor"
#: The entry of `Agent.skills` for all skills, including those that are added later.
ALL_SKILLS = "*"


@dataclass(frozen=True, slots=True)
class Agent:
    """A configured assistant."""

    id: str
    slug: str
    name: str
    role: str = "custom"
    description: str = ""
    prompt: str = ""
    #: The model, as `provider/model` or as a name without provider. None means the default model of the account.
    model: str | None = None
    fallbacks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    graph: str = "agent"
    completion: str = "implicit"
    #: The maximum size of the agent's prompts in tokens; None: the whole context window of the model.
    context_tokens: int | None = 96_000
    timezone: str | None = None
    #: The ids of the people who may use the agent besides the owners. If None, everyone may use it; if empty, only
    #: owners.
    allow_users: tuple[str, ...] | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    #: One of `ON_NEW_MESSAGE`. If None, the agent's `completion` decides.
    on_new_message: str | None = None
    #: The names of the agent's plugins.
    plugins: tuple[str, ...] = ()
    #: The slugs of the agents to which this agent may hand a conversation over.
    helpers: tuple[str, ...] = ()
    #: The names of the agent's skills, or `ALL_SKILLS`. If empty, the agent has only the skills whose triggers match a
    #: message.
    skills: tuple[str, ...] = ()
    #: The names of the credentials that the daemon inserts into the agent's requests.
    credentials: tuple[str, ...] = ()
    #: The slugs of the knowledge bases that the agent may search.
    knowledge: tuple[str, ...] = ()
    #: The reasoning effort of the agent's model calls, one of `EFFORTS`. None means the model's default.
    effort: str | None = None

    @property
    def active(self) -> bool:
        return self.status is AgentStatus.ACTIVE

    @property
    def is_conductor(self) -> bool:
        return self.role == CONDUCTOR


class Permission(StrEnum):
    """The permission that a binding gives to the people of its channel."""

    FULL = "full"
    READ_ONLY = "read_only"
    NOTIFY_ONLY = "notify_only"


@dataclass(frozen=True, slots=True)
class Binding:
    """The assignment of an agent to a channel."""

    platform: str
    channel: str
    agent_id: str
    permission: Permission = Permission.FULL
    #: The messages that the agent answers in the channel. If None, the bot's setting applies.
    respond: Respond | None = None
    #: The number of overheard messages of the channel that the agent reads. If None, the bot's setting applies.
    observe: int | None = None


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """One version of an agent and its bindings."""

    agent_id: str
    #: The number of the version, from 1.
    version: int
    agent: Agent
    bindings: tuple[Binding, ...]
    #: The author of the change: a principal, `configuration` or `api`.
    by_id: str
    #: The time (ms) from which this version is valid, until the next version.
    at: int


SLUG = regex(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)

#: Slugs that no agent may have. `drop` is a value of the setting `routing.fallback` and means that no agent answers.
#: People use the other words to address everyone.
RESERVED_SLUGS = frozenset({"drop", "all", "channel", "everyone", "here"})

#: Graphs that an agent may use, besides workflows.
GRAPHS = frozenset({"agent", "planning", "code", "handover"})
#: Aliases of graphs. Agents and schedules accept an alias in place of the name.
_ALIASES = {"general": "agent", "overlord": "heartbeat"}
COMPLETIONS = ("implicit", "explicit")
#: Ways to handle a message that arrives while the agent works for the same person. `queue`: the message waits for the
#: next turn. `steer`: the next model call of the current turn contains the message. `restart`: the current turn begins
#: again and includes the message.
ON_NEW_MESSAGE = ("queue", "steer", "restart")

LONGEST_NAME = 100
LONGEST_DESCRIPTION = 2_000
#: The maximum size of an agent's own prompt, in bytes of UTF-8.
LONGEST_PROMPT = 65_536
LEAST_CONTEXT = 2_048
#: The maximum number of overheard messages of one channel that an agent may read.
MOST_OBSERVED = 200
MOST_CONTEXT = 100_000_000

_LONGEST_ENTRY = 200
_MOST = {
    "fallbacks": 20,
    "tools": 200,
    "allow_users": 1_000,
    "plugins": 50,
    "helpers": 200,
    "skills": 200,
    "credentials": 50,
    "knowledge": 50,
}
_MODEL = regex(r"[!-~]{1,200}", re.ASCII)
_FALLBACK = regex(r"[a-z0-9_-]+/[!-~]+", re.ASCII)
#: `server.*` means all tools of a server.
_TOOL = regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(\.\*)?", re.ASCII)
_SKILL = regex(r"[a-z0-9_-]{1,64}|\*", re.ASCII)
_PLATFORM = regex(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)


def graph_named(name: str) -> str:
    """Return the name of the graph that has this name or alias."""
    return _ALIASES.get(name, name)


def is_workflow_graph(name: str) -> bool:
    """Return whether this graph name has the form `workflow:SLUG`. This function does not check that the workflow
    exists."""
    return name.startswith(PREFIX) and SLUG.fullmatch(name.removeprefix(PREFIX).lower()) is not None


@dataclass(frozen=True, slots=True)
class Flaw:
    """An invalid value of an agent or binding."""

    field: str
    #: The part of the error text after the name of the field.
    text: str
    #: A sentence that says how to correct the value.
    fix: str


def flaws(agent: Agent) -> Iterator[Flaw]:
    """Yield all flaws of an agent."""
    yield from _flaws_of_names(agent)
    yield from _flaws_of_texts(agent)
    yield from _flaws_of_lists(agent)
    yield from _flaws_of_work(agent)


def _flaws_of_names(agent: Agent) -> Iterator[Flaw]:
    if not SLUG.fullmatch(agent.slug):
        text = "must be 1 to 64 lower-case letters, digits, - and _, and begin with a letter or digit"
        yield Flaw("slug", text, "Write for example `news-reader`.")
    elif agent.slug in RESERVED_SLUGS:
        yield Flaw("slug", f"must not be {agent.slug}, which has a special meaning", "Choose another slug.")
    for field, value in (("name", agent.name), ("role", agent.role)):
        if not (0 < len(value) <= LONGEST_NAME and value.isprintable() and value.strip()):
            yield Flaw(field, f"must be 1 to {LONGEST_NAME} printable characters", "Shorten it to one line.")
    if agent.is_conductor and agent.slug != CONDUCTOR:
        text = f"must not be {CONDUCTOR}: only the agent with the slug {CONDUCTOR} has this role"
        yield Flaw("role", text, "Choose another role, such as custom.")


def is_model(name: str) -> bool:
    """Return True if the name has the form of a model's name: `provider/model`, or the bare name."""
    return _MODEL.fullmatch(name) is not None


def _flaws_of_texts(agent: Agent) -> Iterator[Flaw]:
    if len(agent.description) > LONGEST_DESCRIPTION:
        yield Flaw("description", f"must have at most {LONGEST_DESCRIPTION} characters", "Shorten it.")
    if len(agent.prompt.encode("utf-8", "replace")) > LONGEST_PROMPT:
        yield Flaw(
            "prompt", f"must have at most {LONGEST_PROMPT} bytes", "Shorten it, or move a part of it into a skill."
        )


def _flaws_of_lists(agent: Agent) -> Iterator[Flaw]:
    kinds = {
        "fallbacks": (agent.fallbacks, _FALLBACK, "must name models as provider/model", "Write openai/gpt-4o-mini."),
        "tools": (agent.tools, _TOOL, "must name tools", "Write names such as get_time, or server.*."),
        "allow_users": (agent.allow_users or (), None, "must be user ids", "Write the ids that the platform shows."),
        "plugins": (agent.plugins, SLUG, "must name plugins", "Write names such as time or workspace."),
        "helpers": (agent.helpers, SLUG, "must name agents", "Write their slugs."),
        "credentials": (agent.credentials, SLUG, "must name credentials", "Write names such as github."),
        "knowledge": (agent.knowledge, SLUG, "must name knowledge bases", "Write their slugs."),
        "skills": (
            agent.skills,
            _SKILL,
            "must name skills",
            f"Write names such as code-review, or {ALL_SKILLS} for all.",
        ),
    }
    for field, (values, pattern, text, fix) in kinds.items():
        if len(values) > _MOST[field]:
            yield Flaw(field, f"must have at most {_MOST[field]} entries", "Remove some of them.")
        if not all(_is_entry(value) and (pattern is None or pattern.fullmatch(value)) for value in values):
            yield Flaw(field, text, fix)


def _flaws_of_work(agent: Agent) -> Iterator[Flaw]:
    if agent.model is not None and not is_model(agent.model):
        yield Flaw("model", "must be a model as provider/model, or its bare name", "Write openai/gpt-4o-mini.")
    if agent.graph not in GRAPHS and not is_workflow_graph(agent.graph):
        text = f"names {agent.graph[:LONGEST_NAME]}, which is not available in this version"
        yield Flaw("graph", text, f"Use {', '.join(sorted(GRAPHS))}, or {PREFIX}SLUG of a workflow.")
    if agent.completion not in COMPLETIONS:
        yield Flaw("completion", f"must be one of {', '.join(COMPLETIONS)}", "Use one of them.")
    if agent.on_new_message is not None and agent.on_new_message not in ON_NEW_MESSAGE:
        yield Flaw("on_new_message", f"must be one of {', '.join(ON_NEW_MESSAGE)}, or null", "Use one of them.")
    if agent.effort is not None and agent.effort not in EFFORTS:
        yield Flaw("effort", f"must be one of {', '.join(EFFORTS)}, or null", "Use one of them.")
    if agent.context_tokens is not None and not LEAST_CONTEXT <= agent.context_tokens <= MOST_CONTEXT:
        text = f"must be from {LEAST_CONTEXT} to {MOST_CONTEXT}, or null for the model's whole window"
        yield Flaw("context_tokens", text, "Write for example 96000.")
    if agent.timezone is not None and not is_timezone(agent.timezone):
        yield Flaw("timezone", "must be a time zone such as UTC or Europe/Berlin", "Use a name of the IANA list.")


def flaws_of_binding(binding: Binding) -> Iterator[Flaw]:
    if not _PLATFORM.fullmatch(binding.platform):
        yield Flaw("platform", "must be the name of a platform", "Write for example discord, telegram, slack or web.")
    if not _is_entry(binding.channel):
        text = f"must be 1 to {_LONGEST_ENTRY} printable characters"
        yield Flaw("channel", text, "Write the id that the platform shows.")
    if binding.observe is not None and not 0 <= binding.observe <= MOST_OBSERVED:
        yield Flaw("observe", f"must be from 0 to {MOST_OBSERVED}", "Write 0 to read no other messages.")


def is_timezone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _is_entry(value: str) -> bool:
    return 0 < len(value) <= _LONGEST_ENTRY and value.isprintable() and bool(value.strip())
