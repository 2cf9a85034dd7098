"""Documents that break the format, and streams that are cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.hostile.case import Case
from tests.hostile.formats import Document
from tests.hostile.wire import Wire

_MEGABYTE = 1 << 20


# -- cut ----------------------------------------------------------------------------------------------------


async def _cut(wire: Wire, at: int) -> None:
    """Send the first `at` bytes of the body and close the connection without the mark for its end."""
    body = _body(wire)
    await wire.begin_stream()
    await wire.chunk(body[: at % len(body)])
    wire.close()


async def _cut_somewhere(wire: Wire) -> None:
    await _cut(wire, wire.rng.randrange(1, len(_body(wire))))


async def _cut_in_character(wire: Wire) -> None:
    await _cut(wire, _body(wire).index("é".encode()) + 1)


async def _cut_in_string(wire: Wire) -> None:
    await _cut(wire, _body(wire).index(b"Hello") + 3)


async def _cut_between(wire: Wire) -> None:
    """Cut the stream after a complete piece of text."""
    *pieces, _ = wire.format.framed(*wire.format.begin, wire.format.text("Hello"), wire.format.text("x"))
    await _cut(wire, len(b"".join(pieces)))


async def _cut_before_mark(wire: Wire) -> None:
    """Omit the last byte of the documents and the format's end mark, but end the body correctly."""
    await wire.stream([_body(wire)[: -1 - len(wire.format.mark)]])


def _body(wire: Wire) -> bytes:
    return b"".join(wire.format.answer("Hello ", "é und ü", " there"))


# -- JSON ---------------------------------------------------------------------------------------------------


async def _instead(wire: Wire, text: bytes) -> None:
    """Send this text in the place of the second document, between good ones."""
    first, *rest = wire.format.answer("Hello", " there")
    await wire.stream([first, wire.format.frame(text), *rest])


async def _value(wire: Wire, text: bytes) -> None:
    """Send this text as the value of the piece of text."""
    marked = json.dumps(wire.format.text("MARK")).encode().replace(b'"MARK"', text)
    await wire.stream([*wire.format.framed(*wire.format.begin), wire.format.frame(marked), *wire.format.answer("end")])


async def _beside(wire: Wire, text: bytes) -> None:
    """Send a document with this text as an additional member."""
    plain = json.dumps(wire.format.text("Hello")).encode()
    await wire.stream([wire.format.frame(b'{"extra": %s, %s' % (text, plain[1:])), *wire.format.answer("end")])


async def _many_keys(wire: Wire) -> None:
    await _beside(wire, b"{" + b",".join(b'"%d":0' % number for number in range(1_000_000)) + b"}")


async def _some_keys(wire: Wire) -> None:
    """Send an object with 490,000 members, which no limit forbids."""
    await _beside(wire, b"{" + b",".join(b'"%d":0' % number for number in range(490_000)) + b"}")


async def _some_lists(wire: Wire) -> None:
    """Send 240,000 empty lists, which take much memory for few bytes."""
    await _beside(wire, b"[" + b",".join([b"[]"] * 240_000) + b"]")


async def _encoded(wire: Wire, encoding: str) -> None:
    await wire.stream([b"".join(wire.format.answer("Hello", " there")).decode().encode(encoding)])


# -- counts and ends ----------------------------------------------------------------------------------------


async def _usage(wire: Wire, usage: Any) -> None:
    await wire.stream(wire.format.answer("Hello", usage=usage))


async def _reason(wire: Wire, reason: Any) -> None:
    """Send this reason for the end; None means no reason."""
    end = wire.format.end(reason, (1, 1))
    documents = [*wire.format.begin, wire.format.text("Hello"), *end]
    await wire.stream([*wire.format.framed(*documents), *wire.format.marks])


async def _role(wire: Wire) -> None:
    good = b"".join(wire.format.answer("Hello"))
    await wire.stream([good.replace(b'"assistant"', b'"system"').replace(b'"model"', b'"system"')])


async def _twice(wire: Wire) -> None:
    await wire.stream(wire.format.answer("One.") + wire.format.answer("Two."))


async def _two_choices(wire: Wire) -> None:
    """Send two answers in each document, if the format has a list of answers."""
    documents = [*wire.format.begin, wire.format.text("Hello"), *wire.format.end(wire.format.reason, (1, 1))]
    await wire.stream([*wire.format.framed(*(_doubled(document) for document in documents)), *wire.format.marks])


def _doubled(document: Document) -> Document:
    return {name: value * 2 if isinstance(value, list) else value for name, value in document.items()}


async def _after_end(wire: Wire) -> None:
    more = wire.format.framed(wire.format.text(" and more"), {"error": {"message": "late"}})
    await wire.stream([*wire.format.answer("Hello"), *more, b"garbage \xff"])


