"""Plugin `active_agents`: adds to the prompt the other agents that are working now, and their work."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.markup import escape
from arvis.domain.plugins import PluginBlock, PluginDeclaration
from arvis.plugins.quiet import QuietPlugin
from arvis.ports.plugin import Plugin, PluginServices, PluginTurn

DECLARATION = PluginDeclaration(harmless=True)


def create(_services: PluginServices) -> Plugin:
    return ActiveAgentsPlugin()


class ActiveAgentsPlugin(QuietPlugin):
    async def blocks(self, turn: PluginTurn) -> Sequence[PluginBlock]:
        """Return the block of working agents. It is marked as outside text, because other agents wrote its lines."""
        if not (lines := await turn.working()):
            return ()
        return [PluginBlock("Other agents", "\n".join(map(escape, lines)), changing=True, outside=True)]
