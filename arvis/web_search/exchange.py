"""One exchange with a search service: the request, the classification of each wrong answer, and the conversion of results.

An answer is untrusted input. A field may be missing or have another type, and its text may contain markup. An error text
of the service is never used, because it may repeat the key or the query.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.domain.web_search import SearchFailed, SearchProblem, SearchQuery, SearchResult
from arvis.ports.http import HttpError, HttpResponse
from arvis.ports.search import SearchServices

#: The limits of one exchange, in seconds and bytes.
_TIMEOUT = 10.0
_MAX_BYTES = 2_000_000

#: The maximum length of a part of a result, in characters.
_LONGEST_TITLE, _LONGEST_SNIPPET, _LONGEST_URL = 200, 500, 1000

_USER_AGENT = "Arvis (self-hosted assistant)"
_TAG = regex(r"<[^<>]{0,200}>")
_HEADER_NUMBER = regex(r"\d{1,9}(?:\.\d{1,9})?")
#: The longest accepted wait in seconds. A longer wait is a mistake of the service or the end of a quota.
_LONGEST_WAIT = 86_400.0

_BY_STATUS: Mapping[int, SearchProblem] = {
    401: SearchProblem.KEY_REFUSED,
    402: SearchProblem.QUOTA,
    403: SearchProblem.KEY_REFUSED,
    429: SearchProblem.RATE_LIMIT,
    432: SearchProblem.QUOTA,  # Tavily: the plan is used up
    433: SearchProblem.QUOTA,  # Tavily: the limit for paid use is reached
}
#: Codes in the error documents of Brave (`error.code`) and Exa (`tag`) that are more specific than the status.
_BY_CODE: Mapping[str, SearchProblem] = {
    "SUBSCRIPTION_TOKEN_INVALID": SearchProblem.KEY_REFUSED,
    "SUBSCRIPTION_NOT_FOUND": SearchProblem.KEY_REFUSED,
    "INVALID_API_KEY": SearchProblem.KEY_REFUSED,
    "QUOTA_LIMITED": SearchProblem.QUOTA,
    "NO_MORE_CREDITS": SearchProblem.QUOTA,
    "API_KEY_BUDGET_EXCEEDED": SearchProblem.QUOTA,
    "RATE_LIMITED": SearchProblem.RATE_LIMIT,
}


async def get_json(
    services: SearchServices, url: str, parameters: Mapping[str, str | int], headers: Mapping[str, str]
) -> Mapping[str, Any]:
    """GET the answer of a service. Raise `SearchFailed`."""
    separator = "&" if "?" in url else "?"
    return await _document(
        services,
        services.http.get(
            f"{url}{separator}{urlencode(parameters, errors='replace')}",
            headers={"User-Agent": _USER_AGENT, "Accept": "application/json", **headers},
            timeout=_TIMEOUT,
            idle_timeout=_TIMEOUT,
            max_bytes=_MAX_BYTES,
        ),
    )


async def post_json(
    services: SearchServices, url: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> Mapping[str, Any]:
    """POST a JSON document and return the answer of the service. Raise `SearchFailed`."""
    return await _document(
        services,
        services.http.post(
            url,
            headers={"User-Agent": _USER_AGENT, "Accept": "application/json", **headers},
            json=body,
            timeout=_TIMEOUT,
            idle_timeout=_TIMEOUT,
            max_bytes=_MAX_BYTES,
        ),
    )


async def _document(services: SearchServices, exchange: AbstractAsyncContextManager[HttpResponse]) -> Mapping[str, Any]:
    try:
        async with exchange as response:
            status, headers, body = response.status, response.headers, await response.body()
    except HttpError as error:
        raise SearchFailed(SearchProblem.UNREACHABLE, str(error)) from None
    document = _parsed(body)
    if status != HTTPStatus.OK:
        raise failure(status, headers, document, now=services.clock.now())
    if document is None:
        raise SearchFailed(SearchProblem.INVALID, f"the answer is not a JSON object ({_beginning(body)})")
    return document


def _parsed(body: bytes) -> Mapping[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _beginning(body: bytes) -> str:
    if not body.strip():
        return "it is empty"
    return "it looks like a web page" if body.lstrip().startswith(b"<") else "it begins differently"


async def key_of(services: SearchServices) -> str:
    """Return the key of the provider. Raise `SearchFailed` if there is none."""
    key = await services.key()
    if key is None:
        raise SearchFailed(SearchProblem.NOT_SET_UP, "no key is set")
    return key


def base_of(services: SearchServices, own: str) -> str:
    """Return the address of the service without a slash at its end."""
    return (services.address or own).rstrip("/")


# -- failures ----------------------------------------------------------------------------------------------------------


def failure(status: int, headers: Mapping[str, str], document: Mapping[str, Any] | None, *, now: int) -> SearchFailed:
    """Return the error for an answer whose status is not 200. `now` is in ms."""
    problem = _BY_CODE.get(_code(document)) or _BY_STATUS.get(status) or _by_class(status)
    wait = wait_in(headers, now=now) if problem in {SearchProblem.RATE_LIMIT, SearchProblem.QUOTA} else None
    match problem:
        case SearchProblem.KEY_REFUSED:
            text = "the service refused the key"
        case SearchProblem.QUOTA:
            text = "the quota of the plan is used up"
        case SearchProblem.RATE_LIMIT:
            text = "the service allows no further search now"
        case SearchProblem.REFUSED:
            text = "the service refused the query"
        case SearchProblem.UNREACHABLE:
            text = "the service does not work at the moment"
        case _:
            text = "the answer is not in the expected form"
    return SearchFailed(problem, f"{text} (status {status})", retry_after=wait)


def _code(document: Mapping[str, Any] | None) -> str:
    match document:
        case {"error": {"code": str(code)}} | {"tag": str(code)}:
            return code
        case _:
            return ""


def _by_class(status: int) -> SearchProblem:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return SearchProblem.UNREACHABLE
    return SearchProblem.REFUSED if status >= HTTPStatus.BAD_REQUEST else SearchProblem.INVALID


def wait_in(headers: Mapping[str, str], *, now: int) -> float | None:
    """Return the wait in seconds that the headers contain; None if they contain no wait. `Retry-After` contains seconds
    or a date. Brave sends lists such as `X-RateLimit-Remaining: 0, 900` and `X-RateLimit-Reset: 1, 86000`, with one
    number for each window; the used-up window must end first."""
    named = headers.get("Retry-After", "").strip()
    if _HEADER_NUMBER.fullmatch(named):
        return min(float(named), _LONGEST_WAIT)
    if named:
        try:
            return min(max(parsedate_to_datetime(named).timestamp() - now / 1000, 0.0), _LONGEST_WAIT)
        except (ValueError, TypeError, OverflowError):
            return None
    resets, left = (_numbers(headers.get(f"X-RateLimit-{name}", "")) for name in ("Reset", "Remaining"))
    used_up = [reset for reset, rest in zip(resets, left, strict=False) if rest == 0]
    waits = used_up or resets[:1]
    return min(max(waits), _LONGEST_WAIT) if waits else None


def _numbers(text: str) -> list[float]:
    return [float(each) for each in _HEADER_NUMBER.findall(text[:200])]


# -- results -----------------------------------------------------------------------------------------------------------


def entries(document: Mapping[str, Any], *path: str) -> Iterator[Mapping[str, Any]]:
    """Return the objects of the list at a path inside an answer. Raise `SearchFailed` if there is no list."""
    value: Any = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, list):
        raise SearchFailed(SearchProblem.INVALID, f"the answer has no list `{'.'.join(path)}`")
    return (entry for entry in value if isinstance(entry, dict))


def results_of(found: Iterable[SearchResult], query: SearchQuery) -> tuple[SearchResult, ...]:
    """Return the usable results, each address only once, and not more than the query asks for."""
    by_url: dict[str, SearchResult] = {}
    for result in found:
        if _is_address(result.url):
            by_url.setdefault(result.url, result)
        if len(by_url) == query.count:
            break
    return tuple(by_url.values())


def result(title: object, url: object, snippet: object, date: object) -> SearchResult:
    """Return a result made of untrusted values."""
    address = url.strip() if isinstance(url, str) else ""
    return SearchResult(
        title=plain(title, _LONGEST_TITLE) or "(no title)",
        url=address,
        snippet=plain(snippet, _LONGEST_SNIPPET),
        date=date_of(date),
    )


def plain(value: object, longest: int) -> str:
    """Return a text without markup, on one line, cut to `longest` characters. Other values give an empty text."""
    if not isinstance(value, str):
        return ""
    text = html.unescape(_TAG.sub("", value[: 20 * longest]))
    line = " ".join(storable(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def date_of(value: object) -> str:
    """Return a date of a service as YYYY-MM-DD; an empty text if it is not a date. Services write dates in the form of
    ISO 8601 or of e-mail headers."""
    if not isinstance(value, str) or not 8 <= len(value) <= 60:  # noqa: PLR2004 (the shortest and longest forms)
        return ""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(value.strip()).date().isoformat()
        except (ValueError, TypeError, OverflowError):
            continue
    return ""


def day_before(now: int, days: int) -> str:
    """Return the time that is `days` before `now` (ms), in the form of ISO 8601."""
    return datetime.fromtimestamp(now / 1000 - days * 86_400, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _is_address(url: str) -> bool:
    if len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
