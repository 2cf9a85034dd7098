"""Brave Search: `GET /res/v1/web/search` with the key in `X-Subscription-Token`.

Brave accepts at most 20 results, 400 characters and 50 words. The language is one of a fixed list, and a site is a part
of the query (`site:`).
"""

from __future__ import annotations

from arvis.domain.web_search import Findings, Freshness, SearchQuery
from arvis.ports.search import SearchProvider, SearchServices
from arvis.web_search.exchange import base_of, entries, get_json, key_of, result, results_of

_ADDRESS = "https://api.search.brave.com"
_MOST_WORDS, _MOST_CHARACTERS = 50, 400
_FRESHNESS = {Freshness.DAY: "pd", Freshness.WEEK: "pw", Freshness.MONTH: "pm", Freshness.YEAR: "py"}
#: The codes of `search_lang` that are equal to the usual code of a language.
_LANGUAGES = frozenset(
    [
        "ar",
        "eu",
        "bn",
        "bg",
        "ca",
        "hr",
        "cs",
        "da",
        "nl",
        "en",
        "et",
        "fi",
        "fr",
        "gl",
        "de",
        "gu",
        "he",
        "hi",
        "hu",
        "is",
        "it",
        "kn",
        "ko",
        "lv",
        "lt",
        "ms",
        "ml",
        "mr",
        "nb",
        "pl",
        "pa",
        "ro",
        "ru",
        "sr",
        "sk",
        "sl",
        "es",
        "sv",
        "ta",
        "te",
        "th",
        "tr",
        "uk",
        "vi",
        "en-gb",
        "pt-br",
        "pt-pt",
        "zh-hans",
        "zh-hant",
    ]
)
#: The codes that Brave writes differently.
_OTHER_CODES = {"ja": "jp", "pt": "pt-pt", "zh": "zh-hans", "zh-cn": "zh-hans", "zh-tw": "zh-hant", "no": "nb"}


def create(services: SearchServices) -> SearchProvider:
    return Brave(services)


class Brave:
    def __init__(self, services: SearchServices) -> None:
        self._services = services

    async def search(self, query: SearchQuery) -> Findings:
        text = " ".join(query.text.split()[:_MOST_WORDS])
        asked = f"site:{query.site} {text}" if query.site else text
        parameters: dict[str, str | int] = {
            "q": asked[:_MOST_CHARACTERS],
            "count": query.count,
            "text_decorations": "false",
            "result_filter": "web",
        }
        if query.freshness in _FRESHNESS:
            parameters["freshness"] = _FRESHNESS[query.freshness]
        if language := _language(query.language):
            parameters["search_lang"] = language
        key = await key_of(self._services)
        url = f"{base_of(self._services, _ADDRESS)}/res/v1/web/search"
        document = await get_json(self._services, url, parameters, {"X-Subscription-Token": key})
        if "web" not in document and document.get("type") == "search":
            return Findings(())  # Brave leaves out the list if it found nothing
        found = (
            result(each.get("title"), each.get("url"), each.get("description"), each.get("page_age"))
            for each in entries(document, "web", "results")
        )
        return Findings(results_of(found, query), ("language",) if query.language and not language else ())


def _language(code: str) -> str:
    """Return Brave's code of a language; an empty text if Brave does not offer the language."""
    whole = code.lower()
    for each in (whole, whole.partition("-")[0]):
        if each in _LANGUAGES:
            return each
        if each in _OTHER_CODES:
            return _OTHER_CODES[each]
    return ""
