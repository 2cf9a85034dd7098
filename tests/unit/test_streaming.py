"""Deltas are merged: the first is sent in the same pass of the loop, then at most one in each interval, and nothing is lost."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from arvis.messaging.streaming import Coalescer


class Screen:
    """A screen that merges deltas as a client does."""

    def __init__(self) -> None:
        self.text = ""
        self.deltas: list[str] = []

    def show(self, offset: int, text: str) -> None:
        self.text = self.text[:offset] + text
        self.deltas.append(text)


async def test_the_pieces_of_one_pass_are_shown_at_its_end_and_the_next_ones_together() -> None:
    screen = Screen()
    coalescer = Coalescer(send=screen.show, interval=0.02)
    for offset, piece in enumerate("abcdef"):
        coalescer.add(offset, piece)
        if piece == "b":
            assert screen.deltas == []
            await asyncio.sleep(0)
    assert screen.deltas == ["ab"]
    await asyncio.sleep(0.1)
    assert screen.deltas == ["ab", "cdef"]
    coalescer.close()


async def test_after_a_pause_the_next_piece_is_shown_at_once() -> None:
    screen = Screen()
    coalescer = Coalescer(send=screen.show, interval=0.01)
    coalescer.add(0, "a")
    await asyncio.sleep(0.05)
    coalescer.add(1, "b")
    await asyncio.sleep(0)
    assert screen.deltas == ["a", "b"]
    coalescer.close()


async def test_what_is_left_is_sent_at_the_end_and_nothing_after_it() -> None:
    screen = Screen()
    coalescer = Coalescer(send=screen.show, interval=0.01)
    coalescer.add(0, "a")
    await asyncio.sleep(0)
    coalescer.add(1, "b")
    coalescer.close()
    await asyncio.sleep(0.03)
    assert screen.deltas == ["a", "b"]


async def test_a_new_try_begins_anew_whatever_was_left_of_the_old_one() -> None:
    screen = Screen()
    coalescer = Coalescer(send=screen.show, interval=10)
    for offset, piece in [(0, "old "), (4, "words"), (0, "new"), (3, " text")]:
        coalescer.add(offset, piece)
    coalescer.close()
    assert screen.text == "new text"


@given(tries=st.lists(st.lists(st.text(min_size=1), min_size=1), min_size=1))
def test_the_screen_ends_with_the_last_try(tries: list[list[str]]) -> None:
    async def play() -> str:
        screen = Screen()
        coalescer = Coalescer(send=screen.show)
        for pieces in tries:
            offset = 0
            for piece in pieces:
                coalescer.add(offset, piece)
                offset += len(piece)
        coalescer.close()
        return screen.text

    assert asyncio.run(play()) == "".join(tries[-1])
