"""Bolt between Slack and the handler: it checks signatures, answers challenges and knows the forms of requests; the handler
is its last middleware, so that what Bolt answers is the outcome of a commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from arvis.domain.errors import Unavailable
from connectors.slack.handling import Handler
from connectors.slack.incoming import BotIdentity

BUSY = 503
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Dispatching:
    """One event after the other: their order in a channel is the order of their acceptance."""

    def __init__(self, *, handler: Handler, me: BotIdentity, secret: str) -> None:
        self._turn = asyncio.Lock()
        # Bolt looks for tokens in the environment by itself, and warns that it was given something else.
        remarks = logging.getLogger(f"{__name__}.bolt")
        remarks.setLevel(logging.ERROR)
        self._app = AsyncApp(
            # Bolt gives the logger of this name the level of its own: it must be nobody else's.
            name=remarks.name,
            client=AsyncWebClient(retry_handlers=[]),
            authorize=_authorize_as(me),
            signing_secret=secret,
            process_before_response=True,
            # The reader drops the bot's own messages; Bolt would also drop what others do to them.
            ignoring_self_events_enabled=False,
            logger=remarks,
        )
        self._app.use(_hand_to(handler))

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Status 200 once the event is committed, 401 for a wrong signature, 503 when nothing could be kept."""
        async with self._turn:
            return await self._app.async_dispatch(request)

    async def insist(self, request: AsyncBoltRequest, sleep: Callable[[float], Awaitable[None]]) -> BoltResponse:
        """As `dispatch`, but what could not be kept is tried again, and everything behind it waits: what Slack brings once
        more and gives up in the end would otherwise be lost, and what follows would overtake it."""
        pause = _FIRST_PAUSE
        async with self._turn:
            while (response := await self._app.async_dispatch(request)).status == BUSY:
                await sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            return response


# Functions, not methods: Bolt hands each parameter what it is named after, `self` included.


def _authorize_as(me: BotIdentity) -> Callable[[], Awaitable[AuthorizeResult]]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot)

    return authorize


def _hand_to(handler: Handler) -> Callable[[Mapping[str, object]], Awaitable[BoltResponse]]:
    async def take(body: Mapping[str, object]) -> BoltResponse:
        try:
            await handler.take(body)
        except Unavailable:
            return BoltResponse(status=BUSY, body="")
        return BoltResponse(status=200, body="")

    return take
