"""The only way to fetch addresses from users and models (implemented in `arvis/net`, passed in by `app`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


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
