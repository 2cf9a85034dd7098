"""The proxy of a browser (SOCKS 5, RFC 1928): the browser's only way to the network.

The browser runs in a network namespace of its own. The proxy listens on a socket of that namespace, so the machine itself
has no further port. Names are looked up here, once for each connection, and only checked addresses are used.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address

from arvis.domain.errors import FetchRefused, ToolError
from arvis.ports.http import Dialer

_VERSION = 5
_NO_LOGIN, _NO_METHOD = 0, 255
_CONNECT = 1
_IPV4 = 1
_DONE, _NOT_ALLOWED, _UNREACHABLE, _UNKNOWN_COMMAND = 0, 2, 4, 7

#: The maximum number of connections of a browser at a time, and the seconds in which a request must be complete.
_MOST_CONNECTIONS = 256
_PATIENCE = 10.0
_PIECE = 65_536
_MOST_REFUSALS = 50


class _NoRequest(Exception):
    """The signal that the browser did not send a request that the proxy understands."""


class Proxy:
    """A proxy on a listening socket. `refusals` has the reasons of the hosts whose last request was refused."""

    def __init__(self, *, dialer: Dialer) -> None:
        self._dialer = dialer
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.refusals: OrderedDict[str, str] = OrderedDict()

    async def start(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=_PIECE)

    def stop(self) -> None:
        """Accept no more connections, and end the open ones."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the server starts a task for each connection
        self._open.add(task)
        try:
            if len(self._open) <= _MOST_CONNECTIONS:
                await self._talk(reader, writer)
        except (_NoRequest, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # only `stop` cancels it, and the server of Python 3.11 logs a cancelled task as an error
        finally:
            self._open.discard(task)
            await _close(writer)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_PATIENCE):
            host, port = await _request(reader, writer)
        try:
            far_reader, far_writer = await self._dialer.connect(host, port)
        except FetchRefused as refused:
            self.refusals[host] = refused.what
            while len(self.refusals) > _MOST_REFUSALS:
                self.refusals.popitem(last=False)
            await _reply(writer, _NOT_ALLOWED)
            return
        except ToolError:
            self.refusals.pop(host, None)
            await _reply(writer, _UNREACHABLE)
            return
        self.refusals.pop(host, None)
        try:
            await _reply(writer, _DONE)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, far_writer))
                both.create_task(_pump(far_reader, writer))
        except* OSError:
            pass
        finally:
            await _close(far_writer)


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    """Return the host and the port of a request to connect. Raise `_NoRequest` for other requests."""
    version, methods = await reader.readexactly(2)
    offered = await reader.readexactly(methods)
    if version != _VERSION:
        raise _NoRequest
    if _NO_LOGIN not in offered:
        writer.write(bytes((_VERSION, _NO_METHOD)))
        raise _NoRequest
    writer.write(bytes((_VERSION, _NO_LOGIN)))
    version, command, _, kind = await reader.readexactly(4)
    host = await _host(reader, kind)
    port = int.from_bytes(await reader.readexactly(2))
    if version != _VERSION or command != _CONNECT:
        await _reply(writer, _UNKNOWN_COMMAND)
        raise _NoRequest
    return host, port


async def _host(reader: asyncio.StreamReader, kind: int) -> str:
    match kind:
        case 1:  # an IPv4 address
            return str(IPv4Address(await reader.readexactly(4)))
        case 4:  # an IPv6 address
            return str(IPv6Address(await reader.readexactly(16)))
        case 3:  # a name
            (length,) = await reader.readexactly(1)
            return (await reader.readexactly(length)).decode("ascii", "replace")
        case _:
            raise _NoRequest


async def _reply(writer: asyncio.StreamWriter, code: int) -> None:
    """Send the result. The address in it is not used by browsers, so it is empty."""
    writer.write(bytes((_VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0)))
    await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        async with asyncio.timeout(1.0):
            await writer.wait_closed()
