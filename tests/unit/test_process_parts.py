"""Ids, clock and disk space."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from arvis.ports.clock import Clock
from arvis.process.clock import IdMaker, RandomBits, SystemClock
from arvis.process.memory import tuned_gc


class HandClock:
    """A clock that shows the given times; it keeps the last one."""

    def __init__(self, *times: int) -> None:
        self._times = list(times)

    def now(self) -> int:
        return self._times.pop(0) if len(self._times) > 1 else self._times[0]

    def monotonic(self) -> float:
        return self.now() / 1000

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def _bits(seed: int = 7) -> Callable[[int], int]:
    return random.Random(seed).getrandbits


def test_an_id_is_a_ulid() -> None:
    maker = IdMaker(clock=HandClock(1_469_918_176_385), random_bits=lambda _: 0)

    # The example of the ULID specification has this time.
    assert maker() == "01ARYZ6S41" + "0" * 16


@given(st.lists(st.integers(min_value=0, max_value=2**48 - 1), min_size=2, max_size=50))
def test_ids_grow_whatever_the_clock_does(times: list[int]) -> None:
    maker = IdMaker(clock=HandClock(*times), random_bits=_bits())

    made = [maker() for _ in times]

    assert made == sorted(set(made))
    assert {len(text) for text in made} == {26}


def test_a_full_random_part_carries_into_the_time() -> None:
    maker = IdMaker(clock=HandClock(1000), random_bits=lambda bits: (1 << bits) - 1)

    first, second = maker(), maker()

    assert first < second
    assert second == IdMaker(clock=HandClock(1001), random_bits=lambda _: 0)()


@given(st.lists(st.integers(min_value=1, max_value=300), min_size=1, max_size=50))
def test_random_bits_are_those_of_the_system_and_given_out_once(sizes: list[int]) -> None:
    asked: list[bytes] = []

    def source(count: int) -> bytes:
        asked.append(random.Random(len(asked)).randbytes(min(count, 64)))
        return asked[-1]

    bits = RandomBits(source=source)
    numbers = [bits(size) for size in sizes]

    given_out = b"".join(asked)
    place = 0
    for size, number in zip(sizes, numbers, strict=True):
        count = (size + 7) // 8
        if place % 64 + count > 64:
            place += 64 - place % 64
        assert number == int.from_bytes(given_out[place : place + count]) >> (8 * count - size)
        place += count


def test_what_is_there_at_the_start_is_collected_no_more_until_the_end() -> None:
    before = gc.get_threshold()
    with tuned_gc():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] > before[0]
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


def test_threads_take_turns_and_never_get_the_same_id() -> None:
    inside = threading.Lock()
    overlaps: list[int] = []

    def slow_bits(bits: int) -> int:
        if not inside.acquire(blocking=False):
            overlaps.append(bits)
            return bits
        time.sleep(0)  # lets the other threads run
        inside.release()
        return bits

    maker = IdMaker(clock=HandClock(5), random_bits=slow_bits)
    made: list[list[str]] = [[] for _ in range(4)]
    start = threading.Barrier(len(made))

    def work(mine: list[str]) -> None:
        start.wait()
        mine.extend(maker() for _ in range(500))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert overlaps == []
    assert len({text for mine in made for text in mine}) == 2000
    assert all(mine == sorted(mine) for mine in made)


async def test_the_system_clock_goes_on() -> None:
    clock: Clock = SystemClock()
    wall, steady = clock.now(), clock.monotonic()

    await clock.sleep(0)

    assert clock.now() >= wall > 1_600_000_000_000
    assert clock.monotonic() >= steady
