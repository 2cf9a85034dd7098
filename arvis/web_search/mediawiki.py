"""The search of a wiki that runs MediaWiki, such as Wikipedia: `list=search` of its `api.php`. It needs no key.

The date of a result is the date of the last edit of its page. The language of the query replaces `{language}` in the
address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin

from arvis.domain.regex import regex
from arvis.domain.web_search import Findings, Freshness, SearchFailed, SearchProblem, SearchQuery
from arvis.ports.search import SearchProvider, SearchServices
from arvis.web_search.exchange import entries, get_json, result, results_of

_ADDRESS = "https://{language}.wikipedia.org/w/api.php"
_LANGUAGE = "{language}"
_USUAL_LANGUAGE = "en"
_CODE = regex(r"[a-z]{2,3}")
#: The codes of temporary errors. MediaWiki reports errors with the status 200, so only the code shows the cause.
_BUSY = frozenset({"ratelimited", "maxlag", "readonly"})


def create(services: SearchServices) -> SearchProvider:
    return MediaWiki(services)


class MediaWiki:
    def __init__(self, services: SearchServices) -> None:
        self._services = services

    async def search(self, query: SearchQuery) -> Findings:
        address = self._services.address or _ADDRESS
        url = address.replace(_LANGUAGE, _subdomain(query.language))
        parameters: dict[str, str | int] = {
            "action": "query",
            "format": "json",
            "formatversion": 2,
            "list": "search",
            "srsearch": query.text,
            "srlimit": query.count,
            "srprop": "snippet|timestamp",
            "meta": "siteinfo",
            "siprop": "general",
        }
        document = await get_json(self._services, url, parameters, {})
        if error := document.get("error"):
            raise _failure(error)
        pages = _Pages(url, document)
        found = (
            result(each.get("title"), pages.address(each.get("title")), each.get("snippet"), each.get("timestamp"))
            for each in entries(document, "query", "search")
        )
        ignored = {
            "freshness": query.freshness is not Freshness.ANY,
            "site": bool(query.site),
            "language": bool(query.language) and _LANGUAGE not in address,
        }
        results = results_of(found, query)
        return Findings(results, tuple(name for name, is_ignored in ignored.items() if is_ignored), pages.site)


class _Pages:
    """The addresses of a wiki's pages, made from the description that the wiki gives of itself."""

    def __init__(self, url: str, document: Mapping[str, Any]) -> None:
        general: Any = document.get("query")
        general = general.get("general") if isinstance(general, dict) else None
        general = general if isinstance(general, dict) else {}
        server, path, name = (general.get(each) for each in ("server", "articlepath", "sitename"))
        if not (isinstance(server, str) and isinstance(path, str) and "$1" in path):
            raise SearchFailed(SearchProblem.INVALID, "the answer does not describe the wiki")
        self._server, self._path = urljoin(url, server), path
        self.site = name.strip()[:100] if isinstance(name, str) else ""

    def address(self, title: object) -> str:
        if not isinstance(title, str):
            return ""
        page = quote(title.replace(" ", "_"), safe="/:@!$*(),;~'", errors="replace")
        return urljoin(self._server, self._path.replace("$1", page, 1))


def _subdomain(language: str) -> str:
    code = language.partition("-")[0].lower()
    return code if _CODE.fullmatch(code) else _USUAL_LANGUAGE


def _failure(error: object) -> SearchFailed:
    code = error.get("code") if isinstance(error, dict) else None
    if code in _BUSY:
        return SearchFailed(SearchProblem.RATE_LIMIT, "the wiki allows no further search now")
    return SearchFailed(SearchProblem.REFUSED, "the wiki refused the query")
