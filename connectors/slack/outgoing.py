"""Sends parts, and finds those again of which nobody knows whether they arrived.

Every message carries its part's key as metadata, which only programs see. A change by `ts` may be made again; a new message
may not: before it is sent once more, the channel is read for the key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arvis.domain.messages import Address
from arvis.domain.platforms import Draft, Part
from arvis.ports.clock import Clock
from arvis.ports.connector import Receipt, SendError
from connectors.slack.api import ApiFailed
from connectors.slack.drafts import DRAFT
from connectors.slack.files import Files
from connectors.slack.history import History
from connectors.slack.incoming import microseconds
from connectors.slack.messages import Messages

_DELIVERY = "arvis_delivery"
#: Reading metadata takes this scope besides that of the history; without it Slack leaves the metadata out.
METADATA_SCOPE = "metadata.message:read"

#: There is no message to fill any more.
_NOT_THERE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
#: How far Slack's clock may be behind ours.
_CLOCKS_MS = 5 * 60_000

Found = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class There:
    """What stands in the channel of a part: the message with its text, if any, and whether nothing is missing."""

    ts: str
    complete: bool


class Sending:
    def __init__(self, *, messages: Messages, files: Files, history: History, clock: Clock) -> None:
        self._messages = messages
        self._files = files
        self._history = history
        self._clock = clock

    async def send(self, part: Part) -> Receipt:
        """Raises `SendError`."""
        try:
            return await self._send(part)
        except ApiFailed as error:
            raise error.to_send_error() from None

    async def _send(self, part: Part) -> Receipt:
        if not (_has_text(part) or part.piece.files):
            raise SendError("There is nothing to send.", permanent=True)
        if not part.piece.files:
            return Receipt(await self._write(part))
        there = await self._there(part)
        if there.complete:
            return Receipt(there.ts)
        uploads = await self._files.upload(part)
        ts = there.ts
        if _has_text(part) and (not ts or ts == part.platform_id):
            ts = await self._write(part)
        await self._share(part.delivery.address, uploads, after_text=bool(ts))
        return Receipt(ts or str(uploads[0]["id"]))

    async def _write(self, part: Part) -> str:
        address, piece = part.delivery.address, part.piece
        metadata = {"event_type": _DELIVERY, "event_payload": {"id": part.key}}
        if part.platform_id is not None:
            try:
                await self._messages.update(address, part.platform_id, piece.content, piece.buttons, metadata)
                return part.platform_id
            except ApiFailed as error:
                if error.code not in _NOT_THERE:
                    raise
        return await self._messages.post(address, piece.content, piece.buttons, metadata)

    async def _share(self, address: Address, uploads: Sequence[dict[str, str | None]], *, after_text: bool) -> None:
        try:
            await self._files.share(uploads, address.channel, address.thread)
        except ApiFailed as error:
            failed = error.to_send_error()
            # The text stands there: what comes next is a search for it, not a second one.
            failed.uncertain = failed.uncertain or (after_text and not failed.permanent)
            raise failed from None

    async def find(self, part: Part) -> Receipt | None:
        """None also when only its files are missing: `send` adds them. Raises `SendError`."""
        try:
            there = await self._look(part)
        except ApiFailed as error:
            raise error.to_send_error() from None
        return Receipt(there.ts) if there.complete else None

    async def find_draft(self, draft: Draft) -> str | None:
        """Raises `SendError`."""
        since = min(draft.created_at, self._clock.now()) - _CLOCKS_MS
        try:
            async for message in self._since(draft.address, since):
                if _key_of(message, DRAFT) == draft.id:
                    return str(message["ts"])
        except ApiFailed as error:
            raise error.to_send_error() from None
        return None

    async def _there(self, part: Part) -> There:
        """As far as it can be told."""
        try:
            return await self._look(part)
        except ApiFailed as error:
            if error.passes:
                raise
        except SendError:
            pass
        return There(part.platform_id or "", complete=False)

    async def _look(self, part: Part) -> There:
        if part.tried_at is None:
            return There("", complete=False)
        since = min(part.tried_at, self._clock.now()) - _CLOCKS_MS
        if part.platform_id is not None:
            since = min(since, microseconds(part.platform_id) // 1_000)
        found = [message async for message in self._since(part.delivery.address, since)]
        text = next((message for message in found if _key_of(message, _DELIVERY) == part.key), None)
        if _has_text(part) and text is None:
            return There("", complete=False)
        shared = _with_files(part, found, after=str(text["ts"]) if text else "")
        shown = text or shared
        complete = shown is not None and (shared is not None or not part.piece.files)
        return There(str(shown["ts"]) if shown else "", complete=complete)

    async def _since(self, address: Address, since: int) -> AsyncIterator[Found]:
        async for answer in self._history.pages(address.channel, address.thread, since * 1_000, metadata=True):
            if METADATA_SCOPE not in answer.scopes:
                raise SendError(f"Whether it arrived cannot be told: the bot needs {METADATA_SCOPE}.", permanent=True)
            for message in answer.data.get("messages") or ():
                yield message


def _has_text(part: Part) -> bool:
    return bool(part.piece.content.strip() or part.piece.buttons)


def _key_of(message: Found, kind: str) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != kind:
        return None
    key = (metadata.get("event_payload") or {}).get("id")
    return str(key) if key else None


def _with_files(part: Part, found: Sequence[Found], after: str) -> Found | None:
    """A message of a program that shows files of these names. Files carry no metadata: two answers in five minutes with the
    same file names are taken for one if the first was interrupted."""
    names = {file.filename for file in part.piece.files}
    if not names:
        return None
    for message in found:
        shown = {str(file.get("name") or file.get("title")) for file in message.get("files") or ()}
        if names <= shown and message.get("bot_id") and str(message["ts"]) >= after:
            return message
    return None
