"""The messages that a summary replaces: whole turns, the oldest first, and never all of them."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.messages import PastMessage, Role
from arvis.graphs.compaction.scripts import KEPT_MESSAGES, compaction_due, first_kept, oldest_turns, room_is_short
from arvis.ports.conversations import Size

#: Turns, as lists of their messages' tokens.
TURNS = st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=12), min_size=1, max_size=40)


def talk(turns: list[list[int]]) -> list[PastMessage]:
    return [
        PastMessage(Role.USER, "words", tokens, id=f"{turn}.{position}", turn=turn, position=position)
        for turn, said in enumerate(turns, start=1)
        for position, tokens in enumerate(said)
    ]


def tokens_of(message: PastMessage) -> int:
    return message.tokens


def split(messages: list[PastMessage], most: int, room: int) -> tuple[list[PastMessage], list[PastMessage], int]:
    """Return the chosen messages, the remaining ones, and the first turn that is kept."""
    kept = first_kept(messages, tokens_of, most)
    chosen = oldest_turns(messages, kept, room, tokens_of)
    return chosen, messages[len(chosen) :], kept


@given(TURNS, st.integers(0, 3000), st.integers(0, 3000))
def test_the_oldest_whole_turns_are_chosen_and_everything_else_stays(
    turns: list[list[int]], most: int, room: int
) -> None:
    messages = talk(turns)
    chosen, left, kept = split(messages, most, room)
    assert chosen + left == messages
    assert left, "the last turn always stays"
    assert {message.turn for message in chosen}.isdisjoint(message.turn for message in left)
    assert all(message.turn < kept for message in chosen)
    assert sum(map(tokens_of, chosen)) <= room or len({message.turn for message in chosen}) == 1


@given(TURNS, st.integers(0, 3000))
def test_ten_messages_stay_or_as_many_turns_as_there_is_room_for(turns: list[list[int]], most: int) -> None:
    messages = talk(turns)
    _, _, kept = split(messages, most, room=0)
    stay = [message for message in messages if message.turn >= kept]
    before = [message for message in messages if message.turn == kept - 1]
    later = [message for message in stay if message.turn > kept]
    assert len(later) < KEPT_MESSAGES
    if before and len(stay) < KEPT_MESSAGES:
        assert sum(map(tokens_of, before + stay)) > most
    if kept < len(turns):
        assert sum(map(tokens_of, stay)) <= most


@given(TURNS, st.integers(0, 3000), st.integers(0, 600))
def test_round_after_round_nothing_but_what_is_kept_is_left(turns: list[list[int]], most: int, room: int) -> None:
    messages, rounds = talk(turns), list[list[PastMessage]]()
    while True:
        chosen, left, kept = split(messages, most, room)
        if not chosen:
            break
        rounds.append(chosen)
        messages = left
    assert [message for chosen in rounds for message in chosen] + messages == talk(turns)
    assert all(message.turn >= kept for message in messages)


@given(TURNS, st.integers(1, 20))
def test_a_look_at_the_newest_rows_alone_keeps_the_last_turn(turns: list[list[int]], rows: int) -> None:
    messages = talk(turns)
    kept = first_kept(messages[-rows:], tokens_of, 10_000)
    assert kept <= messages[-1].turn
    assert [turn for turn, _ in groupby(messages, key=lambda message: message.turn)][-1] >= kept


def test_five_turns_of_two_messages_stay() -> None:
    messages = talk([[1, 1]] * 12)
    assert first_kept(messages, tokens_of, 1000) == 8
    assert first_kept(messages, tokens_of, 5) == 11
    assert first_kept(messages, tokens_of, 0) == 12


def test_without_messages_there_is_nothing_to_keep() -> None:
    assert oldest_turns([], first_kept([], tokens_of, 1000), 1000, tokens_of) == []


@given(TURNS, st.integers(0, 3000), st.integers(-300, 3000))
def test_nothing_stays_that_has_no_room(turns: list[list[int]], most: int, room: int) -> None:
    messages = talk(turns)
    kept, wanted = first_kept(messages, tokens_of, most, room), first_kept(messages, tokens_of, most)
    assert kept >= wanted
    stay = [message for message in messages if message.turn >= kept]
    assert not stay or sum(map(tokens_of, stay)) <= room
    before = [message for message in messages if wanted <= message.turn == kept - 1]
    assert not before or sum(map(tokens_of, before + stay)) > room


@pytest.mark.parametrize(
    ("ceiling", "others", "history", "reply", "short"),
    [
        (8_192, 1_144, 3_000, 750, False),
        (8_192, 1_144, 3_000, 751, True),
        (8_192, 3_144, 1_500, 750, False),
        (8_192, 3_144, 1_500, 751, True),
        (8_192, 6_200, 0, 1, True),
        (96_000, 6_000, 60_000, 1_808, False),
        (96_000, 6_000, 60_000, 1_809, True),
    ],
)
def test_room_is_short_before_it_is_full(ceiling: int, others: int, history: int, reply: int, short: bool) -> None:
    layers = {"identity": 144, "memory": others - 144, "history": history - history // 3, "current": history // 3}
    assert room_is_short(layers, reply, ceiling) is short


@pytest.mark.parametrize(
    ("messages", "tokens", "due"),
    [(80, 0, False), (81, 0, True), (0, 6144, False), (0, 6145, True), (2, 0, False)],
)
def test_a_conversation_is_due_above_eighty_messages_or_three_quarters(messages: int, tokens: int, due: bool) -> None:
    assert compaction_due(Size(messages, tokens), 8192) is due
