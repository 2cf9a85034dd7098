"""Sends files to Telegram under a suitable type, and fetches files from Telegram."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
import telegram

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import OutgoingFile
from arvis.ports.connector import FetchError
from connectors import answers
from connectors.telegram.client import CallFailed, Client

#: The timeout in seconds for sending or fetching a file.
TRANSFER_SECONDS: Final = 120.0
#: The maximum bytes of a file that a bot may send, of a photo that it may send, and of a file that it may fetch (Bot
#: API, "Sending files" and getFile).
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
    # An existing message cannot become a voice message.
    MediaKind.VOICE: telegram.InputMediaAudio,
    MediaKind.AUDIO: telegram.InputMediaAudio,
    MediaKind.VIDEO: telegram.InputMediaVideo,
    MediaKind.DOCUMENT: telegram.InputMediaDocument,
}


@dataclass(frozen=True, slots=True)
class Media:
    """A file with its bytes. `kind` is the form in which Telegram shows the file."""

    kind: MediaKind
    filename: str
    data: bytes

    @property
    def is_document(self) -> bool:
        return self.kind is MediaKind.DOCUMENT

    def as_document(self) -> Media:
        return replace(self, kind=MediaKind.DOCUMENT)

    async def send(self, client: Client, options: dict[str, Any]) -> int:
        """Send the file, and return the id of the message. Raise `CallFailed`."""
        file = telegram.InputFile(self.data, filename=self.filename)
        method = f"send{self.kind.value.capitalize()}"
        return await client.message(method, within=TRANSFER_SECONDS, **{self.kind.value: file}, **options)

    def input(self, caption: dict[str, Any]) -> telegram.InputMedia:
        """Return the file as an input that can replace the content of an existing message."""
        return _INPUTS[self.kind](self.data, filename=self.filename, **caption)


def media_of(file: OutgoingFile, data: bytes) -> Media:
    kind = _KINDS.get(file.content_type.partition(";")[0].strip().lower(), MediaKind.DOCUMENT)
    if kind is MediaKind.PHOTO and len(data) > _PHOTO_LIMIT:
        kind = MediaKind.DOCUMENT
    return Media(kind, file.filename, data)


async def fetch(client: Client, source: str, max_bytes: int) -> bytes:
    """Return the bytes of a file by its `file_id`. Raise `FetchError`."""
    limit = min(max_bytes, _DOWNLOAD_LIMIT)
    try:
        status, data = await client.download(await _address(client, source, limit), limit, TRANSFER_SECONDS)
    except CallFailed as error:
        if error.refused and error.says("file is too big"):
            raise _too_large(limit) from error
        permanent = error.refused and error.says("invalid file_id", "file_id_invalid")
        raise FetchError(str(error), permanent=permanent, retry_after=error.delay) from error
    except (httpx.HTTPError, httpx.InvalidURL):
        raise FetchError("The connection broke while Telegram delivered the file") from None
    if status != HTTPStatus.OK:
        raise FetchError(f"Telegram did not deliver the file: status {status}")
    if len(data) > limit:
        raise _too_large(limit)
    return data


async def _address(client: Client, source: str, limit: int) -> str:
    """Return the address of the bytes of a file. Raise `FetchError` or `CallFailed`."""
    file = await client.call("getFile", file_id=source)
    if (answers.value(file, "file_size", kind=int) or 0) > limit:
        raise _too_large(limit)
    path = answers.text(file, "file_path")
    if not path:
        raise FetchError("Telegram did not return the path of the file.")
    if (path.startswith("/") and not path.startswith("//")) or ".." in path.split("/"):
        raise FetchError("Telegram returned a path that is not allowed for a download", permanent=True)
    return f"{client.bot.base_file_url}/{quote(path)}"


def _too_large(limit: int) -> FetchError:
    rule = "Telegram lets bots download files of" if limit == _DOWNLOAD_LIMIT else "a file may have"
    return FetchError(f"The file is too large: {rule} at most {limit // (1024 * 1024)} MB", permanent=True)
