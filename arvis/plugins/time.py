"""Plugin `time`: adds to each message the time at which it was written, as long as the message is in the history.

The time of a message never changes, so the providers' caches stay valid.
"""

from __future__ import annotations

from arvis.domain.messages import StoredMessage
from arvis.domain.plugins import Addition, Item, PluginDeclaration
from arvis.plugins.quiet import QuietPlugin
from arvis.ports.plugin import Plugin, PluginServices, PluginTurn
from arvis.prompt.history import clock_line

DECLARATION = PluginDeclaration(harmless=True)


def create(_services: PluginServices) -> Plugin:
    return TimePlugin()


class TimePlugin(QuietPlugin):
    async def addition(self, turn: PluginTurn, message: StoredMessage) -> Addition | None:
        written = clock_line(message.created_at, turn.zone).removeprefix("Now: ")
        return Addition("Written: ", (Item((written,), shown=True, keep=True),))
