"""The judge is judged: a perfect history passes, and each history spoiled in one place is caught by its rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.crash.calls import recoveries
from tests.crash.history import Boot, Call, History, Sent, Shown, Timeline, Turn
from tests.crash.oracle import RULES, judge
from tests.crash.verdict import Kind

CHANNEL = "chat-0"


def perfect() -> History:
    """Two lives and three turns: one message alone, two folded into one turn over a kill, one more alone."""
    replies = [
        Shown(1, "r-1", "id-1", ("id-1",), "Answer 0 to m-000001."),
        Shown(2, "r-2", "id-3", ("id-2", "id-3"), "Answer 2 to m-000002 m-000003."),
        Shown(3, "r-3", "id-4", ("id-4",), "Answer 3 to m-000004."),
    ]
    sent = [Sent(f"m-{number:06}", CHANNEL, number, number + 0.1, (f"id-{number}",), 1) for number in (1, 2, 3, 4)]
    first = (Turn("user", "Please answer m-000001."),)
    second = (*first, Turn("assistant", replies[0].content), Turn("user", "m-000002"))
    folded = (*second, Turn("user", "m-000003"))
    fourth = (*folded, Turn("assistant", replies[1].content), Turn("user", "m-000004"))
    calls = [
        Call(0, 1, 1.2, 1.4, first, replies[0].content),
        Call(1, 1, 2.2, None, second, "Answer 1 to m-000002."),
        Call(2, 2, 6.5, 6.6, folded, replies[1].content),
        Call(3, 2, 6.8, 6.9, fourth, replies[2].content),
    ]
    timelines = {answered: Timeline("answered", None, shown.content) for shown in replies for answered in shown.answers}
    return History(
        sent=sent,
        live={CHANNEL: replies},
        transcripts={CHANNEL: replies},
        timelines=timelines,
        calls=calls,
        boots=[Boot(1, 0.0, 0.9, 5.0), Boot(2, 5.1, 6.4, None)],
    )


def transcript(history: History, *shown: Shown) -> History:
    """The same on the screen as in the store, so that only the order or the number is wrong."""
    return replace(history, transcripts={CHANNEL: shown}, live={CHANNEL: shown})


def call(history: History, number: int, **changes: object) -> History:
    calls = list(history.calls)
    calls[number] = replace(calls[number], **changes)  # type: ignore[arg-type]
    return replace(history, calls=calls)


def message(history: History, place: int, **changes: object) -> History:
    sent = list(history.sent)
    sent[place] = replace(sent[place], **changes)  # type: ignore[arg-type]
    return replace(history, sent=sent)


def status(history: History, message_id: str, timeline: Timeline) -> History:
    return replace(history, timelines={**history.timelines, message_id: timeline})


def swapped(history: History) -> History:
    one, two, three = history.transcripts[CHANNEL]
    return transcript(history, one, replace(three, seq=2), replace(two, seq=3))


def stored_twice(history: History) -> History:
    shown = history.transcripts[CHANNEL]
    return transcript(history, *shown, Shown(4, "r-4", "id-4", ("id-4",), "Answer 3 to m-000004."))


def forgotten(history: History) -> History:
    """The last prompt lacks the answer that was given before the kill."""
    prompt = history.calls[3].prompt
    return call(history, 3, prompt=(*prompt[:1], *prompt[2:]))


def no_memory(history: History) -> History:
    return call(history, 3, prompt=history.calls[3].prompt[-1:])


def overlap(history: History) -> History:
    return call(history, 3, started=6.55)


def late(history: History) -> History:
    return call(history, 2, started=8.5)


SPOILED: dict[str, tuple[Callable[[History], History], str, Kind]] = {
    "never acknowledged": (
        lambda h: message(h, 3, acked=None, ids=()),
        "every_message_is_accepted",
        Kind.LOST,
    ),
    "two ids": (lambda h: message(h, 3, ids=("id-4", "id-5")), "an_id_means_one_message", Kind.STORED_TWICE),
    "one id for two": (lambda h: message(h, 3, ids=("id-1",)), "an_id_means_one_message", Kind.OTHER),
    "row gone": (
        lambda h: status(h, "id-2", Timeline("missing", None, None)),
        "every_accepted_message_is_answered",
        Kind.LOST,
    ),
    "still running": (
        lambda h: status(h, "id-2", Timeline("running", None, None)),
        "every_accepted_message_is_answered",
        Kind.LOST,
    ),
    "a notice instead": (
        lambda h: status(h, "id-2", Timeline("failed", "poison", "Sorry.")),
        "every_accepted_message_is_answered",
        Kind.LOST,
    ),
    "another's answer": (
        lambda h: status(h, "id-2", h.timelines["id-1"]),
        "every_accepted_message_is_answered",
        Kind.LOST,
    ),
    "two replies": (stored_twice, "every_message_has_one_reply", Kind.STORED_TWICE),
    "no reply": (
        lambda h: transcript(h, *h.transcripts[CHANNEL][:2]),
        "every_message_has_one_reply",
        Kind.MISSING,
    ),
    "a phantom": (
        lambda h: transcript(h, *h.transcripts[CHANNEL], Shown(4, "r-4", "id-9", ("id-9",), "Answer 4 to m-000009.")),
        "every_message_has_one_reply",
        Kind.STORED_TWICE,
    ),
    "a channel that cannot be read": (lambda h: replace(h, transcripts={}), "every_channel_is_read", Kind.OTHER),
    "answers without one of the fold": (
        lambda h: transcript(h, replace(h.transcripts[CHANNEL][1], seq=1, answers=("id-3",))),
        "a_reply_says_what_it_answers",
        Kind.OTHER,
    ),
    "replyTo the oldest": (
        lambda h: transcript(h, replace(h.transcripts[CHANNEL][1], reply_to="id-2")),
        "a_reply_says_what_it_answers",
        Kind.OTHER,
    ),
    "a gap": (
        lambda h: transcript(h, *h.transcripts[CHANNEL][:2], replace(h.transcripts[CHANNEL][2], seq=4)),
        "a_channel_counts_without_gaps",
        Kind.MISSING,
    ),
    "one reply, two numbers": (
        lambda h: transcript(h, *h.transcripts[CHANNEL], replace(h.transcripts[CHANNEL][2], seq=4)),
        "a_channel_counts_without_gaps",
        Kind.STORED_TWICE,
    ),
    "missing on the screen": (
        lambda h: replace(h, live={CHANNEL: [*h.live[CHANNEL][:1], *h.live[CHANNEL][2:]]}),
        "a_screen_shows_everything_once",
        Kind.MISSING,
    ),
    "twice on the screen": (
        lambda h: replace(h, live={CHANNEL: [*h.live[CHANNEL], h.live[CHANNEL][2]]}),
        "a_screen_shows_everything_once",
        Kind.SHOWN_TWICE,
    ),
    "disorder on the screen": (
        lambda h: replace(h, live={CHANNEL: h.live[CHANNEL][::-1]}),
        "a_screen_shows_everything_once",
        Kind.OUT_OF_ORDER,
    ),
    "another text on the screen": (
        lambda h: replace(h, live={CHANNEL: [*h.live[CHANNEL][:2], replace(h.live[CHANNEL][2], content="?")]}),
        "a_screen_shows_everything_once",
        Kind.OTHER,
    ),
    "replies swapped": (swapped, "replies_follow_the_order_of_acceptance", Kind.OUT_OF_ORDER),
    "a forgotten answer": (forgotten, "a_prompt_holds_the_earlier_answers", Kind.OTHER),
    "no memory": (no_memory, "a_prompt_holds_the_earlier_answers", Kind.OTHER),
    "answers in disorder": (
        lambda h: call(h, 3, prompt=(*h.calls[3].prompt[2:5], *h.calls[3].prompt[:2], h.calls[3].prompt[5])),
        "a_prompt_holds_the_earlier_answers",
        Kind.OUT_OF_ORDER,
    ),
    "a message beside the wrong answer": (
        lambda h: call(h, 3, prompt=(*h.calls[3].prompt[:3], *h.calls[3].prompt[4:])),
        "a_prompt_holds_the_earlier_answers",
        Kind.OUT_OF_ORDER,
    ),
    "two turns at once": (overlap, "one_turn_at_a_time", Kind.OTHER),
    "late recovery": (late, "interrupted_work_is_claimed_again_soon", Kind.LATE),
    "a refusal": (lambda h: replace(h, problems=("POST was answered 500",)), "no_user_met_a_problem", Kind.OTHER),
    "an offending row": (lambda h: replace(h, rows={"no job is left": ["j-1"]}), "the_rows_agree", Kind.OTHER),
}


def test_a_perfect_history_passes() -> None:
    assert judge(perfect()) == []


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_history_is_caught(name: str) -> None:
    spoil, rule, kind = SPOILED[name]
    assert (rule, kind) in {(each.rule, each.kind) for each in judge(spoil(perfect()))}


def test_every_rule_has_a_spoiled_history() -> None:
    assert {rule for _, rule, _ in SPOILED.values()} == {rule.__name__ for rule in RULES}


def test_messages_sent_at_once_have_no_order() -> None:
    """Only what was acknowledged before the other was sent must be answered first."""
    together = message(perfect(), 3, first_sent=2.05)
    assert not [each for each in judge(swapped(together)) if each.rule == "replies_follow_the_order_of_acceptance"]


def test_a_notice_on_the_way_is_no_reply() -> None:
    history = perfect()
    one, two, three = history.transcripts[CHANNEL]
    notice = Shown(2, "n-1", None, (), "Still working on it.")
    assert judge(transcript(history, one, notice, replace(two, seq=3), replace(three, seq=4))) == []


def test_recovery_counts_from_ready() -> None:
    assert recoveries(perfect()) == {"m-000002": pytest.approx(0.1)}


def test_a_life_that_ended_before_the_recovery_counts_with_its_length() -> None:
    history = perfect()
    lives = [Boot(1, 0.0, 0.9, 5.0), Boot(2, 5.1, 5.2, 5.3), Boot(3, 5.4, 6.4, None)]
    later = [replace(each, boot=3) if each.boot == 2 else each for each in history.calls]
    assert recoveries(replace(history, boots=lives, calls=later)) == {"m-000002": pytest.approx(0.1)}


def test_work_that_never_came_back_counts_with_the_last_life() -> None:
    history = perfect()
    lives = [*history.boots[:1], replace(history.boots[1], ended=16.4)]
    assert recoveries(replace(history, boots=lives, calls=history.calls[:2])) == {"m-000002": pytest.approx(10)}
