"""The draft of a turn that is running: one message, changed by `ts` until the answer replaces it.

Slack's text streams are not used: they can only append, need a thread and the person in it, and a message that is
still streaming cannot be changed; a crash would leave one that no later process can fill.
"""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.messages import Address, Button
from connectors.slack.api import COSMETIC_SECONDS, ApiFailed, SlackApi
from connectors.slack.formatting import beginning
from connectors.slack.messages import Messages

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
            return await self._messages.post(address, beginning(text), buttons, _metadata(key), within=COSMETIC_SECONDS)
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


def _metadata(key: str) -> dict[str, object]:
    return {"event_type": DRAFT, "event_payload": {"id": key}}
