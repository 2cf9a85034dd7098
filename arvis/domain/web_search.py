"""Web search: the query, the results and the failures that all search providers share."""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass


class Freshness(StrEnum):
    """The age limits for results."""

    ANY = "any"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search. An empty `site` or `language` means no limit."""

    text: str
    #: The maximum number of results.
    count: int = 5
    freshness: Freshness = Freshness.ANY
    #: A host such as docs.python.org.
    site: str = ""
    #: A code such as `de` or `pt-BR`.
    language: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that a search found. All texts are untrusted."""

    title: str
    #: An address that begins with http:// or https://.
    url: str
    snippet: str = ""
    #: The date of the page as YYYY-MM-DD; empty if the provider does not know it.
    date: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """The answer of a provider to a query."""

    results: tuple[SearchResult, ...]
    #: The names of the fields of the query that the provider could not apply.
    ignored: tuple[str, ...] = ()
    #: The only site that the provider searches; empty if it searches the whole web.
    only: str = ""


class SearchProblem(StrEnum):
    """The reasons why a provider gives no results."""

    #: The provider needs a key or an address that is not set.
    NOT_SET_UP = "not_set_up"
    KEY_REFUSED = "key_refused"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    #: The provider refused the query itself.
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    #: The answer is not in the provider's format.
    INVALID = "invalid"


class SearchFailed(Exception):
    """The only error that a search provider raises. The text completes "PROVIDER: …", and contains neither the key nor
    a text of the provider. `retry_after` is the wait in seconds that the provider demanded."""

    def __init__(self, problem: SearchProblem, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.problem = problem
        self.retry_after = retry_after
