"""The only ways from the sandbox of a browser to the network.

The sandbox has a network namespace of its own. A relay listens on a socket of that namespace, so it opens no port on
the machine itself. The relay of a browser in the sandbox is a proxy (SOCKS 5, RFC 1928): it looks up the name once for
each connection, and connects only to checked addresses. The relay of a remote browser connects only to its endpoint.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from arvis.domain.errors import FetchRefused, ToolError
from arvis.ports.http import Connection, Dialer
from arvis.tools.browser.endpoint import Endpoint

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
    """The signal that the browser sent a request that the proxy does not support."""


class Relay:
    """A relay on a listening socket. `refusals` contains, for each host whose last request was refused, the reason."""

    def __init__(self) -> None:
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
            if len(self._open) <= _MOST_CONNECTIONS and (far := await self._far(reader, writer)) is not None:
                await _join((reader, writer), far)
        except (_NoRequest, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # only `stop` cancels the task, and Python 3.11 would log the cancellation as an error
        finally:
            self._open.discard(task)
            await _close(writer)

    async def _far(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection | None:
        """Open the connection to the destination of an accepted connection, and return it. Return None if the
        destination is refused or unreachable. Raise `OSError` or `_NoRequest`."""
        raise NotImplementedError

    async def permits(self, url: str) -> bool:  # noqa: ARG002 (a browser in the sandbox is not asked, but proxied)
        """Return whether a remote browser may send a request to an address."""
        return False

    def not_started(self, *, words: str = "", reason: str = "") -> str:
        """Return the error for a browser that does not start. `words` are the end of the program's standard error.
        `reason` is the reason that the program reported, as a part of a sentence."""
        return f"The browser does not start ({reason or words or 'it gave no reason'}). An operator can run `arvis doctor`."

    def note(self, host: str, refusal: str | None) -> None:
        """Store the reason why a host was refused. If `refusal` is None, delete the stored reason."""
        self.refusals.pop(host, None)
        if refusal is not None:
            self.refusals[host] = refusal
            while len(self.refusals) > _MOST_REFUSALS:
                self.refusals.popitem(last=False)


class Proxy(Relay):
    """A proxy to public hosts."""

    def __init__(self, *, dialer: Dialer) -> None:
        super().__init__()
        self._dialer = dialer

    async def _far(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection | None:
        async with asyncio.timeout(_PATIENCE):
            host, port = await _request(reader, writer)
        try:
            far = await self._dialer.connect(host, port)
        except FetchRefused as refused:
            self.note(host, refused.what)
            await _reply(writer, _NOT_ALLOWED)
            return None
        except ToolError:
            self.note(host, None)
            await _reply(writer, _UNREACHABLE)
            return None
        self.note(host, None)
        try:
            await _reply(writer, _DONE)
        except OSError:
            await _close(far[1])
            raise
        return far


class Tunnel(Relay):
    """A relay to the endpoint of a remote browser. `failure` is the reason if the last connection failed, as a part of a
    sentence. The owner has configured the endpoint, so its host may be private."""

    def __init__(self, *, endpoint: Endpoint, dialer: Dialer) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._dialer = dialer
        self.failure: str | None = None

    async def _far(self, *_: object) -> Connection | None:
        endpoint = self._endpoint
        try:
            async with asyncio.timeout(_PATIENCE):
                far = await asyncio.open_connection(
                    endpoint.host, endpoint.port, ssl=endpoint.tls or None, limit=_PIECE
                )
        except OSError as error:  # also `TimeoutError`, `ssl.SSLError` and `socket.gaierror`
            self.failure = _failure(error)
            return None
        self.failure = None
        return far

    def not_started(self, *, words: str = "", reason: str = "") -> str:  # noqa: ARG002 (it may contain the key of the endpoint)
        why = self.failure or reason or "the connection ended, or took too long"
        return (
            f"The remote browser at {self._endpoint.name} cannot be used: {why}. An operator checks that it runs and that "
            "`browser.endpoint` is its address; browser_open then connects again."
        )

    async def permits(self, url: str) -> bool:
        try:
            host = (urlsplit(url).hostname or "").removesuffix(".")
        except ValueError:  # the address is not valid
            return False
        try:
            await self._dialer.checked(url)
        except FetchRefused as refused:
            self.note(host, refused.what)
            return False
        except ToolError as unknown:
            self.note(host, unknown.what)
            return False
        self.note(host, None)
        return True


def _failure(error: OSError) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not valid: {error.verify_message}"
        case ssl.SSLError():
            return "it does not use TLS"
        case socket.gaierror():
            return "its name is not known"
        case TimeoutError():
            return "it does not answer"
        case _:
            return "it accepts no connection"


async def _join(near: Connection, far: Connection) -> None:
    """Pass the data of both connections on until both end."""
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_pump(near[0], far[1]))
            both.create_task(_pump(far[0], near[1]))
    except* OSError:
        pass
    finally:
        await _close(far[1])


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
    """Send the result of a request. Browsers ignore the address in it, so the address is empty."""
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
