"""Misbehaviour that is the same in all formats: statuses, headers, connections, encodings."""

from __future__ import annotations

import asyncio
import base64
import gzip
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial

from tests.hostile.case import Case
from tests.hostile.wire import Wire

_JSON = {"Content-Type": "application/json"}
_MEGABYTE = 1 << 20


# -- statuses -----------------------------------------------------------------------------------------------


async def _status(wire: Wire, status: int) -> None:
    await wire.fail(status)


async def _redirect(wire: Wire) -> None:
    await wire.body(b"", 301, {"Location": f"http://{wire.request.headers['host']}/trap"})


async def _no_content(wire: Wire) -> None:
    await wire.head(204)


async def _continues(wire: Wire) -> None:
    """Send many interim answers. HTTP does not limit their number."""
    await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)
    await wire.good()


async def _continues_endlessly(wire: Wire) -> None:
    while True:
        await wire.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 1_000)
        await asyncio.sleep(0.001)


async def _wait(wire: Wire, status: int, value: str | None) -> None:
    await wire.fail(status, headers={} if value is None else {"Retry-After": value})


async def _date(wire: Wire) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=3)
    await wire.fail(429, headers={"Retry-After": format_datetime(soon, usegmt=True)})


# -- harmful error texts ------------------------------------------------------------------------------------


async def _error_page(wire: Wire) -> None:
    await wire.body(b"<html><h1>Bad gateway" + b"<p>" * 10_000, 502, {"Content-Type": "text/html"})


async def _error_large(wire: Wire) -> None:
    await wire.fail(500, "x" * (10 * _MEGABYTE))


async def _error_endless(wire: Wire) -> None:
    await wire.head(500, _JSON)
    await wire.send(b'{"error": "')
    while True:
        await wire.send(b"x" * 65_536)


async def _error_slow(wire: Wire) -> None:
    await wire.head(500, {**_JSON, "Content-Length": "1000"})
    await wire.hang()


