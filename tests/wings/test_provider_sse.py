"""The event parser: the events do not depend on how the stream is split, and memory is limited."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.providers.exchange import EventParser, EventTooLarge, ServerEvent

LINES = st.sampled_from(
    [
        b"data: one",
        b"data:two",
        b"data",
        b"data: ",
        b": comment",
        b"event: ping",
        b"id: 7",
        b"",
        b"",
        b"\xff\xfe",
        "data: é🚀".encode(),
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS)).map(lambda lines: b"".join(line + end for line, end in lines))


def parse(*pieces: bytes, max_bytes: int = 10_000) -> list[ServerEvent]:
    parser = EventParser(max_bytes=max_bytes)
    return [event for piece in pieces for event in parser.feed(piece)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("message", "a")]),
        (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
        (b"event: ping\ndata: a\n\ndata: b\n\n", [("ping", "a"), ("message", "b")]),
        (b"data: a\r\rdata: b\r\n\r\n", [("message", "a"), ("message", "b")]),
        (b": keep-alive\n\n: again\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        (b"data:  two spaces\n\n", [("message", " two spaces")]),
        (b"data\n\n", [("message", "")]),
        (b"data: unfinished\n", []),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
    ],
)
def test_events(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert [(event.kind, event.data) for event in parse(stream)] == events


@given(stream=STREAMS, cuts=st.lists(st.integers(min_value=0, max_value=400)))
def test_any_cutting_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(bounds)]
    assert parse(*pieces) == parse(stream)


def test_every_byte_alone_gives_the_same_events() -> None:
    stream = "data: é\r\ndata: 🚀\r\n\r\nevent: x\rdata: 1\r\rdata: 2\n\n".encode()
    assert parse(*(bytes([byte]) for byte in stream)) == parse(stream)
    assert len(parse(stream)) == 3


@pytest.mark.parametrize("pieces", [[b"data: " + b"x" * 200], [b"data: 123456789\n"] * 20])
def test_an_endless_event_is_refused(pieces: list[bytes]) -> None:
    with pytest.raises(EventTooLarge):
        parse(*pieces, max_bytes=100)


def test_many_small_events_are_no_large_event() -> None:
    assert len(parse(*[b"data: 123456789\n\n"] * 50, max_bytes=100)) == 50


def test_comments_between_events_do_not_add_up() -> None:
    assert parse(*[b": still here\n\n"] * 50, max_bytes=100) == []
