"""Convert a vendor's error answer to one `ProviderError` with a kind, a wait and a text without secrets.

This module reads the OpenAI error object (`{"error": {"message", "type", "code"}}`), which OpenRouter, vLLM, LM Studio
and most other servers share.

The wait comes from one of these headers: `Retry-After` in seconds or as a date, or `retry-after-ms` of OpenAI and
Azure. For rate limits it also comes from the headers that name the time when a used-up allowance is full again:
`anthropic-ratelimit-tokens-reset` (a time), `x-ratelimit-reset-tokens` (a span such as `6m0s`), and `x-ratelimit-reset`
or `ratelimit-reset` (seconds, or an epoch in seconds or ms).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import quote

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Account
from arvis.ports.clock import Clock
from arvis.ports.http import HttpError

_ERROR_STATUSES = range(400, 600)
_SERVER_FAULTS = range(500, 600)

_BY_STATUS: Mapping[int, ProviderErrorKind] = {
    401: ProviderErrorKind.AUTH,
    402: ProviderErrorKind.QUOTA,
    403: ProviderErrorKind.AUTH,
    408: ProviderErrorKind.TIMEOUT,
    409: ProviderErrorKind.OVERLOADED,
    413: ProviderErrorKind.TOO_LONG,
    429: ProviderErrorKind.RATE_LIMIT,
    504: ProviderErrorKind.TIMEOUT,
}

#: The statuses with which a server reports that it does not have the model or the address. The server of another
#: account may have them.
_ELSEWHERE = frozenset({404, 405, 410})

#: Codes and types of the error object that are more specific than the status.
_BY_CODE: Mapping[str, ProviderErrorKind] = {
    "invalid_api_key": ProviderErrorKind.AUTH,
    "authentication_error": ProviderErrorKind.AUTH,
    "insufficient_quota": ProviderErrorKind.QUOTA,
    "billing_hard_limit_reached": ProviderErrorKind.QUOTA,
    "rate_limit_exceeded": ProviderErrorKind.RATE_LIMIT,
    "context_length_exceeded": ProviderErrorKind.TOO_LONG,
    "string_above_max_length": ProviderErrorKind.TOO_LONG,
    "content_filter": ProviderErrorKind.REFUSED,
    "content_policy_violation": ProviderErrorKind.REFUSED,
    "server_error": ProviderErrorKind.OVERLOADED,
    "overloaded_error": ProviderErrorKind.OVERLOADED,
}

#: The texts by which servers report a prompt that is too long, if they send no code for this error.
_TOO_LONG = regex(
    r"context (?:length|window|size|limit)|maximum context|maximum (?:allowed )?(?:input|prompt) length|max_seq_len"
    r"|too many (?:input )?tokens|prompt (?:is )?too long",
    re.IGNORECASE,
)

_KEY_SHAPES = regex(r"(?i:bearer\s+)\S+|\b(?:sk|pk|rk|gsk|xai)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}")
_LONGEST_TEXT = 300

#: The minimum length of a key that is masked in texts. A shorter key, such as "x" for a local server, is a placeholder
#: and no secret, and masking it would make texts unreadable.
_SHORTEST_KEY = 4
_SHORTEST_REAL_KEY = 16


def from_answer(
    account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock
) -> ProviderError:
    """Return the error of an answer whose status is not 2xx. `document` is the JSON of its body; None if the body is
    not JSON."""
    error = document.get("error") if isinstance(document, Mapping) else None
    kind = _kind(error, _kind_of_status(status))
    text = _message(error) or "no further explanation"
    return ProviderError(
        kind,
        redact(f"the vendor answered the account {account.name} with HTTP {status}: {text}", account),
        retry_after=wait_in(headers, clock, limited=status == HTTPStatus.TOO_MANY_REQUESTS),
        elsewhere=status in _ELSEWHERE,
    )


def from_error_object(account: Account, error: object) -> ProviderError:
    """Return the error for an error object inside an answer with a success status."""
    match error:
        case {"code": int(status)} if status in _ERROR_STATUSES:  # OpenRouter
            fallback = _kind_of_status(status)
        case _:
            fallback = ProviderErrorKind.OVERLOADED
    text = _message(error) or "no further explanation"
    return ProviderError(
        _kind(error, fallback), redact(f"the vendor reported for the account {account.name}: {text}", account)
    )


def from_transport(account: Account, error: HttpError, *, silent: bool = False) -> ProviderError:
    """Return the error of a connection that failed or was cut: a timeout, or a temporary fault of the server. `silent`
    is True if no byte of the answer had arrived."""
    kind = ProviderErrorKind.TIMEOUT if error.timeout else ProviderErrorKind.OVERLOADED
    text = redact(f"the account {account.name}: {error}", account)
    return ProviderError(kind, text, silent=silent and error.timeout)


def unreadable(account: Account, why: str) -> ProviderError:
    """Return the error for an answer in an unexpected format. The error counts as a temporary fault, because the usual
    causes are a proxy's error page or a crashed server."""
    return ProviderError(
        ProviderErrorKind.OVERLOADED, f"the vendor sent the account {account.name} an unreadable answer: {why}"
    )