async def _backwards(wire: Wire) -> None:
    await wire.stream(reversed(wire.format.answer("Hello", " there")))


async def _nothing(wire: Wire) -> None:
    await wire.stream([])


async def _mark_only(wire: Wire) -> None:
    await wire.stream([wire.format.mark or wire.format.comment])


async def _comments(wire: Wire) -> None:
    await wire.stream([wire.format.comment] * 1_000)


_DEEP = 100_000

_INSTEAD = {
    "json-malformed": b'{"a": }',
    "json-truncated": b'{"a": [1, 2',
    "json-comma": b'{"a": 1,}',
    "json-single-quotes": b"{'a': 1}",
    "json-two-documents": b"{} {}",
    "json-list": b"[]",
    "json-text": b'"Hello"',
    "json-number": b"5",
    "json-null": b"null",
    "json-empty-object": b"{}",
    "json-nan": b"NaN",
    "json-deep": b"[" * _DEEP + b"]" * _DEEP,
    "json-deep-objects": b'{"a":' * _DEEP + b"1" + b"}" * _DEEP,
    "json-open": b"[" * _DEEP,
    "json-null-characters": b"\0\0\0",
    "utf8-invalid": b'{"a": "\xff\xfe\xc3"}',
}

_VALUES = {
    "text-number": b"5",
    "text-list": b'["Hello"]',
    "text-object": b'{"a": "b"}',
    "text-null": b"null",
    "text-true": b"true",
    "text-nan": b"NaN",
    "json-lone-surrogates": b'"a\\ud800b\\udfff"',
    "json-null-escape": b'"a\\u0000b"',
    "json-bad-escape": b'"a\\x41b"',
    "json-raw-newline": b'"a\x01\tb"',
    "utf8-invalid-text": b'"a\xff\xc3(\xed\xa0\x80 b"',
    "utf8-overlong": b'"a\xc0\x80\xf8\x88\x80\x80\x80b"',
}

_BESIDE = {
    "json-infinity": b"[NaN, Infinity, -Infinity, 1e999]",
    "json-long-number": b"9" * 100_000,
    "json-long-float": b"1." + b"9" * 1_000_000,
    "json-twice-the-key": b"1, " + b'"extra": 2, ' * 10_000 + b'"extra": 3',
    "json-long-key": b'{"' + b"k" * _MEGABYTE + b'": 1}',
}

_USAGES: Mapping[str, Any] = {
    "none": None,
    "negative": -5,
    "huge": 10**30,
    "edge": 1 << 63,
    "float": 7.5,
    "text": "7",
    "list": [7],
    "object": {"a": 1},
    "true": True,
    "nan": float("nan"),
    "infinite": float("inf"),
}

_REASONS: Mapping[str, Any] = {
    "unknown": "got_bored",
    "none": None,
    "number": 5,
    "list": ["stop"],
    "long": "x" * 100_000,
    "null-character": "st\0p\ud800",
    "tools-without-tools": "tool_calls",
    "error": "error",
    "length": "length",
}

CASES: Mapping[str, Case] = {
    **{f"cut-{number}": Case(_cut_somewhere) for number in range(6)},
    "cut-first-byte": Case(partial(_cut, at=1)),
    "cut-last-byte": Case(partial(_cut, at=-1)),
    "cut-in-character": Case(_cut_in_character),
    "cut-in-string": Case(_cut_in_string),
    "cut-between": Case(_cut_between),
    "cut-before-mark": Case(_cut_before_mark),
    **{name: Case(partial(_instead, text=text)) for name, text in _INSTEAD.items()},
    **{name: Case(partial(_value, text=text)) for name, text in _VALUES.items()},
    **{name: Case(partial(_beside, text=text)) for name, text in _BESIDE.items()},
    "json-many-keys": Case(_many_keys),
    "json-some-keys": Case(_some_keys),
    "json-some-lists": Case(_some_lists),
    "byte-order-mark": Case(partial(_encoded, encoding="utf-8-sig")),
    "utf-16": Case(partial(_encoded, encoding="utf-16")),
    "utf-32": Case(partial(_encoded, encoding="utf-32")),
    **{f"usage-{name}": Case(partial(_usage, usage=usage)) for name, usage in _USAGES.items()},
    **{f"end-{name}": Case(partial(_reason, reason=reason)) for name, reason in _REASONS.items()},
    "role-wrong": Case(_role),
    "two-answers": Case(_twice),
    "two-choices": Case(_two_choices),
    "after-the-end": Case(_after_end),
    "backwards": Case(_backwards),
    "body-empty": Case(_nothing),
    "mark-only": Case(_mark_only),
    "comments-only": Case(_comments),
}
