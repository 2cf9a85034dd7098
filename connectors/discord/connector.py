"""A Discord bot: passes events to the inbox and sends deliveries."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import aiohttp
from discord.errors import ConnectionClosed, DiscordException, PrivilegedIntentsRequired

from arvis.domain.dataclass import replace
from arvis.domain.messages import Address, Button, Delivery
from arvis.domain.platforms import Draft, Part, Piece
from arvis.ports.connector import (
    BotSettings,
    BotUp,
    Capabilities,
    Connector,
    ConnectorServices,
    Guarantee,
    Receipt,
    SetupFinding,
    TokenRefused,
)
from arvis.ports.inbox import Inbox
from connectors.discord import checking
from connectors.discord.client import BotHttp, CallFailed, Endpoints, Gateway
from connectors.discord.files import Files
from connectors.discord.intake import Intake
from connectors.discord.outgoing import TEXT_LIMIT, Outgoing
from connectors.discord.rest import Rest
from connectors.discord.settings import DiscordConfig
from connectors.formatting.planning import pieces
from connectors.formatting.splitting import split
from connectors.formatting.units import utf16_length
from connectors.settings import read_settings

#: The maximum number of files of one message.
_MOST_FILES = 10
#: `run` fails after this many seconds without a connection to the gateway, so that the failure is reported.
_PATIENCE = 120.0
#: The maximum seconds for which the live messages of a channel wait until its history has been read.
_LONGEST_HOLD = 15.0
#: Close codes of the gateway for errors that a retry cannot fix: wrong token, shard, version or intents.
_REFUSED = frozenset({4004, 4010, 4011, 4012, 4013, 4014})


class DiscordConnector:
    platform = "discord"
    typing_seconds = 10.0
    draft_seconds = 1.2

    def __init__(
        self,
        *,
        name: str,
        config: DiscordConfig,
        services: ConnectorServices,
        jitter: Callable[[], float],
        patience: float = _PATIENCE,
        longest_hold: float = _LONGEST_HOLD,
    ) -> None:
        endpoints = Endpoints.of(config.api_url, config.gateway_url)
        rest = Rest(token=config.token.get_secret_value(), endpoints=endpoints, jitter=jitter)
        self._name = name
        self._config = config
        self._services = services
        self._jitter = jitter
        self._patience = patience
        self._longest_hold = longest_hold
        self._endpoints = endpoints
        self._rest = rest
        self._outgoing = Outgoing(rest=rest, clock=services.clock)
        self._files = Files(rest=rest, api_url=endpoints.api)

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(Guarantee.RECONCILED, late_after=self._config.late_after, late=self._config.late)

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        """Run the bot. Raise `TokenRefused`, and `ConnectionError` if the gateway is unreachable at the start or for
        `_PATIENCE` seconds."""
        try:
            async with asyncio.TaskGroup() as tasks:
                intake = self._intake(inbox, up, tasks)
                tasks.create_task(intake.run())
                tasks.create_task(intake.catching_up.sweep())
                await self._listen(intake)
        except ExceptionGroup as group:
            raise _cause(group) from None

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        planned = pieces(delivery, lambda text: split(text, TEXT_LIMIT, utf16_length), self._services.max_parts)
        *first, last = planned
        further = [last.files[at : at + _MOST_FILES] for at in range(_MOST_FILES, len(last.files), _MOST_FILES)]
        last = replace(last, files=last.files[:_MOST_FILES])
        return [*first, last, *(Piece("", files=files) for files in further)]

    async def send(self, part: Part) -> Receipt:
        return await self._outgoing.send(part)

    async def find(self, part: Part) -> Receipt | None:
        return await self._outgoing.find(part)

    async def typing(self, address: Address) -> None:
        await self._outgoing.typing(address)

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        return await self._outgoing.show_draft(address, key, text, buttons)

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        await self._outgoing.change_draft(address, platform_id, text, buttons)

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        await self._outgoing.remove_draft(address, platform_id)

    async def find_draft(self, draft: Draft) -> str | None:
        return await self._outgoing.find_draft(draft)

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        return await self._files.fetch(source, max_bytes)

    async def check(self) -> Sequence[SetupFinding]:
        return await checking.check(self._rest)

    async def close(self) -> None:
        await self._files.close()
        await self._rest.close()

    def _intake(self, inbox: Inbox, up: Callable[[BotUp], None], tasks: asyncio.TaskGroup) -> Intake:
        return Intake(
            bot=self._name,
            config=self._config,
            inbox=inbox,
            rest=self._rest,
            clock=self._services.clock,
            commands=tuple(self._services.commands),
            up=up,
            tasks=tasks,
            longest_hold=self._longest_hold,
        )

    async def _listen(self, intake: Intake) -> None:
        async with asyncio.timeout(self._patience) as patience:

            def lost() -> None:
                if patience.when() is None:
                    patience.reschedule(asyncio.get_running_loop().time() + self._patience)

            def received(frame: Mapping[str, Any]) -> None:
                if frame.get("t") in ("READY", "RESUMED"):
                    patience.reschedule(None)
                intake.received(frame)

            http = BotHttp(self._endpoints, self._jitter)
            gateway = Gateway(http=http, jitter=self._jitter, received=received, lost=lost)
            try:
                await gateway.start(self._config.token.get_secret_value())
            finally:
                await gateway.close()


def _cause(group: ExceptionGroup[Exception]) -> Exception:
    """Return the error that `run` raises if its tasks have failed with these errors."""
    first = group.exceptions[0]
    match first:
        case ExceptionGroup():
            return _cause(first)
        case CallFailed() if first.rejects_token:
            return TokenRefused(
                "Discord does not accept the token. Reset it in the developer portal and enter the new one."
            )
        case PrivilegedIntentsRequired():
            return TokenRefused(
                "The message content intent of the bot is off. Switch it on in Discord's developer portal."
            )
        case ConnectionClosed() if first.code in _REFUSED:
            return TokenRefused(f"Discord's gateway refused the bot (code {first.code}): check its token and intents.")
        case CallFailed():
            return ConnectionError(str(first))
        case TimeoutError():
            return ConnectionError("Discord's gateway has been unreachable for too long.")
        case aiohttp.ClientError() | OSError() | DiscordException():
            return ConnectionError("Discord's gateway cannot be reached.")
        case _:
            return first


def create(settings: BotSettings, services: ConnectorServices) -> Connector:
    config = read_settings(DiscordConfig, settings)
    return DiscordConnector(name=settings.name, config=config, services=services, jitter=random.random)
