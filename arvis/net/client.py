"""The shared HTTP client of the providers: aiohttp behind `ports/http.py` (ADR 0005).

It reuses connections for later calls, but stores no cookies. It follows no redirects, and uses the environment's
proxies only if `trust_env` is set. It does not interpret answers. Its errors name only the host, because a URL or a
header may contain a secret.
"""

from __future__ import annotations

import json as json_format
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from arvis.domain.regex import regex
from arvis.ports.http import FormFile, HttpError, HttpResponse

#: The size in bytes of the system's receive buffer of a connection.
_RECEIVED = 32_768

_HOST = regex(r"https?://(?:[^/?#]*@)?([^/?#]+)")


@asynccontextmanager
async def open_http_client(*, trust_env: bool = False) -> AsyncIterator[AiohttpClient]:
    """Yield the client, and close its connections at the end. `trust_env`: obey HTTP_PROXY and similar variables."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(socket_factory=_socket), cookie_jar=aiohttp.DummyCookieJar(), trust_env=trust_env
    ) as session:
        yield AiohttpClient(session=session)


class AiohttpClient:
    """Implements `HttpClient` with one session and a pool of connections."""

    def __init__(self, *, session: aiohttp.ClientSession) -> None:
        self._session = session

    @asynccontextmanager
    async def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        json: Mapping[str, Any],
        timeout: float,
        idle_timeout: float,
        max_bytes: int,
    ) -> AsyncIterator[HttpResponse]:
        # Lone surrogates have no UTF-8 form. A question mark in the prompt is better than a failed call.
        text = json_format.dumps(json, ensure_ascii=False, separators=(",", ":"))
        content = text.encode("utf-8", "replace")
        headers = {"Content-Type": "application/json", **headers}
        limits = aiohttp.ClientTimeout(total=timeout, sock_read=idle_timeout)
        async with self._exchange(
            "POST", url, content=content, headers=headers, limits=limits, max_bytes=max_bytes
        ) as response:
            yield response

    @asynccontextmanager
    async def post_form(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        fields: Mapping[str, str],
        files: Sequence[FormFile],
        timeout: float,
        idle_timeout: float,
        max_bytes: int,
    ) -> AsyncIterator[HttpResponse]:
        form = aiohttp.FormData(dict(fields))
        for file in files:
            form.add_field(file.name, file.data, filename=file.filename, content_type=file.content_type)
        limits = aiohttp.ClientTimeout(total=timeout, sock_read=idle_timeout)
        async with self._exchange(
            "POST", url, content=form, headers=headers, limits=limits, max_bytes=max_bytes
        ) as response:
            yield response

    @asynccontextmanager
    async def get(
        self, url: str, *, headers: Mapping[str, str], timeout: float, idle_timeout: float, max_bytes: int
    ) -> AsyncIterator[HttpResponse]:
        limits = aiohttp.ClientTimeout(total=timeout, sock_read=idle_timeout)
        async with self._exchange(
            "GET", url, content=None, headers=headers, limits=limits, max_bytes=max_bytes
        ) as response:
            yield response

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        url: str,
        *,
        content: bytes | aiohttp.FormData | None,
        headers: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
        max_bytes: int,
    ) -> AsyncIterator[HttpResponse]:
        host = _host(url)
        with as_http_error(host):
            response = await self._session.request(
                method, url, data=content, headers=headers, allow_redirects=False, timeout=limits
            )
        try:
            yield AiohttpResponse(response=response, host=host, max_bytes=max_bytes)
        finally:
            # If the answer was read to its end, the connection is already back in the pool. Otherwise the connection
            # cannot be reused, and is closed here.
            response.close()


class AiohttpResponse:
    """An answer that can be read once, in pieces or whole. `max_bytes` counts decompressed bytes."""

    def __init__(self, *, response: aiohttp.ClientResponse, host: str, max_bytes: int) -> None:
        self._response = response
        self._host = host
        self._left = max_bytes

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def body(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        with as_http_error(self._host):
            chunk = await self._response.content.readany()
        if not chunk:
            raise StopAsyncIteration
        self._left -= len(chunk)
        if self._left < 0:
            raise HttpError(f"the answer of {self._host} is larger than allowed", too_large=True)
        return chunk


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket with a small receive buffer. All bytes that have arrived are parsed in one step, and a large
    buffer could contain a hundred thousand tiny pieces, which would block the event loop."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    return made


def _host(url: str) -> str:
    """Return the host for error texts, without the user and password that a URL may contain."""
    found = _HOST.match(url)
    return found[1] if found else "the given address"


def _in_words(error: Exception) -> str:
    """Return a short description of a failed connection for people. It depends only on the type of the error."""
    match error:
        case aiohttp.ServerDisconnectedError():
            return "it was closed before an answer came"
        case aiohttp.ClientPayloadError():
            return "it was closed in the middle of the answer"
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return "the answer does not come from a web server"
        case OSError(strerror=str(text)):
            return text
        case _:
            return "it was closed"


@contextmanager
def as_http_error(host: str) -> Iterator[None]:
    """Convert errors of the HTTP library inside the block to `HttpError`. The texts of these errors are dropped,
    because they may quote the URL or headers."""
    try:
        yield
    except TimeoutError as error:
        # A `ServerTimeoutError` means that the server was silent for too long. Any other `TimeoutError` means that the
        # total time is over.
        spent = not isinstance(error, aiohttp.ServerTimeoutError)
        raise HttpError(f"{host} took too long to answer", timeout=True, spent=spent) from None
    except aiohttp.ClientSSLError:
        raise HttpError(f"no secure connection to {host}: its certificate or its TLS is not accepted") from None
    except aiohttp.ClientConnectorError as error:
        raise HttpError(f"no connection to {host} ({error.strerror or 'it was closed at once'})") from None
    except aiohttp.InvalidURL:
        raise HttpError(f"{host} is not a valid HTTP address") from None
    except (aiohttp.ClientError, HttpProcessingError, ConnectionError) as error:
        raise HttpError(f"the connection to {host} broke ({_in_words(error)})") from None
    except RuntimeError:
        # aiohttp raises this error if the connection broke before the remaining bytes of the answer were requested.
        raise HttpError(f"the connection to {host} broke (it was closed)") from None
    except ValueError:
        raise HttpError(f"a header of the request to {host} contains invalid characters") from None
