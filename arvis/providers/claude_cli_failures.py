"""Classify failures of the `claude` program: a kind for the runner, and the time of the next try.

The program reports the status of the vendor's answer in most cases and the rest as text. The texts are those of
versions 2.1; a limit of a subscription says when it ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account
from arvis.ports.clock import Clock
from arvis.providers import failures

_KINDS = ProviderErrorKind


@dataclass(frozen=True, slots=True)
class Trouble:
    """The program's report. `status` is that of the vendor's answer, `reason` the program's own name for the end,
    `resets_at` the end of a limit, in seconds since 1970."""

    words: str
    status: int | None = None
    reason: str = ""
    resets_at: float | None = None
    exit_code: int = 1


_AUTH_WORDS = (
    r"invalid api key|/login|not logged in|log ?in again|setup-token|authentication_error"
    r"|oauth (?:token|account|authentication)|\b401\b|\b403\b|organization has been disabled"
)
#: The order matters: more specific patterns come first.
_BY_WORDS: Mapping[ProviderErrorKind, re.Pattern[str]] = {
    _KINDS.TOO_LONG: re.compile(
        r"prompt is too long|context (?:limit|window|length)|exceeds? the context", re.IGNORECASE
    ),
    _KINDS.QUOTA: re.compile(r"credit balance|spend(?:ing)? limit|billing", re.IGNORECASE),
    _KINDS.RATE_LIMIT: re.compile(r"limit reached|hit your [\w ]*limit|usage limit|rate.?limit|\b429\b", re.IGNORECASE),
    _KINDS.AUTH: re.compile(_AUTH_WORDS, re.IGNORECASE),
    _KINDS.OVERLOADED: re.compile(r"overloaded|\b529\b|\b50[023]\b|internal server error", re.IGNORECASE),
    _KINDS.TIMEOUT: re.compile(r"timed? ?out|\b504\b", re.IGNORECASE),
    _KINDS.REFUSED: re.compile(r"unable to respond|usage policy|declined", re.IGNORECASE),
    _KINDS.BAD_REQUEST: re.compile(r"unknown option|selected model|\b40[04]\b|invalid_request_error", re.IGNORECASE),
}
_BY_STATUS: Mapping[int, ProviderErrorKind] = {
    400: _KINDS.BAD_REQUEST,
    401: _KINDS.AUTH,
    402: _KINDS.QUOTA,
    403: _KINDS.AUTH,
    404: _KINDS.BAD_REQUEST,
    408: _KINDS.TIMEOUT,
    413: _KINDS.TOO_LONG,
    429: _KINDS.RATE_LIMIT,
    504: _KINDS.TIMEOUT,
}

_EPOCH = re.compile(r"\|\s*(\d{10})(?:\d{3})?\b")
_RESETS = re.compile(
    r"resets?(?: at| on)?\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]*\s+(?P<day>\d{1,2})(?:,| at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?(?:\s*\((?P<zone>[\w/+-]{1,40})\))?",
    re.IGNORECASE,
)
_IN = re.compile(r"(?:resets|again|retry)[\w ]* in\s+(?:(\d{1,3})\s*h\w*)?\s*(?:(\d{1,4})\s*m\w*)?", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NOON = 12

#: Maximum wait in seconds: the longest limit is one of a week.
_LONGEST_WAIT = 7 * 86_400.0


def failure(account: Account, trouble: Trouble, clock: Clock) -> ProviderError:
    """Return one error with its kind, without secrets. An unknown failure counts as a temporary fault."""
    kind = _kind(trouble)
    words = trouble.words.strip() or f"it ended with code {trouble.exit_code} and said nothing"
    text = failures.redact(f"the program of the account {account.name} failed: {words}", account)
    wait = _wait(trouble, clock) if kind in {_KINDS.RATE_LIMIT, _KINDS.QUOTA} else None
    return ProviderError(kind, text, retry_after=wait)


def _kind(trouble: Trouble) -> ProviderErrorKind:
    if trouble.reason == "prompt_too_long":
        return _KINDS.TOO_LONG
    if trouble.resets_at is not None:
        return _KINDS.RATE_LIMIT
    words = _by_words(trouble.words)
    if words in {_KINDS.TOO_LONG, _KINDS.QUOTA} or trouble.status is None:
        return words or _KINDS.OVERLOADED
    return _BY_STATUS.get(trouble.status, words or _KINDS.OVERLOADED)


def _by_words(words: str) -> ProviderErrorKind | None:
    return next((kind for kind, pattern in _BY_WORDS.items() if pattern.search(words)), None)


def _wait(trouble: Trouble, clock: Clock) -> float | None:
    """Return the seconds until the limit ends, if the program names them."""
    now = clock.now() / 1000
    if trouble.resets_at is not None:
        return _bounded(trouble.resets_at - now)
    if (epoch := _EPOCH.search(trouble.words)) is not None:
        return _bounded(int(epoch[1]) - now)
    if (span := _IN.search(trouble.words)) is not None and (span[1] or span[2]):
        return _bounded(int(span[1] or 0) * 3600 + int(span[2] or 0) * 60)
    if (reset := _RESETS.search(trouble.words)) is not None:
        at = _moment(reset, datetime.fromtimestamp(now, UTC))
        return None if at is None else _bounded(at.timestamp() - now)
    return None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def _moment(reset: re.Match[str], now: datetime) -> datetime | None:
    """Return the next such moment: a time today or tomorrow, or on a day of this year or the next."""
    hour, minute = int(reset["hour"]), int(reset["minute"] or 0)
    if reset["half"]:
        hour = hour % _NOON + (_NOON if reset["half"].lower() == "pm" else 0)
    here = now.astimezone(_zone(reset["zone"]))
    try:
        at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if not reset["month"]:
            return at if at > here else at + timedelta(days=1)
        at = at.replace(month=_MONTHS.index(reset["month"].lower()) + 1, day=int(reset["day"]))
        return at if at > here - timedelta(days=1) else at.replace(year=at.year + 1)
    except ValueError:
        return None


def _zone(name: str | None) -> tzinfo:
    """Return the named zone, or UTC, which Arvis sets for the program."""
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC
