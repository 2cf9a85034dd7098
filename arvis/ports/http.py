"""The HTTP client for providers and tools, and the only way to fetch addresses from users and models (both
implemented in `arvis/net`, passed in by `app`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer: `url` after all redirects, `content_type` in lower case without parameters, and at most the
    requested number of bytes; `truncated` if there were more. `charset` as the server reports it, if it does."""

    url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes
    truncated: bool


class Fetcher(Protocol):
    async def fetch(
        self,
        url: str,
        *,
        max_bytes: int = 2_000_000,
        timeout: float = 15.0,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """GET a public address over http or https. Raises `FetchRefused` for addresses that are not allowed, and
        `FetchFailed` without an answer (both `ToolError`). `timeout` is in seconds, for the whole exchange. `headers`
        are sent to the host of this address only; redirects to other hosts do not get them."""
        ...


class HttpError(Exception):
    """The exchange failed before the answer was complete. `timeout`: it took too long, else the connection broke;
    `spent`: the time limit of the whole exchange has passed, not only that of a silence; `too_large`: the answer
    exceeded `max_bytes`."""

    def __init__(self, text: str, *, timeout: bool = False, too_large: bool = False, spent: bool = False) -> None:
        super().__init__(text)
        self.timeout = timeout
        self.too_large = too_large
        self.spent = spent


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file of a form, under the `name` of its field."""

    name: str
    filename: str
    content_type: str
    data: bytes = field(repr=False)


class HttpResponse(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer; names ignore case."""
        ...

    async def body(self) -> bytes:
        """Return the whole answer, at most `max_bytes`; raises `HttpError`."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the answer as it arrives, at most `max_bytes` in all; raises `HttpError`."""
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
        """POST a JSON document. `timeout` limits the whole exchange, `idle_timeout` the silence between two pieces,
        both in seconds. Entering raises `HttpError` if no answer begins."""
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
        """POST a form with files (`multipart/form-data`), with the limits of `post`."""
        ...

    def get(
        self, url: str, *, headers: Mapping[str, str], timeout: float, idle_timeout: float, max_bytes: int
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """GET a document, with the limits of `post`."""
        ...
