"""Fetches files with the bot's token, only from Slack's own hosts, and sends files in the steps that Slack requires."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

import aiohttp

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part
from arvis.ports.connector import FetchError, SendError
from connectors import answers
from connectors.slack.api import ApiFailed, SlackApi

_HOSTS = (".slack.com", ".slack-files.com", ".slack-edge.com")
_REDIRECTS = 3
#: Statuses with which the file server refuses a file permanently.
_REFUSED = frozenset({400, 401, 403, 404, 410, 413, 415})
_CHUNK = 64 * 1024


def is_slacks(url: str, base_url: str) -> bool:
    """Return whether the bot's token may be sent to `url`: to Slack over TLS, or to the configured address of the
    API."""
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
        """Fetch a file. Raise `FetchError`."""
        try:
            file = json.loads(source)
            url, kind = str(file.get("url") or ""), str(file.get("type") or "")
            if not url and file.get("id"):
                url = await self._look_up(str(file["id"]))
        except (ValueError, AttributeError):
            raise FetchError(
                "The stored address of this file cannot be read. Send the file again.", permanent=True
            ) from None
        try:
            return await self._download(url, kind, max_bytes)
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise FetchError("The connection broke while Slack delivered the file.") from None

    async def _look_up(self, file: str) -> str:
        # Events contain no address for files of other organisations.
        try:
            answer = await self._api.ask("files.info", lambda web: web.files_info(file=file))
        except ApiFailed as error:
            raise FetchError(str(error), permanent=not error.is_transient, retry_after=error.retry_after) from None
        keys = ("url_private_download", "url_private")
        url = next(filter(None, (answers.text(answer.data, "file", key) for key in keys)), "")
        if not url:
            raise FetchError("Slack did not return the address of the file.")
        return url

    async def _download(self, url: str, kind: str, max_bytes: int) -> bytes:
        for _ in range(_REDIRECTS + 1):
            if not is_slacks(url, self._api.base_url):
                raise FetchError("The file is not stored at Slack.", permanent=True)
            headers = {"Authorization": f"Bearer {self._token}"}
            async with self._api.session.get(url, headers=headers, allow_redirects=False) as response:
                if response.status in {301, 302, 303, 307, 308}:
                    url = urljoin(url, response.headers.get("Location", ""))
                    continue
                _check(response, kind)
                return await _read(response, max_bytes)
        raise FetchError("Slack redirects too often.", permanent=True)

    async def upload(self, part: Part) -> list[dict[str, str | None]]:
        """Upload the files of a part; people see them only after `share`. Raise `SendError` or `ApiFailed`."""
        return [await self._upload(file, part.bytes_of(file)) for file in part.piece.files]

    async def _upload(self, file: OutgoingFile, data: bytes) -> dict[str, str | None]:
        ticket = await self._api.ask(
            "files.getUploadURLExternal",
            lambda web: web.files_getUploadURLExternal(filename=file.filename, length=len(data)),
        )
        url, file_id = answers.text(ticket.data, "upload_url"), answers.text(ticket.data, "file_id")
        if not (url and file_id):
            raise SendError(f"Slack did not return an upload address for the file {file.filename}.")
        if not is_slacks(url, self._api.base_url):
            raise SendError(
                f"Slack returned an upload address outside Slack for the file {file.filename}.", permanent=True
            )
        try:
            async with self._api.session.post(url, data=data, allow_redirects=False) as response:
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise SendError(f"The file {file.filename} did not reach Slack.") from None
        if status != 200:  # noqa: PLR2004  (HTTP's own number)
            text = f"Slack did not accept the file {file.filename}: status {status}."
            raise SendError(text, permanent=status in _REFUSED)
        return {"id": file_id, "title": file.filename}

    async def share(self, uploads: Sequence[dict[str, str | None]], channel: str, thread: str) -> None:
        """Show uploaded files in a channel. Raise `ApiFailed`."""
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
            f"Slack did not deliver the file: status {status}.",
            retry_after=float(pause) if pause.isdecimal() else None,
        )
    if status != 200:  # noqa: PLR2004
        raise FetchError(f"Slack did not deliver the file: status {status}.", permanent=True)
    if response.content_type == "text/html" and kind != "text/html":
        raise FetchError("Slack showed its login page in place of the file: the bot needs files:read.", permanent=True)


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        data += chunk
        if len(data) > max_bytes:
            raise FetchError(f"The file is larger than {max_bytes} bytes.", permanent=True)
    return bytes(data)
