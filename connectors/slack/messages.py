"""Messages and drafts of the bot: posted, changed and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from arvis.domain.messages import Address, Button
from connectors import answers
from connectors.slack.api import COSMETIC_SECONDS, SEND_SECONDS, ApiFailed, SlackApi, SlackResult
from connectors.slack.formatting import beginning, message_of

#: Errors for a workspace or a type of conversation that does not accept Markdown blocks.
_NO_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format"})
#: Longer texts (characters) are formatted in a thread.
_SHORT = 1_000
_NOT_THERE = frozenset({"message_not_found"})


class Messages:
    def __init__(self, *, api: SlackApi) -> None:
        self._api = api

    async def post(
        self,
        address: Address,
        content: str,
        buttons: Sequence[Button],
        metadata: dict[str, Any],
        *,
        within: float = SEND_SECONDS,
    ) -> str:
        """Post a message, and return its `ts`. Nothing in it notifies anyone or shows a preview."""

        async def call(message: dict[str, Any]) -> SlackResult:
            return await self._api.ask(
                "chat.postMessage",
                lambda web: web.chat_postMessage(
                    channel=address.channel,
                    thread_ts=address.thread or None,
                    unfurl_links=False,
                    unfurl_media=False,
                    metadata=metadata,
                    **message,
                ),
                within=within,
            )

        answer = await _with_blocks(content, buttons, call)
        ts = answers.text(answer.data, "ts")
        if not ts:
            raise answer.lacks("the new message", acknowledged=True)
        return ts

    async def update(
        self,
        address: Address,
        ts: str,
        content: str,
        buttons: Sequence[Button],
        metadata: dict[str, Any],
        *,
        within: float = SEND_SECONDS,
    ) -> None:
        async def call(message: dict[str, Any]) -> SlackResult:
            return await self._api.ask(
                "chat.update",
                # Unlike a new message, a changed one is searched for names unless this option forbids it.
                lambda web: web.chat_update(
                    channel=address.channel, ts=ts, parse="none", link_names=False, metadata=metadata, **message
                ),
                within=within,
            )

        await _with_blocks(content, buttons, call)

    async def remove(self, address: Address, ts: str) -> None:
        try:
            await self._api.ask(
                "chat.delete", lambda web: web.chat_delete(channel=address.channel, ts=ts), within=COSMETIC_SECONDS
            )
        except ApiFailed as error:
            if error.code not in _NOT_THERE:
                raise


async def _with_blocks(
    content: str, buttons: Sequence[Button], call: Callable[[dict[str, Any]], Awaitable[SlackResult]]
) -> SlackResult:
    try:
        return await call(await _formatted(content, buttons, plain=False))
    except ApiFailed as error:
        if error.code not in _NO_BLOCKS:
            raise
    return await call(await _formatted(content, buttons, plain=True))


async def _formatted(content: str, buttons: Sequence[Button], *, plain: bool) -> dict[str, Any]:
    """Format beside the event loop, because some texts take most of a second."""
    if len(content) <= _SHORT:
        return message_of(content, buttons, plain=plain)
    return await asyncio.to_thread(message_of, content, buttons, plain=plain)


# Drafts. Slack's text streams are not used: they can only append, need a thread and the person in it, and a message
# that is still streaming cannot be changed; a crash would leave one that no later process can fill.

#: The type of its metadata.
DRAFT = "arvis_draft"
_STATUS = "is thinking…"
#: Errors for an app or a place without a status line for assistants.
_NO_STATUS = frozenset({"missing_scope", "not_allowed_token_type", "unknown_method", "feature_not_enabled"})


class Drafts:
    def __init__(self, *, api: SlackApi, messages: Messages) -> None:
        self._api = api
        self._messages = messages
        self._has_status = True

    async def typing(self, address: Address) -> None:
        """Show typing. Slack shows it in threads only, and removes it when a message arrives."""
        if not (self._has_status and address.thread):
            return
        try:
            await self._api.ask(
                "assistant.threads.setStatus",
                lambda web: web.assistant_threads_setStatus(
                    channel_id=address.channel, thread_ts=address.thread, status=_STATUS
                ),
                within=COSMETIC_SECONDS,
            )
        except ApiFailed as error:
            if error.code in _NO_STATUS:
                self._has_status = False
                return
            raise error.to_send_error() from None

    async def show(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str:
        try:
            return await self._messages.post(
                address,
                beginning(text),
                buttons,
                {"event_type": DRAFT, "event_payload": {"id": key}},
                within=COSMETIC_SECONDS,
            )
        except ApiFailed as error:
            raise error.to_send_error() from None

    async def change(self, address: Address, ts: str, text: str, buttons: Sequence[Button]) -> None:
        try:
            metadata: dict[str, object] = {"event_type": DRAFT, "event_payload": {}}
            await self._messages.update(address, ts, beginning(text), buttons, metadata, within=COSMETIC_SECONDS)
        except ApiFailed as error:
            raise error.to_send_error() from None

    async def remove(self, address: Address, ts: str) -> None:
        try:
            await self._messages.remove(address, ts)
        except ApiFailed as error:
            raise error.to_send_error() from None
