"""Tool `web_search`: returns instant answers of a search engine.

The search engine is DuckDuckGo. Its instant answers are facts and summaries, not lists of pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.text import storable
from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.http import HttpClient, HttpError
from arvis.ports.tool import Tool, ToolServices
from arvis.tools.function import FunctionTool

_TIMEOUT = 10.0
_MAX_BYTES = 1_000_000
_OK = 200
_MOST_FACTS = 6
_MOST_TOPICS = 5
#: The maximum length of one part of the result in characters. The limit leaves space for the other parts.
_LONGEST_PART = 2000

DECLARATION = ToolDeclaration(risk=Risk.EGRESS, harmless=True, needs=(Need.NETWORK,))


def create(services: ToolServices) -> Tool:
    async def web_search(query: Annotated[str, Field(min_length=1, max_length=400)]) -> str:
        """Look something up on the web. Returns a direct answer, a summary with its source, facts and related topics
        for well-known subjects, but no list of web pages."""
        return findings(query, await _ask(services.http, services.search_url, query))

    return FunctionTool(web_search, DECLARATION)


async def _ask(http: HttpClient, address: str, query: str) -> Mapping[str, Any]:
    asked = urlencode(
        {"q": query, "format": "json", "no_html": 1, "no_redirect": 1, "skip_disambig": 1}, errors="replace"
    )
    url = f"{address}{'&' if '?' in address else '?'}{asked}"
    try:
        async with http.get(
            url, headers={"User-Agent": "Arvis"}, timeout=_TIMEOUT, idle_timeout=_TIMEOUT, max_bytes=_MAX_BYTES
        ) as response:
            status, body = response.status, await response.body()
    except HttpError as error:
        raise ToolError(f"The search failed: {error}.") from None
    if status != _OK:
        raise ToolError(f"The search service refused the request (status {status}). Try again later.")
    return _read(body)


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ToolError("The search service sent an unreadable answer. Try again later.")
    return found


def findings(query: str, found: Mapping[str, Any]) -> str:
    """Return the answer of the service as text for the model. Any field may be missing or have an unexpected type."""
    parts = [*_answers(found), *_facts(found), *_topics(found)]
    return "\n".join(parts) or f"Nothing found for {query!r}. Try other words, or fetch a known page."


def _answers(found: Mapping[str, Any]) -> Iterator[str]:
    if answer := _text(found, "Answer"):
        yield f"Answer: {answer}"
    for kind, name in (("Abstract", "Summary"), ("Definition", "Definition")):
        if text := _text(found, f"{kind}Text") or _text(found, kind):
            heading = _text(found, "Heading")
            source = " ".join(filter(None, (_text(found, f"{kind}Source"), _text(found, f"{kind}URL"))))
            yield f"{name}{f' of {heading}' if heading else ''}: {text}" + (f" (source: {source})" if source else "")


def _facts(found: Mapping[str, Any]) -> Iterator[str]:
    box = found.get("Infobox")
    rows = _entries(box.get("content")) if isinstance(box, dict) else iter(())
    facts = [
        f"- {_text(row, 'label')}: {_text(row, 'value')}" for row in rows if _text(row, "label") and _text(row, "value")
    ]
    if facts:
        yield "\n".join(["Facts:", *facts[:_MOST_FACTS]])


def _topics(found: Mapping[str, Any]) -> Iterator[str]:
    topics = [_topic(entry) for entry in (*_entries(found.get("Results")), *_flat(found.get("RelatedTopics")))]
    kept = [topic for topic in topics if topic]
    if kept:
        yield "\n".join(["Related:", *kept[:_MOST_TOPICS]])


def _topic(entry: Mapping[str, Any]) -> str:
    text, url = _text(entry, "Text"), _text(entry, "FirstURL")
    return f"- {text}{f' ({url})' if url else ''}" if text else ""


def _flat(topics: object) -> Iterator[Mapping[str, Any]]:
    """Yield the topics. A group of topics is replaced by its topics, one level deep."""
    for entry in _entries(topics):
        yield from _entries(entry["Topics"]) if "Topics" in entry else (entry,)


def _entries(value: object) -> Iterator[Mapping[str, Any]]:
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else iter(())


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return " ".join(storable(value).split())[:_LONGEST_PART] if isinstance(value, str) else ""
