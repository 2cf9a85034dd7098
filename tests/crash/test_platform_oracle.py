"""Tests of the judge for platforms: a correct history passes, and each history with one fault breaks the rule for
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.crash.history import Boot
from tests.crash.platform_history import (
    CANCELLED,
    Failure,
    History,
    Kill,
    Seen,
    Send,
    Underway,
    Written,
    broken,
    with_failures,
)
from tests.crash.platform_oracle import RULES, telegram_copies
from tests.crash.platforms import result_of, totals
from tests.crash.verdict import judge

PLACES = {"discord": "discord:1/", "telegram": "telegram:2/", "slack": "slack:C3/9"}


def reply(number: int, *tokens: int) -> str:
    return f"Answer {number} to {' '.join(f'm-{token:06}' for token in tokens)}. stone water That is all."


def perfect() -> History:
    """Return a history with three messages on each platform and one kill.

    The last two messages of each platform have one reply. Telegram's second reply was in progress at the kill and is
    there twice.
    """
    written = [
        Written(f"m-{10 * n + k:06}", name, place, n + k)
        for n, (name, place) in enumerate(PLACES.items())
        for k in (1, 2, 3)
    ]
    seen = {
        place: [Seen("a", reply(10 * n + 1, 10 * n + 1)), Seen("b", reply(10 * n + 2, 10 * n + 2, 10 * n + 3))]
        for n, place in enumerate(PLACES.values())
    }
    twice = seen[PLACES["telegram"]][1]
    seen[PLACES["telegram"]].append(replace(twice, id="c"))
    return History(
        delivery="at_least_once",
        written=written,
        seen=seen,
        sends=[Send(name, "1", at) for name in PLACES for at in (3.0, 8.0)],
        kills=[Kill(5.0, [Underway("telegram", twice.text, fills=False)])],
        boots=[Boot(1, 0.0, 1.0, 5.0, killed=True), Boot(2, 5.1, 6.0, 20.0)],
    )


def showing(history: History, platform: str, *texts: str) -> History:
    return replace(
        history, seen={**history.seen, PLACES[platform]: [Seen(str(n), text) for n, text in enumerate(texts)]}
    )


def more(history: History, platform: str, *texts: str) -> History:
    return showing(history, platform, *(each.text for each in history.seen[PLACES[platform]]), *texts)


def lost(history: History) -> History:
    return showing(history, "discord", reply(1, 1))


def in_another_place(history: History) -> History:
    moved = showing(history, "slack", reply(21, 21))
    return replace(moved, seen={**moved.seen, "slack:C3/": [Seen("z", reply(22, 22, 23))]})


def two_turns(history: History) -> History:
    return more(history, "slack", reply(99, 23))


def twice(platform: str) -> Callable[[History], History]:
    def spoil(history: History) -> History:
        return more(history, platform, history.seen[PLACES[platform]][0].text)

    return spoil


def an_edit_twice(history: History) -> History:
    """Turn the interrupted sends into edits. An edit is never sent as a new message."""
    kill = history.kills[0]
    return replace(history, kills=[Kill(kill.at, [replace(part, fills=True) for part in kill.under_way])])


def more_copies_than_kills(history: History) -> History:
    text = history.seen[PLACES["telegram"]][0].text
    kill = history.kills[0]
    both = [*kill.under_way, Underway("telegram", text, fills=False)]
    return replace(more(history, "telegram", text), kills=[Kill(kill.at, both)])


def twice_where_forbidden(history: History) -> History:
    return replace(history, delivery="reserve_then_fill")


def incomplete(history: History) -> History:
    return more(history, "discord", "Answer 2 to m-000002. stone")


def an_old_placeholder(history: History) -> History:
    return more(history, "discord", "…")


def unasked(history: History) -> History:
    return more(history, "discord", reply(7, 700))


def out_of_order(history: History) -> History:
    return showing(history, "discord", *(each.text for each in reversed(history.seen[PLACES["discord"]])))


def too_soon(history: History) -> History:
    refused = Send("slack", "C3", 8.0, failure=Failure("slack", 7.0, "refused", 2.0))
    return replace(history, sends=[refused, Send("slack", "C3", 9.0)])


def a_problem(history: History) -> History:
    return replace(history, problems=["it ended by itself"])


def a_row(history: History) -> History:
    return replace(history, rows={"no job is left": ["j1"]})


SPOILED = {
    lost: "every_message_is_answered",
    in_another_place: "every_message_is_answered",
    two_turns: "every_message_has_one_reply",
    twice("discord"): "a_keyed_platform_shows_it_once",
    twice("slack"): "a_keyed_platform_shows_it_once",
    twice_where_forbidden: "a_keyed_platform_shows_it_once",
    twice("telegram"): "telegram_repeats_only_what_was_interrupted",
    an_edit_twice: "telegram_repeats_only_what_was_interrupted",
    more_copies_than_kills: "telegram_repeats_one_a_kill",
    incomplete: "no_reply_is_incomplete",
    an_old_placeholder: "no_reply_is_incomplete",
    unasked: "a_reply_has_a_question",
    out_of_order: "replies_follow_the_order",
    too_soon: "a_retry_waits_for_the_platform",
    a_problem: "no_user_met_a_problem",
    a_row: "the_rows_agree",
}


def test_a_perfect_history_passes() -> None:
    assert judge(RULES, perfect()) == ()
    assert telegram_copies(perfect()) == 1


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_a_spoiled_history_is_caught(spoil: Callable[[History], History]) -> None:
    assert SPOILED[spoil] in {violation.rule for violation in judge(RULES, spoil(perfect()))}


def test_every_rule_is_spoiled_once() -> None:
    assert {rule.__name__ for rule in RULES} == set(SPOILED.values())


def test_an_answer_that_was_cut_off_allows_a_copy() -> None:
    history = twice("telegram")(perfect())
    text = history.seen[PLACES["telegram"]][0].text
    cut = Send("telegram", "2", 3.0, text, Failure("telegram", 2.9, "after"))
    assert judge(RULES, replace(history, sends=[*history.sends, cut])) == ()


def test_at_most_once_may_leave_out_what_it_names() -> None:
    history = replace(showing(perfect(), "telegram", reply(11, 11)), delivery="at_most_once")
    assert {violation.rule for violation in judge(RULES, history)} == {"every_message_is_answered"}
    reported = replace(
        more(history, "telegram", "Arvis: A message could not be delivered to 2"), unknown=[reply(12, 12, 13)]
    )
    assert judge(RULES, reported) == ()
    assert {violation.rule for violation in judge(RULES, replace(reported, delivery="reserve_then_fill"))} >= {
        "no_reply_is_incomplete"
    }


def test_a_kill_makes_a_daemon_forget_a_wait() -> None:
    history = too_soon(perfect())
    assert judge(RULES, replace(history, kills=[*history.kills, Kill(8.5)])) == ()


def test_a_placeholder_may_be_left_by_a_kill() -> None:
    history = showing(perfect(), "telegram", reply(11, 11), "…", reply(12, 12, 13))
    assert judge(RULES, history) == ()
    assert {each.rule for each in judge(RULES, more(history, "telegram", "…"))} == {"no_reply_is_incomplete"}


def test_trouble_meets_the_next_send_unless_another_took_its_place() -> None:
    first, second = Failure("slack", 1.0, "failed"), Failure("slack", 2.0, "after")
    sends = [Send("slack", "C", 0.5), Send("discord", "C", 1.5), Send("slack", "C", 2.5), Send("slack", "C", 3.0)]
    assert [send.failure for send in with_failures(sends, [second, first])] == [None, None, second, None]
    cancelled = Failure("slack", 2.2, CANCELLED)
    assert [send.failure for send in with_failures(sends, [first, second, cancelled])] == [None, None, None, None]


def test_a_cut_breaks_what_is_on_its_way() -> None:
    sends = [Send("slack", "C", 1.0), Send("slack", "C", 1.5), Send("discord", "C", 1.5), Send("slack", "C", 1.7)]
    kinds = [send.failure.kind if send.failure else None for send in broken(sends, "slack", [1.6], 0.5)]
    assert kinds == [None, "broke", None, None]


def test_the_figures_add_up() -> None:
    figures = totals([result_of("s", perfect(), 4.0), result_of("t", lost(perfect()), 6.0)])
    assert (figures["kills"], figures["messages discord"], figures["lost"], figures["furtherCopiesTelegram"]) == (
        2,
        6,
        2,
        2,
    )
    assert (figures["startSecondsP50"], figures["secondsPerKill"]) == (1.0, 5.0)
