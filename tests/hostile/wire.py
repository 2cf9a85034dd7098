"""One exchange of a server that may break HTTP: the request, and any bytes as the answer."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.hostile.formats import Format

#: Maximum bytes of a request: a history with replies of the maximum size must fit.
_LARGEST_REQUEST = 64 * 1024 * 1024

GOOD = "All is well."


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def key(self) -> str:
        """Return the secret that the client sent."""
        sent = (self.headers.get(name, "") for name in ("authorization", "x-api-key", "x-goog-api-key"))
        return next((value.removeprefix("Bearer ") for value in sent if value), "")


async def requests(reader: asyncio.StreamReader) -> AsyncIterator[Request]:
    """Yield the requests of one connection until it ends."""
    while True:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return
        first, *lines = head.rstrip().split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        assert size <= _LARGEST_REQUEST
        yield Request(first.split(" ")[1], headers, await reader.readexactly(size))


class Wire:
    """The answer to one request. `number` counts the requests of one message from 1; `rng` depends on case and
    message."""

    def __init__(
        self,
        *,
        request: Request,
        format_: Format,
        number: int,
        rng: Random,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.request = request
        self.format = format_
        self.number = number
        self.rng = rng
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes. Raise `ConnectionError` if the client has left."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int = 200, headers: Mapping[str, str] | None = None, *, raw: bytes = b"") -> None:
        """Send the status line and the headers. `raw` are further header lines, sent unchanged."""
        given = {"Content-Type": self.format.content_type, **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        await self.send(f"HTTP/1.1 {status} Because\r\n{lines}".encode("latin-1", "replace") + raw + b"\r\n")

    async def body(self, data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send a complete answer."""
        await self.head(status, {"Content-Length": str(len(data)), **(headers or {})})
        await self.send(data)

    async def stream(self, chunks: Iterable[bytes], headers: Mapping[str, str] | None = None) -> None:
        """Send an answer in chunks, with a correct end."""
        await self.begin_stream(headers)
        for chunk in chunks:
            await self.chunk(chunk)
        await self.send(b"0\r\n\r\n")

    async def begin_stream(self, headers: Mapping[str, str] | None = None) -> None:
        await self.head(200, {"Transfer-Encoding": "chunked", **(headers or {})})

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def good(self) -> None:
        await self.stream(self.format.answer(GOOD[:5], GOOD[5:]))

    async def fail(self, status: int, words: Any = "no", headers: Mapping[str, str] | None = None) -> None:
        """Send an error with the format's error object."""
        document = json.dumps(self.format.error(status, words)).encode()
        await self.body(document, status, {"Content-Type": "application/json", **(headers or {})})

    async def hang(self) -> None:
        """Send nothing more until the client has left."""
        while await self._reader.read(65_536):
            pass

    def reset(self) -> None:
        """Reset the connection (RST)."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()
