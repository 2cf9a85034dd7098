"""What the model saw, judged: prompts that remember, turns that never overlap, work that comes back soon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tests.crash.history import Boot, Call, History, tokens_in
from tests.crash.verdict import Found, Kind

#: A prompt may leave out the oldest exchanges, but never one of the newest so many.
REMEMBERED = 8
#: Work that a kill interrupted for the first time is claimed again this soon after ready, in seconds (R8).
RECOVERED_WITHIN = 2.0


def a_prompt_holds_the_earlier_answers(history: History) -> Found:
    """In order, each behind the messages that it answers, and without a gap up to the newest."""
    for channel in history.channels():
        transcript = [(tokens_in(shown.content), shown.content) for shown in history.replies(channel)]
        place = {token: at for at, (tokens, _) in enumerate(transcript) for token in tokens}
        for call in _calls_of(history, channel):
            known = [place[token] for token in call.asked if token in place]
            if not known:
                continue
            if len(set(known)) > 1:
                yield Kind.STORED_TWICE, f"call {call.number} asks {' '.join(call.asked)}, answered by several replies"
            yield from _compare_prompt(channel, call, transcript[: known[0]])


def _compare_prompt(channel: str, call: Call, earlier: Sequence[tuple[tuple[str, ...], str]]) -> Found:
    exchanges = call.exchanges()
    if len(exchanges) < min(len(earlier), REMEMBERED):
        yield (
            Kind.OTHER,
            f"call {call.number} of {channel} remembers {len(exchanges)} of {len(earlier)} earlier answers",
        )
        return
    expected = earlier[len(earlier) - len(exchanges) :] if len(exchanges) <= len(earlier) else earlier
    if [text for _, text in exchanges] != [text for _, text in expected]:
        yield (
            Kind.OUT_OF_ORDER,
            f"call {call.number} of {channel} has the answers {[text for _, text in exchanges]}, not {[text for _, text in expected]}",
        )
    elif any(
        Counter(asked) != Counter(tokens) for (asked, _), (tokens, _) in list(zip(exchanges, expected, strict=True))[1:]
    ):
        yield Kind.OUT_OF_ORDER, f"call {call.number} of {channel} has a message beside the wrong answer: {exchanges}"


def one_turn_at_a_time(history: History) -> Found:
    """In one life of the daemon a channel never has two requests at the model at once."""
    for channel in history.channels():
        for before, after in pairwise(_calls_of(history, channel)):
            if before.boot == after.boot and (before.finished is None or after.started < before.finished):
                yield Kind.OTHER, f"calls {before.number} and {after.number} of {channel} ran at the same time"


def interrupted_work_is_claimed_again_soon(history: History) -> Found:
    for token, seconds in recoveries(history).items():
        if seconds > RECOVERED_WITHIN:
            yield Kind.LATE, f"{token} was at the model at a kill and came back {seconds:.2f} s after ready"


def recoveries(history: History) -> Mapping[str, float]:
    """Seconds from ready to the next call, by the message whose call was the first to be cut off by a kill. A life
    that was killed before that call counts whole, and so does the last one when there never was another call."""
    found: dict[str, float] = {}
    for call in history.calls:
        token = call.asked[0] if call.asked else ""
        if not token or token in found or not _cut_off(history, call):
            continue
        again = next((each for each in history.calls[call.number + 1 :] if token in each.asked), None)
        life = history.boots[-1] if again is None else _next_ready(history, call.boot)
        ends = [end for end in (life.ended, None if again is None else again.started) if end is not None]
        if life.ready is not None and ends:
            found[token] = max(0.0, min(ends) - life.ready)
    return found


def _cut_off(history: History, call: Call) -> bool:
    """Whether a kill came before the model had given its whole answer. The last life is stopped, not killed."""
    died = history.boots[call.boot - 1].ended
    return call.boot < len(history.boots) and died is not None and (call.finished is None or call.finished > died)


def _next_ready(history: History, boot: int) -> Boot:
    """The first life after this one that became ready; the last, if none did."""
    return next((each for each in history.boots[boot:] if each.ready is not None), history.boots[-1])


def _calls_of(history: History, channel: str) -> list[Call]:
    tokens = {sent.token for sent in history.of_channel(channel)}
    return [call for call in history.calls if tokens.intersection(call.asked)]
