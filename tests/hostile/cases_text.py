"""Replies that are too large or empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat

from tests.hostile.case import Case
from tests.hostile.wire import Wire

_TEN_MEGABYTES = 10 << 20


async def _says(wire: Wire, text: str) -> None:
    await wire.stream(wire.format.answer(text))


async def _pieces(wire: Wire) -> None:
    """Send ten megabytes in a million pieces."""
    begin, end = (
        wire.format.framed(*wire.format.begin),
        wire.format.framed(*wire.format.end(wire.format.reason, (1, 1))),
    )
    [piece] = wire.format.framed(wire.format.text("0123456789"))
    await wire.stream([*begin, *([piece * 1_000] * 1_000), *end, *wire.format.marks])


async def _small_pieces(wire: Wire) -> None:
    """Send about as many pieces as a reply may have bytes."""
    [piece] = wire.format.framed(wire.format.text("x"))
    await wire.stream([*wire.format.framed(*wire.format.begin), *([piece * 512] * 500), *wire.format.answer("end")])


async def _empty_pieces(wire: Wire) -> None:
    """Send empty pieces: the reply does not grow, but each piece is work."""
    [piece] = wire.format.framed(wire.format.text(""))
    await _endless(wire, repeat(piece * 200))


async def _line(wire: Wire, size: int) -> None:
    """Send a line without an end."""
    await wire.begin_stream()
    await wire.chunk(b"" if wire.format.lines else b"data: ")
    for _ in range(size >> 16):
        await wire.chunk(b"x" * 65_536)
    await wire.send(b"0\r\n\r\n")


async def _endless_line(wire: Wire) -> None:
    await _endless(wire, repeat(b"x" * 65_536))


async def _endless_text(wire: Wire) -> None:
    [piece] = wire.format.framed(wire.format.text("And so on. "))
    await _endless(wire, repeat(piece))


async def _endless_comments(wire: Wire) -> None:
    await _endless(wire, repeat(wire.format.comment * 1_000))


async def _endless_blank_lines(wire: Wire) -> None:
    await _endless(wire, repeat(b"\n" * 65_536))


async def _endless_unknown(wire: Wire) -> None:
    """Send documents of an unknown type."""
    await _endless(wire, repeat(wire.format.frame(b'{"type": "news", "news": []}') * 100))


async def _endless(wire: Wire, chunks: Iterator[bytes]) -> None:
    await wire.begin_stream()
    for chunk in wire.format.framed(*wire.format.begin):
        await wire.chunk(chunk)
    for chunk in chunks:
        await wire.chunk(chunk)


async def _data_lines(wire: Wire) -> None:
    """Send one document in 500,000 lines, if the format splits documents into lines."""
    await wire.stream([b"data:\n" * 500_000 + b"\n", *wire.format.answer("end")])


async def _refuses(wire: Wire, words: str) -> None:
    await wire.stream([*wire.format.framed(*wire.format.begin, *wire.format.refusal(words)), *wire.format.marks])


_TEXTS = {
    "text-10mb": "x" * _TEN_MEGABYTES,
    "text-16mb": "x" * ((16 << 20) - 4_000),
    "text-10mb-wide": "é𝄞" * (_TEN_MEGABYTES // 6),
    "text-10mb-spaces": " " * _TEN_MEGABYTES,
    "text-10mb-lines": "\n" * (_TEN_MEGABYTES // 2),
    "text-marks": "[{," * 100_000,
    "tags-100000": "[MEMORY:sticky]x[/MEMORY]" * 10_000 + "[MEMORY" * 20_000 + "[[" * 70_000,
    "tags-open": "[CRON:" * 40_000,
    "tags-xml": "<thinking>" * 25_000,
    "fences": "```\n" * 60_000,
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>" * 1_000,
    "zero-width": "\u200b\u200e\ufeff" * 10_000,
    "right-to-left": "\u202eevil\u202c" * 1_000,
    "combining": "a" + "\u0301" * 100_000,
    "one-word": "a" * 260_000,
    "controls": "".join(map(chr, range(1, 32))) * 1_000,
    "answer-empty": "",
    "answer-spaces": "   \n\t ",
}

CASES: Mapping[str, Case] = {
    **{name: Case(partial(_says, text=text)) for name, text in _TEXTS.items()},
    "text-10mb-pieces": Case(_pieces),
    "text-small-pieces": Case(_small_pieces),
    "line-10mb": Case(partial(_line, size=_TEN_MEGABYTES)),
    "line-endless": Case(_endless_line),
    "stream-endless-text": Case(_endless_text),
    "stream-endless-empty-pieces": Case(_empty_pieces),
    "stream-endless-comments": Case(_endless_comments),
    "stream-endless-blank-lines": Case(_endless_blank_lines),
    "stream-endless-unknown": Case(_endless_unknown),
    "document-in-lines": Case(_data_lines),
    "refusal": Case(partial(_refuses, words="I would rather not.")),
    "refusal-10mb": Case(partial(_refuses, words="no " * (_TEN_MEGABYTES // 3))),
}
