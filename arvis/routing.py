"""Chooses the agent for a message (`Router.choose`) and checks the person's permission (`permit`).

Every decision has a reason code. The code also explains why a message gets no answer. Routing calls no model and writes
nothing to the database.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence

from arvis.config.sections import Routing
from arvis.domain.agents import Agent, Binding, Permission
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import Address, IncomingMessage, Principal, PrincipalRole, Respond, Sender
from arvis.domain.regex import regex
from arvis.extensions import is_risky
from arvis.ports.store import Transaction

WEB = "web"
#: The reason code of a group message that is not for the bot. The message gets no answer, but may be stored as
#: overheard.
NOT_ADDRESSED = "not_addressed"
DASHBOARD_AGENT = "dashboard-agent-"

#: The `@` before the name of an agent, but not inside a word (such as a mail address).
_AT = regex(r"(?<![\w.@])@(?=\S)")
#: The maximum number of `@` signs that are examined in a text, and of characters that are compared after each of them.
_MOST_PLACES = 50
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Routed:
    """The decision that an agent answers."""

    agent: Agent
    #: The code of the rule that chose the agent.
    reason: str
    #: The person's role.
    role: PrincipalRole
    #: The message with the final values of `addressed` and `sender.paired`.
    message: IncomingMessage


@dataclass(frozen=True, slots=True)
class Refused:
    """The decision that no agent answers."""

    #: The reason code.
    reason: str
    #: The person's role.
    role: PrincipalRole
    #: The agent that the person may not use; None if no rule chose an agent.
    agent: Agent | None = None
    #: The maximum number of overheard messages that are stored for the message's channel or thread.
    observe: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """The agents, and the binding of the channel in which a message was written."""

    agents: Sequence[Agent]
    binding: Binding | None

    def active(self, name: str | None) -> Agent | None:
        """Return the active agent with this slug or id, or None."""
        if name is None:
            return None
        return next((agent for agent in self.agents if name in (agent.slug, agent.id) and agent.active), None)

    @property
    def conductor(self) -> Agent | None:
        return next((agent for agent in self.agents if agent.is_conductor and agent.active), None)


class Router:
    """The routing rules. `rules` returns the current settings. `owners` contains, for each platform, the ids of the
    users who are owners there."""

    def __init__(self, *, rules: Callable[[], Routing], owners: Mapping[str, Collection[str]]) -> None:
        self._rules = rules
        self._owners = owners

    def route(self, tx: Transaction, message: IncomingMessage) -> Routed | Refused:
        """Choose the agent for a message, then check if the person may use the agent. Write nothing to the database."""
        address = message.address
        known = tx.principals.find(address.platform, message.sender.user_id)
        role = self.role_of(address.platform, message.sender, known)
        place = Place(tx.agents.all(), tx.agents.binding_at(address.platform, address.channel))
        message = replace(message, addressed=_is_for_bot(tx, message, place.binding))
        if role is PrincipalRole.BLOCKED:
            return Refused("blocked" if message.addressed else NOT_ADDRESSED, role)
        if known is not None and known.paired:
            message = replace(message, sender=replace(message.sender, paired=True))
        agent, reason = self.choose(message, place, role)
        if agent is None:
            return Refused(reason, role, observe=_observed(message, place))
        refusal = permit(message, agent, reason, role, place.binding)
        return Refused(refusal, role, agent) if refusal else Routed(agent, reason, role, message)

    def role_of(self, platform: str, sender: Sender, known: Principal | None) -> PrincipalRole:
        """Return the person's role on this platform. `known` is the stored person, or None if the person is unknown."""
        if known is not None and known.role is PrincipalRole.BLOCKED:
            return PrincipalRole.BLOCKED
        if sender.user_id in self._owners.get(platform, ()):
            return PrincipalRole.OWNER
        if sender.role is not None:
            return sender.role
        # The configuration or the connector names the owners. A stored role of owner does not count, because the person
        # may have been removed from the configuration after the role was stored.
        return known.role if known is not None and known.role is not PrincipalRole.OWNER else PrincipalRole.MEMBER

    def choose(self, message: IncomingMessage, place: Place, role: PrincipalRole) -> tuple[Agent | None, str]:
        """Return the agent that the first matching rule names, and the code of this rule. If no agent is found, the
        code says why."""
        addressed = message.addressed or message.is_direct
        channel = message.address.channel
        over_web = message.address.platform == WEB
        if over_web and message.assigned_agent is not None:
            agent = place.active(message.assigned_agent)
            return agent, "named" if agent else "unknown_agent"
        if addressed and (agent := place.active(message.assigned_agent)):
            return agent, "bot_assignment"
        if addressed and place.binding and (agent := place.active(place.binding.agent_id)):
            return agent, "channel_binding"
        may_be_called = _respond(message, place.binding) is not Respond.NEVER
        if may_be_called and not message.forwarded and (agent := mentioned(message.content, place.agents)):
            return agent, "mention"
        if addressed and channel == self._rules().conductor_channel and (place.conductor or not over_web):
            return place.conductor, "conductor_channel" if place.conductor else "no_conductor"
        if over_web:
            return self._choose_web(message, place, role)
        if message.is_direct or channel.startswith("dm-"):
            return place.conductor, "dm" if place.conductor else "no_conductor"
        if not addressed:
            return None, NOT_ADDRESSED
        if message.assigned_agent:
            return None, "paused"
        agent = self._fallback_agent(place)
        return agent, "fallback" if agent else "none"

    def _choose_web(self, message: IncomingMessage, place: Place, role: PrincipalRole) -> tuple[Agent | None, str]:
        """Return the agent for a message of the connector `web` (dashboard and API), and the code of the rule that
        chose the agent. A chat with one agent allows only this agent. In all other chats, the rules are the fallback
        agent (the conductor only if the person may use it), then the first agent that the person may use."""
        channel = message.address.channel
        if channel.startswith(DASHBOARD_AGENT):
            agent = place.active(channel.removeprefix(DASHBOARD_AGENT))
            return agent, "dashboard_direct" if agent else "unknown_agent"
        agent = self._fallback_agent(place)
        if agent and not (agent.is_conductor and permit(message, agent, "fallback", role, place.binding)):
            return agent, "fallback"
        agent = _first_that_may_be_asked(message, place, role)
        return agent, "web_default" if agent else "no_agent"

    def _fallback_agent(self, place: Place) -> Agent | None:
        match self._rules().fallback:
            case "drop":
                return None
            case "conductor":
                return place.conductor
            case slug:
                return place.active(slug)


