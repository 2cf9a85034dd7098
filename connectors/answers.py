"""Classify a platform's answer to one request as one of four outcomes: done, refused, uncertain or retry later.

An answer is untrusted input. A proxy or a captive portal may answer in place of the platform, so only a document
in the platform's own form counts as the platform's answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import field
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar

from arvis.domain.dataclass import dataclass
from arvis.ports.connector import SendError

T = TypeVar("T")

_NO_CONTENT, _REQUEST_TIMEOUT, _TOO_MANY, _SERVER_TROUBLE = 204, 408, 429, 500
#: The longest accepted delay in seconds. It is also the delay if a platform asks for a pause without a number of
#: seconds.
_LONGEST_DELAY = 86_400.0
_USUAL_DELAY = 30.0
#: The maximum number of characters of a platform's error text that are used.
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class PlatformResponse:
    """The response to one request. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class PlatformError:
    """A refusal by the platform, with the platform's `code` and `text`. `limited`: the platform asks for a pause of
    `delay` seconds (None: the platform names no number). `uncertain`: the platform may have done a part of the work.
    `passing`: the same request may succeed later."""

    code: str
    text: str
    delay: float | None = None
    limited: bool = False
    uncertain: bool = False
    passing: bool = False


class Dialect(Protocol):
    """The form in which a platform writes its answers."""

    @property
    def name(self) -> str: ...

    def platform_error(self, document: Any) -> PlatformError | None:
        """Return the refusal in this document. Return None if the document is not a refusal in the platform's own
        form."""
        ...

    def accepts(self, document: Any) -> bool:
        """Return whether the document confirms, in the platform's own form, that the platform carried out the
        request."""
        ...

    def result(self, document: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Done:
    """The platform carried out the request. `result`: the part of its answer that describes the result; None for an
    answer without content."""

    result: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """The platform did not carry out the request and will not do so later. `document`: the platform's whole answer."""

    code: str
    reason: str
    status: int = 0
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Uncertain:
    """The platform may have carried out the request. `acknowledged`: the platform confirms that it carried out the
    request, but its answer lacks a value that the caller needs, such as an id."""

    reason: str
    acknowledged: bool = False


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The platform did not carry out the request but may do so later. `delay`: seconds to wait; None if unknown."""

    reason: str
    delay: float | None = None
    code: str = ""


Failure = Refused | Uncertain | RetryLater
Outcome = Done | Failure


def read(dialect: Dialect, answer: PlatformResponse) -> Outcome:
    document = _document(answer)
    platform_error = dialect.platform_error(document)
    if answer.status == _TOO_MANY or (platform_error is not None and platform_error.limited):
        return RetryLater(f"{dialect.name} asks for a pause.", _delay(platform_error, answer), "ratelimited")
    if answer.status >= _SERVER_TROUBLE:
        return Uncertain(f"{dialect.name} answered with status {answer.status}.")
    if platform_error is not None:
        return _failure_of(dialect, platform_error, answer.status, document)
    if not 200 <= answer.status < 300:  # noqa: PLR2004  (HTTP's own numbers)
        # A proxy in front of the platform sent this. The platform itself did not see the request.
        return RetryLater(f"{dialect.name} answered with status {answer.status}, in an unexpected format.")
    if answer.status != _NO_CONTENT and not dialect.accepts(document):
        return Uncertain(f"{dialect.name} sent an answer in an unexpected format.")
    return Done(None if answer.status == _NO_CONTENT else dialect.result(document))


def send_error(failure: Failure, *, gone: bool = False, delay: float | None = None) -> SendError:
    """Return the error that a connector raises for a message that it could not send. `gone`: True if the channel
    accepts no messages of this bot at all. `delay`: the seconds until the next attempt if the platform did not name a
    delay."""
    match failure:
        case Refused():
            return SendError(failure.reason, permanent=True, gone=gone)
        case Uncertain():
            return SendError(failure.reason, uncertain=True, acknowledged=failure.acknowledged)
        case RetryLater():
            return SendError(failure.reason, retry_after=delay if failure.delay is None else failure.delay)


def value(result: Any, *path: str, kind: type[T]) -> T | None:
    """Return the value at a path of keys. Return None if it is missing or does not have the type `kind`."""
    for key in path:
        if not isinstance(result, Mapping):
            return None
        result = result.get(key)
    if isinstance(result, bool) and kind is not bool:
        return None
    return result if isinstance(result, kind) else None


def text(result: Any, *path: str) -> str:
    """Return the text at a path of keys. A whole number becomes text, and any other value an empty text."""
    number = value(result, *path, kind=int)
    return str(number) if number is not None else value(result, *path, kind=str) or ""


def mappings(result: Any) -> list[Mapping[str, Any]] | None:
    """Return the elements of a list that are mappings. Return None if `result` is not a list, or if it is not empty and
    none of its elements is a mapping."""
    if not isinstance(result, list):
        return None
    found = [one for one in result if isinstance(one, Mapping)]
    return found if found or not result else None


def seconds(value_given: Any) -> float | None:
    """Return the delay that a platform wrote as a number or as text, at most `_LONGEST_DELAY`. Return None if the value
    contains no number."""
    if isinstance(value_given, bool) or not isinstance(value_given, int | float | str):
        return None
    try:
        number = float(value_given)
    except ValueError:
        return None
    return min(max(number, 0.0), _LONGEST_DELAY) if math.isfinite(number) else None


def shortened(words: Any) -> str:
    """Return a platform's text on one line, cut to the maximum length."""
    return " ".join(str(words).split())[:_LONGEST_TEXT]


def _failure_of(dialect: Dialect, platform_error: PlatformError, status: int, document: Any) -> Failure:
    reason = f"{dialect.name} refused it: {platform_error.text}"
    if platform_error.uncertain:
        return Uncertain(reason)
    if platform_error.passing or status == _REQUEST_TIMEOUT:
        return RetryLater(reason, code=platform_error.code)
    return Refused(platform_error.code, reason, status, document)


def _document(answer: PlatformResponse) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def _delay(platform_error: PlatformError | None, answer: PlatformResponse) -> float:
    value_given = platform_error.delay if platform_error is not None else None
    if value_given is None:
        value_given = _header_delay(answer.headers)
    return _USUAL_DELAY if value_given is None else value_given


def _header_delay(headers: Mapping[str, str]) -> float | None:
    """Return the delay in the header `Retry-After`: a number of seconds, or the time from the date of the answer to the
    date in the header. Return None if the header is missing or cannot be read."""
    value_given = headers.get("retry-after", "")
    if (number := seconds(value_given)) is not None:
        return number
    try:
        rest = parsedate_to_datetime(value_given) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return seconds(rest.total_seconds())
