"""Bolt between Slack and the handler. Bolt checks signatures, answers challenges and knows the forms of requests; the
handler is its last middleware, so that Bolt's answer is the outcome of a commit."""

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
    """Dispatches one event after the other: the order within a channel is the order of acceptance."""

    def __init__(self, *, handler: Handler, me: BotIdentity, secret: str) -> None:
        self._turn = asyncio.Lock()
        # Bolt reads tokens from the environment by itself, and warns about the ones it was given.
        remarks = logging.getLogger(f"{__name__}.bolt")
        remarks.setLevel(logging.ERROR)
        self._app = AsyncApp(
            # Bolt sets the level of the logger with this name, so no other code may use that logger.
            name=remarks.name,
            client=AsyncWebClient(retry_handlers=[]),
            authorize=_authorize_as(me),
            signing_secret=secret,
            process_before_response=True,
            # The reader drops the bot's own messages; Bolt would also drop what other people do with them.
            ignoring_self_events_enabled=False,
            logger=remarks,
        )
        self._app.use(_hand_to(handler))

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Dispatch a request: status 200 once the event is committed, 401 for a wrong signature, 503 when nothing
        could be stored."""
        async with self._turn:
            return await self._app.async_dispatch(request)

    async def insist(self, request: AsyncBoltRequest, sleep: Callable[[float], Awaitable[None]]) -> BoltResponse:
        """Dispatch an event, retry while it cannot be stored, and let all later events wait. Slack repeats an event
        only a few times, so it would otherwise be lost, and later events would overtake it."""
        pause = _FIRST_PAUSE
        async with self._turn:
            while (response := await self._app.async_dispatch(request)).status == BUSY:
                await sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            return response


# Functions, not methods: Bolt passes arguments by the names of the parameters, `self` included.


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
