"""A layer between a server and the protocol's package that counts and limits the server's messages.

The package starts a task for each message and keeps each question of the server until its answer is taken, so a
server that floods, or asks and never reads, would fill memory. The package also checks results by patterns that the
server chooses, which can take hours.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from arvis.ports.clock import Clock
from arvis.tools.mcp.offers import LinkLost

#: Questions of the server that may wait for our answer.
_MAX_OPEN = 64
#: Messages a second.
_MAX_RATE = 1_000


class News:
    """Events of a connection, for the one task that owns it."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self._lost: str | None = None

    def change(self) -> None:
        self._told.set()

    def lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._told.set()

    async def changed(self) -> None:
        """Wait until `change` is called. Raise `LinkLost` after `lose`."""
        await self._told.wait()
        self._told.clear()
        if self._lost is not None:
            raise LinkLost(self._lost)


@contextlib.asynccontextmanager
async def _guarding(transport: Transport, news: News, clock: Clock) -> AsyncIterator[Any]:
    async with transport as (read, write):
        count = _Open()
        yield _Incoming(read, count, news, clock), _Outgoing(write, count)


def guarded(transport: Transport, news: News, clock: Clock) -> Transport:
    return _guarding(transport, news, clock)


class _Open:
    """The number of questions of the server without an answer."""

    def __init__(self) -> None:
        self.number = 0


class _Incoming:
    def __init__(self, inner: Any, count: _Open, news: News, clock: Clock) -> None:
        self._inner = inner
        self._count = count
        self._news = news
        self._clock = clock
        self._since = clock.monotonic()
        self._seen = 0

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        await self._pace()
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except StopAsyncIteration:
            self._news.lose("it closed the connection")
            raise
        if isinstance(item, SessionMessage):
            self._look_at(item.message)
        return item

    async def receive(self) -> SessionMessage | Exception:
        return await self.__anext__()

    async def _pace(self) -> None:
        """Make a server that sends faster than the limit wait."""
        self._seen += 1
        if self._seen < _MAX_RATE:
            return
        early = 1.0 - (self._clock.monotonic() - self._since)
        if early > 0:
            await self._clock.sleep(early)
        self._seen, self._since = 0, self._clock.monotonic()

    def _look_at(self, message: object) -> None:
        match message:
            case JSONRPCRequest():
                self._count.number += 1
                if self._count.number > _MAX_OPEN:
                    self._news.lose("it asks without end and takes no answer")
                    raise StopAsyncIteration
            case JSONRPCResponse(result=dict() as result):
                # The protocol prescribes this for servers that name no type; the package refuses their results.
                result.setdefault("resultType", "complete")
                _drop_output_schemas(result.get("tools"))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)


def _drop_output_schemas(tools: object) -> None:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            tool.pop("outputSchema", None)


class _Outgoing:
    def __init__(self, inner: Any, count: _Open) -> None:
        self._inner = inner
        self._count = count

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._count.number -= 1

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)
