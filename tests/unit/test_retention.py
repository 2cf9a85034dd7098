"""Additions of plugins to messages, and their removal by age."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.plugins import Addition, Item
from arvis.graphs.agent.plugins import Kept, clean, display_copy, persistent_copy

A = Item(("A",), shown=True, keep=3)
B = Item(("B",), shown=False, keep=True)


def test_the_worked_example() -> None:
    additions = [Addition("head", (A, B))]
    kept = persistent_copy(["user"], additions)
    assert kept.policy == (None, None, 3, 3, None, None)
    assert kept.content == ("user", "head", "A", "\n", "B", "\n")
    assert display_copy(["user"], additions) == ("user", "head", "A", "\n")


def test_true_is_for_good_although_it_is_a_number_and_nothing_is_not_kept() -> None:
    additions = [
        Addition("one", (Item(("a",), shown=True, keep=1),)),
        Addition("good", (Item(("b",), shown=True, keep=True),)),
        Addition("none", (Item(("c",), shown=True, keep=0), Item(("d",), shown=True, keep=False))),
    ]
    kept = persistent_copy(["u"], additions)
    assert kept.content == ("u", "one", "a", "\n", "good", "b", "\n")
    assert kept.policy == (None, 1, 1, 1, None, None, None)
    assert len(display_copy(["u"], additions)) == 1 + 3 + 3 + 5


def test_a_heading_stays_as_long_as_the_longest_of_its_items() -> None:
    kept = persistent_copy([], [Addition("h", tuple(Item(("x", "y"), shown=True, keep=n) for n in (2, 5, 0)))])
    assert kept.policy == (5, 2, 2, 2, 5, 5, 5)
    assert display_copy([], [Addition("h", (B,))]) == ()


def test_a_number_keeps_a_part_for_so_many_messages_with_its_own() -> None:
    messages = [persistent_copy([f"{number}"], [Addition("h", (A, B))]) for number in range(4)]
    plain = Kept(("plain",))
    cleaned = clean([messages[0], plain, *messages[1:], plain])
    assert [each.text for each in cleaned] == ["0hB\n", "plain", "1hA\nB\n", "2hA\nB\n", "3hA\nB\n", "plain"]
    assert cleaned[0].policy == (None, None, None, None)


def test_a_message_of_which_nothing_is_left_goes() -> None:
    fleeting = Kept(("x", "\n"), (1, 1))
    assert clean([fleeting, fleeting]) == [fleeting]


def test_a_message_without_additions_has_no_policy() -> None:
    assert persistent_copy(["a", "b"], []) == Kept(("a", "b"))


def test_it_is_kept_as_plain_json() -> None:
    kept = persistent_copy(["user "], [Addition("head ", (A,))])
    assert Kept.from_json(kept.to_json()) == kept
    assert Kept.from_json(Kept(("x",)).to_json()) == Kept(("x",))
    assert (kept.text, kept.added) == ("user head A\n", "head A\n")


_ITEMS = st.builds(
    Item,
    st.lists(st.text(max_size=3), min_size=1, max_size=2).map(tuple),
    st.booleans(),
    st.booleans() | st.integers(-1, 4),
)
_ADDITIONS = st.lists(st.builds(Addition, st.just("head"), st.lists(_ITEMS, max_size=3).map(tuple)), max_size=3)
_MESSAGES = st.lists(
    st.builds(persistent_copy, st.lists(st.text(max_size=3), min_size=1, max_size=2), _ADDITIONS), max_size=8
)


@given(_MESSAGES)
def test_policies_stay_parallel_and_originals_stay(messages: list[Kept]) -> None:
    cleaned = clean(messages)
    assert all(each.policy is None or len(each.policy) == len(each.content) for each in cleaned)
    assert [each.content[0] for each in cleaned] == [each.content[0] for each in messages]


@given(_MESSAGES)
def test_cleaning_again_without_a_new_message_changes_nothing(messages: list[Kept]) -> None:
    assert clean(clean(messages)) == clean(messages)


@given(st.integers(1, 5), st.integers(0, 6))
def test_a_part_is_there_for_exactly_its_number_of_messages(lasts: int, later: int) -> None:
    first = persistent_copy(["u"], [Addition("h", (Item(("part",), shown=True, keep=lasts),))])
    thread = [first]
    for number in range(later):
        thread = clean([*thread, persistent_copy([f"{number}"], [Addition("h", (B,))])])
    assert ("part" in thread[0].content) == (later < lasts)