def redact(text: str, account: Account) -> str:
    """Return one short printable line without the account's key or any text that looks like a key."""
    for form in _forms((account.api_key or "").strip()):
        text = text.replace(form, "[key]")
    text = _KEY_SHAPES.sub("[key]", text)
    line = " ".join(text.split())
    line = line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
    return "".join(char if char.isprintable() else " " for char in line)


def without_key(text: str, account: Account) -> str:
    """Return a name from a server. If the name contains the account's key or the beginning of the key, `[key]` replaces
    the text from there on. Short keys are not replaced: they are placeholders, and may be part of legitimate names."""
    key = (account.api_key or "").strip()
    for form in _forms(key) if len(key) >= _SHORTEST_REAL_KEY else ():
        before, found, _ = text.partition(form[:_SHORTEST_REAL_KEY])
        text = f"{before}[key]" if found else text
    return text


def _forms(key: str) -> Iterator[str]:
    """Return the encodings in which a server may repeat the key that it received."""
    if len(key) < _SHORTEST_KEY:
        return
    data = key.encode("utf-8", "replace")
    yield key
    yield quote(key, safe="", errors="replace")
    yield base64.b64encode(data).decode()
    yield base64.urlsafe_b64encode(data).decode().rstrip("=")
    yield data.hex()


def _kind_of_status(status: int) -> ProviderErrorKind:
    other = ProviderErrorKind.OVERLOADED if status in _SERVER_FAULTS else ProviderErrorKind.BAD_REQUEST
    return _BY_STATUS.get(status, other)


def _kind(error: object, fallback: ProviderErrorKind) -> ProviderErrorKind:
    if not isinstance(error, Mapping):
        return fallback
    for name in (error.get("code"), error.get("type")):
        if isinstance(name, str) and name in _BY_CODE:
            return _BY_CODE[name]
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and "flagged_input" in metadata:  # OpenRouter's moderation
        return ProviderErrorKind.REFUSED
    if fallback is ProviderErrorKind.BAD_REQUEST and _TOO_LONG.search(_message(error)):
        return ProviderErrorKind.TOO_LONG
    return fallback


def _message(error: object) -> str:
    """Return the vendor's text. It is usually inside an error object; some servers send only a string."""
    match error:
        case str():
            return error
        case {"message": str(message)}:
            return message
        case _:
            return ""


# -- waits in the headers of an answer ---------------------------------------------------------------------------------


#: The maximum wait in seconds. A longer wait is probably a vendor's mistake, and would postpone a message for too long.
LONGEST_WAIT = 86_400.0

#: The names of the headers that contain the time when a used-up allowance is full again.
_RESETS = regex(
    r"(?P<vendor>anthropic-ratelimit-)(?P<what>[a-z-]+)-reset"
    r"|(?P<other>x-ratelimit-)reset(?:-(?P<of>[a-z-]+))?"
    r"|(?P<plain>ratelimit-)reset",
    re.IGNORECASE,
)
_SPAN = regex(r"(?:(\d{1,4})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?")

#: A value below `_EPOCH` is a wait in seconds. A value from `_EPOCH` to `_EPOCH_MS` is a time in seconds since 1970. A
#: greater value is such a time in milliseconds.
_EPOCH, _EPOCH_MS = 1e9, 1e12


def wait_in(headers: Mapping[str, str], clock: Clock, *, limited: bool) -> float | None:
    """Return the wait in seconds; None if there is no usable header. A date is compared with the server's clock if the
    answer shows it, because our clock may be wrong. If `limited`, the headers of rate limits also count: the result is
    the longest wait of the used-up limits."""
    ms = _number(headers.get("Retry-After-Ms", ""))
    wanted = ms / 1000 if ms is not None else _of_retry_after(headers, clock)
    if wanted is not None:
        return _bounded(wanted)
    waits = list(_of_limits(headers, _now(headers, clock))) if limited else []
    return _bounded(max(waits)) if waits else None


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
    """Return whether the allowance of a header is used up. If the server does not report the remaining allowance,
    return True only for a header that names no particular allowance, because such a header describes the limit that
    refused the request."""
    if found["vendor"]:
        name = f"{found['vendor']}{found['what']}-remaining"
    elif found["other"]:
        name = f"{found['other']}remaining" + (f"-{found['of']}" if found["of"] else "")
    else:
        name = f"{found['plain']}remaining"
    left = _number(headers.get(name, ""))
    return left == 0 or (left is None and not found["vendor"] and not found["of"])


def _wait_until(value: str, now: float) -> float | None:
    """Return the number of seconds from `now` until the end of a wait. `value` is a number, a span or a time. Return
    None if it is unreadable."""
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
    """Return an HTTP date in seconds since 1970. Raise `ValueError` if it is unreadable."""
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
