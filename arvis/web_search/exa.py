"""Exa: `POST /search` with the key in `x-api-key`. Exa has no choice of a language. It returns snippets only on request
(`contents.highlights`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.web_search import Findings, Freshness, SearchQuery
from arvis.ports.search import SearchProvider, SearchServices
from arvis.web_search.exchange import base_of, day_before, entries, key_of, post_json, result, results_of

_ADDRESS = "https://api.exa.ai"
_DAYS = {Freshness.DAY: 1, Freshness.WEEK: 7, Freshness.MONTH: 31, Freshness.YEAR: 366}


def create(services: SearchServices) -> SearchProvider:
    return Exa(services)


class Exa:
    def __init__(self, services: SearchServices) -> None:
        self._services = services

    async def search(self, query: SearchQuery) -> Findings:
        body: dict[str, Any] = {
            "query": query.text,
            "numResults": query.count,
            "type": "auto",
            "contents": {"highlights": True},
        }
        if query.freshness in _DAYS:
            body["startPublishedDate"] = day_before(self._services.clock.now(), _DAYS[query.freshness])
        if query.site:
            body["includeDomains"] = [query.site]
        key = await key_of(self._services)
        document = await post_json(
            self._services, f"{base_of(self._services, _ADDRESS)}/search", body, {"x-api-key": key}
        )
        found = (
            result(each.get("title"), each.get("url"), _snippet(each), each.get("publishedDate"))
            for each in entries(document, "results")
        )
        return Findings(results_of(found, query), ("language",) if query.language else ())


def _snippet(entry: Mapping[str, Any]) -> str:
    marked = entry.get("highlights")
    if isinstance(marked, list) and (texts := [each for each in marked if isinstance(each, str)]):
        return " … ".join(texts)
    return next((text for name in ("summary", "text") if isinstance(text := entry.get(name), str)), "")
