"""Tests of the judge: a correct history passes, and each history with one fault breaks the rule for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from arvis.graphs.compaction.graph import FLUSH, summary_task
from tests.crash.calls import recoveries
from tests.crash.history import Boot, Call, History, Poisoned, Sent, Shown, Timeline, Turn
from tests.crash.model import OLDEST_PART
from tests.crash.oracle import RULES
from tests.crash.verdict import Kind, judge

CHANNEL = "chat-0"


def perfect() -> History:
    """Return a history of two boots and three turns: one message, two messages in one turn across a kill, one
    message."""
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
        boots=[Boot(1, 0.0, 0.9, 5.0, killed=True), Boot(2, 5.1, 6.4, None)],
    )


def transcript(history: History, *shown: Shown) -> History:
    """Return the history with this transcript and the same live messages, so that only order or number are wrong."""
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
    """Remove from the last prompt the answer that was given before the kill."""
    prompt = history.calls[3].prompt
    return call(history, 3, prompt=(*prompt[:1], *prompt[2:]))


def no_memory(history: History) -> History:
    return call(history, 3, prompt=history.calls[3].prompt[-1:])


def overlap(history: History) -> History:
    return call(history, 3, started=6.55)


def late(history: History) -> History:
    return call(history, 2, started=16.0)


def stopped(history: History, *, ended: float = 5.0) -> History:
    """Replace the kill by a stop, so that no message may be asked twice and no call cut off."""
    return replace(
        history, boots=[replace(history.boots[0], killed=False, stop_requested=4.0, ended=ended), history.boots[1]]
    )


def poisoned(history: History, **changes: object) -> History:
    """Add a message that killed five times, was given up with a notice, and was answered after a retry by the
    operator."""
    notice, answer = "This message brought me down.", "Answer 9 to m-999999."
    shown = [Shown(1, "n-1", "id-p", ("id-p",), notice), Shown(2, "r-p", "id-p", ("id-p",), answer)]
    ended, retried = Timeline("failed", "poison", notice), Timeline("answered", None, answer)
    poison = Poisoned("m-999999", "id-p", 5, ended, retried, shown)
    return replace(history, poison=replace(poison, **changes))  # type: ignore[arg-type]


def unread(history: History) -> History:
    """Remove the second of two messages from the prompt of the reply that names both."""
    return call(history, 2, prompt=history.calls[2].prompt[:-1])


SPOILED: dict[str, tuple[Callable[[History], History], str, Kind]] = {
    "settled unread": (unread, "a_reply_read_what_it_answers", Kind.UNREAD),
    "stamped twice": (
        lambda h: replace(h, marks=["k1.0.0", "k1.0.1", "k1.0.0"]),
        "what_must_not_be_repeated_is_done_once",
        Kind.STORED_TWICE,
    ),
    "not booked": (
        lambda h: replace(h, receipts={"m-000001": 0, "m-000002": 1, "m-000004": 1}),
        "finished_calls_are_booked",
        Kind.UNBOOKED,
    ),
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
    "missing at the client": (
        lambda h: replace(h, live={CHANNEL: [*h.live[CHANNEL][:1], *h.live[CHANNEL][2:]]}),
        "a_client_receives_everything_once",
        Kind.MISSING,
    ),
    "twice at the client": (
        lambda h: replace(h, live={CHANNEL: [*h.live[CHANNEL], h.live[CHANNEL][2]]}),
        "a_client_receives_everything_once",
        Kind.SHOWN_TWICE,
    ),
    "disorder at the client": (
        lambda h: replace(h, live={CHANNEL: h.live[CHANNEL][::-1]}),
        "a_client_receives_everything_once",
        Kind.OUT_OF_ORDER,
    ),
    "another text at the client": (
        lambda h: replace(h, live={CHANNEL: [*h.live[CHANNEL][:2], replace(h.live[CHANNEL][2], content="?")]}),
        "a_client_receives_everything_once",
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
    "a slow stop": (lambda h: stopped(h, ended=34.5), "a_stop_ends_in_time", Kind.LATE),
    "a stop that cut off a call": (stopped, "a_stop_interrupts_nothing", Kind.OTHER),
    "a stop that asked again": (
        lambda h: call(stopped(h), 1, finished=2.4),
        "a_stop_interrupts_nothing",
        Kind.OTHER,
    ),
    "too few kills": (lambda h: poisoned(h, kills=4), "a_poison_prompt_is_given_up_and_reported", Kind.OTHER),
    "another reason": (
        lambda h: poisoned(h, ended=Timeline("failed", "attempts", "This message brought me down.")),
        "a_poison_prompt_is_given_up_and_reported",
        Kind.OTHER,
    ),
    "no notice": (lambda h: poisoned(h, shown=[]), "a_poison_prompt_is_given_up_and_reported", Kind.MISSING),
    "no answer after the retry": (
        lambda h: poisoned(h, retried=Timeline("failed", "poison", "This message brought me down.")),
        "a_poison_prompt_is_given_up_and_reported",
        Kind.LOST,
    ),
    "a refusal": (lambda h: replace(h, problems=("POST was answered 500",)), "no_user_met_a_problem", Kind.OTHER),
    "an offending row": (lambda h: replace(h, rows={"no job is left": ["j-1"]}), "the_rows_agree", Kind.OTHER),
}


def test_a_perfect_history_passes() -> None:
    assert judge(RULES, perfect()) == ()


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_history_is_caught(name: str) -> None:
    spoil, rule, kind = SPOILED[name]
    assert (rule, kind) in {(each.rule, each.kind) for each in judge(RULES, spoil(perfect()))}


def test_every_rule_has_a_spoiled_history() -> None:
    assert {rule for _, rule, _ in SPOILED.values()} == {rule.__name__ for rule in RULES}


def test_messages_sent_at_once_have_no_order() -> None:
    """The order counts only for messages that were acknowledged before the other was sent."""
    together = message(perfect(), 3, first_sent=2.05)
    assert not [
        each for each in judge(RULES, swapped(together)) if each.rule == "replies_follow_the_order_of_acceptance"
    ]


def test_a_notice_on_the_way_is_no_reply() -> None:
    history = perfect()
    one, two, three = history.transcripts[CHANNEL]
    notice = Shown(2, "n-1", None, (), "Still working on it.")
    assert judge(RULES, transcript(history, one, notice, replace(two, seq=3), replace(three, seq=4))) == ()


def test_recovery_counts_from_ready() -> None:
    assert recoveries(perfect()) == {"m-000002": pytest.approx(0.1)}


def test_a_message_with_an_earlier_kill_may_pause() -> None:
    """Its job may have been claimed without a model call: this counts as its first crash."""
    history = perfect()
    boots = [Boot(1, 0.0, 0.5, 2.1, killed=True), replace(history.boots[0], number=2), history.boots[1]]
    later = [replace(each, boot=each.boot + 1) for each in history.calls]
    assert recoveries(replace(history, boots=boots, calls=later)) == {}


def test_a_boot_that_ended_before_the_recovery_counts_with_its_length() -> None:
    history = perfect()
    boots = [
        Boot(1, 0.0, 0.9, 5.0, killed=True),
        Boot(2, 5.1, 5.2, 5.3, killed=True),
        Boot(3, 5.4, 6.4, None),
    ]
    later = [replace(each, boot=3) if each.boot == 2 else each for each in history.calls]
    assert recoveries(replace(history, boots=boots, calls=later)) == {"m-000002": pytest.approx(0.1)}


def test_work_that_never_came_back_counts_with_the_last_boot() -> None:
    history = perfect()
    boots = [*history.boots[:1], replace(history.boots[1], ended=16.4)]
    assert recoveries(replace(history, boots=boots, calls=history.calls[:2])) == {"m-000002": pytest.approx(10)}


def test_recovery_counts_with_the_next_boot_of_the_same_process() -> None:
    history = perfect()
    boots = [
        Boot(1, 0.0, 0.9, 5.0, "worker-1", killed=True),
        Boot(2, 0.0, 0.9, None, "worker-2"),
        Boot(3, 5.1, 6.3, None, "worker-1"),
    ]
    later = [replace(each, boot=3) if each.boot == 2 else each for each in history.calls]
    assert recoveries(replace(history, boots=boots, calls=later)) == {"m-000002": pytest.approx(0.2)}


def overlapping(suspended: tuple[tuple[float, float], ...], *, ended: float | None = None) -> list[str]:
    """Return the violations if two processes made the last two calls at once, and the first was suspended or killed."""
    one = Boot(1, 0.0, 0.9, ended, "worker-1", suspended=suspended, killed=ended is not None)
    history = replace(overlap(perfect()), boots=[one, Boot(2, 0.0, 0.9, None, "worker-2")])
    calls = [replace(each, boot=2 if each.number == 3 else 1) for each in history.calls]
    violations = judge(RULES, replace(history, calls=calls))
    return [each.detail for each in violations if each.rule == "one_turn_at_a_time" and "3" in each.detail]


def test_turns_of_different_processes_may_not_overlap() -> None:
    assert overlapping(())


def test_calls_of_a_killed_or_suspended_process_do_not_overlap() -> None:
    assert not overlapping((), ended=6.52)
    assert not overlapping(((6.4, 7.9),))
    assert not overlapping(((5.0, 6.4),))


def test_a_dropped_request_overlaps_with_nothing() -> None:
    history = overlap(perfect())
    assert "one_turn_at_a_time" in {each.rule for each in judge(RULES, history)}
    dropped = call(history, 2, finished=None, dropped=6.52)
    assert "one_turn_at_a_time" not in {each.rule for each in judge(RULES, dropped)}


def test_a_suspension_long_before_is_no_excuse() -> None:
    assert overlapping(((1.0, 2.0),))


def test_a_suspended_process_may_ask_what_another_has_answered() -> None:
    """Its prompt is outdated, but the process cannot commit anything."""
    stale = forgotten(perfect())
    assert judge(RULES, stale)
    assert not judge(RULES, replace(stale, boots=[stale.boots[0], replace(stale.boots[1], suspended=((5.5, 6.7),))]))


def test_a_poison_prompt_that_went_as_it_must_passes() -> None:
    assert judge(RULES, poisoned(perfect())) == ()


def test_a_stop_between_two_turns_passes() -> None:
    history = stopped(perfect())
    calls = [replace(history.calls[0], number=0), replace(history.calls[2], number=1), history.calls[3]]
    assert not [each for each in judge(RULES, replace(history, calls=calls)) if each.rule.startswith("a_stop")]


def test_the_model_recognises_the_instructions_of_both_calls_of_a_compaction() -> None:
    assert OLDEST_PART in FLUSH
    assert OLDEST_PART in summary_task(500)
