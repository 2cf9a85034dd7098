"""Queries for the views of memory: facts, their changes and the agents' values. `SqlInsights` inherits from the class
of this module."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from arvis.domain.embeddings import Meaning, SubjectKind
from arvis.domain.memory import Category, Fact, FactStatus, State
from arvis.ports.memory import FactChange
from arvis.ports.pages import Page
from arvis.store.repositories.memory import change_of, fact_of, ranked_facts, state_of
from arvis.store.sql.fact_search import RANKED, FactQuery, scope_key
from arvis.store.sql.session import LAST, Snapshot, Snapshots, page
from arvis.store.views.nearest import nearest_vectors

#: The maximum number of changes shown for one fact.
_SHOWN = 200
#: The number of the newest facts that are searched for words with typing errors if no fact contains a word of the query.
_CORRECTED = 2_000


class SqlMemoryInsights:
    """Implements the part of `Insights` for memory, on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def fact(self, fact_id: str) -> Fact | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_fact", id=fact_id)
        return fact_of(rows[0]) if rows else None

    async def facts(
        self,
        *,
        agent: str | None,
        scope: str | None,
        category: Category | None,
        status: FactStatus | None,
        words: Sequence[str],
        limit: int,
        cursor: str | None,
        meaning: Meaning | None = None,
    ) -> Page[Fact]:
        wanted = {"scope": scope, "category": category, "status": status}
        async with self._snapshots.snapshot() as snapshot:
            agent_id = await _agent_id(snapshot, agent)
            if words:
                query = FactQuery.of(words)
                found = await snapshot.rows(
                    "find_facts", agent_id=agent_id, words=query.text, limit=max(limit, RANKED), **wanted
                )
                facts: Sequence[Fact] = query.best([fact_of(row) for row in found], max(limit, RANKED))
                if not facts and query.is_short and status in {None, FactStatus.ACTIVE}:
                    active = {"agent_id": agent_id, **wanted, "status": FactStatus.ACTIVE}
                    newest = await snapshot.rows("list_facts", before=LAST, limit=_CORRECTED, **active)
                    facts = query.best([fact_of(row) for row in newest], max(limit, RANKED), corrects=True)
                if meaning is not None:
                    facts = await _with_similar(snapshot, facts, meaning, agent_id, wanted)
                return Page(facts[:limit], None)
            rows = await snapshot.rows(
                "list_facts", agent_id=agent_id, before=cursor or LAST, limit=limit + 1, **wanted
            )
        return page(rows, fact_of, limit)

    async def fact_changes(self, fact_id: str) -> Sequence[FactChange]:
        async with self._snapshots.snapshot() as snapshot:
            return [change_of(row) for row in await snapshot.rows("changes_of_fact", fact_id=fact_id, limit=_SHOWN)]

    async def replaced_facts(self, fact_id: str) -> Sequence[Fact]:
        async with self._snapshots.snapshot() as snapshot:
            return [fact_of(row) for row in await snapshot.rows("facts_replaced_by", id=fact_id, limit=_SHOWN)]

    async def states(self, *, agent: str | None, scope: str | None, limit: int, cursor: str | None) -> Page[State]:
        """Return a page of an agent's values. The cursor contains the number of values before the page."""
        skipped = int(cursor) if cursor and cursor.isdecimal() and cursor.isascii() else 0
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_states",
                agent_id=await _agent_id(snapshot, agent),
                scope=scope,
                limit=limit + 1,
                skipped=min(skipped, 2**53),
            )
        return Page([state_of(row) for row in rows[:limit]], str(skipped + limit) if len(rows) > limit else None)


async def _with_similar(
    snapshot: Snapshot, facts: Sequence[Fact], meaning: Meaning, agent_id: str | None, wanted: Mapping[str, str | None]
) -> Sequence[Fact]:
    """Merge the facts that contain words of the question and the facts with a similar meaning. Return them best
    first."""
    scope = wanted["scope"]
    areas = None
    if scope is not None:
        agents = [agent_id] if agent_id is not None else [row["id"] for row in await snapshot.rows("all_agents")]
        areas = [scope_key(each, scope) for each in agents]
    similar = await nearest_vectors(snapshot, SubjectKind.FACT, meaning, areas)
    rows = await snapshot.rows("active_facts", ids=json.dumps([each for each, _ in similar]))
    limits = {"agent_id": agent_id, **wanted}
    others = [fact_of(row) for row in rows if all(value in {None, row[name]} for name, value in limits.items())]
    return [found.fact for found in ranked_facts(facts, others, similar)]


async def _agent_id(snapshot: Snapshot, agent: str | None) -> str | None:
    """Return the id of the agent with this id or slug. Return None if `agent` is None, which means all agents."""
    agents = await snapshot.rows("agent_by_slug", slug=agent) if agent else []
    return agents[0]["id"] if agents else agent
