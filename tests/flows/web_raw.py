"""Requests as no client of HTTP would send them, byte by byte, and their answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import h11

from tests.flows.web_server import Site


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str | None:
        """The code of the error, in whichever form the route speaks."""
        try:
            found: Any = json.loads(self.body)["error"]["code"]
        except (ValueError, KeyError, TypeError):
            return None
        return str(found)


async def ask_raw(site: Site, line: str, *headers: tuple[str, str], host: str | None = None) -> RawAnswer:
    """`line` is method and target. Without `host` the site's own is sent."""
    lines = [f"{line} HTTP/1.1", f"Host: {host or site.url.removeprefix('http://')}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        async with asyncio.timeout(10):
            return _answer(line.partition(" ")[0], await reader.read())
    finally:
        writer.close()


def _answer(method: str, data: bytes) -> RawAnswer:
    """Of a socket that opened only the 101."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    client.receive_data(b"")
    status, headers, body = 0, {}, bytearray()
    while True:
        match client.next_event():
            case (
                h11.Response(status_code=status, headers=found)
                | h11.InformationalResponse(status_code=status, headers=found)
            ):
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in found}
            case h11.Data(data=piece):
                body += piece
            case _:
                return RawAnswer(status, headers, bytes(body))
