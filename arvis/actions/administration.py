"""The conductor's actions on agents, their channels, and customers. The conductor asks for them by tags in its reply.

Everything is checked before the first write, so a refused action writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.actions.context import ActionContext
from arvis.actions.report import done, quoted
from arvis.domain.agents import Agent, AgentStatus, Binding, Permission, flaws_of_binding
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import EffectKind, EffectResult, Proposal
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.messages import Address
from arvis.domain.money import Client, ClientPlan
from arvis.ports.store import Transaction
from arvis.services import agents as roster
from arvis.services import billing

LONGEST_NAME = 100
#: The maximum number of customers that an answer in a chat lists.
LISTED_CUSTOMERS = 50


def apply_client(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    if proposal.kind is EffectKind.LIST_CLIENTS:
        return done(proposal, _listed_customers(tx))
    by = situation.principal.id if situation.principal is not None else None
    made = billing.add_client(tx, wanted_client(proposal), now, by=by)
    return done(proposal, f"created the customer {quoted(made.name)} ({made.plan})")


def wanted_client(proposal: Proposal) -> Client:
    """Return the customer that a tag asks for, with defaults for missing fields."""
    fields = proposal.fields
    name, slug = str(fields.get("name", "")).strip(), str(fields.get("slug", "")).strip()
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise Unprocessable(f"`name` must be 1 to {LONGEST_NAME} printable characters")
    if len(slug) > LONGEST_NAME or not slug.isprintable():
        raise Unprocessable(f"`slug` must have at most {LONGEST_NAME} printable characters")
    plan = str(fields.get("plan") or ClientPlan.PER_TASK)
    if plan not in set(ClientPlan):
        raise Unprocessable(f"`plan` must be one of {', '.join(ClientPlan)}")
    # Customers have no slug, so the slug of the tag is stored in the notes.
    return Client(id="", name=name, plan=ClientPlan(plan), notes=f"slug: {slug}" if slug else "")


def _listed_customers(tx: Transaction) -> str:
    found = tx.clients.newest(LISTED_CUSTOMERS + 1)
    if not found:
        return "There are no customers."
    lines = [f"- {quoted(client.name)}: {client.plan}, {client.status}" for client in found[:LISTED_CUSTOMERS]]
    return "\n".join(["Customers, newest first:", *lines, *(["- and more"] if len(found) > LISTED_CUSTOMERS else [])])


#: The first line of the part of a prompt that describes the personality.
PERSONALITY = "Your personality:"
#: The maximum number of channels that one tag may name.
MOST_CHANNELS = 20
#: The maximum number of agents in an answer in a chat, and the maximum number of channels for each of these agents.
LISTED, LISTED_CHANNELS = 50, 5

_NOT_AGENT = frozenset({"slug", "channels", "personality", "status"})
_PERMISSIONS = {permission.value.replace("_", ""): permission for permission in Permission}


@dataclass(frozen=True, slots=True)
class Plan:
    """The checked change that a tag asks for."""

    #: The agent before the change, or an agent with default values if the tag creates an agent.
    agent: Agent
    #: The new values, by field of `Agent`.
    changes: Mapping[str, Any]
    #: The channels to add.
    places: Sequence[Binding]
    #: The new status; None if the status does not change.
    status: AgentStatus | None = None

    @property
    def changed(self) -> Agent:
        return roster.changed_agent(self.agent, self.changes)


def plan_of(tx: Transaction, proposal: Proposal, here: Address) -> Plan:
    """Return the change that a tag asks for. Raise `UsageError` if the change is impossible."""
    fields = proposal.fields
    if proposal.kind is EffectKind.CREATE_AGENT:
        slug = str(fields.get("slug") or proposal.subject)
        blank = Agent(id="", slug=slug, name=slug)
        return Plan(blank, _changes(blank, fields), _free_places(tx, fields, here, agent_id=""))
    agent = roster.present(tx, known_agent(tx, proposal.subject).id)
    if str(fields.get("slug", agent.slug)) != agent.slug:
        raise Unprocessable("`slug` cannot be changed")
    places = _free_places(tx, fields, here, agent_id=agent.id)
    return Plan(agent, _changes(agent, fields), places, _status(fields))


def apply_agent(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    match proposal.kind:
        case EffectKind.CREATE_AGENT:
            return _create(tx, proposal, situation, now)
        case EffectKind.UPDATE_AGENT:
            return _update(tx, proposal, situation, now)
        case EffectKind.PAUSE_AGENT:
            agent = known_agent(tx, proposal.subject)
            roster.set_status(tx, agent.id, AgentStatus.PAUSED, by=situation.by_id, now=now)
            return done(proposal, f"paused the agent {quoted(agent.slug)}")
        case EffectKind.DELETE_AGENT:
            agent = known_agent(tx, proposal.subject)
            roster.archive(tx, agent.id, by=situation.by_id, now=now)
            return done(proposal, f"deleted the agent {quoted(agent.slug)}")
        case _:
            return done(proposal, _listed(tx))


def _create(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    plan = plan_of(tx, proposal, situation.address)
    made = roster.create(tx, plan.changed, plan.places, by=situation.by_id, now=now)
    return done(proposal, _with_places(f"created the agent {quoted(made.slug)}", plan.places))


def _update(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    plan = plan_of(tx, proposal, situation.address)
    agent = plan.agent
    roster.update(tx, agent.id, plan.changes, by=situation.by_id, now=now)
    if plan.status is not None:
        roster.set_status(tx, agent.id, plan.status, by=situation.by_id, now=now)
    for place in plan.places:
        roster.bind(tx, place, by=situation.by_id, now=now)
    return done(proposal, _with_places(f"changed the agent {quoted(agent.slug)}", plan.places))


def known_agent(tx: Transaction, slug: str) -> Agent:
    agent = tx.agents.by_slug(slug)
    if agent is None:
        raise NotFound("there is no such agent")
    return agent


def _changes(agent: Agent, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values that the tag names, by field of `Agent`."""
    changes = {name: value for name, value in fields.items() if name not in _NOT_AGENT}
    if personality := fields.get("personality"):
        prompt = str(changes.get("prompt", agent.prompt))
        changes["prompt"] = _with_personality(prompt, personality)
    return changes


