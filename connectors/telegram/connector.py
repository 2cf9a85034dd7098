"""A bot of Telegram, as a connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import structlog
import telegram
from telegram.error import InvalidToken, TelegramError

from arvis.domain.messages import Address, Button, Delivery
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import (
    BotUp,
    Capabilities,
    CommandHint,
    ConnectorServices,
    Finding,
    Guarantee,
    Receipt,
)
from arvis.ports.inbox import Inbox
from connectors.telegram.checking import check
from connectors.telegram.client import Client
from connectors.telegram.drafts import Drafts
from connectors.telegram.files import fetch
from connectors.telegram.incoming import PLATFORM, Incoming
from connectors.telegram.outgoing import Outgoing, plan
from connectors.telegram.polling import Polling, identity, token_refused
from connectors.telegram.settings import TelegramConfig
from connectors.telegram.texts import Me

log = structlog.get_logger(__name__)

#: What Telegram can promise: it knows no key by which it would notice a repetition.
_PROMISES: Final = frozenset({Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE, Guarantee.RESERVE_THEN_FILL})
_DESCRIPTION_LIMIT: Final = 256


class TelegramConnector:
    """`Connector`, `Reserves`, `ShowsTyping`, `ShowsDrafts`, `FetchesFiles` and `ChecksSetup`."""

    platform: str = PLATFORM
    typing_seconds: float = 5.0
    draft_seconds: float = 1.0

    def __init__(self, *, name: str, config: TelegramConfig, services: ConnectorServices) -> None:
        self.name = name
        self.capabilities = Capabilities(_guarantee(config, services), late_after=config.late_after, late=config.late)
        self._config = config
        self._services = services
        self._client = Client(config=config)
        self._outgoing = Outgoing(client=self._client, rich_messages=config.rich)
        self._drafts = Drafts(client=self._client, clock=services.clock)

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        """Raises `TokenRefused`, and `ConnectionError` when Telegram is out of reach."""
        bot = self._client.bot
        me = await self._begin(bot)
        up(identity(me))
        incoming = Incoming(bot=self.name, me=Me(me.id, me.username or ""), config=self._config)
        polling = Polling(name=self.name, bot=bot, incoming=incoming, inbox=inbox, clock=self._services.clock)
        await polling.run(lambda: up(identity(me)))

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return plan(delivery, self._services.max_parts)

    async def send(self, part: Part) -> Receipt:
        return await self._outgoing.send(part)

    async def reserve(self, part: Part) -> Receipt:
        return await self._outgoing.reserve(part)

    async def typing(self, address: Address) -> None:
        await self._drafts.typing(address)

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        return await self._drafts.show(address, key, text, buttons)

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        await self._drafts.change(address, platform_id, text, buttons)

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        await self._drafts.remove(address, platform_id)

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        return await fetch(self._client, source, max_bytes)

    async def check(self) -> Sequence[Finding]:
        return await check(self._client, self._config)

    async def close(self) -> None:
        await self._client.close()

    async def _begin(self, bot: telegram.Bot) -> telegram.User:
        """Who the bot is. A webhook that was set for it would keep all updates from us."""
        try:
            me = await bot.get_me()
            await bot.delete_webhook(drop_pending_updates=False)
        except InvalidToken:
            raise token_refused() from None
        except TelegramError as error:
            raise ConnectionError(f"Telegram is out of reach: {error}") from None
        try:
            await self._list_commands(bot)
        except TelegramError as error:
            log.warning("telegram_commands_not_set", bot=self.name, error=str(error))
        return me

    async def _list_commands(self, bot: telegram.Bot) -> None:
        wanted = tuple(map(_command, self._services.commands))
        if tuple(await bot.get_my_commands()) != wanted:
            await bot.set_my_commands(wanted)


def _guarantee(config: TelegramConfig, services: ConnectorServices) -> Guarantee:
    wanted = Guarantee(config.delivery) if config.delivery else services.guarantee
    return wanted if wanted in _PROMISES else Guarantee.AT_LEAST_ONCE


def _command(hint: CommandHint) -> telegram.BotCommand:
    return telegram.BotCommand(hint.name.removeprefix("/"), hint.about[:_DESCRIPTION_LIMIT])
