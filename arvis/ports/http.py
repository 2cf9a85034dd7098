"""The HTTP client for providers and tools (implemented in `arvis/net`, passed in by `app`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


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
