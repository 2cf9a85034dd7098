"""Defines the section `search` of `config.yaml`: the providers of web searches, with their keys and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from arvis.config.declarations import Section, setting
from arvis.config.values import SecretText, TextList, Url

_ADDRESS = "A stored key would be sent to the new address."
_WIKI = "the address of api.php of a wiki; {language} is replaced by the language of the search"

#: For each provider that needs a key or an address: the environment variable, and the key of the section that this
#: variable sets. A secret variable of the dashboard that has the name of a key's environment variable sets the key,
#: too.
VARIABLES: Mapping[str, tuple[str, str]] = {
    "brave": ("BRAVE_API_KEY", "api_key"),
    "tavily": ("TAVILY_API_KEY", "api_key"),
    "exa": ("EXA_API_KEY", "api_key"),
    "searxng": ("SEARXNG_URL", "address"),
}
#: The provider that needs neither a key nor an address.
FALLBACK = "mediawiki"


class KeyedSearch(Section):
    """A search service with a key."""

    api_key: SecretText | None = setting(
        None,
        "env:NAME or file:PATH; null: the environment variable or the secret variable NAME_API_KEY, as in BRAVE_API_KEY",
        file_only="A secret is named in config.yaml, in the environment or among the variables.",
    )
    address: Url | None = setting(None, "null: the address of the service", file_only=_ADDRESS)


class OwnSearch(Section):
    """A search service of the owner."""

    address: Url | None = setting(
        None,
        "such as http://127.0.0.1:8080; null: the environment variable SEARXNG_URL",
        file_only="It decides where searches are sent.",
    )


class WikiSearch(Section):
    """The search of a wiki."""

    address: Url | None = setting(None, f"{_WIKI}; null: Wikipedia", file_only="It decides where searches are sent.")


class Search(Section):
    """The providers of the tool `web_search`."""

    providers: TextList = setting(
        (),
        "the providers in the order in which they are asked: brave, tavily, exa, searxng, mediawiki; empty: all that have a key "
        "or an address, then mediawiki",
        at_once=True,
    )
    brave: KeyedSearch = setting(KeyedSearch(), "Brave Search")
    tavily: KeyedSearch = setting(KeyedSearch(), "Tavily")
    exa: KeyedSearch = setting(KeyedSearch(), "Exa")
    searxng: OwnSearch = setting(OwnSearch(), "SearXNG, a metasearch engine on your own server")
    mediawiki: WikiSearch = setting(WikiSearch(), "MediaWiki, the software of Wikipedia; it needs no key")

    def key(self, provider: str) -> str | None:
        """Return the key of a provider that the configuration or the environment sets."""
        section = getattr(self, provider, None)
        key = section.api_key if isinstance(section, KeyedSearch) else None
        return None if key is None else key.get_secret_value()

    def address(self, provider: str) -> str | None:
        section = getattr(self, provider, None)
        return section.address if isinstance(section, KeyedSearch | OwnSearch | WikiSearch) else None

    def secrets(self) -> Iterator[str]:
        """Yield the values that must never be shown."""
        yield from (key for name in VARIABLES if (key := self.key(name)) is not None)


def with_environment(search: Search, environ: Mapping[str, str]) -> Search:
    """Return the section. Keys and addresses that are not set come from the environment variables of the providers."""
    changed = {}
    for name, (variable, field) in VARIABLES.items():
        section, text = getattr(search, name), environ.get(variable, "").strip()
        if text and getattr(section, field) is None:
            changed[name] = section.model_copy(update={field: SecretStr(text) if field == "api_key" else text})
    return search.model_copy(update=changed) if changed else search


def variable_of(provider: str) -> str:
    """Return the name of the variable that contains the key of a provider."""
    named = VARIABLES.get(provider)
    return f"{provider.upper().replace('-', '_')}_API_KEY" if named is None else named[0]


def order(search: Search, keyed: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the providers in the order in which they are asked. `keyed` are the providers whose key is
    stored as a variable."""
    if search.providers:
        return tuple(dict.fromkeys(search.providers))
    ready = [name for name, (_, field) in VARIABLES.items() if name in keyed or getattr(getattr(search, name), field)]
    return (*ready, FALLBACK)
