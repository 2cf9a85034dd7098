"""Fetches the addresses that users and models give: aiohttp behind `ports/http.py`.

The fetcher looks up a name once, checks every address that it finds, and connects only to these addresses. It checks
every redirect in the same way before it follows it. It keeps no cookies, uses no proxy and sends no credentials of
Arvis. It decompresses bodies in pieces and within limits, because small compressed data may expand without end. It
accepts an answer only without an encoding, or with exactly one of the requested encodings.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from arvis.domain.errors import FetchFailed, FetchRefused
from arvis.net.client import as_http_error
from arvis.net.guard import FetchRules, IPAddress, Target, checked_addresses, read_address, read_rules, read_url
from arvis.ports.http import CheckedAddress, Connection, Fetched, HttpError

#: The value of `Accept-Encoding`.
ACCEPTED = "gzip, deflate"
#: The compression ratio is not checked for a body with fewer bytes than this, because a small page may consist mostly
#: of spaces.
_FREE = 65_536
_LARGEST_RATIO = 20
_LARGEST = 50_000_000
_PIECE = 65_536
#: Some servers send deflate without the zlib header. A zlib header has this value in the low four bits of its first
#: byte.
_ZLIB_METHOD = 8


class Unpacker:
    """A decompressor that collects at most `limit` bytes of a body. `full`: the body is longer than the limit.

    The constructor, `feed` and `finish` raise `FetchFailed`.
    """

    def __init__(self, *, encoding: str, limit: int) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise FetchFailed("The answer is compressed in a way that was not requested.")
        self._packed = self._encoding not in {"", "identity"}
        self._limit = min(limit, _LARGEST)
        self._inflater: zlib._Decompress | None = None
        self._taken = 0
        self._body = bytearray()

    @property
    def full(self) -> bool:
        return len(self._body) > self._limit

    def feed(self, chunk: bytes) -> None:
        if not self._packed:
            self._body += chunk[: self._limit + 1 - len(self._body)]
            return
        if self._taken > self._limit + _FREE:
            raise FetchFailed("The compressed answer is already larger than the limit for its content.")
        inflater = self._inflater = self._inflater or _inflater(self._encoding, chunk)
        while chunk and not self.full and not inflater.eof:
            before = len(chunk)
            self._body += _inflate(inflater, chunk, min(_PIECE, self._limit + 1 - len(self._body)))
            chunk = inflater.unconsumed_tail
            self._taken += before - len(chunk)
            if len(self._body) > max(_FREE, _LARGEST_RATIO * self._taken):
                raise FetchFailed(f"The answer expands more than {_LARGEST_RATIO} times when it is decompressed.")

    def finish(self) -> bytes:
        """Return the body. Call this after the last piece, or when `full` is true."""
        if self._inflater is not None and not self._inflater.eof and not self.full:
            raise FetchFailed("The answer ended early.")
        return bytes(self._body[: self._limit])


def _inflater(encoding: str, start: bytes) -> zlib._Decompress:
    if encoding != "deflate":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    wrapped = start[0] & 0x0F == _ZLIB_METHOD
    return zlib.decompressobj(wbits=zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


def _inflate(inflater: zlib._Decompress, chunk: bytes, room: int) -> bytes:
    try:
        return inflater.decompress(chunk, room)
    except zlib.error:
        raise FetchFailed("The answer is damaged and cannot be decompressed.") from None


#: A result of `getaddrinfo` to connect to: family, type, protocol, canonical name, socket address.
Peer = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]
#: Returns the addresses (as text) for a host name and a port. Raises OSError if there are none.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
#: Creates the socket for a connection to this peer. Raises OSError.
Dial = Callable[[Peer], socket.socket]

_MOST_REDIRECTS = 3
#: The seconds in which one address must accept a connection.
_CONNECTING = 10.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Lookups have separate threads, so that lookups that hang do not block other work.
_LOOKUP_THREADS = 4
_LONGEST_HEADER = 8190
_MOST_HEADERS = 100
_HEADERS = {
    "User-Agent": "Arvis",
    "Accept": "text/html, application/json;q=0.9, text/*;q=0.8, */*;q=0.5",
    "Accept-Encoding": ACCEPTED,
}


@asynccontextmanager
async def open_fetcher(*, allow: Iterable[str] = (), ports: Iterable[int] = (80, 443)) -> AsyncIterator[GuardedFetcher]:
    """Yield the fetcher. `allow` are the hosts that the operator exempts from the check, as `host` or `host:port`.
    `ports` are the ports that may be used at public hosts. Raise `ConfigError` if an entry of `allow` is invalid."""
    rules = read_rules(allow=allow, ports=ports)
    threads = ThreadPoolExecutor(max_workers=_LOOKUP_THREADS, thread_name_prefix="lookup")
    try:
        yield GuardedFetcher(rules=rules, resolve=system_resolver(threads))
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def system_resolver(threads: ThreadPoolExecutor) -> Resolve:
    """Return a function that asks the machine's resolver in one of these threads."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        return [str(peer[4][0]) for peer in found]

    return resolve


