"""Sends parts, and finds out after an interruption whether a part arrived.

Every message carries its part's key as metadata, which only programs see. Changing a message twice is harmless. Before
a new message is sent again, the connector searches the channel for the key.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import Address
from arvis.domain.platforms import Draft, Part
from arvis.ports.clock import Clock
from arvis.ports.connector import Receipt, SendError
from connectors import answers
from connectors.formatting.planning import not_sent, with_note
from connectors.formatting.units import utf16_length
from connectors.slack.api import ApiFailed
from connectors.slack.files import Files
from connectors.slack.formatting import BLOCK_LIMIT
from connectors.slack.history import History, messages_of
from connectors.slack.incoming import BotIdentity, microseconds
from connectors.slack.messages import DRAFT, Messages

log = logging.getLogger(__name__)

_DELIVERY, _NOTE = "arvis_delivery", "arvis_note"
#: If Slack fails to accept the files of a text, the text waits for at most this time (ms).
_FILE_PATIENCE_MS = 120_000
#: The scope that is needed to read metadata. Without it, Slack's history contains no metadata.
METADATA_SCOPE = "metadata.message:read"

#: Errors for a draft that no longer exists or can no longer be changed. The text is then sent as a new message.
_NOT_THERE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
#: The assumed maximum (ms) by which Slack's clock is behind the daemon's clock.
_CLOCKS_MS = 5 * 60_000

Found = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """The state of a part in its channel. `ts`: the id of the message with the part's text, or with its files if it has
    no text; empty if there is no such message. `complete`: True if neither the text nor a file is missing."""

    ts: str
    complete: bool


class Sending:
    """The sender of parts. `identify` returns the bot's identity, or raises `ApiFailed`."""

    def __init__(
        self,
        *,
        messages: Messages,
        files: Files,
        history: History,
        clock: Clock,
        identify: Callable[[], Awaitable[BotIdentity]],
    ) -> None:
        self._identify = identify
        self._messages = messages
        self._files = files
        self._history = history
        self._clock = clock

    async def send(self, part: Part) -> Receipt:
        """Send a part. Raise `SendError`."""
        try:
            return await self._send(part)
        except ApiFailed as error:
            raise error.to_send_error() from None

    async def _send(self, part: Part) -> Receipt:
        if not (_has_text(part) or part.piece.files):
            raise SendError("There is nothing to send.", permanent=True)
        if not part.piece.files:
            return Receipt(await self._write(part))
        sent = await self._sent_message(part)
        if sent.complete:
            return Receipt(sent.ts)
        try:
            uploads = await self._files.upload(part)
        except (ApiFailed, SendError) as error:
            if not self._gives_up(part, error):
                raise
            return await self._without_files(part, sent.ts, error)
        ts = sent.ts
        if _has_text(part) and (not ts or ts == part.platform_id):
            ts = await self._write(part)
        try:
            await self._share(part.delivery.address, uploads, after_text=bool(ts))
        except SendError as error:
            if not error.permanent or error.gone:
                raise
            return await self._without_files(part, ts, error)
        return Receipt(ts or str(uploads[0]["id"]))

    def _gives_up(self, part: Part, error: ApiFailed | SendError) -> bool:
        """Return True if the text must be sent without its files, because Slack refuses them or has failed to accept
        them for `_FILE_PATIENCE_MS`."""
        if not (error.to_send_error() if isinstance(error, ApiFailed) else error).permanent:
            return part.tried_at is not None and self._clock.now() - part.tried_at > _FILE_PATIENCE_MS
        return not (isinstance(error, ApiFailed) and error.to_send_error().gone)

    async def _without_files(self, part: Part, ts: str, error: ApiFailed | SendError) -> Receipt:
        """Send the text with a note that its files are missing. `ts`: the message that already contains the text, or
        the draft that the text replaces."""
        log.warning("Slack did not accept the files of %s: %s", part.key, error)
        note = not_sent(part.piece.files, _why(error))
        short = utf16_length(part.piece.content) + utf16_length(note) + 2 <= BLOCK_LIMIT
        if ts and ts != part.platform_id and not short:
            await self._messages.post(part.delivery.address, note, (), {"event_type": _NOTE, "event_payload": {}})
            return Receipt(ts)
        piece = replace(part.piece, content=with_note(part.piece.content, note) if short else part.piece.content)
        written = await self._write(replace(part, piece=piece, platform_id=ts or part.platform_id))
        if not short:
            await self._messages.post(part.delivery.address, note, (), {"event_type": _NOTE, "event_payload": {}})
        return Receipt(written)

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
            # The text is already sent, so the next try must search for it and not send it again.
            failed.uncertain = failed.uncertain or (after_text and not failed.permanent)
            raise failed from None

    async def find(self, part: Part) -> Receipt | None:
        """Return the receipt of a part that arrived completely. Return None if the part is missing. Also return None if
        only its files are missing; `send` then adds them. Raise `SendError`."""
        try:
            sent = await self._find_sent(part)
        except ApiFailed as error:
            raise error.to_send_error() from None
        return Receipt(sent.ts) if sent.complete else None

    async def find_draft(self, draft: Draft) -> str | None:
        """Return the `ts` of a draft; None if it is not in the channel. Raise `SendError`."""
        since = min(draft.created_at, self._clock.now()) - _CLOCKS_MS
        try:
            async for message in self._since(draft.address, since):
                if _key_of(message, DRAFT) == draft.id:
                    return str(message["ts"])
        except ApiFailed as error:
            raise error.to_send_error() from None
        return None

    async def _sent_message(self, part: Part) -> SentMessage:
        """Return the state of the part in its channel. If the bot may not search the channel, the part counts as
        incomplete."""
        try:
            return await self._find_sent(part)
        except ApiFailed as error:
            if error.is_transient:
                raise
        except SendError:
            pass
        return SentMessage(part.platform_id or "", complete=False)

    async def _find_sent(self, part: Part) -> SentMessage:
        if part.tried_at is None:
            return SentMessage("", complete=False)
        since = min(part.tried_at, self._clock.now()) - _CLOCKS_MS
        if part.platform_id is not None:
            since = min(since, microseconds(part.platform_id) // 1_000)
        found = [message async for message in self._since(part.delivery.address, since)]
        text = next((message for message in found if _key_of(message, _DELIVERY) == part.key), None)
        if _has_text(part) and text is None:
            return SentMessage("", complete=False)
        shared = None
        if part.piece.files:
            me = await self._identify()
            shared = _with_files(part, filter(me.wrote, found), after=str(text["ts"]) if text else "")
        shown = text or shared
        complete = shown is not None and (shared is not None or not part.piece.files)
        return SentMessage(str(shown["ts"]) if shown else "", complete=complete)

    async def _since(self, address: Address, since: int) -> AsyncIterator[Found]:
        async for answer in self._history.pages(address.channel, address.thread, since * 1_000, metadata=True):
            if METADATA_SCOPE not in answer.scopes:
                raise SendError(
                    f"The bot cannot check if the message arrived, because the bot lacks the scope {METADATA_SCOPE}.",
                    permanent=True,
                )
            for message in messages_of(answer):
                yield message


def _has_text(part: Part) -> bool:
    return bool(part.piece.content.strip() or part.piece.buttons)


def _key_of(message: Found, kind: str) -> str | None:
    if answers.text(message, "metadata", "event_type") != kind:
        return None
    return answers.text(message, "metadata", "event_payload", "id") or None


def _why(error: ApiFailed | SendError) -> str:
    """Return the reason for a refused file, in words for people in the chat."""
    if isinstance(error, ApiFailed) and error.code == "missing_scope":
        return "the Slack app lacks the permission files:write; add it under OAuth & Permissions, then install the app again"
    if isinstance(error, ApiFailed) and error.code:
        return f"Slack refused it ({error.code})"
    return "Slack did not accept it" if isinstance(error, ApiFailed) else str(error).rstrip(".")


def _with_files(part: Part, own: Iterable[Found], after: str) -> Found | None:
    """Return the first of the bot's own messages that is not older than `after` (a `ts`) and has files with the names
    of the part's files. Files carry no metadata. So if the bot sent files with the same names in the five minutes
    before the part, this function returns their message by mistake."""
    names = {file.filename for file in part.piece.files}
    for message in own:
        files = answers.mappings(message.get("files")) or ()
        shown = {answers.text(file, "name") or answers.text(file, "title") for file in files}
        if names <= shown and str(message["ts"]) >= after:
            return message
    return None
