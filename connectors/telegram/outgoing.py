"""Sends parts of deliveries as Telegram messages, and shows a running turn as typing or as a draft.

Each part is one request, so that an interruption makes the outcome of only one part unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import structlog
import telegram
from telegram.constants import ChatAction

from arvis.domain.dataclass import replace
from arvis.domain.messages import Address, Button, Delivery, OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.clock import Clock
from arvis.ports.connector import Receipt, SendError
from connectors.formatting.planning import not_sent, pieces, with_note
from connectors.telegram.client import COSMETIC_SECONDS, CallFailed, Client, send_error
from connectors.telegram.files import TRANSFER_SECONDS, UPLOAD_LIMIT, Media, media_of
from connectors.telegram.formatting import CAPTION_LIMIT, Formatted, formatted, measure, parts, plain, rich

log = structlog.get_logger(__name__)

PLACEHOLDER: Final = "…"
_LABEL_LIMIT: Final = 64
#: A button with a longer label is alone in its row.
_SHORT_LABEL: Final = 16
_BUTTONS_A_ROW: Final = 3

NO_PREVIEW: Final = telegram.LinkPreviewOptions(is_disabled=True)
#: Parts of the errors with which Telegram refuses formatting. It may accept the same text without formatting.
_UNPARSED: Final = ("can't parse", "entit", "rich message", "rich_message")
#: Parts of the errors for a placeholder or draft that cannot be changed.
_NOT_THERE: Final = ("message to edit not found", "message can't be edited", "message_id_invalid", "message not found")
#: Parts of the errors for a file that is not a valid picture, film or voice message. The file is then sent as a
#: document.
_NOT_MEDIA: Final = ("photo", "image", "video", "audio", "voice", "wrong file", "wrong type", "failed to get")


def plan(delivery: Delivery, max_parts: int) -> list[Piece]:
    """Divide a delivery into pieces of one request each. A piece is a text with its buttons, or one file. A short text
    and a single file form one piece, with the text as the caption of the file."""
    *before, last = pieces(delivery, parts, max_parts)
    if not last.files:
        return [*before, last]
    first, *others = last.files
    if measure(last.content) <= CAPTION_LIMIT and not others:
        return [*before, last]
    text = [Piece(last.content, last.buttons)] if last.content else []
    buttons = () if text else last.buttons
    return [*before, *text, Piece("", buttons, (first,)), *(Piece("", (), (file,)) for file in others)]


class Outgoing:
    def __init__(self, *, client: Client, rich_messages: bool = False) -> None:
        self._client = client
        self._rich = rich_messages

    async def send(self, part: Part) -> Receipt:
        """Send a part. If Telegram does not accept a file, a note replaces it. Raise `SendError`."""
        if not part.piece.content.strip() and not part.piece.files:
            raise SendError("There is nothing to send", permanent=True)
        try:
            return await self._send(part)
        except SendError as error:
            if not part.piece.files or not error.permanent or error.gone:
                raise
            log.warning("telegram_file_refused", part=part.key, error=str(error))
            note = not_sent(part.piece.files, str(error).rstrip("."))
            piece = Piece(with_note(part.piece.content, note), part.piece.buttons)
            return await self._send(replace(part, piece=piece))

    async def _send(self, part: Part) -> Receipt:
        media = [_media(part, file) for file in part.piece.files]
        if part.platform_id is not None and await self._filled(part, part.platform_id, media):
            return Receipt(part.platform_id)
        return Receipt(str(await (self._send_file(part, media[0]) if media else self._send_text(part))))

    async def reserve(self, part: Part) -> Receipt:
        """Send a placeholder. Telegram notifies people about the placeholder, but not about the later edit. Raise
        `SendError`."""
        try:
            return Receipt(str(await self._client.message("sendMessage", text=PLACEHOLDER, **_where(part))))
        except CallFailed as error:
            raise send_error(error) from error

    async def _filled(self, part: Part, platform_id: str, media: Sequence[Media]) -> bool:
        """Replace the content of a placeholder or draft. Return False if the message no longer exists or cannot be
        changed."""
        where: dict[str, Any] = {"chat_id": chat_of(part.delivery.address), "message_id": int(platform_id)}
        where["reply_markup"] = keyboard(part.piece.buttons)
        try:
            await (self._edit_file(where, part, media[0]) if media else self._edit_text(where, part))
        except CallFailed as error:
            if error.refused and error.says("message is not modified"):
                return True
            if error.refused and error.says(*_NOT_THERE):
                return False
            raise send_error(error) from error
        return True

    async def _send_text(self, part: Part) -> int:
        where = _where(part) | {"reply_markup": keyboard(part.piece.buttons)}
        try:
            if (sent := await self._try_rich("sendRichMessage", where, part.piece.content)) is not None:
                return sent
            return await self._formatted("sendMessage", where, part.piece.content)
        except CallFailed as error:
            raise send_error(error) from error

    async def _edit_text(self, where: dict[str, Any], part: Part) -> None:
        if await self._try_rich("editMessageText", where, part.piece.content) is None:
            await self._formatted("editMessageText", where, part.piece.content)

    async def _formatted(self, method: str, where: dict[str, Any], content: str) -> int:
        """Send a text with entities. If Telegram rejects the entities, send the text without them. Return the id of the
        message."""
        shown = formatted(content)
        options: dict[str, Any] = {"text": shown.text, "link_preview_options": NO_PREVIEW, **where}
        try:
            return await self._client.message(method, entities=shown.entities, **options)
        except CallFailed as error:
            if not shown.entities or not error.refused or not error.says(*_UNPARSED):
                raise
            return await self._client.message(method, **{**options, "text": plain(shown)})

    async def _try_rich(self, method: str, where: dict[str, Any], content: str) -> int | None:
        """Send a rich message and return its id. Return None if rich messages are turned off, unknown to the server, or
        impossible for this text."""
        if not self._rich:
            return None
        try:
            return await self._client.message(method, rich_message=rich(content), **where)
        except CallFailed as error:
            if error.rejects_token:
                # The server gives the same answer for an unknown method and for a wrong token. If the token is wrong,
                # the following plain request also fails.
                self._rich = False
            elif error.says("message is not modified", *_NOT_THERE) or not _finds_fault(error):
                raise
        return None

    async def _send_file(self, part: Part, media: Media) -> int:
        where = _where(part) | {"reply_markup": keyboard(part.piece.buttons)} | _caption(part.piece.content)
        try:
            try:
                return await media.send(self._client, where)
            except CallFailed as error:
                if media.is_document or not error.refused or not error.says(*_NOT_MEDIA):
                    raise
                return await media.as_document().send(self._client, where)
        except CallFailed as error:
            raise send_error(error) from error

    async def _edit_file(self, where: dict[str, Any], part: Part, media: Media) -> None:
        """Replace the text or file of a message by this file."""
        caption = _caption(part.piece.content)
        try:
            await self._put(media.input(caption), where)
        except CallFailed as error:
            if media.is_document or not error.refused:
                raise
            if error.says("not modified", *_NOT_THERE) or not error.says(*_NOT_MEDIA):
                raise
            await self._put(media.as_document().input(caption), where)

    async def _put(self, media: telegram.InputMedia, where: dict[str, Any]) -> None:
        await self._client.call("editMessageMedia", within=TRANSFER_SECONDS, media=media, **where)


def _finds_fault(error: CallFailed) -> bool:
    """Return whether Telegram rejected the formatting of a text, not its content."""
    return error.refused and error.says(*_UNPARSED, "text is empty", "parse")


def keyboard(buttons: Sequence[Button]) -> telegram.InlineKeyboardMarkup | None:
    """Return the keyboard for these buttons; buttons with short labels share a row."""
    rows: list[list[telegram.InlineKeyboardButton]] = []
    room = 0
    for button in buttons:
        short = len(button.label) <= _SHORT_LABEL
        if not (short and room):
            rows.append([])
            room = _BUTTONS_A_ROW if short else 1
        rows[-1].append(telegram.InlineKeyboardButton(button.label[:_LABEL_LIMIT], callback_data=button.id))
        room -= 1
    return telegram.InlineKeyboardMarkup(rows) if rows else None


def chat_of(address: Address) -> int | str:
    """Return the id of a chat: a number, or the @name of a public chat."""
    number = address.channel
    return int(number) if number.removeprefix("-").isdecimal() else number


def place(address: Address) -> dict[str, Any]:
    """Return the parameters of a request that name the chat and the topic."""
    return {
        "chat_id": chat_of(address),
        "message_thread_id": int(address.thread) if address.thread else None,
    }


def _where(part: Part) -> dict[str, Any]:
    """Return the parameters for the place of a part. Only the first part is a reply. Telegram sends the part even if
    the message to which it replies was deleted."""
    ref = part.delivery.reply_ref if part.number == 0 else None
    reply = telegram.ReplyParameters(int(ref), allow_sending_without_reply=True) if ref else None
    return place(part.delivery.address) | {"reply_parameters": reply}


def _caption(content: str) -> dict[str, Any]:
    shown = formatted(content) if content else Formatted("")
    return {"caption": shown.text or None, "caption_entities": shown.entities or None}


def _media(part: Part, file: OutgoingFile) -> Media:
    data = part.bytes_of(file)
    if len(data) > UPLOAD_LIMIT:
        raise SendError(
            f"Telegram accepts files of at most 50 MB from bots, and {file.filename} is larger", permanent=True
        )
    return media_of(file, data)


# The display of a running turn in the chat: typing, and a draft of the answer.

#: The minimum number of seconds between changes of a draft in a group. Telegram allows twenty messages and edits per
#: minute in a group, and one per second in a direct chat.
_GROUP_PAUSE: Final = 3.0
_REMEMBERED: Final = 1_000


class Drafts:
    def __init__(self, *, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._native = True
        #: For each chat: the time (monotonic seconds) of the last change of a draft. The newest time is last. The loss
        #: of an entry causes only one additional edit.
        self._changed: dict[str, float] = {}

    async def typing(self, address: Address) -> None:
        """Show typing. Raise `SendError`."""
        try:
            await self._client.call(
                "sendChatAction", within=COSMETIC_SECONDS, action=ChatAction.TYPING, **place(address)
            )
        except CallFailed as error:
            raise send_error(error) from error

    async def show(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        """Show a draft. Raise `SendError`.

        In a direct chat, a draft without buttons is one of Telegram's own drafts if the server knows them. Such a draft
        disappears by itself, the next call with the same `key` changes it, and the result is None. Any other draft is a
        message with a placeholder text, and the result is the id of this message. If the process crashes before the id
        is stored, the message stays in the chat.
        """
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
        """Change a draft. In a group, skip the change if the last change was less than `_GROUP_PAUSE` ago; the next
        change or the answer contains its text. Raise `SendError`."""
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
        """Remove a draft. Raise `SendError`."""
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
                # Telegram answers "not found" for an unknown method and for a wrong token; the poll loop notices a wrong
                # token.
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
    """Return whether the address is a direct chat. Groups and channels have negative ids."""
    return not address.channel.startswith("-")


def _beginning(text: str) -> Formatted:
    """Return the first part of a text, which fits into one message. For a blank text return the placeholder."""
    return formatted(next(iter(parts(text)), "")) if text.strip() else Formatted(PLACEHOLDER)


def _text(shown: Formatted) -> dict[str, Any]:
    return {"text": shown.text, "entities": shown.entities, "link_preview_options": NO_PREVIEW}


def _draft_id(key: str) -> int:
    """Return a positive id that is always the same for the same key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1 | 1
