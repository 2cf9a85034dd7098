"""The rules of the matrix for every answer of a platform. They know the promises of the daemon, not its code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arvis.domain.platforms import BotState
from tests.platforms.faults.case import Record
from tests.platforms.faults.platforms import Platform
from tests.platforms.faults.wire import Kind

#: Texts that only Python's own errors contain.
_PYTHON = re.compile(
    r"Traceback|\b[A-Z]\w*(?:Error|Exception)\b|^raised: |NoneType|object has no attribute|<class '|"
    r"\bnot subscriptable|list index|string indices|\bKeyError|unexpected keyword|invalid literal|not iterable"
)
#: Permanent refusals, after which the send is given up.
_FINAL = frozenset({Kind.S403, Kind.S404, Kind.S409})
#: Seconds until a bot is up, even if unimportant calls fail.
_SOON = 8.0


def problems(record: Record, platform: Platform) -> list[str]:
    return [*_up(record, platform), *_answered(record, platform), *_words(record)]


def _up(record: Record, platform: Platform) -> Iterator[str]:
    if record.up_after is None:
        yield "down: never up"
    elif record.states and record.states[-1][0] is not BotState.RUNNING:
        yield f"down: {record.states[-1]}"
    if any(notice.startswith("token") for notice in record.notices):
        yield f"down: taken for a refused token: {record.notices}"
    if record.case.fault.call in platform.cosmetic:
        if record.up_after is not None and record.up_after > _SOON:
            yield f"delayed: up after {record.up_after:.1f} s"
        if any(state is BotState.ERROR for state, _ in record.states):
            yield f"down: a cosmetic call ended it: {record.states}"


def _answered(record: Record, platform: Platform) -> Iterator[str]:
    fault = record.case.fault
    may_fail = record.hits if fault.call in platform.sends and fault.kind in _FINAL else 0
    lost = [token for token, times in record.tokens.items() if times == 0]
    later = [token for token in lost if token in record.late]
    if later:
        yield f"not answered afterwards: {later}"
    if len(lost) > may_fail:
        yield f"not answered: {lost}"
    repeatable = platform.platform == "telegram" and fault.call in platform.sends and fault.carried_out
    # If the platform says that a message does not exist any more, the daemon sends it again.
    repeatable = repeatable or (fault.call.startswith("PATCH") and fault.kind is Kind.S404)
    extra = sum(times - 1 for times in record.tokens.values() if times > 1)
    if extra > (record.hits if repeatable else 0):
        twice = [token for token, times in record.tokens.items() if times > 1]
        yield f"twice: {[text[:60] for text in record.shown if any(token in text for token in twice)]}"


def _words(record: Record) -> Iterator[str]:
    texts = [*record.shown, *record.notices, *record.errors, *(error for _, error in record.states)]
    for text in dict.fromkeys(texts):
        if _PYTHON.search(text):
            yield f"Python's words: {text[:300]}"
