"""The connector of a Telegram bot, and the checks of its setup."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog

from arvis.domain.messages import Address, Button, Delivery, Respond
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import (
    BotUp,
    Capabilities,
    ConnectorServices,
    Guarantee,
    Receipt,
    SetupFinding,
)
from arvis.ports.inbox import Inbox
from connectors import answers
from connectors.telegram.client import COSMETIC_SECONDS, CallFailed, Client
from connectors.telegram.files import fetch
from connectors.telegram.incoming import PLATFORM, BotIdentity, Incoming
from connectors.telegram.outgoing import Drafts, Outgoing, plan
from connectors.telegram.polling import Polling, token_refused
from connectors.telegram.settings import TelegramConfig

log = structlog.get_logger(__name__)

#: The delivery guarantees that are possible with Telegram, which has no key to recognise a repeated message.
_PROMISES: Final = frozenset({Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE, Guarantee.RESERVE_THEN_FILL})
_DESCRIPTION_LIMIT: Final = 256


class TelegramConnector:
    """A Telegram bot: `Connector`, `Reserves`, `ShowsTyping`, `ShowsDrafts`, `FetchesFiles` and `ChecksSetup`."""

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
        """Run the bot. Raise `TokenRefused`, and `ConnectionError` if Telegram is unreachable."""
        me, identity = await self._begin()
        up(identity)
        incoming = Incoming(bot=self.name, me=me, config=self._config)
        polling = Polling(
            name=self.name, client=self._client, incoming=incoming, inbox=inbox, clock=self._services.clock
        )
        listing = asyncio.create_task(self._list_commands())
        try:
            await polling.run(lambda: up(identity))
        finally:
            listing.cancel()
            await asyncio.gather(listing, return_exceptions=True)

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

    async def check(self) -> Sequence[SetupFinding]:
        return await check(self._client, self._config)

    async def close(self) -> None:
        await self._client.close()

    async def _begin(self) -> tuple[BotIdentity, BotUp]:
        """Request the bot's identity from Telegram. Raise `TokenRefused` or `ConnectionError`."""
        try:
            me = await self._client.call("getMe")
        except CallFailed as error:
            if error.rejects_token:
                raise token_refused() from None
            raise ConnectionError(f"Telegram is unreachable: {error}") from None
        number, name = answers.value(me, "id", kind=int), answers.text(me, "username")
        if number is None:
            raise ConnectionError(
                "Telegram did not send the id of the bot's user: the answer is in an unexpected format."
            )
        return BotIdentity(number, name), BotUp(
            str(number), f"@{name}" if name else answers.text(me, "first_name") or str(number)
        )

    async def _list_commands(self) -> None:
        """Register the commands that Telegram suggests while people type. Unregistered commands also work."""
        wanted = [
            {"command": hint.name.removeprefix("/"), "description": hint.about[:_DESCRIPTION_LIMIT]}
            for hint in self._services.commands
        ]
        try:
            if await self._client.call("getMyCommands", within=COSMETIC_SECONDS) != wanted:
                await self._client.call("setMyCommands", within=COSMETIC_SECONDS, commands=wanted)
        except CallFailed as error:
            log.warning("telegram_commands_not_set", bot=self.name, error=str(error))


def _guarantee(config: TelegramConfig, services: ConnectorServices) -> Guarantee:
    wanted = Guarantee(config.delivery) if config.delivery else services.guarantee
    return wanted if wanted in _PROMISES else Guarantee.AT_LEAST_ONCE


# The checks that `arvis doctor` makes at Telegram. They change nothing.

_MANY_WAITING = 100


async def check(client: Client, config: TelegramConfig) -> Sequence[SetupFinding]:
    try:
        me = await client.call("getMe")
        webhook = await client.call("getWebhookInfo")
    except CallFailed as error:
        if error.rejects_token:
            fix = "Ask BotFather for the token (/mybots, API Token) and enter it."
            return [SetupFinding("error", "Telegram does not accept the bot's token", fix)]
        text = f"Telegram gives no usable answer at {config.api_url}: {error}"
        return [SetupFinding("error", text, "Check the network and api_url.")]
    name = answers.text(me, "username")
    if not name:
        text = f"The server at {config.api_url} does not return the bot's user name"
        return [
            SetupFinding("error", text, "Check api_url: it must be the address of Telegram or of a Bot API server.")
        ]
    return [SetupFinding("ok", f"The bot is @{name}"), *_of_groups(me, config), *_of_updates(webhook)]


def _of_groups(me: Any, config: TelegramConfig) -> Sequence[SetupFinding]:
    findings = []
    if not answers.value(me, "can_join_groups", kind=bool):
        fix = "BotFather: /setjoingroups, Enable (unless the bot is for direct messages only)."
        findings.append(SetupFinding("warning", "The bot cannot be added to groups", fix))
    wants_all = config.observe > 0 or config.respond is Respond.ALL
    if wants_all and not answers.value(me, "can_read_all_group_messages", kind=bool):
        text = "Privacy mode is on: in groups the bot sees only commands, mentions and replies to it"
        fix = "BotFather: /setprivacy, Disable; then remove the bot from its groups and add it again. Or make it an administrator."
        findings.append(SetupFinding("warning", text, fix))
    return findings


def _of_updates(webhook: Any) -> Sequence[SetupFinding]:
    findings = []
    if answers.text(webhook, "url"):
        fix = (
            "The daemon removes it when it starts the bot. Stop the other program, or give that program its own token."
        )
        findings.append(SetupFinding("warning", "Another program has set a webhook for this token", fix))
    waiting = answers.value(webhook, "pending_update_count", kind=int) or 0
    if waiting > _MANY_WAITING:
        findings.append(SetupFinding("warning", f"{waiting} updates wait; Telegram keeps them for 24 hours"))
    return findings
