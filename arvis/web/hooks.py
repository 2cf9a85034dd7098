"""The door for those who bring their events themselves: `POST /hooks/PLATFORM/NAME` for chat platforms, `POST /hooks/PATH`
for the web hooks of the product.

Anybody can knock; who it is, a signature tells. What is not a bot that takes hooks and is on, and no web hook that is on, is
not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response

from arvis.domain.errors import Unavailable
from arvis.ports.connector import Connector, TakesWebhooks, WebhookAnswer
from arvis.ports.inbox import Inbox
from arvis.web.bodies import read_body
from arvis.web.bots import ANY_NAME, PATH_NAMES, PLATFORM
from arvis.web.endpoints import Call, Endpoint
from arvis.web.hook_calls import MOST_BYTES, TAKEN, HookCalls
from arvis.web.identity import PUBLIC
from arvis.web.schemas import STRING

#: Seconds for one event of a platform to come and be kept, and how many are looked at at once.
_PATIENCE = 10.0
_AT_ONCE = 32

_PATH = {"path": {**STRING, "minLength": 1, "maxLength": 200, "description": "It may hold slashes."}}


class HookRoutes:
    """`connector_of(platform, name)` gives the connector of a bot that is on. `inbox` needs no fence: an event comes to
    whichever process the platform reached, and is kept once. `calls` takes what is for the product's own hooks."""

    def __init__(self, *, connector_of: Callable[[str, str], Connector | None], inbox: Inbox, calls: HookCalls) -> None:
        self._connector_of = connector_of
        self._inbox = inbox
        self._calls = calls
        self._room = asyncio.Semaphore(_AT_ONCE)

    def endpoints(self) -> list[Endpoint]:
        bot, any_ = "/hooks/{platform}/{name}", "/hooks/{path}"
        told = "An event of a chat platform, signed by it; else a call of a web hook"
        taken = {202: TAKEN}
        return [
            Endpoint("POST", bot, told, PUBLIC, self._take_event, {200: {}, **taken}, names=PATH_NAMES),
            Endpoint("POST", any_, "A call of a web hook", PUBLIC, self._take_call, taken, names=_PATH, deep=True),
        ]

    async def _take_event(self, call: Call) -> Response:
        connector = self._connector(call)
        if not isinstance(connector, TakesWebhooks):
            return await self._calls.take("/{platform}/{name}".format(**call.request.path_params), call)
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await self._taken(connector, call)
        except TimeoutError:
            raise Unavailable("This took too long.", fix="Bring it again in a moment.") from None
        return Response(found.body, found.status, media_type=found.content_type)

    async def _take_call(self, call: Call) -> Response:
        return await self._calls.take(f"/{call.request.path_params['path']}", call)

    def _connector(self, call: Call) -> Connector | None:
        platform, name = call.named("platform", PLATFORM), call.named("name", ANY_NAME)
        return None if platform is None or name is None else self._connector_of(platform, name)

    async def _taken(self, connector: TakesWebhooks, call: Call) -> WebhookAnswer:
        body = await read_body(call.request, MOST_BYTES)
        if self._room.locked():
            raise Unavailable("Too many events come at once.", fix="Bring it again in a moment.")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        async with self._room:
            return await connector.webhook(headers, body, self._inbox)
