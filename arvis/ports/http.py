"""The HTTP client for configured addresses (`HttpClient`), and the only way to fetch addresses that users or models
choose (`Fetcher`). `arvis/net` implements both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from arvis.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer to a fetch."""

    #: The address after all redirects.
    url: str
    status: int
    #: The media type of `body`, in lower case and without parameters.
    content_type: str
    #: The charset that the server reports; None if it reports no charset.
    charset: str | None
    body: bytes
    #: True if the answer was longer than the requested maximum, so that `body` contains only its beginning.
    truncated: bool


@dataclass(frozen=True, slots=True)
class CheckedAddress:
    """An address whose host has only permitted addresses."""

    url: str
    scheme: str
    host: str
    port: int
    #: The IP addresses that may be connected to.
    addresses: tuple[str, ...]
    #: True: the configuration names the host.
    trusted: bool


class Fetcher(Protocol):
    async def fetch(
        self,
        url: str,
        *,
        max_bytes: int = 2_000_000,
        timeout: float = 15.0,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """GET a public address over http or https. `timeout` limits the whole exchange, in seconds. `headers` are sent
        only to the host of `url`, not to other hosts after a redirect. Raise `FetchRefused` if the address is not
        allowed, and `FetchFailed` if no answer arrives; both are kinds of `ToolError`."""
        ...


#: A connection: the reader and the writer of asyncio.
Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Dialer(Protocol):
    """The only way to connect to hosts that users, models or web pages choose, for protocols other than `Fetcher`'s."""

    def check(self, url: str) -> str:
        """Return a public http or https address in its canonical form. The name is not looked up. Raise `FetchRefused`
        if the text shows that the address is not allowed."""
        ...

    async def checked(self, url: str) -> CheckedAddress:
        """Look up the host of an address. Raise `FetchRefused` if the host is not allowed, such as a private host, and
        `FetchFailed` if the host is not known; both are kinds of `ToolError`."""
        ...

    async def connect(self, host: str, port: int) -> Connection:
        """Connect to a public host. The name is looked up once, and only the checked addresses are used. Raise
        `FetchRefused` if the host or the port is not allowed, and `FetchFailed` if there is no connection; both are kinds
        of `ToolError`."""
        ...


class GuardedNetwork(Fetcher, Dialer, Protocol):
    """The access to hosts that users, models or web pages choose. It permits public hosts and hosts that the
    configuration names."""


class GuardedClient(Fetcher, Protocol):
    """A fetcher that also sends data to addresses that other servers have named."""

    async def post(
        self, url: str, *, content: bytes, headers: Mapping[str, str], max_bytes: int, timeout: float
    ) -> Fetched:
        """POST to an address under the rules of `fetch`. A redirect is not followed, but returned. Raise the same
        errors as `fetch`."""
        ...


class HttpError(Exception):
    """The failure of an exchange before the answer was complete. If no flag is set, the connection failed.

    - `timeout`: a time limit was exceeded.
    - `spent`: the exceeded time limit was the limit for the whole exchange, not the limit between two pieces of the
      answer.
    - `too_large`: the answer exceeded `max_bytes`.
    """

    def __init__(self, text: str, *, timeout: bool = False, too_large: bool = False, spent: bool = False) -> None:
        super().__init__(text)
        self.timeout = timeout
        self.too_large = too_large
        self.spent = spent


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file in a form."""

    #: The name of the form field that contains the file.
    name: str
    filename: str
    content_type: str
    data: bytes = field(repr=False)


class HttpResponse(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer. Their names are case-insensitive."""
        ...

    async def body(self) -> bytes:
        """Return the whole answer. Raise `HttpError`, for example if the answer exceeds `max_bytes`."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the answer as they arrive. Raise `HttpError` if the exchange fails, or if all pieces
        together exceed `max_bytes`."""
        ...


class HttpClient(Protocol):
    def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        json: Mapping[str, Any],
        timeout: float,
        idle_timeout: float,
        max_bytes: int,
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """POST a JSON document. `timeout` (seconds) limits the whole exchange. `idle_timeout` (seconds) limits the
        silence between two pieces of the answer. Entering the context manager raises `HttpError` if no answer
        begins."""
        ...

    def post_form(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        fields: Mapping[str, str],
        files: Sequence[FormFile],
        timeout: float,
        idle_timeout: float,
        max_bytes: int,
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """POST a form with files (`multipart/form-data`). The limits are as in `post`."""
        ...

    def get(
        self, url: str, *, headers: Mapping[str, str], timeout: float, idle_timeout: float, max_bytes: int
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """GET a document. The limits are as in `post`."""
        ...
