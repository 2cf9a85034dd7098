"""Tools `search_knowledge` and `read_knowledge`: they find and show parts of the documents in the knowledge bases of an
agent. Agents with knowledge bases have both, even if their `tools` do not name them.

The texts are data of unknown authors, unless an owner has trusted the knowledge base. Each part has a mark, by which a reply
cites it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.knowledge import READ_KNOWLEDGE, SEARCH_KNOWLEDGE, FoundChunk, number_of
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.embeddings import MeaningOf
from arvis.ports.knowledge import KnowledgeInsights
from arvis.ports.tool import Caller, Tool
from arvis.tools.function import FunctionTool

_MOST_RESULTS, _USUAL_RESULTS = 20, 6
_MOST_AROUND = 10

#: The outputs have the taint of their knowledge bases, which the calls report themselves.
DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True, own_output=True)


class KnowledgeTools:
    """The `ToolSource` of both tools. `meaning` returns the vector of a question."""

    def __init__(self, *, insights: KnowledgeInsights, meaning: MeaningOf) -> None:
        self._insights = insights
        self._meaning = meaning
        self._made: Mapping[str, Tool] = {}

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        if SEARCH_KNOWLEDGE not in names and READ_KNOWLEDGE not in names:
            return ()
        self._made = self._made or {
            SEARCH_KNOWLEDGE: _search(self._insights, self._meaning),
            READ_KNOWLEDGE: _read(self._insights),
        }
        return [tool for name, tool in self._made.items() if name in names]

    async def all(self) -> Sequence[Tool]:
        """Return no tool, because agents get these tools together with their knowledge bases and not from the list of
        tools."""
        return ()


def _search(insights: KnowledgeInsights, meaning: MeaningOf) -> Tool:
    async def search_knowledge(
        query: Annotated[
            str, Field(min_length=1, max_length=1_000, description='Words or a question; "…": an exact text')
        ],
        knowledge_base: Annotated[
            str | None, Field(max_length=64, description="Slug of one knowledge base; default: all of yours")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=_MOST_RESULTS)] = _USUAL_RESULTS,
        *,
        caller: Caller,
    ) -> str:
        """Search the documents of your knowledge bases. Returns the parts that fit best, each with a mark such as [K12]."""
        slugs = _allowed(caller, knowledge_base)
        found = await insights.search_knowledge(query, slugs, limit, await meaning(query))
        if not found:
            return "Nothing was found. Try other words, or say that the documents do not answer the question."
        return _shown(found, caller, scores=True)

    return FunctionTool(search_knowledge, DECLARATION)


def _read(insights: KnowledgeInsights) -> Tool:
    async def read_knowledge(
        mark: Annotated[str, Field(min_length=1, max_length=20, description="Mark of a part, such as K12")],
        before: Annotated[int, Field(ge=0, le=_MOST_AROUND, description="Parts before it")] = 1,
        after: Annotated[int, Field(ge=0, le=_MOST_AROUND, description="Parts after it")] = 2,
        *,
        caller: Caller,
    ) -> str:
        """Read a part of a document again, with the parts around it."""
        number = number_of(mark)
        if number is None:
            raise ToolError("A mark has the form K12. Use one that search_knowledge has returned.")
        found = await insights.knowledge_around(number, _allowed(caller, None), before, after)
        if not found:
            raise ToolError(f"There is no part {mark} any more. Search again, because its document may have changed.")
        return _shown(found, caller, scores=False)

    return FunctionTool(read_knowledge, DECLARATION)


def _allowed(caller: Caller, wanted: str | None) -> Sequence[str]:
    """Return the slugs of the knowledge bases that the call may read."""
    own = caller.agent.knowledge
    if wanted is None:
        return own
    if wanted not in own:
        raise ToolError(f"You have no knowledge base {wanted}. Yours: {', '.join(own) or 'none'}.")
    return [wanted]


def _shown(found: Sequence[FoundChunk], caller: Caller, *, scores: bool) -> str:
    """Return the parts as text for the model. Their lines are quoted, so that a text cannot imitate another part."""
    parts = []
    for each in found:
        caller.stain(each.taint)
        quoted = "\n".join(f"> {line}" for line in each.chunk.content.splitlines())
        score = f" ({_score(each)})" if scores else ""
        parts.append(f"[{each.mark}] {each.source}{score}\n{quoted}")
    return "\n\n".join(parts)


def _score(found: FoundChunk) -> str:
    """Return the score and the kinds of matches of a part, for the model and for the timeline of the message."""
    ways = [
        f"words {found.place}" if found.place is not None else "",
        f"meaning {found.similarity:.2f}" if found.similarity is not None else "",
    ]
    return f"score {found.score:.4f}: {', '.join(filter(None, ways))}"