def open_socket(peer: Peer) -> socket.socket:
    return socket.socket(peer[0], peer[1], peer[2])


class GuardedFetcher:
    """Implements `Fetcher` (with aiohttp) and `Dialer`. `dial` creates every socket, so a test can see the address of
    each connection. `tls` replaces the machine's certificate authorities, but never disables the check of
    certificates."""

    def __init__(
        self, *, rules: FetchRules, resolve: Resolve, dial: Dial = open_socket, tls: ssl.SSLContext | None = None
    ) -> None:
        self._rules = rules
        self._resolve = resolve
        self._dial = dial
        self._tls = tls

    async def fetch(
        self,
        url: str,
        *,
        max_bytes: int = 2_000_000,
        timeout: float = 15.0,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        try:
            async with asyncio.timeout(timeout):
                return await self._follow(read_url(url, self._rules), max_bytes, headers or {})
        except TimeoutError:
            raise FetchFailed(f"No complete answer came within {timeout:g} seconds.") from None
        except HttpError as error:
            raise FetchFailed(f"No answer came: {error}.") from None

    async def checked(self, url: str) -> CheckedAddress:
        target = read_url(url, self._rules)
        addresses = tuple(str(each) for each in await self._addresses(target))
        return CheckedAddress(target.url, target.scheme, target.host, target.port, addresses, target.trusted)

    def check(self, url: str) -> str:
        return read_url(url, self._rules).url

    async def connect(self, host: str, port: int) -> Connection:
        bracketed = f"[{host}]" if ":" in host else host
        target = read_url(f"https://{bracketed}:{port}/", self._rules)
        addresses = await self._addresses(target)
        for address in addresses:
            family = _families(address)[1]
            connecting = self._dial((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port)))
            try:
                connecting.setblocking(False)
                async with asyncio.timeout(_CONNECTING):
                    await asyncio.get_running_loop().sock_connect(connecting, (str(address), port))
                return await asyncio.open_connection(sock=connecting)
            except OSError:  # `TimeoutError` is also an `OSError`
                connecting.close()
            except asyncio.CancelledError:
                connecting.close()
                raise
        raise FetchFailed(f"{target.host} accepts no connection on port {port}.")

    async def post(
        self, url: str, *, content: bytes, headers: Mapping[str, str], max_bytes: int, timeout: float
    ) -> Fetched:
        try:
            async with asyncio.timeout(timeout):
                target = read_url(url, self._rules)
                async with self._exchange("POST", target, headers, content) as response:
                    return await _read(response, target, max_bytes)
        except TimeoutError:
            raise FetchFailed(f"No complete answer came within {timeout:g} seconds.") from None
        except HttpError as error:
            raise FetchFailed(f"No answer came: {error}.") from None

    async def _follow(self, target: Target, max_bytes: int, headers: Mapping[str, str]) -> Fetched:
        asked = _origin(target)
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._ask(target, max_bytes, headers if _origin(target) == asked else {})
            if isinstance(answer, Fetched):
                return answer
            target = self._next(target, answer)
        raise FetchFailed(f"The address was redirected more than {_MOST_REDIRECTS} times.")

    def _next(self, target: Target, location: str) -> Target:
        try:
            joined = urljoin(target.url, location)
        except ValueError:
            raise FetchFailed(f"{target.host} redirects to an invalid address.") from None
        following = read_url(joined, self._rules)
        if (target.scheme, following.scheme) == ("https", "http"):
            raise FetchRefused(f"{target.host} redirects from https to http. Arvis does not follow such a redirect.")
        return following

    async def _ask(self, target: Target, max_bytes: int, headers: Mapping[str, str]) -> Fetched | str:
        """Return the answer, or the address of a redirect."""
        async with self._exchange("GET", target, headers, None) as response:
            return _elsewhere(response) or await _read(response, target, max_bytes)

    @asynccontextmanager
    async def _exchange(
        self, method: str, target: Target, headers: Mapping[str, str], content: bytes | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        addresses = await self._addresses(target)
        async with self._session(target, addresses) as session:
            with as_http_error(target.host):
                own = {name.title(): value for name, value in headers.items()}
                sent = {**_HEADERS, **own, "Accept-Encoding": ACCEPTED}  # the caller cannot choose the compression
                response = await session.request(
                    method, URL(target.url, encoded=True), headers=sent, data=content, allow_redirects=False
                )
            try:
                yield response
            finally:
                response.close()

    async def _addresses(self, target: Target) -> tuple[IPAddress, ...]:
        literal = read_address(target.host)
        if literal is not None:
            return (literal,)
        try:
            found = await self._resolve(target.host, target.port)
        except (OSError, UnicodeError):
            found = ()
        addresses = checked_addresses(target, found)
        if not addresses:
            raise FetchFailed(f"The host {target.host} has no address in DNS. Check the spelling of the address.")
        return addresses

    def _session(self, target: Target, addresses: Collection[IPAddress]) -> aiohttp.ClientSession:
        """Open a session for one request. Its connection is not kept, because the check of an address applies only to
        one request."""

        def dial(peer: Peer) -> socket.socket:
            if read_address(peer[4][0]) not in addresses:
                raise OSError("the address was not checked")
            return self._dial(peer)

        connector = aiohttp.TCPConnector(
            resolver=_Checked(host=target.host, addresses=addresses),
            use_dns_cache=False,
            force_close=True,
            ssl=True if self._tls is None else self._tls,
            socket_factory=dial,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),  # the time limit of `fetch` covers the whole request
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
            max_headers=_MOST_HEADERS,
        )


