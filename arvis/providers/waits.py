"""Read from the headers of an answer when the server accepts the next request.

`Retry-After` in seconds or as a date, `retry-after-ms` of OpenAI and Azure, and for rate limits the headers that name
the time when a used-up allowance is full again: `anthropic-ratelimit-tokens-reset` (a time),
`x-ratelimit-reset-tokens` (a span such as `6m0s`), and `x-ratelimit-reset` or `ratelimit-reset` (seconds, or an epoch
in seconds or ms).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from arvis.ports.clock import Clock

#: Maximum wait in seconds: no vendor means a larger one, which would postpone a message without end.
LONGEST_WAIT = 86_400.0

#: Names of the headers of a limit: the remaining allowance, and the time when it is full again.
_RESETS = re.compile(
    r"(?P<vendor>anthropic-ratelimit-)(?P<what>[a-z-]+)-reset"
    r"|(?P<other>x-ratelimit-)reset(?:-(?P<of>[a-z-]+))?"
    r"|(?P<plain>ratelimit-)reset",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?")

#: From the first number on, a value is an epoch in seconds, from the second on in milliseconds; below, it is a wait.
_EPOCH, _EPOCH_MS = 1e9, 1e12


def wait_in(headers: Mapping[str, str], clock: Clock, *, limited: bool) -> float | None:
    """Return the wait in seconds; None without a usable header. A date is compared with the server's own clock if the
    answer shows it, because ours may be wrong. With `limited` the headers of limits count, too: the longest wait of a
    used-up one."""
    for wanted in (_of_ms(headers.get("Retry-After-Ms", "")), _of_retry_after(headers, clock)):
        if wanted is not None:
            return _bounded(wanted)
    waits = list(_of_limits(headers, _now(headers, clock))) if limited else []
    return _bounded(max(waits)) if waits else None


def _of_ms(value: str) -> float | None:
    ms = _number(value)
    return None if ms is None else ms / 1000


def _of_retry_after(headers: Mapping[str, str], clock: Clock) -> float | None:
    value = headers.get("Retry-After", "").strip()
    try:
        return _number(value) if _is_number(value) else max(0.0, _date(value) - _now(headers, clock))
    except ValueError:
        return None


def _of_limits(headers: Mapping[str, str], now: float) -> Iterator[float]:
    for name, value in headers.items():
        found = _RESETS.fullmatch(name)
        if found is None or not _used_up(headers, found):
            continue
        wait = _wait_until(value.strip(), now)
        if wait is not None and wait >= 0:
            yield wait


def _used_up(headers: Mapping[str, str], found: re.Match[str]) -> bool:
    """Return whether that allowance is used up. A server without this header means the limit for which it refused."""
    if found["vendor"]:
        name = f"{found['vendor']}{found['what']}-remaining"
    elif found["other"]:
        name = f"{found['other']}remaining" + (f"-{found['of']}" if found["of"] else "")
    else:
        name = f"{found['plain']}remaining"
    left = _number(headers.get(name, ""))
    return left == 0 or (left is None and not found["vendor"] and not found["of"])


def _wait_until(value: str, now: float) -> float | None:
    """Read the wait from a number, a span or a time."""
    number = _number(value)
    if number is not None:
        if number >= _EPOCH_MS:
            return number / 1000 - now
        return number - now if number >= _EPOCH else number
    span = _SPAN.fullmatch(value)
    if value and span is not None:
        hours, minutes, seconds, ms = (float(part or 0) for part in span.groups())
        return hours * 3600 + minutes * 60 + seconds + ms / 1000
    try:
        moment = datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now


def _now(headers: Mapping[str, str], clock: Clock) -> float:
    try:
        return _date(headers.get("Date", ""))
    except ValueError:
        return clock.now() / 1000


def _date(value: str) -> float:
    """Return an HTTP date in seconds since 1970. Raises ValueError."""
    try:
        moment = parsedate_to_datetime(value)
    except OverflowError:
        raise ValueError(value) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _number(value: str) -> float | None:
    """Return a number that is not negative; None for anything else, including NaN."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if number >= 0 else None


def _bounded(seconds: float) -> float:
    return min(seconds, LONGEST_WAIT)
