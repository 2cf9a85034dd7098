"""The poll loop: every update reaches the inbox, in order, before Telegram is told that it was read.

Telegram forgets an update when a later one is asked for (`offset`); so the offset is the last committed update and one, and
what was not confirmed comes again after a crash, with the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog
import telegram
from telegram.error import Conflict, InvalidToken, TelegramError

from arvis.domain.errors import Unavailable
from arvis.domain.messages import FeedPosition, IncomingMessage
from arvis.domain.platforms import Click, MessageEdit
from arvis.ports.clock import Clock
from arvis.ports.connector import BotUp, TokenRefused
from arvis.ports.inbox import Inbox
from connectors.telegram.client import TooMany
from connectors.telegram.incoming import FEED, KINDS, PLATFORM, Access, Event, Incoming, Move

log = structlog.get_logger(__name__)

_POLL_SECONDS: Final = 25
_ANSWER_SECONDS: Final = 10.0
_BATCH: Final = 100
#: Characters of the note that answers a click.
_ANSWER_TEXT: Final = 200
_SHORTEST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
#: Polls break every now and then; a row of broken ones is an outage.
_FAILURES_IN_A_ROW: Final = 3


class Polling:
    def __init__(self, *, name: str, bot: telegram.Bot, incoming: Incoming, inbox: Inbox, clock: Clock) -> None:
        """`name` is that under which the bot is configured."""
        self._name = name
        self._bot = bot
        self._incoming = incoming
        self._inbox = inbox
        self._clock = clock

    async def run(self, up: Callable[[], None]) -> None:
        """Until cancelled. `up` is called when updates come in again. Raises `TokenRefused`, and `ConnectionError` when
        Telegram is out of reach or gives the updates to somebody else.

        The first request names no offset. Telegram knows what was confirmed, the inbox what is there already; and after a
        quiet week the ids begin anew at random, so that the old number could confirm what nobody has read."""
        offset: int | None = None
        failures = 0
        while True:
            try:
                updates = await self._ask(offset)
            except TelegramError as error:
                failures += 1
                await self._bear(error, failures)
                continue
            if failures:
                failures = 0
                up()
            offset = await self._take(updates, offset)

    async def _ask(self, offset: int | None) -> Sequence[dict[str, Any]]:
        wanted = {"timeout": _POLL_SECONDS, "limit": _BATCH, "allowed_updates": list(KINDS), "offset": offset}
        # The library's own method fails for all updates when it cannot read one. Telegram reads the names of methods without
        # regard to case; this spelling asks it past that method.
        updates = await self._bot.do_api_request(
            "GetUpdates",
            api_kwargs={key: value for key, value in wanted.items() if value is not None},
            read_timeout=_POLL_SECONDS + _ANSWER_SECONDS,
        )
        return list(updates)

    async def _bear(self, error: TelegramError, failures: int) -> None:
        match error:
            case TooMany():
                await self._clock.sleep(error.seconds)
            case InvalidToken():
                raise token_refused() from None
            case Conflict():
                raise ConnectionError(
                    f"Telegram gives this bot's updates to somebody else ({error}): another process polls with this token, or"
                    " a webhook was set for it. Stop the other process, or make a new token with BotFather"
                ) from None
            case _ if failures >= _FAILURES_IN_A_ROW:
                raise ConnectionError(f"Telegram is out of reach: {error}") from None
            case _:
                await self._clock.sleep(_SHORTEST_PAUSE * failures)

    async def _take(self, updates: Sequence[dict[str, Any]], offset: int | None) -> int | None:
        """Hand over a batch; what the next offset is."""
        passed: FeedPosition | None = None
        for raw in updates:
            position = FeedPosition(FEED, int(raw["update_id"]))
            event = self._read(raw)
            passed = position if event is None else None
            if event is not None:
                await self._until_kept(event)
            offset = position.position + 1
        if passed is not None:
            await self._until_kept(passed)
        return offset

    def _read(self, raw: dict[str, Any]) -> Event | None:
        """An update that does not look as documented must not stand in the way of all that follow it."""
        try:
            return self._incoming.read(telegram.Update.de_json(raw, self._bot))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            log.warning(
                "telegram_update_unreadable", bot=self._name, update=raw["update_id"], error=type(error).__name__
            )
            return None

    async def _until_kept(self, event: Event | FeedPosition) -> None:
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return await self._hand_over(event)
            except Unavailable as error:
                log.warning("telegram_update_not_kept", bot=self._name, again_in=pause, error=error.what)
                await self._clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _hand_over(self, event: Event | FeedPosition) -> None:
        match event:
            case IncomingMessage():
                await self._inbox.receive(event)
            case MessageEdit():
                await self._inbox.edit(event)
            case Click():
                await self._click(event)
            case Move():
                await self._inbox.move(event.old, event.new_channel, event.position)
            case Access(reason=""):
                await self._inbox.reachable(event.place, event.position)
            case Access():
                await self._inbox.unreachable(event.place, event.reason, event.position)
            case FeedPosition():
                await self._inbox.passed(PLATFORM, self._name, event)

    async def _click(self, click: Click) -> None:
        """Telegram shows a clock on the button until the click is answered, which may be too late by now."""
        clicked = await self._inbox.click(click)
        with suppress(TelegramError):
            await self._bot.answer_callback_query(click.event_id[1:], clicked.text[:_ANSWER_TEXT] or None)
        if clicked.done and click.message_ref is not None:
            with suppress(TelegramError):
                await self._bot.edit_message_reply_markup(int(click.address.channel), int(click.message_ref))


def token_refused() -> TokenRefused:
    return TokenRefused(
        "Telegram does not accept the bot's token. Ask BotFather for it (/mybots, API Token) and set it anew"
    )


def identity(me: telegram.User) -> BotUp:
    return BotUp(str(me.id), f"@{me.username}" if me.username else me.full_name)
