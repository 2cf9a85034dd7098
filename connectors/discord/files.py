"""Fetches the files that people attached, only from Discord's servers.

An address on Discord's file servers is valid for about a day. After that, the message is read again for a new address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import aiohttp
import yarl

from arvis.ports.connector import FetchError
from connectors import answers
from connectors.discord.client import REQUEST_ERRORS, send_error
from connectors.discord.rest import Rest

_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
_STALE = frozenset({401, 403, 404, 410})
_TIMEOUT = aiohttp.ClientTimeout(total=300, connect=20, sock_read=30)
_CHUNK = 65_536


def source_of(channel: str, message: str, file: Mapping[str, Any]) -> str:
    """Return the source that `fetch` needs: the file's current address, and its message, which is read again for a
    new address."""
    return json.dumps([str(channel), str(message), str(file["id"]), str(file["url"])])


class Files:
    """A client that fetches files from Discord's file servers, and from the host of the API (`api_url`)."""

    def __init__(self, *, rest: Rest, api_url: str) -> None:
        self._rest = rest
        self._home = yarl.URL(api_url).origin()
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        try:
            channel, message, file, url = json.loads(source)
        except (ValueError, TypeError):
            raise FetchError(
                "The stored reference of this file cannot be read. Send the file again.", permanent=True
            ) from None
        try:
            found = await self._get(url, max_bytes)
            if found is None:
                found = await self._get(await self._renewed(channel, message, file), max_bytes)
        except REQUEST_ERRORS as error:
            reason = send_error(error)
            raise FetchError(str(reason), permanent=reason.permanent, retry_after=reason.retry_after) from None
        if found is None:
            raise FetchError("Discord no longer has this file.", permanent=True)
        return found

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _get(self, url: str, max_bytes: int) -> bytes | None:
        """Return the content of the file; None if the address is invalid or has expired."""
        async with self._open().get(self._checked(url), allow_redirects=False) as response:
            if response.status in _STALE:
                return None
            if response.status != HTTPStatus.OK:
                raise FetchError(f"Discord answered with status {response.status}.", retry_after=_wait(response))
            return await _body(response, max_bytes)

    async def _renewed(self, channel: str, message: str, file: str) -> str:
        path = f"/channels/{{channel_id}}/messages/{int(message)}"
        found = await self._rest.request("GET", path, channel_id=channel)
        attachments = answers.mappings(answers.value(found, "attachments", kind=list))
        if attachments is None:
            raise FetchError("Discord did not return the files of the message.")
        for attachment in attachments:
            if answers.text(attachment, "id") == file:
                return answers.text(attachment, "url")
        raise FetchError("The file was removed from its message.", permanent=True)

    def _checked(self, url: str) -> yarl.URL:
        try:
            address = yarl.URL(url)
            ours = address.absolute and address.origin() == self._home
        except (ValueError, TypeError):
            raise FetchError("The stored address of this file is invalid. Send it again.", permanent=True) from None
        if ours or (address.scheme == "https" and address.host in _HOSTS and address.is_default_port()):
            return address
        raise FetchError("The file is not on Discord's servers.", permanent=True)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar())
        return self._session


async def _body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    too_large = FetchError(f"The file is larger than {max_bytes} bytes.", permanent=True)
    if (response.content_length or 0) > max_bytes:
        raise too_large
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > max_bytes:
            raise too_large
    return bytes(body)


def _wait(response: aiohttp.ClientResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None
