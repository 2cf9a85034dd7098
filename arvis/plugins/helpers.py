"""Plugin `helpers`: adds to the prompt the agents to which the agent may hand over the conversation, and the form of a
handover.

The form is an attribute of the reply. The graph `handover` checks that the named agent is in this list.
"""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.agents import Agent
from arvis.domain.markup import escape
from arvis.domain.plugins import AttributeSpec, PluginBlock, PluginDeclaration
from arvis.plugins.quiet import QuietPlugin
from arvis.ports.plugin import Plugin, PluginServices, PluginTurn

#: The attribute of a reply that names the agent to which the conversation is handed over.
DESTINATION = "agentNameToWhichSendTheMessage"

_ASK = """\
These agents can help you. To ask one, name it in the attribute of your reply. Then the text of the reply goes to this \
agent instead of the person: include everything that it needs to know. You get its answer."""
_ABOUT = 200

DECLARATION = PluginDeclaration(harmless=True)


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
        about = "The slug of the helper that gets the message. Omit this attribute if the message is for the person."
        return [AttributeSpec(DESTINATION, "string", about)]


def _helpers_of(turn: PluginTurn) -> list[Agent]:
    """Return the active agents to which this agent may hand over, in the order of their slugs."""
    allowed = set(turn.agent.helpers) - {turn.agent.slug}
    return sorted((each for each in turn.agents if each.active and each.slug in allowed), key=lambda each: each.slug)


def _introduced(agent: Agent) -> str:
    what = " ".join((agent.description or agent.name).split())[:_ABOUT]
    return f"- {agent.slug}: {escape(what)}"
