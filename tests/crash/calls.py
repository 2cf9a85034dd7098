"""Rules for the requests that the model received: complete prompts, no overlapping turns, quick recovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from tests.crash.history import Boot, Call, History, answers_in, tokens_in
from tests.crash.verdict import Found, Kind

#: A prompt may omit the oldest exchanges, but not one of this many newest ones.
REMEMBERED = 8
#: A process that was suspended makes a call that it had prepared before within this time after it is resumed (seconds).
PREPARED = 1.0
#: A job that a kill interrupted for the first time is claimed again within this time after ready (seconds), or, on a
#: busy machine, within the time of this many starts of the daemon.
RECOVERED_WITHIN = 2.0
RECOVERED_WITHIN_STARTS = 8


def a_prompt_holds_the_earlier_answers(history: History) -> Found:
    """Find prompts that lack earlier answers or have them in the wrong order.

    A prompt has the earlier answers in order, each after the messages that it answers, without a gap up to the newest.
    If it has a summary, the summary and the answers after it must be all earlier answers. Exceptions:

    - Channels whose agent works with tools: in their small window, a summary of many answers is cut.
    - Calls of a process that was suspended: another process may have answered, and the suspended one cannot commit.
    - A process that was killed may have asked several messages in one call. After a crash they are answered
      separately, so that one message cannot make the others fail.
    """
    for channel in sorted(set(history.channels()) - history.working):
        transcript = [(tokens_in(shown.content), shown.content) for shown in history.replies(channel)]
        place = {token: at for at, (tokens, _) in enumerate(transcript) for token in tokens}
        for call in _calls_of(history, channel):
            known = [place[token] for token in call.asked if token in place]
            if not known or _suspended_during(history, call):
                continue
            if len(set(known)) > 1 and not history.boots[call.boot - 1].killed:
                yield Kind.STORED_TWICE, f"call {call.number} asks {' '.join(call.asked)}, answered by several replies"
            yield from _compare_prompt(channel, call, transcript[: known[0]])


def _compare_prompt(channel: str, call: Call, earlier: Sequence[tuple[tuple[str, ...], str]]) -> Found:
    exchanges, summed_up = call.exchanges(), len(call.summed_up)
    if not summed_up and len(exchanges) < min(len(earlier), REMEMBERED):
        yield (
            Kind.OTHER,
            f"call {call.number} of {channel} remembers {len(exchanges)} of {len(earlier)} earlier answers",
        )
        return
    held = [*call.summed_up, *(text for _, text in exchanges)]
    expected = earlier[len(earlier) - len(held) :] if len(held) <= len(earlier) else earlier
    if held != [text for _, text in expected] or (summed_up and len(held) != len(earlier)):
        yield (
            Kind.OUT_OF_ORDER,
            f"call {call.number} of {channel} has the answers {held}, not {[text for _, text in expected]}",
        )
    elif any(
        Counter(asked) != Counter(tokens)
        for (asked, _), (tokens, _) in list(zip(exchanges, expected[summed_up:], strict=True))[1:]
    ):
        yield Kind.OUT_OF_ORDER, f"call {call.number} of {channel} has a message beside the wrong answer: {exchanges}"


def a_reply_read_what_it_answers(history: History) -> Found:
    """Find replies that settle a message whose text was not in the prompt of their call."""
    # A summary of one answer has the text of this answer, and its call has no messages.
    calls = {call.answer: call for call in history.calls if call.answer and call.prompt}
    tokens = {sent.id: sent.token for sent in history.sent}
    for channel in history.channels():
        for shown in history.replies(channel):
            answers = answers_in(shown.content)
            call = calls.get(answers[0]) if answers else None
            if call is None:
                yield Kind.OTHER, f"{channel} {shown.seq} is no answer of a model: {shown.content}"
                continue
            for token in (tokens[answered] for answered in shown.answers if answered in tokens):
                if token not in call.read:
                    yield Kind.UNREAD, f"{token} is settled by call {call.number} of {channel}, whose prompt lacks it"


def what_must_not_be_repeated_is_done_once(history: History) -> Found:
    for key, count in Counter(history.marks).items():
        if count > 1:
            yield Kind.STORED_TWICE, f"the call {key} was made {count} times"


def finished_calls_are_booked(history: History) -> Found:
    """Find complete model answers without a receipt.

    The receipt belongs to the turn of the first message of the call, even if the process was killed after the answer.
    """
    if history.receipts is None:
        return
    finished = Counter(call.asked[0] for call in history.calls if call.finished is not None and call.asked)
    for token, count in finished.items():
        if (found := history.receipts.get(token, 0)) < count:
            yield Kind.UNBOOKED, f"the turn of {token} has {found} receipts for {count} calls that came to their end"


def one_turn_at_a_time(history: History) -> Found:
    """Find two requests of one channel that ran at the model at the same time.

    A request ends with its answer, with the end of its process, or when the server notices that its client has left.
    The last case matters because a busy server may read a request after its process has ended and assign it to the
    process's next boot. Calls of a process that was suspended do not count: it does not know that its lease has expired.
    """
    for channel in history.channels():
        calls = [call for call in _calls_of(history, channel) if not _suspended_during(history, call)]
        for before, after in pairwise(calls):
            killed_at = history.boots[before.boot - 1].ended
            ends = [end for end in (before.finished, before.dropped, killed_at) if end is not None]
            if not ends or after.started < min(ends):
                yield Kind.OTHER, f"calls {before.number} and {after.number} of {channel} ran at the same time"


def interrupted_work_is_claimed_again_soon(history: History) -> Found:
    starts = [boot.ready - boot.spawned for boot in history.boots if boot.ready is not None]
    limit = max(RECOVERED_WITHIN, RECOVERED_WITHIN_STARTS * median(starts or [0.0]))
    for token, seconds in recoveries(history).items():
        if seconds > limit:
            yield Kind.LATE, f"{token} was at the model at a kill and came back {seconds:.2f} s after ready"


def recoveries(history: History) -> Mapping[str, float]:
    """Return, by message, the seconds from ready to the next call after a kill that cut off a call of the message.

    Only the first kill since the message was sent counts, because a job pauses after later crashes. If the next boot of
    the process ended before the next call, the result is the length of this boot. If no call followed, it is the length
    of the process's last boot.
    """
    sent = {each.token: each.first_sent for each in history.sent}
    found: dict[str, float] = {}
    for call in history.calls:
        token = call.asked[0] if call.asked else ""
        if token not in sent or token in found or not _cut_off(history, call):
            continue
        if _disturbed(history, sent[token], call.started):
            continue
        again = next((each for each in history.calls[call.number + 1 :] if token in each.asked), None)
        after = _next_boot(history, call.boot, last=again is None)
        ends = [end for end in (after.ended, None if again is None else again.started) if end is not None]
        if after.ready is not None and ends:
            found[token] = max(0.0, min(ends) - after.ready)
    return found


def _cut_off(history: History, call: Call) -> bool:
    """Return whether a kill came before the model had sent its complete answer."""
    own = history.boots[call.boot - 1]
    return own.killed and own.ended is not None and (call.finished is None or call.finished > own.ended)


def _disturbed(history: History, since: float, until: float) -> bool:
    """Return whether a process was killed or suspended in this time: it may have claimed the job, and that counts as a
    crash."""
    return any(
        (boot.killed and boot.ended is not None and since < boot.ended < until)
        or any(since < resumed and suspended < until for suspended, resumed in boot.suspended)
        for boot in history.boots
    )


def _suspended_during(history: History, call: Call) -> bool:
    """Return whether the process was suspended during the call or just before it: another process may have the job."""
    asked = call.started - PREPARED
    return any(
        resumed > asked and (call.finished is None or since < call.finished)
        for since, resumed in history.boots[call.boot - 1].suspended
    )


def _next_boot(history: History, boot: int, *, last: bool) -> Boot:
    """Return the next boot of the same process that became ready, or with `last` its last one."""
    place = history.boots[boot - 1].place
    boots = [each for each in history.boots[boot - 1 :] if each.place == place]
    return boots[-1] if last else next((each for each in boots[1:] if each.ready is not None), boots[-1])


def _calls_of(history: History, channel: str) -> list[Call]:
    tokens = {sent.token for sent in history.of_channel(channel)}
    return [call for call in history.calls if tokens.intersection(call.asked)]
