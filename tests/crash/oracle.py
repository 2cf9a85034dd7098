"""The judge of a recorded history: the rules for every accepted message.

Each rule is a pure function that yields its violations, so that histories changed by hand can test it. It knows nothing
about the daemon's code; it knows only facts that were seen from outside or in the database.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise

from tests.crash.calls import (
    a_prompt_holds_the_earlier_answers,
    a_reply_read_what_it_answers,
    finished_calls_are_booked,
    interrupted_work_is_claimed_again_soon,
    one_turn_at_a_time,
    what_must_not_be_repeated_is_done_once,
)
from tests.crash.history import Boot, History, Sent, tokens_in
from tests.crash.verdict import COMMON_RULES, Found, Kind, Rule

#: A drain ends within this time (seconds).
DRAINED_WITHIN = 30.0
#: The number of crashes at which the queue gives up a job.
POISON_KILLS = 5


def every_message_is_accepted(history: History) -> Found:
    for sent in history.sent:
        if sent.acked is None:
            yield Kind.LOST, f"{sent.token} was never acknowledged, though repeated until the end"


def an_id_means_one_message(history: History) -> Found:
    """Find client ids that were acknowledged with several message ids, and message ids with several client ids."""
    owners: dict[str, str] = {}
    for sent in history.sent:
        if len(sent.ids) > 1:
            yield Kind.STORED_TWICE, f"{sent.token} was acknowledged under several ids: {', '.join(sent.ids)}"
        for message_id in sent.ids:
            other = owners.setdefault(message_id, sent.token)
            if other != sent.token:
                yield Kind.OTHER, f"{sent.token} and {other} were acknowledged under one id, {message_id}"


def every_accepted_message_is_answered(history: History) -> Found:
    """Find messages without a reply of the model that names them. A notice does not count."""
    for sent in history.sent:
        if sent.id is None:
            continue
        timeline = history.timelines.get(sent.id)
        match timeline:
            case None:
                yield Kind.OTHER, f"{sent.token} ({sent.id}) was not looked up"
            case _ if timeline.status != "answered":
                yield (
                    Kind.LOST,
                    f"{sent.token} ({sent.id}) is {timeline.status}, reason {timeline.reason}: {timeline.reply}",
                )
            case _ if sent.token not in tokens_in(timeline.reply or ""):
                yield (
                    Kind.LOST,
                    f"{sent.token} ({sent.id}) is answered by a text that does not name it: {timeline.reply}",
                )


def every_message_has_one_reply(history: History) -> Found:
    """Find accepted messages that are not in `answers` exactly once in the transcript of their channel."""
    for channel in history.channels():
        sent = {each.id: each for each in history.of_channel(channel) if each.id is not None}
        counts = Counter(answered for shown in history.transcripts[channel] for answered in shown.answers)
        for message_id, each in sent.items():
            if counts[message_id] > 1:
                yield Kind.STORED_TWICE, f"{each.token} ({message_id}) has {counts[message_id]} replies in {channel}"
            elif counts[message_id] == 0:
                yield Kind.MISSING, f"{each.token} ({message_id}) has no reply in the transcript of {channel}"
        for unknown in sorted(counts.keys() - sent.keys()):
            yield Kind.STORED_TWICE, f"{channel} answers {unknown}, which was never acknowledged"


def every_channel_is_read(history: History) -> Found:
    for channel in sorted({sent.channel for sent in history.sent} - history.transcripts.keys()):
        yield Kind.OTHER, f"{channel} could not be read from its beginning after the drain"


def a_reply_says_what_it_answers(history: History) -> Found:
    """Find replies whose data contradict each other.

    `answers` and the tokens of the text must name the same messages, `replyTo` the newest of them, and the timelines
    must agree.
    """
    tokens = {sent.id: sent.token for sent in history.sent}
    for channel in history.channels():
        for shown in history.replies(channel):
            named = tuple(tokens.get(answered, answered) for answered in shown.answers)
            if Counter(named) != Counter(tokens_in(shown.content)):
                yield Kind.OTHER, f"{channel} {shown.seq} answers {' '.join(named)} with the text: {shown.content}"
            if shown.reply_to != shown.answers[-1]:
                yield Kind.OTHER, f"{channel} {shown.seq} has replyTo {shown.reply_to}, answers {shown.answers}"
            for answered in shown.answers:
                timeline = history.timelines.get(answered)
                if timeline is not None and timeline.reply != shown.content:
                    yield Kind.OTHER, f"{answered} was shown «{shown.content}», its timeline says «{timeline.reply}»"


def a_channel_counts_without_gaps(history: History) -> Found:
    for channel in history.channels():
        shown = history.transcripts[channel]
        for place, each in enumerate(shown, start=1):
            if each.seq != place:
                yield Kind.MISSING, f"the transcript of {channel} has seq {each.seq} where {place} should be"
                break
        for message_id, count in Counter(each.message_id for each in shown).items():
            if count > 1:
                yield Kind.STORED_TWICE, f"the transcript of {channel} holds {message_id} {count} times"


def a_client_receives_everything_once(history: History) -> Found:
    """Find differences between a transcript and the messages that a resuming client received.

    Over all its connections, the client must receive each entry once, in order.
    """
    for channel in sorted(history.live.keys() & history.transcripts.keys()):
        live = history.live[channel]
        transcript = history.transcripts[channel]
        seen = Counter(shown.seq for shown in live)
        ids = Counter(shown.message_id for shown in live)
        for shown in transcript:
            if seen[shown.seq] == 0:
                yield Kind.MISSING, f"{channel} {shown.seq} never reached the client: {shown.content}"
        for seq in (seq for seq, count in seen.items() if count > 1):
            yield Kind.SHOWN_TWICE, f"{channel} {seq} reached the client {seen[seq]} times"
        for message_id in (each for each, count in ids.items() if count > 1):
            yield Kind.SHOWN_TWICE, f"{message_id} reached the client of {channel} {ids[message_id]} times"
        for before, after in pairwise(live):
            if after.seq < before.seq:
                yield Kind.OUT_OF_ORDER, f"{channel} {after.seq} reached the client after {before.seq}"
        stored = {shown.seq: shown for shown in transcript}
        for shown in live:
            if stored.get(shown.seq) != shown:
                yield (
                    Kind.OTHER,
                    f"{channel} {shown.seq} was shown as {shown}, the transcript says {stored.get(shown.seq)}",
                )


def replies_follow_the_order_of_acceptance(history: History) -> Found:
    """Find messages that were acknowledged before another one was first sent, but are answered after it.

    Messages whose turn waited for a person are excepted, because such a turn lets others pass.
    """
    for channel in history.channels():
        place = {answered: at for at, shown in enumerate(history.replies(channel)) for answered in shown.answers}
        sent = [
            (each, place[each.id])
            for each in history.of_channel(channel)
            if each.id in place and each.acked is not None and each.id not in history.waited
        ]
        sent.sort(key=_acked)
        instants = [each.acked or 0.0 for each, _ in sent]
        latest = list(accumulate((at for _, at in sent), max))
        for each, at in sent:
            before = bisect.bisect_left(instants, each.first_sent)
            if before and latest[before - 1] > at:
                yield Kind.OUT_OF_ORDER, f"{each.token} was answered before a message that {channel} accepted earlier"


def _acked(entry: tuple[Sent, int]) -> float:
    return entry[0].acked or 0.0


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


RULES: tuple[Rule[History], ...] = (
    *COMMON_RULES,
    every_message_is_accepted,
    an_id_means_one_message,
    every_accepted_message_is_answered,
    every_channel_is_read,
    every_message_has_one_reply,
    a_reply_says_what_it_answers,
    a_channel_counts_without_gaps,
    a_client_receives_everything_once,
    replies_follow_the_order_of_acceptance,
    a_prompt_holds_the_earlier_answers,
    a_reply_read_what_it_answers,
    what_must_not_be_repeated_is_done_once,
    finished_calls_are_booked,
    one_turn_at_a_time,
    interrupted_work_is_claimed_again_soon,
    a_stop_ends_in_time,
    a_stop_interrupts_nothing,
    a_poison_prompt_is_given_up_and_reported,
)
