"""Rules for stops and poison prompts. A stop is not a crash: it interrupts no call and repeats none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.crash.history import Boot, History, tokens_in
from tests.crash.verdict import Found, Kind

#: A drain ends within this time (seconds).
DRAINED_WITHIN = 30.0
#: The number of crashes at which the queue gives up a job.
POISON_KILLS = 5


def drains(history: History) -> Sequence[float]:
    """Return the seconds from SIGTERM to the end, for each boot that was ready at the signal."""
    return [
        boot.ended - boot.stop_requested
        for boot in history.boots
        if _drained(boot) and boot.stop_requested and boot.ended
    ]


def a_stop_ends_in_time(history: History) -> Found:
    for boot in history.boots:
        if (
            boot.stop_requested is not None
            and boot.ended is not None
            and boot.ended - boot.stop_requested > DRAINED_WITHIN
        ):
            yield (
                Kind.LATE,
                f"boot {boot.number} of {boot.place} ended {boot.ended - boot.stop_requested:.1f} s after SIGTERM",
            )


def a_stop_interrupts_nothing(history: History) -> Found:
    """Find interrupted and repeated calls in an episode without kills and suspensions.

    A running turn has 25 seconds to end, and the model of the campaign needs less than a second.
    """
    if history.interrupted or any(boot.killed or boot.suspended for boot in history.boots):
        return
    for call in history.calls:
        if call.finished is None:
            yield Kind.OTHER, f"call {call.number} of boot {call.boot} was cut off by a stop"
    for token, count in Counter(token for call in history.calls for token in call.asked).items():
        if count > 1:
            yield Kind.OTHER, f"{token} was asked {count} times, though nothing crashed"


def a_poison_prompt_is_given_up_and_reported(history: History) -> Found:
    """Check that a poison prompt is given up at the fifth kill with a notice to its user.

    After a retry by the operator, the message must be answered like any other.
    """
    poison = history.poison
    if poison is None:
        return
    if poison.kills != POISON_KILLS:
        yield Kind.OTHER, f"{poison.token} killed {poison.kills} times, not {POISON_KILLS}"
    if (poison.ended.status, poison.ended.reason) != ("failed", "poison"):
        yield Kind.OTHER, f"{poison.token} ended {poison.ended.status}, reason {poison.ended.reason}"
    shown_texts = [shown.content for shown in poison.shown if poison.id in shown.answers]
    if shown_texts != [poison.ended.reply, poison.retried.reply] or not all(shown_texts):
        yield Kind.MISSING, f"the user of {poison.token} was shown {shown_texts}"
    if poison.retried.status != "answered" or poison.token not in tokens_in(poison.retried.reply or ""):
        yield Kind.LOST, f"{poison.token} is {poison.retried.status} after a retry: {poison.retried.reply}"


def _drained(boot: Boot) -> bool:
    return boot.stop_requested is not None and boot.ready is not None and boot.ready <= boot.stop_requested
