"""Rules for stops and poison prompts. A stop is not a crash: it interrupts no call and repeats none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.crash.history import Boot, History, tokens_in
from tests.crash.verdict import Found, Kind

#: A drain ends within this time (seconds).
DRAINED_WITHIN = 30.0
#: The number of crashes at which the queue gives up a job.
POISON_DEATHS = 5


def drains(history: History) -> Sequence[float]:
    """Return the seconds from SIGTERM to the end, for each life that was ready at the signal."""
    return [boot.ended - boot.told for boot in history.boots if _drained(boot) and boot.told and boot.ended]


def a_stop_ends_in_time(history: History) -> Found:
    for boot in history.boots:
        if boot.told is not None and boot.ended is not None and boot.ended - boot.told > DRAINED_WITHIN:
            yield Kind.LATE, f"life {boot.number} of {boot.place} ended {boot.ended - boot.told:.1f} s after SIGTERM"


def a_stop_interrupts_nothing(history: History) -> Found:
    """Find interrupted and repeated calls in an episode without kills and sleeps.

    A running turn has 25 seconds to end, and the model of the campaign needs less than a second.
    """
    if history.interrupted or any(boot.killed or boot.slept for boot in history.boots):
        return
    for call in history.calls:
        if call.finished is None:
            yield Kind.OTHER, f"call {call.number} of life {call.boot} was cut off by a stop"
    for token, count in Counter(token for call in history.calls for token in call.asked).items():
        if count > 1:
            yield Kind.OTHER, f"{token} was asked {count} times, though nothing crashed"


def a_poison_prompt_is_given_up_and_told(history: History) -> Found:
    """Check that a poison prompt is given up at the fifth death with a notice to its user.

    After a retry by the operator, the message must be answered like any other.
    """
    poison = history.poison
    if poison is None:
        return
    if poison.deaths != POISON_DEATHS:
        yield Kind.OTHER, f"{poison.token} killed {poison.deaths} times, not {POISON_DEATHS}"
    if (poison.ended.status, poison.ended.reason) != ("failed", "poison"):
        yield Kind.OTHER, f"{poison.token} ended {poison.ended.status}, reason {poison.ended.reason}"
    told = [shown.content for shown in poison.shown if poison.id in shown.answers]
    if told != [poison.ended.reply, poison.retried.reply] or not all(told):
        yield Kind.MISSING, f"the user of {poison.token} was told {told}"
    if poison.retried.status != "answered" or poison.token not in tokens_in(poison.retried.reply or ""):
        yield Kind.LOST, f"{poison.token} is {poison.retried.status} after a retry: {poison.retried.reply}"


def _drained(boot: Boot) -> bool:
    return boot.told is not None and boot.ready is not None and boot.ready <= boot.told
