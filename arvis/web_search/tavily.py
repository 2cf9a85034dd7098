"""Tavily: `POST /search` with the key as a bearer token.

Tavily has no choice of a language. It names dates only for the topic `news`, which finds nothing but news, so the topic
stays `general` and most results have no date.
"""

from __future__ import annotations

from typing import Any

from arvis.domain.web_search import Findings, Freshness, SearchQuery
from arvis.ports.search import SearchProvider, SearchServices
from arvis.web_search.exchange import base_of, entries, key_of, post_json, result, results_of

_ADDRESS = "https://api.tavily.com"


def create(services: SearchServices) -> SearchProvider:
    return Tavily(services)


class Tavily:
    def __init__(self, services: SearchServices) -> None:
        self._services = services

    async def search(self, query: SearchQuery) -> Findings:
        body: dict[str, Any] = {"query": query.text, "max_results": query.count, "search_depth": "basic"}
        if query.freshness is not Freshness.ANY:
            body["time_range"] = query.freshness.value
        if query.site:
            body["include_domains"] = [query.site]
        key = await key_of(self._services)
        url = f"{base_of(self._services, _ADDRESS)}/search"
        document = await post_json(self._services, url, body, {"Authorization": f"Bearer {key}"})
        found = (
            result(each.get("title"), each.get("url"), each.get("content"), each.get("published_date"))
            for each in entries(document, "results")
        )
        return Findings(results_of(found, query), ("language",) if query.language else ())
