"""The endpoint of a remote browser: the address of its DevTools, in parts."""

from __future__ import annotations

import base64
from dataclasses import field
from urllib.parse import unquote, urlsplit

from arvis.domain.dataclass import dataclass

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint. `discover` is True for an HTTP address: the address of the web socket is then requested from it.
    Paths, queries and headers may contain keys, so the repr leaves them out."""

    host: str
    port: int
    tls: bool
    discover: bool
    path: str = field(repr=False)
    query: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The host and the port, without secrets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_endpoint(url: str) -> Endpoint:
    """Return the parts of an address that the configuration has checked. A user and a password become a header."""
    parts = urlsplit(url)
    port = parts.port or _PORTS[parts.scheme]
    headers = {"Host": parts.netloc.rpartition("@")[2]}
    if parts.username is not None or parts.password is not None:
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    return Endpoint(
        parts.hostname or "",
        port,
        parts.scheme in {"https", "wss"},
        parts.scheme in {"http", "https"},
        parts.path,
        parts.query,
        headers,
    )
