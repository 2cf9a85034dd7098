"""Requests that no HTTP client would send, byte by byte, and their responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.flows.web_server import Site


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """A response, with header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str | None:
        """Return the code of the error in either error format."""
        try:
            found: Any = json.loads(self.body)["error"]["code"]
        except (ValueError, KeyError, TypeError):
            return None
        return str(found)


async def ask_raw(site: Site, line: str, *headers: tuple[str, str], host: str | None = None) -> RawAnswer:
    """Send a request; `line` is its method and target. Without `host`, the site's own host is sent. The response to an
    upgrade is read without its body."""
    upgrade = any(name == "Upgrade" for name, _ in headers)
    lines = [f"{line} HTTP/1.1", f"Host: {host or site.url.removeprefix('http://')}"]
    lines += [f"Connection: {'Upgrade' if upgrade else 'close'}", *(f"{name}: {value}" for name, value in headers)]
    reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        async with asyncio.timeout(10):
            return _answer(await (reader.readuntil(b"\r\n\r\n") if upgrade else reader.read()))
    finally:
        writer.close()


def _answer(data: bytes) -> RawAnswer:
    """Split a response; a chunked body is not decoded."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    return RawAnswer(int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}, body)