def _respond(message: IncomingMessage, binding: Binding | None) -> Respond:
    return binding.respond if binding is not None and binding.respond is not None else message.respond


def _is_for_bot(tx: Transaction, message: IncomingMessage, binding: Binding | None) -> bool:
    """Return True if the message is for the bot. Direct messages are always for the bot. In a group, the setting
    `respond` selects no messages, all messages, or the messages that address the bot or are in a thread in which the
    bot has a conversation."""
    if message.is_direct:
        return True
    match _respond(message, binding):
        case Respond.NEVER:
            return False
        case Respond.ALL:
            return True
        case Respond.MENTION:
            in_thread = bool(message.address.thread) and bool(tx.conversations.in_place(message.address))
            return message.addressed or (in_thread and message.address.platform != WEB)


def _observed(message: IncomingMessage, place: Place) -> int:
    """Return the maximum number of overheard messages that are stored for the message's channel or thread. It is 0 if
    no active agent is bound to the channel or assigned to the bot."""
    binding = place.binding
    if binding is not None and place.active(binding.agent_id):
        return message.observe if binding.observe is None else binding.observe
    return message.observe if place.active(message.assigned_agent) else 0


def _first_that_may_be_asked(message: IncomingMessage, place: Place, role: PrincipalRole) -> Agent | None:
    """Return the first active agent that this person may ask, beginning with the conductor. If the person may ask none
    of them, return the first active agent, so that the person gets a refusal with a reason. Return None if no agent is
    active."""
    active = sorted((agent for agent in place.agents if agent.active), key=lambda agent: not agent.is_conductor)
    open_to_them = (agent for agent in active if permit(message, agent, "web_default", role, place.binding) is None)
    return next(open_to_them, active[0] if active else None)


