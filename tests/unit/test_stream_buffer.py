"""The stream buffer, on a clock that a test moves."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.domain.errors import ConfigError, Unavailable
from arvis.speech import Added, Chunk, Reason, StreamBuffer, Utterance, UtteranceRules, utterance_detector

KEY = "ann"
DETECTOR = utterance_detector()


class TurnedClock:
    """A clock that stands still until a test moves it; sleepers wake at their time, in order."""

    def __init__(self) -> None:
        self.time = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = 0

    def now(self) -> int:
        return round(self.time * 1000)

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self._number += 1
        waking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, self._number, waking))
        await waking

    async def turn_to(self, time: float) -> None:
        await settle()
        while self._sleepers and self._sleepers[0][0] <= time:
            self.time, _, waking = heapq.heappop(self._sleepers)
            if not waking.done():
                waking.set_result(None)
            await settle()
        self.time = time


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Room:
    """A buffer that records its deliveries with their times."""

    def __init__(self, rules: UtteranceRules | None = None) -> None:
        self.clock = TurnedClock()
        self.heard: list[tuple[float, Utterance]] = []
        self.hold: asyncio.Event | None = None
        self.buffer = StreamBuffer(
            clock=self.clock, rules=rules or UtteranceRules(), detector=DETECTOR, deliver=self._deliver
        )

    async def _deliver(self, utterance: Utterance) -> None:
        if self.hold is not None:
            await self.hold.wait()
        self.heard.append((self.clock.time, utterance))

    async def say(self, time: float, text: str, *, id: str | None = None, complete: bool = False) -> Added:  # noqa: A002
        await self.clock.turn_to(time)
        return await self.buffer.add(KEY, Chunk(id or f"{time}", text, complete))

    @property
    def told(self) -> list[tuple[float, str, str]]:
        return [(time, said.text, said.reason.value) for time, said in self.heard]


async def test_b1_a_whole_thought_goes_at_the_pause() -> None:
    room = Room()
    assert await room.say(0, "can you book me a table") is Added.WAITING
    await room.clock.turn_to(1.4)
    assert room.told == []
    await room.clock.turn_to(60)
    assert room.told == [(1.5, "can you book me a table", "pause")]


async def test_b2_what_is_short_waits_for_silence() -> None:
    room = Room()
    assert await room.say(0, "ok.") is Added.WAITING
    await room.clock.turn_to(60)
    assert room.told == [(3.0, "ok.", "silence")]


async def test_b3_who_speaks_on_is_answered_after_fifteen_seconds() -> None:
    room = Room()
    for second in range(20):
        await room.say(second, f"word {second} and")
    assert [(time, len(said.chunk_ids)) for time, said in room.heard] == [(15.0, 15)]
    await room.clock.turn_to(60)
    assert [reason for *_, reason in room.told] == ["longest", "silence"]
    assert " ".join(text for _, text, _ in room.told) == " ".join(f"word {second} and" for second in range(20))


async def test_the_last_chunk_sends_everything_at_once() -> None:
    room = Room()
    await room.say(0, "a")
    assert await room.say(0.5, "b", complete=True) is Added.DELIVERED
    assert room.told == [(0.5, "a b", "complete")]
    await room.clock.turn_to(60)
    assert len(room.told) == 1


async def test_a_sentence_goes_at_once_when_it_is_long_enough() -> None:
    room = Room()
    assert await room.say(0, "Yes, please.") is Added.WAITING
    assert await room.say(0.5, "I would like that.") is Added.DELIVERED
    assert room.told == [(0.5, "Yes, please. I would like that.", "sentence")]


async def test_half_a_thought_waits_for_the_rest_of_the_silence() -> None:
    room = Room()
    await room.say(0, "the tables on the terrace and")
    await room.say(2, "those")
    await room.clock.turn_to(60)
    assert [(time, reason) for time, _, reason in room.told] == [(5.0, "silence")]


async def test_nobody_waits_longer_for_a_pause_than_for_all() -> None:
    room = Room()
    for tenth in range(0, 150, 20):
        await room.say(tenth / 10, "and then")
    await room.clock.turn_to(60)
    time, _, reason = room.told[0]
    assert (time, reason) == (15.0, "longest")


async def test_a_chunk_counts_once() -> None:
    room = Room()
    await room.say(0, "one", id="1")
    assert await room.say(0.1, "one", id="1") is Added.KNOWN
    assert await room.say(0.2, "one", id="1", complete=True) is Added.DELIVERED
    assert await room.say(0.3, "one", id="1", complete=True) is Added.KNOWN
    await room.say(0.4, "two", id="2")
    assert (
        await room.say(0.5, "one", id="1", complete=True) is Added.KNOWN
    )  # it does not cover the chunks that came later
    await room.clock.turn_to(60)
    assert [text for _, text, _ in room.told] == ["one", "two"]


async def test_what_did_not_get_through_may_come_again() -> None:
    room = Room()
    await room.say(0, "one", id="1", complete=True)
    room.buffer.forget(room.heard[0][1])
    assert await room.say(1, "one", id="1", complete=True) is Added.DELIVERED


async def test_what_waits_can_be_looked_at_and_taken_out() -> None:
    room = Room()
    assert not room.buffer.status(KEY).exists
    await room.say(0, " one ")
    await room.say(1, "two")
    await room.clock.turn_to(2)
    status = room.buffer.status(KEY)
    assert (status.exists, status.content, status.age, status.state) == (True, "one two", 2.0, "active")
    await room.clock.turn_to(2.6)
    assert room.buffer.status(KEY).state == "paused"
    flushed = room.buffer.flush(KEY)
    assert flushed == Utterance(KEY, "one two", ("0", "1"), Reason.FLUSHED)
    assert room.buffer.flush(KEY) is None
    assert not room.buffer.status(KEY).exists
    await room.clock.turn_to(60)
    assert room.told == []


async def test_what_is_too_long_waits_no_more() -> None:
    room = Room(UtteranceRules(most=30))
    await room.say(0, "x" * 20)
    assert await room.say(0.1, "y" * 20) is Added.DELIVERED
    assert room.told[0][2] == "full"


async def test_who_leaves_while_it_is_sent_loses_nothing_and_order_is_kept() -> None:
    room = Room()
    room.hold = asyncio.Event()
    first = asyncio.create_task(room.say(0, "first", complete=True))
    await settle()
    await settle()
    second = asyncio.create_task(room.say(0, "second", id="2", complete=True))
    await settle()
    await settle()
    first.cancel()
    second.cancel()
    released = asyncio.create_task(room.buffer.release(KEY))
    await settle()
    assert not released.done()
    room.hold.set()
    await released
    assert [text for _, text, _ in room.told] == ["first", "second"]


async def test_there_is_room_for_a_bounded_number_of_voices() -> None:
    room = Room()
    for number in range(1_000):
        await room.buffer.add(f"{number}", Chunk("1", "x"))
    with pytest.raises(Unavailable):
        await room.buffer.add("one more", Chunk("1", "x"))
    await room.buffer.release("7")
    assert await room.buffer.add("one more", Chunk("1", "x")) is Added.WAITING
    assert not room.buffer.status("7").exists
    for number in range(2_000):
        await room.buffer.add("3", Chunk(f"id-{number}", ""))
    assert len(room.buffer._voices["3"].known) == 1_000
    await room.clock.turn_to(60)
    assert len(room.heard) == 1_001


# -- whole thoughts ----------------------------------------------------------------------------------------

WHOLE = [
    "Book a table.", 'He said "yes!"', "really?", "can you book me a table", "Please hurry", "what about tomorrow",
    "build a house", "that is it, thank you", "OK bye", "That's all", "Kannst du mir helfen", "das ist alles",
    "Können Sie das wiederholen", "Vielen Dank", "Можешь помочь", "всё, спасибо", "帮我订一张桌子", "就这样", "你好吗？",  # noqa: RUF001 - Chinese
]  # fmt: skip
HALF = [
    "and then we", "the tables on the terrace", "somewhat later", "whatever", "makeup", "however", "goodbyes", "thanksgiving",
    "ich habe", "пока мы ждали его", "我昨天", "", "  ", "1.5 metres",  # noqa: RUF001 - Russian
]  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_a_whole_thought_is_known_by_its_words(text: str) -> None:
    assert DETECTOR.is_whole(text)


@pytest.mark.parametrize("text", HALF)
def test_half_a_thought_is_not(text: str) -> None:
    assert not DETECTOR.is_whole(text)


def test_languages_are_chosen() -> None:
    german = utterance_detector(["de"])
    assert german.is_whole("bitte hilf mir")
    assert not german.is_whole("please help me")
    with pytest.raises(ConfigError):
        utterance_detector(["tlh"])


# -- any input ---------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["and", "so we", "can you", "ok.", "book me a table for tonight.", "bye", "", " ", "x" * 25])
SPOKEN = st.lists(st.tuples(st.integers(0, 40), WORDS, st.integers(0, 9), st.booleans()), max_size=25)


@settings(max_examples=150)
@given(SPOKEN)
def test_nothing_is_lost_nothing_comes_twice_and_nothing_late(spoken: Sequence[tuple[int, str, int, bool]]) -> None:
    """Pauses are in tenths of a second; one id in ten repeats an earlier one."""

    async def talk() -> None:
        room, time, first = Room(), 0.0, dict[str, tuple[float, str]]()
        for number, (pause, text, old, complete) in enumerate(spoken):
            time += pause / 10
            chunk_id = str(number if old or not number else number - 1)
            first.setdefault(chunk_id, (time, text.strip()))
            await room.say(time, text, id=chunk_id, complete=complete and old > 5)
        await room.clock.turn_to(time + 3.1)
        said = [chunk_id for _, utterance in room.heard for chunk_id in utterance.chunk_ids]
        assert said == [chunk_id for chunk_id, (_, text) in first.items() if text]
        words = [text for _, text in first.values() if text]
        assert " ".join(utterance.text for _, utterance in room.heard) == " ".join(words)
        for at, utterance in room.heard:
            assert at - first[utterance.chunk_ids[0]][0] <= 15.01
            assert at - first[utterance.chunk_ids[-1]][0] <= 3.01

    asyncio.run(talk())
