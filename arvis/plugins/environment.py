"""Plugin `environment`: adds to the prompt the platform, the kind of chat (with one or several people), the agent's
time zone and the version of Arvis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arvis import __version__
from arvis.domain.plugins import PluginBlock, PluginDeclaration
from arvis.plugins.quiet import QuietPlugin
from arvis.ports.plugin import Plugin, PluginServices, PluginTurn

DECLARATION = PluginDeclaration(harmless=True)


def create(_services: PluginServices) -> Plugin:
    return EnvironmentPlugin()


class EnvironmentPlugin(QuietPlugin):
    async def blocks(self, turn: PluginTurn) -> Sequence[PluginBlock]:
        return [PluginBlock("Where you are", "\n".join(_lines(turn)))]


def _lines(turn: PluginTurn) -> Iterator[str]:
    """Yield the lines. They contain no text of other people: the kind of the channel is included, but not its name."""
    talk = "with one person" if turn.direct else "in a channel with several people"
    yield f"You are on {turn.address.platform}, {talk}."
    yield f"Your time zone is {turn.zone}."
    yield f"You run on Arvis {__version__}, which stores conversations and sends your replies."