def mentioned(content: str, agents: Sequence[Agent]) -> Agent | None:
    """Return the active agent that the text calls by `@slug` or `@name`, or None. If several agents match, prefer the
    agent with the longest name. If two agents have the same name, prefer the older agent."""
    places = itertools.islice(_AT.finditer(content), _MOST_PLACES)
    behind = [content[place.end() : place.end() + _LONGEST_NAME].casefold() for place in places]
    if not behind:
        return None
    active = [agent for agent in reversed(agents) if agent.active]
    names = {name.casefold(): agent for agent in active for name in (agent.name, agent.slug) if name}
    for name in sorted(names, key=len, reverse=True):
        if any(words.startswith(name) and not _goes_on(words[len(name) :]) for words in behind):
            return names[name]
    return None


def _goes_on(rest: str) -> bool:
    """Return True if `rest`, the text after a matched name, begins with a letter, a digit or `_`. In this case the
    matched name is only the beginning of a longer word."""
    return bool(rest) and (rest[0].isalnum() or rest[0] == "_")


def permit(
    message: IncomingMessage, agent: Agent, reason: str, role: PrincipalRole, binding: Binding | None
) -> str | None:
    """Return None if this person may ask the agent, else a reason code. The first rule that matches decides. `reason`
    is the code of the rule that chose the agent."""
    sender = message.sender
    over_web = message.address.platform == WEB
    if role is PrincipalRole.OWNER:
        return None
    if sender.agents is not None and not key_reaches(sender.agents, agent):
        return "not_allowed"
    if agent.allow_users is not None:
        return None if sender.user_id in agent.allow_users else "not_allowed"
    if binding is not None and binding.permission is not Permission.FULL:
        return str(binding.permission)
    if agent.is_conductor or is_risky(agent):
        return None if sender.paired else "not_paired"
    bound_here = binding is not None and binding.agent_id == agent.id
    # The agent that is assigned to a bot may be asked in every channel of this bot, whichever rule chose it.
    assigned = reason == "bot_assignment" or message.assigned_agent in {agent.slug, agent.id}
    vouched_for = sender.paired and message.is_direct
    return None if over_web or bound_here or assigned or vouched_for else "not_bound"


def can_access(sender: Sender, agent: Agent) -> bool:
    """Return True if a person who is not an owner may ask this agent over the connector `web`, without a binding."""
    question = IncomingMessage(Address(WEB, WEB, f"{DASHBOARD_AGENT}{agent.slug}"), "", sender, "")
    return permit(question, agent, "dashboard_direct", PrincipalRole.MEMBER, None) is None


def may_call(tx: Transaction, sender: Sender, agent: Agent, address: Address) -> bool:
    """Return True if another agent may delegate a task to this agent for a person who is neither owner nor operator.
    The rules for the person apply, except that the agent need not be bound to the channel."""
    question = IncomingMessage(address, "", sender, "")
    binding = tx.agents.binding_at(address.platform, address.channel)
    return permit(question, agent, "bot_assignment", PrincipalRole.MEMBER, binding) is None


def key_reaches(agents: Sequence[str], agent: Agent) -> bool:
    """Return True if a chat key with this list of agents may use this agent. A key with an empty list may use all
    agents without risky tools, except conductors."""
    return agent.slug in agents if agents else not (agent.is_conductor or is_risky(agent))
