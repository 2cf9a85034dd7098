"""A server at an address of the configuration, by streamable HTTP; no other address is ever dialled.

The package's own client reads answers whole, so they are bounded here, below it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

#: Bytes of one answer, or of one event of a stream.
MAX_ANSWER = 4 * 1024 * 1024
_MAX_CONNECTIONS = 20
#: Seconds for everything but the answer itself, for which each call has its own limit.
_PATIENCE = 30.0
_FIRST_REFUSAL = 400


class Door(httpx2.AsyncBaseTransport):
    """Limits answers, refuses compressed ones, and remembers whether the last one was a refusal, which the package
    does not report."""

    def __init__(self) -> None:
        limits = httpx2.Limits(max_connections=_MAX_CONNECTIONS)
        self._inner = httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)
        self.refusal: int | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        self.refusal = response.status_code if response.status_code >= _FIRST_REFUSAL else None
        endless = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        most = 0 if packed else None if endless else MAX_ANSWER
        if most is not None:
            response.stream = _Bounded(response.stream, most)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise httpx2.StreamError("The answer is too large, or compressed without a request for it.")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def address(url: str, headers: Mapping[str, str], door: Door) -> Transport:
    """The transport to that address, with these headers on every request."""
    return _open(url, headers, door)


@contextlib.asynccontextmanager
async def _open(url: str, headers: Mapping[str, str], door: Door) -> AsyncIterator[Any]:
    timeout = httpx2.Timeout(_PATIENCE, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=door, trust_env=False) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_ANSWER) as streams,
    ):
        yield streams
