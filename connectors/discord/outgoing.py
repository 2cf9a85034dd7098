"""Sends, changes and finds the bot's own messages.

Each message carries a nonce made from its key: if the same message is sent twice within a few minutes, Discord shows it
once. After that time, the history of the channel shows whether the message arrived.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Sequence
from typing import Any

from arvis.domain.dataclass import replace
from arvis.domain.messages import Address, Button, ButtonStyle
from arvis.domain.platforms import Draft, Part, Piece
from arvis.domain.regex import regex
from arvis.ports.clock import Clock
from arvis.ports.connector import Receipt, SendError
from connectors import answers
from connectors.answers import Refused, Uncertain
from connectors.discord.client import (
    MISSING_PERMISSION,
    REQUEST_ERRORS,
    TOO_LARGE,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    CallFailed,
    send_error,
)
from connectors.discord.rest import COSMETIC_SECONDS, Page, Rest, first_at
from connectors.formatting.planning import not_sent, with_note
from connectors.formatting.units import utf16_length

log = logging.getLogger(__name__)

_MESSAGES = "/channels/{channel_id}/messages"
#: The time (ms) after an attempt in which a message can safely be sent again. Discord remembers nonces longer, for "the
#: past few minutes".
_WINDOW = 120_000
#: The assumed maximum difference (ms) between the daemon's clock and Discord's.
_SKEW = 60_000
_PAGES = 10
_THREAD_TITLE = 80
#: The text that `find_draft` sends. People see it only if the draft had not arrived, and only until the answer replaces
#: it.
_FOUND_AGAIN = "…"
_ARCHIVE_AFTER_MINUTES = 1_440
_THREAD_EXISTS = 160004
#: Error codes that may mean that Discord refuses only the files of a message. Each has an explanation for the people in
#: the channel.
_REFUSED_FILES = {
    MISSING_PERMISSION: "the bot lacks the permission Attach Files here",
    TOO_LARGE: "it is larger than Discord allows here",
}
_NOTE_NUMBER = 999
_MENTION = regex(r"<[@#][!&]?\d+>")


class Outgoing:
    def __init__(self, *, rest: Rest, clock: Clock) -> None:
        self._rest = rest
        self._clock = clock

    async def send(self, part: Part) -> Receipt:
        piece = part.piece
        if not piece.content.strip() and not piece.buttons and not piece.files:
            raise SendError("The message is empty.", permanent=True)
        address, delivery = part.delivery.address, part.delivery
        files = [(file.filename, part.bytes_of(file)) for file in piece.files]
        body = content(piece.content, piece.buttons, empty=bool(files))
        try:
            if part.platform_id and await self._change(address, part.platform_id, body, files):
                return Receipt(part.platform_id)
            reply_ref = delivery.reply_ref if part.number == 0 and delivery.reply_ref != address.thread else None
            return Receipt(await self._create(address, new_message(body, nonce_of(part.key), reply_ref), files))
        except REQUEST_ERRORS as error:
            if files and isinstance(error, CallFailed) and error.code in _REFUSED_FILES:
                return await self._without_files(part, error)
            raise send_error(error) from None

    async def _without_files(self, part: Part, error: CallFailed) -> Receipt:
        """Send the text without its files, and add a note that the files are missing. A refused file must not suppress
        the text."""
        log.warning("Discord refused the files of %s: %s", part.key, error)
        note = not_sent(part.piece.files, _REFUSED_FILES[error.code])
        whole = with_note(part.piece.content, note)
        fits = utf16_length(whole) <= TEXT_LIMIT
        receipt = await self.send(replace(part, piece=Piece(whole if fits else part.piece.content, part.piece.buttons)))
        if not fits:
            # The note is sent as a separate part. Its number is higher than the number of any part of a delivery.
            rest = replace(part, number=_NOTE_NUMBER, platform_id=None, piece=Piece(note))
            await self.send(rest)
        return receipt

    async def find(self, part: Part) -> Receipt | None:
        """Return the receipt of a part that arrived; None if the part must be sent. Within `_WINDOW` the history is not
        read, because sending again is safe."""
        if part.tried_at is None or self._clock.now() - part.tried_at < _WINDOW:
            return None
        try:
            return await self._look_for(part, first_at(part.tried_at - _SKEW))
        except REQUEST_ERRORS as error:
            raise send_error(error) from None

    async def typing(self, address: Address) -> None:
        try:
            path = "/channels/{channel_id}/typing"
            await self._rest.request("POST", path, within=COSMETIC_SECONDS, channel_id=_channel(address))
        except REQUEST_ERRORS as error:
            raise send_error(error) from None

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str:
        try:
            message = new_message(content(text, buttons), nonce_of(key))
            return await self._create(address, message, (), within=COSMETIC_SECONDS)
        except REQUEST_ERRORS as error:
            raise send_error(error) from None

    async def find_draft(self, draft: Draft) -> str | None:
        """Return the message id of a draft. Within `_WINDOW`, send the draft again: if it had arrived, Discord
        recognises its nonce, creates no second message and returns the id of the first one. After that time return
        None, because it is unknown whether the draft arrived."""
        if self._clock.now() - draft.created_at >= _WINDOW:
            return None
        return await self.show_draft(draft.address, draft.id, _FOUND_AGAIN, ())

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        try:
            if not await self._change(address, platform_id, content(text, buttons), (), within=COSMETIC_SECONDS):
                raise SendError("The message no longer exists.", permanent=True)
        except REQUEST_ERRORS as error:
            raise send_error(error) from None

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        try:
            await self._where_it_is(address, "DELETE", platform_id, within=COSMETIC_SECONDS)
        except REQUEST_ERRORS as error:
            raise send_error(error) from None

    async def _create(self, address: Address, body: Payload, files: Sequence[tuple[str, bytes]], **options: Any) -> str:
        try:
            return await self._post(_channel(address), body, files, **options)
        except CallFailed as error:
            if not address.thread or error.code != UNKNOWN_CHANNEL:
                raise
            return await self._post(await self._open_thread(address), body, files, **options)

    async def _post(self, channel: str, body: Payload, files: Sequence[tuple[str, bytes]], **options: Any) -> str:
        made = await self._rest.request("POST", _MESSAGES, channel_id=channel, **_parts(body, files), **options)
        id_ = answers.text(made, "id")
        if not id_.isdecimal():
            raise CallFailed(Uncertain("Discord did not return the id of the new message.", acknowledged=True))
        return id_

    async def _change(
        self, address: Address, message: str, body: Payload, files: Sequence[tuple[str, bytes]], **options: Any
    ) -> bool:
        """Change a message; return False if it no longer exists."""
        return await self._where_it_is(address, "PATCH", message, **_parts(body, files), **options)

    async def _where_it_is(self, address: Address, method: str, message: str, **options: Any) -> bool:
        """Call a method on one of the bot's messages. Return False if the message no longer exists. Search the channel,
        too, because the message was sent there if its thread could not be opened."""
        for channel in dict.fromkeys((_channel(address), address.channel)):
            try:
                await self._rest.request(method, f"{_MESSAGES}/{int(message)}", channel_id=channel, **options)
            except CallFailed as error:
                if error.code not in (UNKNOWN_CHANNEL, UNKNOWN_MESSAGE):
                    raise
            else:
                return True
        return False

    async def _open_thread(self, address: Address) -> str:
        """Start a thread from a message and return the thread's id, which equals the id of the message. If Discord does
        not allow the thread, return the id of the channel, so that the answer goes there."""
        path = f"{_MESSAGES}/{int(address.thread)}"
        try:
            message = await self._rest.request("GET", path, channel_id=address.channel)
            title = (
                " ".join(_MENTION.sub("", answers.text(message, "content")).split())[:_THREAD_TITLE].strip()
                or "Conversation"
            )
            body = {"name": title, "auto_archive_duration": _ARCHIVE_AFTER_MINUTES}
            thread = await self._rest.request("POST", f"{path}/threads", channel_id=address.channel, json=body)
        except CallFailed as error:
            if error.code == _THREAD_EXISTS:
                return address.thread
            if not isinstance(error.failure, Refused) or error.rejects_token:
                raise
            return address.channel
        # A thread has the same id as the message from which it was started.
        return answers.text(thread, "id") or address.thread

    async def _look_for(self, part: Part, after: int) -> Receipt | None:
        me, nonce, text = await self._rest.whoami(), nonce_of(part.key), part.piece.content.strip()
        names = [file.filename for file in part.piece.files]
        for _ in range(_PAGES):
            page = await self._history(part.delivery.address, after)
            for message in page.messages:
                ours = answers.text(message, "author", "id") == me
                files = answers.mappings(message.get("attachments")) or ()
                same = answers.text(message, "content").strip() == text and len(files) == len(names)
                if ours and (message.get("nonce") == nonce or same):
                    return Receipt(str(message["id"]))
            if not page.more or not page.messages:
                return None
            after = int(page.messages[-1]["id"])
        raise SendError(
            "The bot cannot check if the message arrived: too many messages were written since then.", permanent=True
        )

    async def _history(self, address: Address, after: int) -> Page:
        """Return a page of the history of the thread. If the thread does not exist, return a page of its channel's
        history."""
        try:
            return await self._rest.history(_channel(address), after)
        except CallFailed as error:
            if not address.thread or error.code != UNKNOWN_CHANNEL:
                raise
            return await self._rest.history(address.channel, after)


def _channel(address: Address) -> str:
    """Return the id of the thread of an address, or of its channel outside of threads. Raise `SendError`."""
    if not address.channel.isdecimal() or not (address.thread or "0").isdecimal():
        raise SendError(f"{address.channel} is not a Discord channel.", gone=True)
    return address.thread or address.channel


def _parts(body: Payload, files: Sequence[tuple[str, bytes]]) -> dict[str, Any]:
    return {"form": form(body, files)} if files else {"json": body}


# The bot's messages in the form that Discord accepts.

#: The flag with which Discord shows no previews for the links in a message.
SUPPRESS_EMBEDS = 1 << 2
_ROW, _BUTTON = 1, 2
#: The maximum UTF-16 units of a message. Discord documents the limit in "characters", and libraries disagree on their
#: unit. A length in UTF-16 units is never smaller than a length in another of these units.
TEXT_LIMIT = 2_000
_STYLES = {ButtonStyle.PRIMARY: 1, ButtonStyle.SECONDARY: 2, ButtonStyle.SUCCESS: 3, ButtonStyle.DANGER: 4}
_IN_A_ROW = 5
_ROWS = 5
_LABEL = 80
#: The text of a message that has neither text nor files. Discord refuses such a message, even if it has buttons.
_NOTHING = "…"

Payload = dict[str, Any]


def content(text: str, buttons: Sequence[Button], *, empty: bool = False) -> Payload:
    """Return the fields of a message that an edit can also change. `empty`: True if the text may be empty, because the
    message has files."""
    return {
        "content": text if text.strip() or empty else _NOTHING,
        "allowed_mentions": {"parse": [], "replied_user": False},
        "flags": SUPPRESS_EMBEDS,
        "components": _components(buttons),
    }


def new_message(body: Payload, nonce: str, reply_ref: str | None = None) -> Payload:
    """Return the fields of a new message. `reply_ref` is the message to which the new message replies. If that message
    no longer exists, Discord accepts the new message anyway."""
    reply: Payload = {}
    if reply_ref and reply_ref.isdecimal():
        reply = {"message_reference": {"message_id": reply_ref, "fail_if_not_exists": False}}
    return body | {"nonce": nonce, "enforce_nonce": True} | reply


def form(body: Payload, files: Sequence[tuple[str, bytes]]) -> list[dict[str, Any]]:
    """Return a message with its files, as fields of a form."""
    listed = [{"id": number, "filename": name} for number, (name, _) in enumerate(files)]
    fields: list[dict[str, Any]] = [{"name": "payload_json", "value": json.dumps(body | {"attachments": listed})}]
    for number, (name, data) in enumerate(files):
        kind = "application/octet-stream"
        fields.append({"name": f"files[{number}]", "value": data, "filename": name, "content_type": kind})
    return fields


def _components(buttons: Sequence[Button]) -> list[Payload]:
    shown = [_button(button) for button in buttons[: _IN_A_ROW * _ROWS]]
    return [{"type": _ROW, "components": shown[at : at + _IN_A_ROW]} for at in range(0, len(shown), _IN_A_ROW)]


def _button(button: Button) -> Payload:
    label = button.label[:_LABEL].strip() or _NOTHING
    return {"type": _BUTTON, "style": _STYLES[button.style], "label": label, "custom_id": button.id}


# Discord accepts nonces of at most 25 characters, and an id of Arvis has 26. The 128 bits of the id are therefore
# written in base 64: 22 characters, which leaves three for the number of the part.

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26
_MOST_DIGITS = 3
_DIGITS = {letter: value for value, letter in enumerate(_ALPHABET)}


def nonce_of(key: str) -> str:
    """Return the nonce of a part (`ID.NUMBER`) or of a draft (`ID`). Raise `ValueError` for any other key."""
    id_, _, number = key.partition(".")
    if len(id_) != _LENGTH or len(number) > _MOST_DIGITS or not set(id_) <= _DIGITS.keys():
        raise ValueError(f"{key} is not a key of a part or a draft")
    value = 0
    for letter in id_:
        value = value * 32 + _DIGITS[letter]
    return base64.urlsafe_b64encode((value % 2**128).to_bytes(16)).decode().rstrip("=") + number
