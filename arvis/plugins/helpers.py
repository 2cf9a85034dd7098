"""Plugin `helpers`: to whom an agent may hand the talk over, and how it says so (behaviour.md 5.7). That only those of its
list are ever reached is for graph `handover` to see to, not for this text."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.agents import Agent
from arvis.domain.markup import escape
from arvis.domain.plugins import AttributeSpec, PluginBlock
from arvis.plugins.quiet import QuietPlugin
from arvis.ports.plugin import Plugin, PluginServices, PluginTurn

#: The attribute of a reply that names the agent which is to go on.
DESTINATION = "agentNameToWhichSendTheMessage"

_ASK = """\
These agents can help you. To ask one of them, name it in the reply, and write to it, not to the person, all that it needs \
to know; what it answers comes back to you."""
_ABOUT = 200


def create(_services: PluginServices) -> Plugin:
    return HelpersPlugin()


class HelpersPlugin(QuietPlugin):
    async def blocks(self, turn: PluginTurn) -> Sequence[PluginBlock]:
        if not (found := _helpers_of(turn)):
            return ()
        return [PluginBlock("Your helpers", "\n".join([_ASK, *map(_introduced, found)]))]

    async def attributes(self, turn: PluginTurn) -> Sequence[AttributeSpec]:
        if not _helpers_of(turn):
            return ()
        about = "The name of the helper that the message is for. Leave it out when the message is for the person."
        return [AttributeSpec(DESTINATION, "string", about)]


def _helpers_of(turn: PluginTurn) -> list[Agent]:
    """The active ones of its list, in the order of their slugs."""
    allowed = set(turn.agent.helpers) - {turn.agent.slug}
    return sorted((each for each in turn.agents if each.active and each.slug in allowed), key=lambda each: each.slug)


def _introduced(agent: Agent) -> str:
    what = " ".join((agent.description or agent.name).split())[:_ABOUT]
    return f"- {agent.slug}: {escape(what)}"