async def _error_deep(wire: Wire) -> None:
    await wire.body(b'{"error": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", 500, _JSON)


async def _error_of(wire: Wire, body: bytes) -> None:
    await wire.body(body, 400, _JSON)


async def _echo(wire: Wire, form: str) -> None:
    """Fail with an error text that contains the key."""
    key = wire.request.key
    forms = {"plain": key, "base64": base64.b64encode(key.encode()).decode(), "hex": key.encode().hex()}
    await wire.fail(400, f"you sent {forms[form]}, and in my headers {dict(wire.request.headers)}"[:60_000])


async def _echo_model(wire: Wire) -> None:
    """Send the key as the name of the model and as the reason for the end."""
    chunks = wire.format.answer("Hi.", reason=wire.request.key)
    await wire.stream(chunk.replace(b'"hostile"', b'"' + wire.request.key.encode() + b'"') for chunk in chunks)


async def _echo_refusal(wire: Wire) -> None:
    await wire.stream([*wire.format.framed(*wire.format.refusal(f"no, {wire.request.key}")), *wire.format.marks])


async def _control_characters(wire: Wire) -> None:
    await wire.fail(400, "\x1b[31mred\x00\r\nSet-Cookie: a\x07\u202e\ud800 <script>")


async def _error_in_success(wire: Wire) -> None:
    await wire.stream([*wire.format.framed(wire.format.error(500, "inside"))])


async def _error_midway(wire: Wire) -> None:
    documents = [*wire.format.begin, wire.format.text("half "), wire.format.error(500, "midway")]
    await wire.stream([*wire.format.framed(*documents), *wire.format.answer("more")])


# -- silence and ends ---------------------------------------------------------------------------------------


async def _hang(wire: Wire, after: str) -> None:
    chunks = wire.format.answer("Hello", " there")
    if after == "half a header":
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-T")
    elif after != "nothing":
        await wire.begin_stream()
        for chunk in chunks[: len(chunks) // 2] if after == "half" else []:
            await wire.chunk(chunk)
    await wire.hang()


async def _drip(wire: Wire) -> None:
    """Send a short answer byte by byte."""
    await wire.head(200, {"Connection": "close"})
    for chunk in wire.format.answer("Hi"):
        for byte in chunk:
            await wire.send(bytes([byte]))
            await asyncio.sleep(0.001)
    wire.close()


async def _drip_endlessly(wire: Wire) -> None:
    """Send an endless answer without text, often enough to avoid the timeout for silence."""
    await wire.begin_stream()
    while True:
        await wire.chunk(b" " if wire.format.lines else b":")
        await asyncio.sleep(0.2)


async def _drip_headers(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await wire.send(b"X: y\r\n")
        await asyncio.sleep(0.2)


async def _end(wire: Wire, after: str, *, reset: bool) -> None:
    if after == "half a header":
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-T")
    if after in {"headers", "half"}:
        await wire.begin_stream()
    if after == "half":
        await wire.chunk(b"".join(wire.format.answer("Hello", " there"))[:-40])
    await asyncio.sleep(0.02)
    wire.reset() if reset else wire.close()


# -- no HTTP ------------------------------------------------------------------------------------------------


async def _raw(wire: Wire, data: bytes) -> None:
    await wire.send(data)
    wire.close()


async def _large_headers(wire: Wire) -> None:
    await wire.head(raw=b"X-Large: " + b"x" * _MEGABYTE + b"\r\n")
    wire.close()


async def _endless_headers(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await wire.send(b"X-More: and more\r\n" * 1_000)


async def _endless_status(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 ")
    while True:
        await wire.send(b"O" * 65_536)


async def _header(wire: Wire, line: bytes) -> None:
    await wire.head(raw=line)
    await wire.send(b"".join(wire.format.answer("Hello")))
    wire.close()


async def _length(wire: Wire, length: str) -> None:
    body = b"".join(wire.format.answer("Hello", " there"))
    await wire.head(200, {"Content-Length": str(len(body) + int(length)) if length.lstrip("-+").isdigit() else length})
    await wire.send(body)
    await asyncio.sleep(0.02)
    wire.close()


async def _chunked(wire: Wire, before: bytes, after: bytes = b"\r\n0\r\n\r\n") -> None:
    """Send a body whose chunks are framed incorrectly."""
    body = b"".join(wire.format.answer("Hello"))
    await wire.begin_stream()
    await wire.send(before.replace(b"SIZE", b"%x" % len(body)) + body + after)
    wire.close()


async def _endless_extension(wire: Wire) -> None:
    await wire.begin_stream()
    await wire.send(b"5;")
    while True:
        await wire.send(b"x" * 65_536)


async def _second_answer(wire: Wire) -> None:
    """Send bytes after the end of the body. They must not become the answer to the next request."""
    extra = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nsmuggled"
    await wire.body(b"".join(wire.format.answer("Hello")))
    await wire.send(extra)


# -- encodings ----------------------------------------------------------------------------------------------


def _bomb(megabytes: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b" " * _MEGABYTE) for _ in range(megabytes)) + packer.flush()


async def _gzip_bomb(wire: Wire) -> None:
    await wire.body(_bomb(512), headers={"Content-Encoding": "gzip"})


async def _gzip_nested(wire: Wire) -> None:
    await wire.body(gzip.compress(_bomb(256)), headers={"Content-Encoding": "gzip, gzip"})


async def _gzip(wire: Wire) -> None:
    """Send a correct gzip body that the client did not ask for."""
    await wire.body(gzip.compress(b"".join(wire.format.answer("Hello"))), headers={"Content-Encoding": "gzip"})


async def _encoding(wire: Wire, name: str) -> None:
    """Send a body that does not have the encoding in its header."""
    await wire.body(b"".join(wire.format.answer("Hello")), headers={"Content-Encoding": name})


async def _content_type(wire: Wire, name: str) -> None:
    await wire.stream(wire.format.answer("Hello", " there"), {"Content-Type": name})


async def _no_content_type(wire: Wire) -> None:
    body = b"".join(wire.format.answer("Hello"))
    await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


_STATUSES = (400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 500, 501, 502, 503, 504, 520, 529, 599)

_WAITS: Mapping[str, tuple[int, str | None]] = {
    "429": (429, None),
    "429-seconds": (429, "2"),
    "429-fraction": (429, "0.5"),
    "429-garbage": (429, "soon; or never"),
    "429-negative": (429, "-5"),
    "429-huge": (429, "9" * 300),
    "429-nan": (429, "nan"),
    "503-wait-short": (503, "1"),
    "503-wait-long": (503, "3000"),
}

_ENDS = {"nothing": "before-headers", "half a header": "in-headers", "headers": "after-headers", "half": "middle"}

_RAW = {
    "not-http": b"220 mail.example ESMTP ready\r\n",
    "http-0-9": b"All is well.",
    "http-2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "status-garbage": b"HTTP/1.1 abc OK\r\n\r\n",
    "status-999": b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
    "status-negative": b"HTTP/1.1 -200 OK\r\nContent-Length: 0\r\n\r\n",
    "null-bytes": b"\0" * 10_000,
}

_LINES = {
    "header-null": b"X-Null: a\0b\r\n",
    "header-no-colon": b"nonsense\r\n",
    "header-no-name": b": value\r\n",
    "header-latin": b"X-Latin: \xff\xfe\r\n",
    "header-folded": b"X-Folded: a\r\n b\r\n",
    "lengths-two": b"Content-Length: 5\r\nContent-Length: 50\r\n",
    "length-and-chunked": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "transfer-unknown": b"Transfer-Encoding: sideways\r\n",
    "upgrade": b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "cookies": b"Set-Cookie: a=b; Path=/\r\n" * 90,
}

CASES: Mapping[str, Case] = {
    **{f"status-{status}": Case(partial(_status, status=status)) for status in _STATUSES},
    "status-301": Case(_redirect),
    "status-204": Case(_no_content),
    "status-100": Case(_continues),
    "status-102-endless": Case(_continues_endlessly),
    **{
        name: Case(partial(_wait, status=status, value=value), parks=name != "503-wait-short")
        for name, (status, value) in _WAITS.items()
    },
    "429-date": Case(_date, parks=True),
    "error-page": Case(_error_page),
    "error-large": Case(_error_large),
    "error-endless": Case(_error_endless),
    "error-slow": Case(_error_slow),
    "error-deep": Case(_error_deep),
    "error-list": Case(partial(_error_of, body=b'{"error": [[1], {"message": 5}]}')),
    "error-number": Case(partial(_error_of, body=b'{"error": {"message": 5, "type": [], "code": {}, "details": 7}}')),
    "error-empty": Case(partial(_error_of, body=b"")),
    "error-null": Case(partial(_error_of, body=b"null")),
    "error-control-characters": Case(_control_characters),
    "error-key-echo": Case(partial(_echo, form="plain")),
    "error-key-echo-base64": Case(partial(_echo, form="base64")),
    "error-key-echo-hex": Case(partial(_echo, form="hex")),
    "key-as-names": Case(_echo_model),
    "key-in-refusal": Case(_echo_refusal),
    "error-in-success": Case(_error_in_success),
    "error-midway": Case(_error_midway),
    **{f"hang-{name}": Case(partial(_hang, after=after)) for after, name in _ENDS.items()},
    "drip": Case(_drip),
    "drip-endless": Case(_drip_endlessly),
    "drip-headers": Case(_drip_headers),
    **{f"reset-{name}": Case(partial(_end, after=after, reset=True)) for after, name in _ENDS.items()},
    **{f"close-{name}": Case(partial(_end, after=after, reset=False)) for after, name in _ENDS.items()},
    **{name: Case(partial(_raw, data=data)) for name, data in _RAW.items()},
    "headers-1mb": Case(_large_headers),
    "headers-endless": Case(_endless_headers),
    "status-line-endless": Case(_endless_status),
    **{name: Case(partial(_header, line=line)) for name, line in _LINES.items()},
    "length-too-long": Case(partial(_length, length="100")),
    "length-too-short": Case(partial(_length, length="-20")),
    "length-garbage": Case(partial(_length, length="many")),
    "length-huge": Case(partial(_length, length="9" * 30)),
    "chunk-size-garbage": Case(partial(_chunked, before=b"zz\r\n")),
    "chunk-size-huge": Case(partial(_chunked, before=b"f" * 16 + b"\r\n")),
    "chunk-size-negative": Case(partial(_chunked, before=b"-5\r\n")),
    "chunk-size-wrong": Case(partial(_chunked, before=b"7\r\n")),
    "chunk-no-end": Case(partial(_chunked, before=b"SIZE\r\n", after=b"\r\n")),
    "chunk-trailers": Case(partial(_chunked, before=b"SIZE\r\n", after=b"\r\n0\r\nX: y\r\nSet-Cookie: a=b\r\n\r\n")),
    "chunk-extension-endless": Case(_endless_extension),
    "second-answer": Case(_second_answer),
    "gzip": Case(_gzip),
    "gzip-bomb": Case(_gzip_bomb),
    "gzip-nested": Case(_gzip_nested),
    **{f"encoding-{name}": Case(partial(_encoding, name=name)) for name in ("gzip", "deflate", "br", "zstd", "rot13")},
    "type-html": Case(partial(_content_type, name="text/html")),
    "type-json": Case(partial(_content_type, name="application/json")),
    "type-picture": Case(partial(_content_type, name="image/png")),
    "type-utf-16": Case(partial(_content_type, name="text/event-stream; charset=utf-16")),
    "type-nonsense": Case(partial(_content_type, name=";;=,/")),
    "type-none": Case(_no_content_type),
}
