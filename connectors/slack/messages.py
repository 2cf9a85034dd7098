"""Posts, changes and removes messages and drafts of the bot."""

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
#: A text with more characters is formatted in a worker thread.
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
        """Post a message, and return its `ts`. Mentions in it do not notify, and links show no previews."""

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
        # This call has no option for previews: Slack makes them only when a message is posted, and `post` forbids them.
        async def call(message: dict[str, Any]) -> SlackResult:
            return await self._api.ask(
                "chat.update",
                # Slack searches a changed message (not a new one) for names, unless these options forbid it.
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
    """Format a text. A long text is formatted in a worker thread, because it may take most of a second."""
    if len(content) <= _SHORT:
        return message_of(content, buttons, plain=plain)
    return await asyncio.to_thread(message_of, content, buttons, plain=plain)


# Drafts do not use Slack's text streams: a stream can only append, and needs a thread and the id of its reader. The
# message cannot be changed while the stream is open, so after a crash no other process could write the answer into it.

#: The type of the metadata of a draft.
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
