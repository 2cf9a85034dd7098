"""The state of a running turn in the chat: typing, and a text that grows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from telegram.constants import ChatAction

from arvis.domain.messages import Address, Button
from arvis.ports.clock import Clock
from connectors.telegram.client import COSMETIC_SECONDS, CallFailed, Client, send_error
from connectors.telegram.formatting import Formatted, formatted, parts
from connectors.telegram.outgoing import NO_PREVIEW, PLACEHOLDER, chat_of, keyboard, place

#: A group allows twenty messages and edits per minute, a direct chat one per second.
_GROUP_PAUSE: Final = 3.0
_REMEMBERED: Final = 1_000


class Drafts:
    def __init__(self, *, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._native = True
        #: By group: the time (monotonic seconds) at which its draft last changed, the newest last. Losing an entry
        #: costs one edit too many.
        self._changed: dict[str, float] = {}

    async def typing(self, address: Address) -> None:
        """Show typing. Raises `SendError`."""
        try:
            await self._client.call(
                "sendChatAction", within=COSMETIC_SECONDS, action=ChatAction.TYPING, **place(address)
            )
        except CallFailed as error:
            raise send_error(error) from error

    async def show(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        """Show a draft. In a direct chat it is a draft that disappears by itself, so the result is None; showing it
        again under its key changes it. Elsewhere it is a message, at first with a placeholder text; if the process
        crashes before its id is stored, the message stays in the chat. Raises `SendError`."""
        shown = _beginning(text)
        if _is_private(address) and not buttons and self._native and await self._drafted(address, key, shown):
            return None
        try:
            sent = await self._client.message(
                "sendMessage", **place(address), text=PLACEHOLDER, reply_markup=keyboard(buttons)
            )
        except CallFailed as error:
            raise send_error(error) from error
        return str(sent)

    async def change(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        """Change a draft. In groups a change that comes too early is left out: the next one, or the answer, contains
        it. Raises `SendError`."""
        if not _is_private(address) and not self._may_change(address):
            return
        self._note(address)
        try:
            await self._client.call(
                "editMessageText",
                within=COSMETIC_SECONDS,
                chat_id=chat_of(address),
                message_id=int(platform_id),
                **_text(_beginning(text)),
                reply_markup=keyboard(buttons),
            )
        except CallFailed as error:
            if not (error.refused and error.says("message is not modified")):
                raise send_error(error) from error

    async def remove(self, address: Address, platform_id: str) -> None:
        """Remove a draft. Raises `SendError`."""
        try:
            await self._client.call(
                "deleteMessage", within=COSMETIC_SECONDS, chat_id=chat_of(address), message_id=int(platform_id)
            )
        except CallFailed as error:
            if not (error.refused and error.says("message to delete not found")):
                raise send_error(error) from error

    async def _drafted(self, address: Address, key: str, shown: Formatted) -> bool:
        """Show the draft in a direct chat; return False if the server does not know drafts."""
        try:
            await self._client.call(
                "sendMessageDraft",
                within=COSMETIC_SECONDS,
                draft_id=_draft_id(key),
                text=shown.text,
                entities=shown.entities,
                **place(address),
            )
        except CallFailed as error:
            if error.refused or error.rejects_token:
                # An unknown method gives "not found", like a wrong token, which the poll loop notices.
                self._native = not error.rejects_token
                return False
            raise send_error(error) from error
        return True

    def _may_change(self, address: Address) -> bool:
        before = self._changed.get(address.channel)
        return before is None or self._clock.monotonic() - before >= _GROUP_PAUSE

    def _note(self, address: Address) -> None:
        self._changed.pop(address.channel, None)
        self._changed[address.channel] = self._clock.monotonic()
        if len(self._changed) > _REMEMBERED:
            del self._changed[next(iter(self._changed))]


def _is_private(address: Address) -> bool:
    """Return whether it is a direct chat. Groups and channels have negative ids."""
    return not address.channel.startswith("-")


def _beginning(text: str) -> Formatted:
    """Return the beginning of a text that may be longer than one message."""
    return formatted(next(iter(parts(text)), "")) if text.strip() else Formatted(PLACEHOLDER)


def _text(shown: Formatted) -> dict[str, Any]:
    return {"text": shown.text, "entities": shown.entities, "link_preview_options": NO_PREVIEW}


def _draft_id(key: str) -> int:
    """Return a positive id that is always the same for the same key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1 | 1