class _Checked(AbstractResolver):
    """A resolver for one name. It returns the addresses that were found and checked before."""

    def __init__(self, *, host: str, addresses: Collection[IPAddress]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if host != self._host:
            raise OSError("this name was not checked")
        return [_result(host, address, port) for address in self._addresses if family in _families(address)]

    async def close(self) -> None:
        """Do nothing: there is no resource to close."""


def _families(address: IPAddress) -> tuple[int, int]:
    return socket.AF_UNSPEC, socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 IPv4


def _result(host: str, address: IPAddress, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=_families(address)[1],
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )


def _origin(target: Target) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port


def _elsewhere(response: aiohttp.ClientResponse) -> str | None:
    """Return the address of a redirect; None for other answers. aiohttp returns bytes that are not ASCII as surrogates,
    which are decoded here."""
    location = response.headers.get("Location") if response.status in _REDIRECTS else None
    return location and location.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def _read(response: aiohttp.ClientResponse, target: Target, max_bytes: int) -> Fetched:
    """Return the answer, with at most `max_bytes` bytes of its body."""
    if response.status == HTTPStatus.SWITCHING_PROTOCOLS:
        raise FetchFailed(f"{target.host} wants to switch to a protocol other than HTTP.")
    unpacker = Unpacker(encoding=",".join(response.headers.getall("Content-Encoding", [])), limit=max_bytes)
    with as_http_error(target.host):
        async for chunk in response.content.iter_any():
            unpacker.feed(chunk)
            if unpacker.full:
                break
    return Fetched(
        url=target.url,
        status=response.status,
        content_type=response.content_type.lower() if "Content-Type" in response.headers else "",
        charset=response.charset,
        body=unpacker.finish(),
        truncated=unpacker.full,
    )
