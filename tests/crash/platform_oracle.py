"""The rules for an episode with chat platforms, as pure functions over its history."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.crash.platform_history import DISCORD, PLACEHOLDER, SLACK, TELEGRAM, History, Send, Written
from tests.crash.verdict import COMMON_RULES, Found, Kind, Rule

#: Tolerances in seconds for a send that left before the refusal arrived, and for the rounding of clocks.
IN_FLIGHT = 0.3
ROUNDING = 0.02
#: Beginning of the notice to the owner about a message that may be missing.
OWNER_NOTICE = "Arvis: A message could not be delivered to "


def every_message_is_answered(history: History) -> Found:
    """Find messages without a reply in their own place.

    With Telegram's `at_most_once`, a reply may be missing if the daemon reports it.
    """
    for written in history.written:
        if history.copies(written) or _is_reported_unknown(history, written):
            continue
        elsewhere = [place for place in history.seen for each in history.whole(place) if written.token in each.tokens]
        if elsewhere:
            yield Kind.OTHER, f"{written.token} of {written.place} is answered in {elsewhere[0]}"
        else:
            yield Kind.LOST, f"{written.token} of {written.place} has no reply"


def _is_reported_unknown(history: History, written: Written) -> bool:
    allowed = history.delivery == "at_most_once" and written.platform == TELEGRAM
    return allowed and any(written.token in text for text in history.unknown)


def every_message_has_one_reply(history: History) -> Found:
    """Find messages with replies of different texts, which come from two turns."""
    for written in history.written:
        texts = {each.text for each in history.copies(written)}
        if len(texts) > 1:
            yield (
                Kind.STORED_TWICE,
                f"{written.token} of {written.place} has {len(texts)} replies: {' | '.join(sorted(texts))}",
            )


def a_keyed_platform_shows_it_once(history: History) -> Found:
    """Find repeated replies on Discord and Slack, and on Telegram unless it delivers at least once."""
    once = {DISCORD, SLACK} | (set() if history.delivery == "at_least_once" else {TELEGRAM})
    for place, text, count in _repeated(history):
        if history.places[place] in once:
            yield Kind.SHOWN_TWICE, f"{place} shows {count} times: {text}"


def telegram_repeats_only_what_was_interrupted(history: History) -> Found:
    """Find replies with more copies than interruptions.

    An interruption is a kill while the reply is recorded as being sent, or a cut connection before Telegram's answer.
    """
    if history.delivery != "at_least_once":
        return
    for place, text, count in _repeated(history):
        if history.places[place] == TELEGRAM and count - 1 > (allowed := _interruptions(history, text)):
            yield Kind.SHOWN_TWICE, f"{place} shows {count} times, interrupted {allowed} times: {text}"


def telegram_repeats_one_a_kill(history: History) -> Found:
    extra = telegram_copies(history)
    if extra > (allowed := len(history.kills) + _cut_off(history, "")):
        yield Kind.SHOWN_TWICE, f"Telegram shows {extra} further copies after {allowed} interruptions"


def telegram_copies(history: History) -> int:
    """Return the number of superfluous copies of replies on Telegram."""
    return sum(count - 1 for place, _, count in _repeated(history) if history.places[place] == TELEGRAM)


def _repeated(history: History) -> Iterator[tuple[str, str, int]]:
    for place in sorted(history.seen):
        for text, count in Counter(each.text for each in history.whole(place)).items():
            if count > 1:
                yield place, text, count


def _interruptions(history: History, text: str) -> int:
    killed = sum(
        any(part.platform == TELEGRAM and part.text.strip() == text and not part.fills for part in kill.under_way)
        for kill in history.kills
    )
    return killed + _cut_off(history, text)


def _cut_off(history: History, text: str) -> int:
    """Count Telegram's answers that were cut off, for sends of this text or for all sends if `text` is empty."""
    return sum(
        send.platform == TELEGRAM
        and send.failure is not None
        and send.failure.kind in {"after", "broke"}
        and (not text or send.text.strip() == text)
        for send in history.sends
    )


def no_reply_is_incomplete(history: History) -> Found:
    """Find drafts beside the reply, and unexpected notices.

    On Telegram a kill may leave an empty placeholder, because the daemon cannot look for it there.
    """
    placeholders = 0
    for place, platform in sorted(history.places.items()):
        for each in history.seen[place]:
            if each.is_whole or (history.delivery == "at_most_once" and each.text.startswith(OWNER_NOTICE)):
                continue
            if each.text == PLACEHOLDER and platform == TELEGRAM:
                placeholders += 1
            else:
                yield Kind.INCOMPLETE, f"{place} still shows {each.id}: {each.text}"
    if placeholders > (allowed := len(history.kills) + _cut_off(history, "")):
        yield Kind.INCOMPLETE, f"Telegram shows {placeholders} placeholders after {allowed} interruptions"


def placeholders(history: History) -> int:
    return sum(each.text == PLACEHOLDER for seen in history.seen.values() for each in seen)


def a_reply_has_a_question(history: History) -> Found:
    asked: dict[str, set[str]] = defaultdict(set)
    for written in history.written:
        asked[written.place].add(written.token)
    for place in sorted(history.seen):
        for each in history.whole(place):
            if unknown := set(each.tokens) - asked[place]:
                yield (
                    Kind.OTHER,
                    f"{place} answers {' '.join(sorted(unknown))}, which no person wrote there: {each.text}",
                )


def replies_follow_the_order(history: History) -> Found:
    """Find replies in the wrong order within a place.

    The oldest message of a reply counts, because several messages of one person are answered together.
    """
    for place in sorted(history.seen):
        first = list({each.text: min(each.tokens) for each in history.whole(place)}.values())
        for before, after in pairwise(first):
            if after < before:
                yield Kind.OUT_OF_ORDER, f"{place} answers {before} before {after}"


def a_retry_waits_for_the_platform(history: History) -> Found:
    """Find sends to a channel before the end of the platform's `retry_after`.

    A kill is an exception, because the daemon forgets the wait.
    """
    for refused in history.sends:
        if refused.failure is None or refused.failure.retry_after <= 0:
            continue
        end = refused.at + refused.failure.retry_after
        for send in history.sends:
            soon = refused.at + IN_FLIGHT < send.at < end - ROUNDING
            if soon and _same_channel(send, refused) and not _killed(history, refused, send):
                early = f"{end - send.at:.2f} s too soon"
                yield Kind.TOO_SOON, f"{send.platform} {send.channel} got something {early}: {send.text}"


def _killed(history: History, before: Send, after: Send) -> bool:
    return any(before.at <= kill.at <= after.at for kill in history.kills)


def _same_channel(send: Send, other: Send) -> bool:
    return (send.platform, send.channel) == (other.platform, other.channel)


RULES: tuple[Rule[History], ...] = (
    *COMMON_RULES,
    every_message_is_answered,
    every_message_has_one_reply,
    a_keyed_platform_shows_it_once,
    telegram_repeats_only_what_was_interrupted,
    telegram_repeats_one_a_kill,
    no_reply_is_incomplete,
    a_reply_has_a_question,
    replies_follow_the_order,
    a_retry_waits_for_the_platform,
)
