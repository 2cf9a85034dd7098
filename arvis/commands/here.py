"""`/agents`, and the place in `/help`: the agents that answer here, and how to address them."""

from __future__ import annotations

from collections.abc import Iterator

from arvis.commands.invocation import Invocation
from arvis.domain.agents import Agent, Binding
from arvis.domain.messages import IncomingMessage, Respond, Sender
from arvis.memory.service import brief
from arvis.ports.store import Transaction
from arvis.routing import WEB, permit

#: Rules that give a place to one agent: no other agent answers there, under any name.
_ALONE = frozenset({"bot_assignment", "channel_binding"})
_MOST = 30
_LONGEST = 120


def agents(tx: Transaction, invocation: Invocation, _now: int) -> str:
    """List the agents that this person may ask."""
    return "\n".join(_lines(tx, invocation))


def _lines(tx: Transaction, invocation: Invocation) -> Iterator[str]:
    yield f"The agent here is {_told(invocation.agent)}"
    others = _others(tx, invocation)
    if others:
        yield "Others answer here when you call them by name:"
    yield from (f"@{agent.slug}: {_told(agent)}" for agent in others[:_MOST])
    if len(others) > _MOST:
        yield "… and more."


def _told(agent: Agent) -> str:
    about = f", {brief(agent.description, _LONGEST)}" if agent.description else ""
    return f"{brief(agent.name, _LONGEST)}{about}"


def _others(tx: Transaction, invocation: Invocation) -> list[Agent]:
    if invocation.route in _ALONE:
        return []
    address, here = invocation.address, invocation.agent.id
    binding = tx.agents.binding_at(address.platform, address.channel)
    return [
        agent for agent in tx.agents.all() if agent.active and agent.id != here and _may(invocation, agent, binding)
    ]


def _may(invocation: Invocation, agent: Agent, binding: Binding | None) -> bool:
    person = invocation.principal
    sender = invocation.sender or Sender(person.user_id, person.name, paired=person.paired)
    question = IncomingMessage(invocation.address, "", sender, "", is_direct=invocation.conversation.direct)
    return permit(question, agent, "mention", person.role, binding) is None


def how_to_address(tx: Transaction, invocation: Invocation) -> str:
    """Return one line about this place."""
    agent = brief(invocation.agent.name, _LONGEST)
    address = invocation.address
    binding = tx.agents.binding_at(address.platform, address.channel)
    open_to_all = binding is not None and binding.respond is Respond.ALL
    if open_to_all or invocation.conversation.direct or address.platform == WEB:
        return f"Here every message is for {agent}."
    if address.thread:
        return f"In this thread every message is for {agent}, who takes part in it."
    return f"Here {agent} answers those who {_mention(tx, invocation)}, reply to its messages, or give a command."


def _mention(tx: Transaction, invocation: Invocation) -> str:
    """Return the bot's name on its platform, if it is known."""
    place = (invocation.address.platform, invocation.address.connector)
    names = [bot.user_name for bot in tx.bots.statuses() if (bot.platform, bot.name) == place and bot.user_name]
    return f"mention @{names[0]}" if names else "mention it"
