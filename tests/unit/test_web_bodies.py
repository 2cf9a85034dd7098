"""Large bodies of requests, which must not delay other requests."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from dataclasses import replace

import pytest

from arvis.domain.errors import Unprocessable
from arvis.web.api.message_input import _decoded
from arvis.web.http.limits import PIECE, BodyLimit, paced
from arvis.web.http.requests import parse_fields

LARGE = json.dumps({"text": "x" * 300_000})


async def test_large_bodies_are_parsed_one_after_the_other_and_small_ones_at_once() -> None:
    limit = BodyLimit(size=1_000_000, marks=100, turn=asyncio.Lock())
    assert limit.turn is not None
    async with limit.turn:  # as during the parsing of another large body
        large = asyncio.create_task(parse_fields(LARGE, limit))
        async with asyncio.timeout(10):
            assert (await parse_fields('{"text": "hi"}', limit)).text("text") == "hi"
            for _ in range(5):  # begun later, and not delayed by the lock
                await parse_fields(LARGE, replace(limit, turn=None))
        assert not large.done()
    async with asyncio.timeout(10):
        assert (await large).text("text") == "x" * 300_000


def test_a_long_text_is_read_in_pieces_with_pauses_between_them() -> None:
    assert list(paced(0)) == []
    assert list(paced(PIECE)) == [0]
    begin = time.perf_counter()
    assert list(paced(20 * PIECE + 1)) == list(range(0, 20 * PIECE + 1, PIECE))
    assert time.perf_counter() - begin >= 20 * 0.001


def test_the_marks_of_all_pieces_count() -> None:
    text = "[" * (PIECE + 1) + "{,"
    assert BodyLimit(size=len(text), marks=PIECE + 3).holds(text)
    assert not BodyLimit(size=len(text), marks=PIECE + 2).holds(text)


@pytest.mark.parametrize("size", [0, 1, 2, 3, PIECE // 4 * 3, PIECE // 4 * 3 + 1, 3 * PIECE])
def test_base64_is_decoded_in_pieces(size: int) -> None:
    data = bytes(number % 251 for number in range(size))
    assert _decoded(base64.b64encode(data).decode()) == data


@pytest.mark.parametrize("broken", ["AAA", "AA=A", "A A=", "é" * 4, "A" * (PIECE - 4) + "AA==" + "AAAA"])
def test_other_texts_are_refused(broken: str) -> None:
    with pytest.raises(Unprocessable, match="must be base64"):
        _decoded(broken)
