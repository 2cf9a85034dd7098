"""Parts of deliveries as messages of Telegram, one request each, so that an interruption leaves one thing in doubt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import telegram
from telegram.error import BadRequest, InvalidToken, TelegramError

from arvis.domain.messages import Address, Button, Delivery, OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import Receipt, SendError
from connectors.formatting.planning import pieces
from connectors.telegram.client import Client, says, send_error
from connectors.telegram.files import TRANSFER_SECONDS, UPLOAD_LIMIT, Media, media_of
from connectors.telegram.formatting import CAPTION_LIMIT, Formatted, formatted, measure, parts, plain, rich

PLACEHOLDER: Final = "…"
_LABEL_LIMIT: Final = 64
#: Buttons with longer labels stand alone in their row.
_SHORT_LABEL: Final = 16
_BUTTONS_A_ROW: Final = 3

NO_PREVIEW: Final = telegram.LinkPreviewOptions(is_disabled=True)
#: The formatting was refused, not the text.
_UNPARSED: Final = ("can't parse", "entit", "rich message", "rich_message")
#: Nothing can be put where the placeholder or draft was.
_NOT_THERE: Final = ("message to edit not found", "message can't be edited", "message_id_invalid", "message not found")
#: Not a picture, a film or a voice message as Telegram likes it, but a file like any other.
_NOT_MEDIA: Final = ("photo", "image", "video", "audio", "voice", "wrong file", "wrong type", "failed to get")


def plan(delivery: Delivery, max_parts: int) -> list[Piece]:
    """Every piece is one request: a text with its buttons, or one file, below which a short text finds room."""
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
        """Raises `SendError`."""
        if not part.piece.content.strip() and not part.piece.files:
            raise SendError("There is nothing to send", permanent=True)
        media = [_media(part, file) for file in part.piece.files]
        if part.platform_id is not None and await self._filled(part, part.platform_id, media):
            return Receipt(part.platform_id)
        return Receipt(str(await (self._send_file(part, media[0]) if media else self._send_text(part))))

    async def reserve(self, part: Part) -> Receipt:
        """With a sound: the edit that fills it makes none. Raises `SendError`."""
        try:
            sent = await self._client.bot.send_message(text=PLACEHOLDER, **_where(part))
        except TelegramError as error:
            raise send_error(error) from error
        return Receipt(str(sent.message_id))

    async def _filled(self, part: Part, platform_id: str, media: Sequence[Media]) -> bool:
        """False when the message is not there any more, or is none that can hold this."""
        where: dict[str, Any] = {"chat_id": chat_of(part.delivery.address), "message_id": int(platform_id)}
        where["reply_markup"] = keyboard(part.piece.buttons)
        try:
            await (self._edit_file(where, part, media[0]) if media else self._edit_text(where, part))
        except TelegramError as error:
            if isinstance(error, BadRequest) and says(error, "message is not modified"):
                return True
            if isinstance(error, BadRequest) and says(error, *_NOT_THERE):
                return False
            raise send_error(error) from error
        return True

    async def _send_text(self, part: Part) -> int:
        where = _where(part) | {"reply_markup": keyboard(part.piece.buttons)}
        try:
            if (sent := await self._try_rich("SendRichMessage", where, part.piece.content)) is not None:
                return int(sent["message_id"])
            return await self._formatted(self._client.bot.send_message, where, part.piece.content)
        except TelegramError as error:
            raise send_error(error) from error

    async def _edit_text(self, where: dict[str, Any], part: Part) -> None:
        if await self._try_rich("EditMessageText", where, part.piece.content) is None:
            await self._formatted(self._client.bot.edit_message_text, where, part.piece.content)

    async def _formatted(self, request: Callable[..., Awaitable[Any]], where: dict[str, Any], content: str) -> int:
        """With entities; as plain text when Telegram finds fault with them."""
        shown = formatted(content)
        options: dict[str, Any] = {"text": shown.text, "link_preview_options": NO_PREVIEW, **where}
        try:
            sent = await request(entities=shown.entities, **options)
        except BadRequest as error:
            if not shown.entities or not says(error, *_UNPARSED):
                raise
            sent = await request(**{**options, "text": plain(shown)})
        return int(sent.message_id)

    async def _try_rich(self, method: str, where: dict[str, Any], content: str) -> dict[str, Any] | None:
        """None where rich messages are not wanted, not known, or not made of this text."""
        if not self._rich:
            return None
        told = {key: value for key, value in where.items() if value is not None}
        try:
            sent = await self._client.bot.do_api_request(method, api_kwargs={"rich_message": rich(content), **told})
            return dict(sent)
        except InvalidToken:
            # Said of an unknown method as of a wrong token; with that, the plain request fails, too.
            self._rich = False
        except BadRequest as error:
            if says(error, "message is not modified", *_NOT_THERE):
                raise
            if not says(error, *_UNPARSED, "text is empty", "parse"):
                raise
        return None

    async def _send_file(self, part: Part, media: Media) -> int:
        where = _where(part) | {"reply_markup": keyboard(part.piece.buttons)} | _caption(part.piece.content)
        bot = self._client.bot
        try:
            try:
                return await media.send(bot, where)
            except BadRequest as error:
                if media.is_document or not says(error, *_NOT_MEDIA):
                    raise
                return await media.as_document().send(bot, where)
        except TelegramError as error:
            raise send_error(error) from error

    async def _edit_file(self, where: dict[str, Any], part: Part, media: Media) -> None:
        """A message of text becomes one with a file; a file that stands there is replaced."""
        caption = _caption(part.piece.content)
        bot = self._client.bot
        try:
            await bot.edit_message_media(media.input(caption), read_timeout=TRANSFER_SECONDS, **where)
        except BadRequest as error:
            if media.is_document or says(error, "not modified", *_NOT_THERE) or not says(error, *_NOT_MEDIA):
                raise
            await bot.edit_message_media(media.as_document().input(caption), read_timeout=TRANSFER_SECONDS, **where)


def keyboard(buttons: Sequence[Button]) -> telegram.InlineKeyboardMarkup | None:
    """Short ones stand side by side."""
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
    """A chat by its number, or a public one by its @name."""
    number = address.channel
    return int(number) if number.removeprefix("-").isdecimal() else number


def place(address: Address) -> dict[str, Any]:
    """The chat and topic, as every request names them."""
    return {
        "chat_id": chat_of(address),
        "message_thread_id": int(address.thread) if address.thread else None,
    }


def _where(part: Part) -> dict[str, Any]:
    """Only the first part replies; the answer stands even if what it replies to was deleted."""
    ref = part.delivery.reply_ref if part.number == 0 else None
    reply = telegram.ReplyParameters(int(ref), allow_sending_without_reply=True) if ref else None
    return place(part.delivery.address) | {"reply_parameters": reply}


def _caption(content: str) -> dict[str, Any]:
    shown = formatted(content) if content else Formatted("")
    return {"caption": shown.text or None, "caption_entities": shown.entities or None}


def _media(part: Part, file: OutgoingFile) -> Media:
    data = part.bytes_of(file)
    if len(data) > UPLOAD_LIMIT:
        raise SendError(f"Telegram takes files of at most 50 MB from bots: {file.filename}", permanent=True)
    return media_of(file, data)