def _with_personality(prompt: str, personality: Any) -> str:
    """Return the prompt with this personality at its end. If the prompt already ends with a personality, replace that
    personality."""
    given = personality if isinstance(personality, Mapping) else {"character": personality}
    before, mark, behind = prompt.rpartition(f"{PERSONALITY}\n")
    own = mark and all(line.startswith("- ") for line in behind.splitlines())
    rest = (before if own else prompt).rstrip()
    lines = [f"- {name}: {value}" for name, value in given.items()]
    return "\n".join([*([rest, ""] if rest else []), PERSONALITY, *lines])


def _status(fields: Mapping[str, Any]) -> AgentStatus | None:
    given = fields.get("status")
    if given is None:
        return None
    if given not in {AgentStatus.ACTIVE, AgentStatus.PAUSED}:
        raise Unprocessable("`status` must be active or paused")
    return AgentStatus(given)


def _free_places(tx: Transaction, fields: Mapping[str, Any], here: Address, *, agent_id: str) -> list[Binding]:
    """Return the channels that a tag names. Raise `Conflict` if one of these channels belongs to another agent."""
    given = fields.get("channels") or []
    if not isinstance(given, list) or len(given) > MOST_CHANNELS:
        raise Unprocessable(f"`channels` must be a list of at most {MOST_CHANNELS} channels")
    places = [replace(_place(each, here), agent_id=agent_id) for each in given]
    for place in places:
        for flaw in flaws_of_binding(place):
            raise Unprocessable(f"`{flaw.field}` {flaw.text}", fix=flaw.fix)
        there = tx.agents.binding_at(place.platform, place.channel)
        if there is not None and there.agent_id != agent_id:
            owner = tx.agents.get(there.agent_id)
            who = owner.slug if owner is not None else "another agent"
            raise Conflict(f"the channel {place.channel} on {place.platform} belongs to {who}")
    return list({(place.platform, place.channel): place for place in places}.values())


def _place(given: Any, here: Address) -> Binding:
    """Read one entry of `channels`. An entry without a channel means the channel of the conversation."""
    if not isinstance(given, Mapping):
        raise Unprocessable("an entry of `channels` must be an object with platform and channelId")
    channel = given.get("channelId", given.get("channel"))
    if not channel:
        platform, channel = here.platform, here.channel
    else:
        platform = str(given.get("platform") or "discord")
    written = str(given.get("permissions") or given.get("permission") or Permission.FULL)
    permission = _PERMISSIONS.get(written.casefold().replace("_", "").replace("-", ""))
    if permission is None:
        raise Unprocessable(f"`permissions` must be one of {', '.join(Permission)}")
    return Binding(platform, str(channel), "", permission)


def _with_places(report: str, places: Sequence[Binding]) -> str:
    where = ", ".join(f"{place.platform} {place.channel}" for place in places)
    return f"{report} and bound it to {where}" if where else report


def _listed(tx: Transaction) -> str:
    agents = tx.agents.all()
    lines = [_line(agent, tx.agents.bindings(agent.id)) for agent in agents[:LISTED]]
    more = [f"- and {len(agents) - LISTED} more"] if len(agents) > LISTED else []
    return "\n".join(["Agents:", *lines, *more])


def _line(agent: Agent, bindings: Sequence[Binding]) -> str:
    where = ", ".join(f"{binding.platform} {binding.channel}" for binding in bindings[:LISTED_CHANNELS])
    where += ", …" if len(bindings) > LISTED_CHANNELS else ""
    paused = "" if agent.active else f", {agent.status}"
    return f"- {quoted(agent.slug)} {agent.name}{paused}{f': {where}' if where else ''}"
