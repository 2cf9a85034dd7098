"""Files: fetched with the bot's token from Slack's own hosts only, and sent in three steps as Slack wants it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

import aiohttp

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part
from arvis.ports.connector import FetchError, SendError
from connectors.slack.api import ApiFailed, SlackApi

_HOSTS = (".slack.com", ".slack-files.com", ".slack-edge.com")
_REDIRECTS = 3
_CHUNK = 64 * 1024


def is_slacks(url: str, base_url: str) -> bool:
    """Whether the bot's token may go there: Slack over TLS, or where the API itself is configured to be."""
    try:
        parts, base = urlsplit(url), urlsplit(base_url)
        if (parts.scheme, parts.netloc) == (base.scheme, base.netloc):
            return True
        host = parts.hostname or ""
        return parts.scheme == "https" and parts.port in (None, 443) and f".{host}".endswith(_HOSTS)
    except ValueError:
        return False


class Files:
    def __init__(self, *, api: SlackApi, token: str) -> None:
        self._api = api
        self._token = token

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        """Raises `FetchError`."""
        try:
            file = json.loads(source)
            url, kind = str(file.get("url") or ""), str(file.get("type") or "")
            if not url and file.get("id"):
                url = await self._look_up(str(file["id"]))
        except (ValueError, AttributeError):
            raise FetchError("The file's address cannot be read.", permanent=True) from None
        try:
            return await self._download(url, kind, max_bytes)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise FetchError(f"Slack did not hand out the file: {type(error).__name__}.") from None

    async def _look_up(self, file: str) -> str:
        # Files of other organisations come without an address.
        try:
            answer = await self._api.ask("files.info", lambda web: web.files_info(file=file))
        except ApiFailed as error:
            raise FetchError(str(error), permanent=not error.passes, retry_after=error.retry_after) from None
        found = answer.data.get("file") or {}
        return str(found.get("url_private_download") or found.get("url_private") or "")

    async def _download(self, url: str, kind: str, max_bytes: int) -> bytes:
        for _ in range(_REDIRECTS + 1):
            if not is_slacks(url, self._api.base_url):
                raise FetchError("The file is not kept at Slack.", permanent=True)
            headers = {"Authorization": f"Bearer {self._token}"}
            async with self._api.session.get(url, headers=headers, allow_redirects=False) as response:
                if response.status in {301, 302, 303, 307, 308}:
                    url = urljoin(url, response.headers.get("Location", ""))
                    continue
                _check(response, kind)
                return await _read(response, max_bytes)
        raise FetchError("Slack sends from one address to the next.", permanent=True)

    async def upload(self, part: Part) -> list[dict[str, str | None]]:
        """Hand the bytes over; nobody sees them before `share`. Raises `SendError`, `ApiFailed`."""
        return [await self._upload(file, part.bytes_of(file)) for file in part.piece.files]

    async def _upload(self, file: OutgoingFile, data: bytes) -> dict[str, str | None]:
        ticket = await self._api.ask(
            "files.getUploadURLExternal",
            lambda web: web.files_getUploadURLExternal(filename=file.filename, length=len(data)),
        )
        url = str(ticket.data.get("upload_url") or "")
        if not is_slacks(url, self._api.base_url):
            raise SendError(f"Slack wants the file {file.filename} to go elsewhere.", permanent=True)
        try:
            async with self._api.session.post(url, data=data, allow_redirects=False) as response:
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SendError(f"The file {file.filename} did not reach Slack: {type(error).__name__}.") from None
        if status != 200:  # noqa: PLR2004  (HTTP's own number)
            raise SendError(f"Slack did not take the file {file.filename}: status {status}.")
        return {"id": str(ticket.data["file_id"]), "title": file.filename}

    async def share(self, uploads: Sequence[dict[str, str | None]], channel: str, thread: str) -> None:
        """Show uploaded files in a channel. Raises `ApiFailed`."""
        await self._api.ask(
            "files.completeUploadExternal",
            lambda web: web.files_completeUploadExternal(
                files=list(uploads), channel_id=channel, thread_ts=thread or None
            ),
        )


def _check(response: aiohttp.ClientResponse, kind: str) -> None:
    status = response.status
    if status == 429 or status >= 500:  # noqa: PLR2004  (HTTP's own numbers)
        pause = response.headers.get("Retry-After", "")
        raise FetchError(
            f"Slack did not hand out the file: status {status}.",
            retry_after=float(pause) if pause.isdecimal() else None,
        )
    if status != 200:  # noqa: PLR2004
        raise FetchError(f"Slack did not hand out the file: status {status}.", permanent=True)
    if response.content_type == "text/html" and kind != "text/html":
        raise FetchError("Slack showed its login page in place of the file: the bot needs files:read.", permanent=True)


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        data += chunk
        if len(data) > max_bytes:
            raise FetchError(f"The file is larger than {max_bytes} bytes.", permanent=True)
    return bytes(data)
