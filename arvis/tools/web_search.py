"""Tool `web_search`: searches the web, and returns pages with title, address, snippet and date.

The providers are asked in the order of the configuration until one of them answers. A provider that limits its use is
left out until the time that it named. A provider that failed in another way is asked last for a minute.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Need, Risk, Source, ToolDeclaration
from arvis.domain.web_search import Findings, Freshness, SearchFailed, SearchProblem, SearchQuery
from arvis.ports.clock import Clock
from arvis.ports.search import SearchProvider, SearchProviders
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool

_MOST_RESULTS = 10

#: The longest wait in seconds for a provider that allows few searches at a time.
_PATIENCE = 5.0
#: The seconds for which a provider is left out if its answer names no waiting time.
_USUAL_WAITS = {SearchProblem.RATE_LIMIT: 30.0, SearchProblem.QUOTA: 3600.0}
#: The seconds for which a provider is asked last after a failure in `_OUTAGES`.
_LAST = 60.0
#: The failures after which the next search would fail in the same way. Other failures depend on the query, or end with a
#: change of the configuration.
_OUTAGES = frozenset({SearchProblem.KEY_REFUSED, SearchProblem.UNREACHABLE, SearchProblem.INVALID})

DECLARATION = ToolDeclaration(risk=Risk.EGRESS, harmless=True, public_output=True, needs=(Need.NETWORK,))


def create(services: ToolServices) -> Tool:
    chain = SearchChain(providers=services.search, clock=services.clock)

    async def web_search(
        query: Annotated[str, Field(min_length=1, max_length=400)],
        count: Annotated[int, Field(ge=1, le=_MOST_RESULTS)] = 5,
        freshness: Literal["any", "day", "week", "month", "year"] = "any",
        site: Annotated[str, Field(max_length=253, pattern=r"^[\w.-]*$", description="Only this host")] = "",
        language: Annotated[str, Field(pattern="^[A-Za-z-]{0,12}$", description="Code such as de")] = "",
        *,
        caller: Caller,
    ) -> str:
        """Search the web. Returns pages with title, address, snippet and date; http_fetch reads them."""
        asked = SearchQuery(query, count, Freshness(freshness), site.lower(), language)
        text, sources = await chain.answer(asked)
        for source in sources:
            caller.cite(source)
        return text

    return FunctionTool(web_search, DECLARATION)


class SearchChain:
    """The providers in their order, with the times at which they may be asked again. The times are not stored: after a
    restart, every provider is asked again."""

    def __init__(self, *, providers: SearchProviders, clock: Clock) -> None:
        self._providers = providers
        self._clock = clock
        #: A lock for each provider, so that it gets one search at a time, because services limit the searches per
        #: second.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        #: By provider: the time (s, of the monotonic clock) before which the provider must not be asked, and the time
        #: before which it is asked last.
        self._not_before: dict[str, float] = {}
        self._last_before: dict[str, float] = {}

    async def answer(self, query: SearchQuery) -> tuple[str, Sequence[Source]]:
        """Return the results as text for the model, and their addresses. Raise `ToolError` if no provider answers."""
        reasons: list[str] = []
        now = self._clock.monotonic()
        in_order = await self._providers.get()
        for name, provider in sorted(in_order, key=lambda each: self._last_before.get(each[0], now) > now):
            if isinstance(provider, str):
                reasons.append(f"{name}: {provider}")
                continue
            try:
                findings = await self._asked(name, provider, query)
            except SearchFailed as failed:
                reasons.append(f"{name}: {failed}")
                continue
            return _text(name, query, findings, reasons), [Source(each.url, each.title) for each in findings.results]
        why = "; ".join(reasons) or "no provider is set up"
        raise ToolError(f"The search failed: {why}. An owner can set up another provider (docs/how-to/web-search.md).")

    async def _asked(self, name: str, provider: SearchProvider, query: SearchQuery) -> Findings:
        """Ask a provider. If it refuses the search but allows another one within `_PATIENCE` seconds, wait and ask once
        more."""
        async with self._locks[name]:
            await self._wait_for(name)
            try:
                findings = await provider.search(query)
            except SearchFailed as failed:
                self._note(name, failed)
                if failed.problem is not SearchProblem.RATE_LIMIT:
                    raise
                await self._wait_for(name, failed)
                findings = await self._again(name, provider, query)
            self._last_before.pop(name, None)
            return findings

    async def _again(self, name: str, provider: SearchProvider, query: SearchQuery) -> Findings:
        try:
            return await provider.search(query)
        except SearchFailed as failed:
            self._note(name, failed)
            raise

    async def _wait_for(self, name: str, failed: SearchFailed | None = None) -> None:
        """Wait until the provider may be asked. Raise `SearchFailed` if this takes longer than `_PATIENCE`."""
        wait = self._not_before.get(name, 0.0) - self._clock.monotonic()
        if wait > _PATIENCE:
            reason = str(failed) if failed is not None else "the service allows no further search now"
            raise SearchFailed(SearchProblem.RATE_LIMIT, f"{reason}, try again in {_span(wait)}")
        if wait > 0:
            await self._clock.sleep(wait)

    def _note(self, name: str, failed: SearchFailed) -> None:
        now = self._clock.monotonic()
        if failed.problem in _USUAL_WAITS:
            wait = failed.retry_after if failed.retry_after is not None else _USUAL_WAITS[failed.problem]
            self._not_before[name] = now + wait
        elif failed.problem in _OUTAGES:
            self._last_before[name] = now + _LAST


def _text(name: str, query: SearchQuery, findings: Findings, reasons: Iterable[str]) -> str:
    place = f"{name}, only {findings.only}" if findings.only else name
    notes = [f"Not answered by {reason}." for reason in reasons]
    if findings.ignored:
        notes.append(f"{name} cannot apply: {', '.join(findings.ignored)}.")
    if not findings.results:
        return "\n".join([f"{place} found nothing for {query.text!r}. Try other or fewer words.", *notes])
    lines = [f"Results of {place}:"]
    for number, each in enumerate(findings.results, 1):
        lines.append(f"{number}. {each.title}{f' ({each.date})' if each.date else ''}\n   {each.url}")
        if each.snippet:
            lines.append(f"   {each.snippet}")
    return "\n".join([*lines, *notes])


def _span(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 120:  # noqa: PLR2004 (two minutes)
        return f"{whole} seconds"
    return f"{round(whole / 60)} minutes" if whole < 7200 else f"{round(whole / 3600)} hours"  # noqa: PLR2004
