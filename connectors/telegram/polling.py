"""The poll loop: the inbox commits every update, in order, before the loop confirms the update to Telegram.

A request with an `offset` confirms all updates before it, and Telegram deletes them. The offset is therefore the last
committed update plus one. After a crash, unconfirmed updates arrive again with the same ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog
import telegram

from arvis.domain.errors import Unavailable
from arvis.domain.messages import FeedPosition, IncomingMessage
from arvis.domain.platforms import Click, MessageEdit
from arvis.domain.reactions import ReactionChange
from arvis.ports.clock import Clock
from arvis.ports.connector import TokenRefused
from arvis.ports.inbox import Clicked, Inbox
from connectors import answers
from connectors.answers import Uncertain
from connectors.telegram.client import COSMETIC_SECONDS, CallFailed, Client
from connectors.telegram.incoming import FEED, KINDS, PLATFORM, Access, Event, Incoming, Move

log = structlog.get_logger(__name__)

_POLL_SECONDS: Final = 25
_ANSWER_SECONDS: Final = 10.0
_BATCH: Final = 100
#: The maximum number of characters of the note that answers a click.
_ANSWER_TEXT: Final = 200
_SHORTEST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
#: The number of times that the pause doubles after consecutive polls that return at once without new updates. The pause
#: is at most `_LONGEST_IDLE` seconds.
_DOUBLINGS: Final = 3
_LONGEST_IDLE: Final = 5.0
#: Single polls may fail without an outage. This number of consecutive failures counts as an outage.
_FAILURES_IN_A_ROW: Final = 3


class Polling:
    def __init__(self, *, name: str, client: Client, incoming: Incoming, inbox: Inbox, clock: Clock) -> None:
        """`name`: the name of the bot in the configuration."""
        self._name = name
        self._client = client
        self._incoming = incoming
        self._inbox = inbox
        self._clock = clock
        self._answering: set[asyncio.Task[None]] = set()

    async def run(self, up: Callable[[], None]) -> None:
        """Poll until cancelled. Call `up` at the first successful poll after failures. Raise `TokenRefused` if Telegram
        rejects the token. Raise `ConnectionError` if Telegram is unreachable or gives the updates to another client.

        The first request has no offset: Telegram knows which updates were confirmed, and the inbox ignores updates that
        it already has. A stored offset could confirm unread updates, because after a week without updates Telegram
        starts the ids at a random number.
        """
        try:
            await self._poll(up)
        finally:
            for task in self._answering:
                task.cancel()
            await asyncio.gather(*self._answering, return_exceptions=True)

    async def _poll(self, up: Callable[[], None]) -> None:
        offset: int | None = None
        failures = idle = 0
        while True:
            asked_at = self._clock.monotonic()
            try:
                updates = await self._ask(offset)
            except CallFailed as error:
                failures += 1
                await self._bear(error, failures)
                continue
            if failures:
                failures = 0
                up()
            before, offset = offset, await self._take(updates, offset)
            # Without the pause, a server that answers at once without updates, or repeats the same updates, would be
            # polled in a tight loop.
            at_once = self._clock.monotonic() - asked_at < _SHORTEST_PAUSE
            idle = idle + 1 if offset == before and at_once else 0
            if idle:
                await self._clock.sleep(min(_SHORTEST_PAUSE * 2 ** min(idle - 1, _DOUBLINGS), _LONGEST_IDLE))

    async def _ask(self, offset: int | None) -> Sequence[Mapping[str, Any]]:
        updates = answers.mappings(
            await self._client.call(
                "getUpdates",
                within=_POLL_SECONDS + _ANSWER_SECONDS,
                timeout=_POLL_SECONDS,
                limit=_BATCH,
                allowed_updates=list(KINDS),
                offset=offset,
            )
        )
        if updates is None:
            raise CallFailed(Uncertain("Telegram sends updates in an unexpected format."))
        return updates

    async def _bear(self, error: CallFailed, failures: int) -> None:
        if error.rejects_token:
            raise token_refused() from None
        if error.conflicts and error.says("webhook"):
            await self._remove_webhook()
        elif error.delay is not None:
            await self._clock.sleep(max(error.delay, _SHORTEST_PAUSE))
        elif failures < _FAILURES_IN_A_ROW:
            await self._clock.sleep(_SHORTEST_PAUSE * failures)
        elif error.conflicts:
            raise ConnectionError(
                f"Telegram gives this bot's updates to another program ({error}): another process polls with this token. Stop"
                " the other process, or make a new token with BotFather"
            ) from None
        else:
            raise ConnectionError(f"Telegram is unreachable: {error}") from None

    async def _remove_webhook(self) -> None:
        """Remove a webhook that another program set for this bot, because it would receive all updates. Raise
        `ConnectionError`."""
        try:
            await self._client.call("deleteWebhook", drop_pending_updates=False)
        except CallFailed as error:
            raise ConnectionError(
                "Another program has set a webhook for this bot, and Telegram did not remove it"
                f" ({error}). Arvis tries again. If the error remains, stop the other program or make a new token"
            ) from None
        log.info("telegram_webhook_removed", bot=self._name)

    async def _take(self, updates: Sequence[Mapping[str, Any]], offset: int | None) -> int | None:
        """Pass a batch of updates to the inbox, and return the next offset."""
        passed: FeedPosition | None = None
        for raw in updates:
            number = answers.value(raw, "update_id", kind=int)
            if number is None:
                log.warning("telegram_update_unreadable", bot=self._name, update="without a number")
                continue
            position = FeedPosition(FEED, number)
            event = self._read(raw)
            passed = position if event is None else None
            if event is not None:
                await self._until_kept(event)
            offset = position.position + 1
        if passed is not None:
            await self._until_kept(passed)
        return offset

    def _read(self, raw: Mapping[str, Any]) -> Event | None:
        """Return the event for an update. Return None for an update that cannot be read, because it must not block all
        later updates."""
        try:
            return self._incoming.read(telegram.Update.de_json(dict(raw), self._client.bot))
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
                clicked = await self._inbox.click(event)
                task = asyncio.create_task(self._answer(event, clicked))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case Move():
                await self._inbox.move(event.old, event.new_channel, event.position)
            case ReactionChange():
                await self._inbox.react(event)
            case Access(reason=""):
                await self._inbox.reachable(event.place, event.position)
            case Access():
                await self._inbox.unreachable(event.place, event.reason, event.position)
            case FeedPosition():
                await self._inbox.passed(PLATFORM, self._name, event)

    async def _answer(self, click: Click, clicked: Clicked) -> None:
        """Answer a click, and remove the buttons if the click is done. Telegram shows a clock on the button until the
        answer arrives. Ignore failures, because the answer may be too late."""
        with suppress(CallFailed):
            await self._client.call(
                "answerCallbackQuery",
                within=COSMETIC_SECONDS,
                callback_query_id=click.event_id[1:],
                text=clicked.text[:_ANSWER_TEXT] or None,
            )
        if clicked.done and click.message_ref is not None:
            with suppress(CallFailed):
                await self._client.call(
                    "editMessageReplyMarkup",
                    within=COSMETIC_SECONDS,
                    chat_id=int(click.address.channel),
                    message_id=int(click.message_ref),
                )


def token_refused() -> TokenRefused:
    return TokenRefused(
        "Telegram does not accept the bot's token. Get the token from BotFather (/mybots, API Token) and enter it"
    )
