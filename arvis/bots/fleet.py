"""The connectors of this process: one object a bot, for whoever sends, fetches or takes web hooks, whoever runs it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from arvis.bots.book import BotBook, BotSpec, Key
from arvis.bots.making import ConnectorMaker, in_words, misconfigured
from arvis.domain.errors import ConfigError
from arvis.domain.messages import Address
from arvis.ports.connector import BadSetting, Connector

log = logging.getLogger(__name__)

#: Seconds in which a connector has to close.
_CLOSING = 5.0


@dataclass(frozen=True, slots=True)
class Bot:
    """`connector` is None for a bot that is off, or that cannot be made, which `trouble` then says why."""

    spec: BotSpec
    connector: Connector | None
    trouble: str = ""


class BotFleet:
    """`own` are connectors that are there always, such as the web."""

    def __init__(self, *, book: BotBook, maker: ConnectorMaker, own: Sequence[Connector] = ()) -> None:
        self._book = book
        self._maker = maker
        self._own: dict[Key, Connector] = {(connector.platform, connector.name): connector for connector in own}
        self._bots: dict[Key, Bot] = {}

    @property
    def bots(self) -> Sequence[Bot]:
        return tuple(self._bots.values())

    def bot(self, key: Key) -> Bot | None:
        return self._bots.get(key)

    def connector_of(self, address: Address) -> Connector | None:
        """None when there is no such bot, or it is off or cannot be made."""
        return self.connector(address.platform, address.connector)

    def connector(self, platform: str, name: str) -> Connector | None:
        key = (platform, name)
        if (own := self._own.get(key)) is not None:
            return own
        bot = self._bots.get(key)
        return None if bot is None else bot.connector

    async def open(self) -> None:
        """Make every bot that the book knows. Raises `ConfigError` for one that is written in the configuration and cannot
        be made; one that only a variable asked for, or that is stored, stays with its trouble."""
        for spec in self._book.specs:
            bot, error = await self._made(spec)
            entry = self._book.entry(*spec.key)
            if error is not None and entry is not None and entry.variable is None:
                raise misconfigured(entry, error)
            self._bots[spec.key] = bot

    async def put(self, spec: BotSpec) -> Bot:
        """Make a bot anew. Whoever sends goes on with its former connector until the new one is there."""
        former = self._bots.get(spec.key)
        self._bots[spec.key], _ = await self._made(spec)
        await _closed(former)
        return self._bots[spec.key]

    async def drop(self, key: Key) -> None:
        await _closed(self._bots.pop(key, None))

    async def close(self) -> None:
        """Close all connectors, at once."""
        bots, self._bots = self._bots, {}
        await asyncio.gather(*(_closed(bot) for bot in bots.values()))

    async def _made(self, spec: BotSpec) -> tuple[Bot, BadSetting | ConfigError | None]:
        if not spec.enabled:
            return Bot(spec, None), None
        try:
            return Bot(spec, await self._maker.make(spec)), None
        except (BadSetting, ConfigError) as error:
            log.warning("The bot %s of %s cannot be used: %s", spec.name, spec.platform, in_words(error))
            return Bot(spec, None, in_words(error)), error


async def _closed(bot: Bot | None) -> None:
    """What goes wrong while a connector closes is told, and concerns nobody else."""
    if bot is None or bot.connector is None:
        return
    closing = asyncio.create_task(bot.connector.close())
    await asyncio.wait({closing}, timeout=_CLOSING)
    if not closing.done():
        closing.cancel()
    elif not closing.cancelled() and (failure := closing.exception()) is not None:
        log.error("the bot %s of %s did not close: %r", bot.spec.name, bot.spec.platform, type(failure).__name__)
