"""SearXNG, a metasearch engine on a server of the owner: `GET /search` with `format=json`.

The server must permit the format: `json` in `search.formats` of its settings.yml; otherwise it answers 403. SearXNG
needs no key and has no parameter for the number of results. A search on one site puts `site:` before the query, which
most engines of SearXNG understand.
"""

from __future__ import annotations

from http import HTTPStatus

from arvis.domain.web_search import Findings, Freshness, SearchFailed, SearchProblem, SearchQuery
from arvis.ports.search import SearchProvider, SearchServices
from arvis.web_search.exchange import entries, get_json, result, results_of


def create(services: SearchServices) -> SearchProvider:
    return Searxng(services)


class Searxng:
    def __init__(self, services: SearchServices) -> None:
        self._services = services

    async def search(self, query: SearchQuery) -> Findings:
        address = self._services.address
        if address is None:
            raise SearchFailed(SearchProblem.NOT_SET_UP, "no address is set")
        parameters: dict[str, str | int] = {
            "q": f"site:{query.site} {query.text}" if query.site else query.text,
            "format": "json",
        }
        if query.freshness is not Freshness.ANY:
            parameters["time_range"] = query.freshness.value
        if query.language:
            parameters["language"] = query.language
        try:
            document = await get_json(self._services, f"{address.rstrip('/')}/search", parameters, {})
        except SearchFailed as failed:
            raise _explained(failed) from None
        found = (
            result(each.get("title"), each.get("url"), each.get("content"), each.get("publishedDate"))
            for each in entries(document, "results")
        )
        results = results_of(found, query)
        if not results and (silent := document.get("unresponsive_engines")):
            number = len(silent) if isinstance(silent, list) else 1
            raise SearchFailed(SearchProblem.UNREACHABLE, f"{number} engines of the server did not answer")
        return Findings(results)


def _explained(failed: SearchFailed) -> SearchFailed:
    """Return the error with SearXNG's own meaning of the status 403."""
    if failed.problem is not SearchProblem.KEY_REFUSED:
        return failed
    text = f"the server does not offer JSON (status {HTTPStatus.FORBIDDEN}): add `json` to `search.formats` of its settings"
    return SearchFailed(SearchProblem.REFUSED, text)
