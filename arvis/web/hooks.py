"""The door for platforms that bring their events themselves: `POST /hooks/PLATFORM/NAME`.

Anybody can knock; the bot's connector knows by the signature who it is. What is not a bot that takes hooks, and is on, is
not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response

from arvis.domain.errors import NotFound, Unavailable
from arvis.ports.connector import Connector, TakesWebhooks, WebhookAnswer
from arvis.ports.inbox import Inbox
from arvis.web.bodies import read_body
from arvis.web.bots import PATH_NAMES, bot_of
from arvis.web.endpoints import Call, Endpoint
from arvis.web.identity import PUBLIC

#: Bytes of one event, seconds for it to come and be kept, and how many are looked at at once.
_MOST_BYTES = 1_048_576
_PATIENCE = 10.0
_AT_ONCE = 32


class HookRoutes:
    """`connector_of(platform, name)` gives the connector of a bot that is on. `inbox` needs no fence: an event comes to
    whichever process the platform reached, and is kept once."""

    def __init__(self, *, connector_of: Callable[[str, str], Connector | None], inbox: Inbox) -> None:
        self._connector_of = connector_of
        self._inbox = inbox
        self._room = asyncio.Semaphore(_AT_ONCE)

    def endpoints(self) -> list[Endpoint]:
        path, summary = "/hooks/{platform}/{name}", "An event of a chat platform, signed by it"
        return [Endpoint("POST", path, summary, PUBLIC, self._take, {200: {}}, names=PATH_NAMES)]

    async def _take(self, call: Call) -> Response:
        connector = self._connector_of(*bot_of(call))
        if not isinstance(connector, TakesWebhooks):
            raise NotFound("There is nothing here.", fix="Check the address that the platform was given.")
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await self._taken(connector, call)
        except TimeoutError:
            raise Unavailable("This took too long.", fix="Bring it again in a moment.") from None
        return Response(found.body, found.status, media_type=found.content_type)

    async def _taken(self, connector: TakesWebhooks, call: Call) -> WebhookAnswer:
        body = await read_body(call.request, _MOST_BYTES)
        if self._room.locked():
            raise Unavailable("Too many events come at once.", fix="Bring it again in a moment.")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        async with self._room:
            return await connector.webhook(headers, body, self._inbox)
