"""Files to and from Telegram: what they are sent as, and how they are fetched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

import httpx
import telegram
from telegram.error import BadRequest, TelegramError

from arvis.domain.messages import OutgoingFile
from arvis.ports.connector import FetchError
from connectors.telegram.client import Client, TooMany, says

#: How long Telegram may take over a file.
TRANSFER_SECONDS: Final = 120.0
#: Bytes that a bot may send in one file, as a photo, and fetch (Bot API, "Sending files" and getFile).
UPLOAD_LIMIT: Final = 50 * 1024 * 1024
_PHOTO_LIMIT: Final = 10 * 1024 * 1024
_DOWNLOAD_LIMIT: Final = 20 * 1024 * 1024


class MediaKind(StrEnum):
    PHOTO = "photo"
    AUDIO = "audio"
    VOICE = "voice"
    VIDEO = "video"
    DOCUMENT = "document"


_KINDS: Final = {
    "image/jpeg": MediaKind.PHOTO,
    "image/png": MediaKind.PHOTO,
    "image/webp": MediaKind.PHOTO,
    "audio/ogg": MediaKind.VOICE,
    "audio/mpeg": MediaKind.AUDIO,
    "audio/mp4": MediaKind.AUDIO,
    "audio/x-m4a": MediaKind.AUDIO,
    "video/mp4": MediaKind.VIDEO,
}
_INPUTS: Final[dict[MediaKind, Callable[..., telegram.InputMedia]]] = {
    MediaKind.PHOTO: telegram.InputMediaPhoto,
    # No message can become a voice message.
    MediaKind.VOICE: telegram.InputMediaAudio,
    MediaKind.AUDIO: telegram.InputMediaAudio,
    MediaKind.VIDEO: telegram.InputMediaVideo,
    MediaKind.DOCUMENT: telegram.InputMediaDocument,
}


@dataclass(frozen=True, slots=True)
class Media:
    """A file with its bytes, as what Telegram shows it."""

    kind: MediaKind
    filename: str
    data: bytes

    @property
    def is_document(self) -> bool:
        return self.kind is MediaKind.DOCUMENT

    def as_document(self) -> Media:
        return replace(self, kind=MediaKind.DOCUMENT)

    async def send(self, bot: telegram.Bot, options: dict[str, Any]) -> int:
        """The id of the message. Raises `TelegramError`."""
        requests: dict[MediaKind, Callable[..., Awaitable[telegram.Message]]] = {
            MediaKind.PHOTO: bot.send_photo,
            MediaKind.AUDIO: bot.send_audio,
            MediaKind.VOICE: bot.send_voice,
            MediaKind.VIDEO: bot.send_video,
            MediaKind.DOCUMENT: bot.send_document,
        }
        file = telegram.InputFile(self.data, filename=self.filename)
        sent = await requests[self.kind](**{self.kind.value: file}, read_timeout=TRANSFER_SECONDS, **options)
        return sent.message_id

    def input(self, caption: dict[str, Any]) -> telegram.InputMedia:
        """As what a message that is there becomes."""
        return _INPUTS[self.kind](self.data, filename=self.filename, **caption)


def media_of(file: OutgoingFile, data: bytes) -> Media:
    kind = _KINDS.get(file.content_type.partition(";")[0].strip().lower(), MediaKind.DOCUMENT)
    if kind is MediaKind.PHOTO and len(data) > _PHOTO_LIMIT:
        kind = MediaKind.DOCUMENT
    return Media(kind, file.filename, data)


async def fetch(client: Client, source: str, max_bytes: int) -> bytes:
    """The bytes of a file by its `file_id`. Raises `FetchError`."""
    limit = min(max_bytes, _DOWNLOAD_LIMIT)
    try:
        file = await client.bot.get_file(source)
        if (file.file_size or 0) > limit:
            raise _too_large(limit)
        address = file.file_path or ""
        if not address.startswith(f"{client.bot.base_file_url}/"):
            raise FetchError("Telegram names no file of its own", permanent=True)
        status, data = await client.download(address, limit, TRANSFER_SECONDS)
    except TooMany as error:
        raise FetchError("Telegram: too many requests", retry_after=error.seconds) from error
    except BadRequest as error:
        if says(error, "file is too big"):
            raise _too_large(limit) from error
        raise FetchError(f"Telegram: {error}", permanent=says(error, "invalid file_id", "file_id_invalid")) from error
    except TelegramError as error:
        raise FetchError(f"Telegram: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchError(f"Telegram did not hand out the file: {type(error).__name__}") from None
    if status != HTTPStatus.OK:
        raise FetchError(f"Telegram did not hand out the file: status {status}")
    if len(data) > limit:
        raise _too_large(limit)
    return data


def _too_large(limit: int) -> FetchError:
    whose = "Telegram gives bots files of" if limit == _DOWNLOAD_LIMIT else "files may have"
    return FetchError(f"The file is too large: {whose} at most {limit // (1024 * 1024)} MB", permanent=True)
