"""Facts with their search words, and the values of agents, over SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from arvis.domain.embeddings import Meaning, SubjectKind
from arvis.domain.ids import first_id_at
from arvis.domain.memory import Category, Fact, FactStatus, FoundFact, NewFact, State, words_of
from arvis.domain.ranking import OF_CONFIDENCE, OF_MEANING, Ranking, fused
from arvis.domain.taint import taint_of, taint_text
from arvis.ports.memory import FactChange
from arvis.store.repositories.embeddings import CANDIDATES, MOST_SCANNED, most_similar
from arvis.store.sql.fact_search import RANKED, FactIndex, FactQuery, scope_key, token
from arvis.store.sql.session import Row, Session, dump, each

#: The confidence of a new fact, in thousandths.
_SURE = 1000

#: The maximum number of past facts that are compared with a question, newest first.
_MOST_PAST = 200

#: In a search, the operator between scopes.
_OR = " OR "


def _threes(scopes: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the scopes, without duplicates, in groups of three, as parameters of queries that take three scopes."""
    different = list(dict.fromkeys(scopes))
    for start in range(0, len(different), 3):
        three = different[start : start + 3]
        yield {"first": three[0], "second": three[1 % len(three)], "third": three[-1]}


class SqlFacts:
    """Implements the port `Facts` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, new: NewFact, now: int) -> Fact:
        fact = Fact(
            id=self._session.new_id(),
            number=self._next("facts"),
            agent_id=new.agent_id,
            scope=new.scope,
            category=new.category,
            content=new.content,
            taint=new.taint,
            author_id=new.author_id,
            message_id=new.message_id,
            execution_id=new.execution_id,
            confidence=_SURE,
            status=FactStatus.ENDED if new.valid_until is not None and new.valid_until <= now else FactStatus.ACTIVE,
            superseded_by=None,
            accessed_at=now,
            access_count=0,
            expires_at=new.expires_at,
            created_at=now,
            updated_at=now,
            valid_from=new.valid_from,
            valid_until=new.valid_until,
        )
        columns = {name: getattr(fact, name) for name in fact.__slots__}
        self._session.execute("add_fact", **{**columns, "taint": taint_text(fact.taint)})
        if fact.status is FactStatus.ACTIVE:
            self._index(fact)
        return fact

    def get(self, fact_id: str) -> Fact | None:
        row = self._session.one("get_fact", id=fact_id)
        return fact_of(row) if row else None

    def by_number(self, number: int) -> Fact | None:
        row = self._session.one("fact_by_number", number=number)
        return fact_of(row) if row else None

    def of(self, agent_id: str, scopes: Sequence[str], *, category: Category | None = None, limit: int) -> list[Fact]:
        found = [
            fact
            for three in _threes(scopes)
            for fact in self._session.held(
                "facts_of_scopes", _FACTS, agent_id=agent_id, **three, category=category, limit=limit
            )
        ]
        return sorted(found, key=lambda fact: (-fact.confidence, -fact.accessed_at, fact.number))[:limit]

    def search(
        self, agent_id: str, scopes: Sequence[str], words: Sequence[str], limit: int, *, corrects: bool = False
    ) -> list[Fact]:
        if not words or not scopes:
            return []
        query, groups = FactQuery.of(words), [*_threes(scopes)]
        corrects = corrects and query.is_short
        if len(groups) == 1 and (corrects or self._session.holds("facts")):
            # On SQLite, the words of the facts are held in memory until a fact changes. The index of the database does
            # not find words with typing errors.
            index = self._session.held("contents_of_facts", _INDEX, agent_id=agent_id, **groups[0])
            ids = index.best(query.question, limit, corrects=corrects)
            rows = self._session.rows("active_facts", ids=dump(ids)) if ids else ()
            facts = {fact.id: fact for fact in map(fact_of, rows)}
            return [facts[each] for each in ids if each in facts]
        scope_keys = _OR.join(scope_key(agent_id, scope) for scope in scopes)
        found = self._session.rows("search_facts", scope_keys=scope_keys, words=query.text, limit=max(limit, RANKED))
        return query.best([fact_of(row) for row in found], limit)

    def search_meaning(
        self, agent_id: str, scopes: Sequence[str], words: Sequence[str], meaning: Meaning, limit: int
    ) -> list[FoundFact]:
        by_words = self.search(agent_id, scopes, words, RANKED, corrects=True)
        rows = self._session.rows(
            "nearest_vectors_in_areas",
            model=meaning.model,
            kind=SubjectKind.FACT,
            areas=dump([scope_key(agent_id, scope) for scope in scopes]),
            signs=meaning.vector.signs,
            most=MOST_SCANNED,
            limit=CANDIDATES,
        )
        similar = most_similar(rows, meaning.vector)
        ids = [each for each, _ in similar]
        found = [fact_of(row) for row in self._session.rows("active_facts", ids=dump(ids))]
        # The stored area of a vector may be outdated. Only the row of the fact decides who may use the fact.
        others = [fact for fact in found if fact.agent_id == agent_id and fact.scope in scopes]
        return ranked_facts(by_words, others, similar)[:limit]

    def same(self, agent_id: str, scope: str, content: str) -> list[Fact]:
        rows = self._session.rows("same_facts", agent_id=agent_id, scope=scope, content=content)
        return [fact_of(row) for row in rows]

    def weakest(self, agent_id: str, scope: str, *, tainted: bool, limit: int) -> list[Fact]:
        rows = self._session.rows(
            "weakest_facts", agent_id=agent_id, scope=scope, tainted_only=int(tainted), limit=limit
        )
        return [fact_of(row) for row in rows]

    def update(self, fact: Fact, now: int) -> None:
        before = self.get(fact.id)
        self._session.execute(
            "update_fact",
            id=fact.id,
            taint=taint_text(fact.taint),
            confidence=fact.confidence,
            status=fact.status,
            superseded_by=fact.superseded_by,
            accessed_at=fact.accessed_at,
            access_count=fact.access_count,
            expires_at=fact.expires_at,
            confirmed_by=fact.confirmed_by,
            valid_from=fact.valid_from,
            valid_until=fact.valid_until,
            now=now,
        )
        match before and before.status is FactStatus.ACTIVE, fact.status is FactStatus.ACTIVE:
            case True, False:
                self._session.execute("drop_fact_words", number=fact.number)
                self._session.execute("drop_vectors", kind=SubjectKind.FACT, ids=dump([fact.id]))
            case False, True:
                self._index(fact)

    def touch(self, fact_ids: Sequence[str], now: int) -> None:
        # Every writer locks these rows in sorted order. Otherwise two writers could wait for each other.
        for fact_id in sorted(set(fact_ids)):
            self._session.execute("touch_fact", id=fact_id, now=now)

    def idle(self, category: Category, before: int, limit: int) -> list[Fact]:
        return [fact_of(row) for row in self._session.rows("idle_facts", category=category, before=before, limit=limit)]

    def expired(self, now: int, limit: int) -> list[Fact]:
        return [fact_of(row) for row in self._session.rows("expired_facts", now=now, limit=limit)]

    def over(self, now: int, limit: int) -> list[Fact]:
        return [fact_of(row) for row in self._session.rows("facts_over", now=now, limit=limit)]

    def past(self, agent_id: str, scopes: Sequence[str], words: Sequence[str], now: int, limit: int) -> list[Fact]:
        rows = [
            row
            for three in _threes(scopes)
            for row in self._session.rows("past_facts", agent_id=agent_id, **three, now=now, limit=_MOST_PAST)
        ]
        return FactQuery.of(words).best([fact_of(row) for row in rows], limit)

    def replaced_by(self, fact_id: str, limit: int) -> list[Fact]:
        return [fact_of(row) for row in self._session.rows("facts_replaced_by", id=fact_id, limit=limit)]

    def count(self, agent_id: str, scope: str) -> int:
        row = self._session.one("count_facts", agent_id=agent_id, scope=scope)
        return row["number"] if row else 0

    def note(
        self,
        fact: Fact,
        change: str,
        *,
        by_id: str,
        now: int,
        other_id: str | None = None,
        undoes: str | None = None,
    ) -> None:
        self._session.execute(
            "add_fact_change",
            id=self._session.new_id(),
            number=self._next("fact_changes"),
            fact_id=fact.id,
            agent_id=fact.agent_id,
            scope=fact.scope,
            change=change,
            other_id=other_id,
            undoes=undoes,
            taint=taint_text(fact.taint),
            valid_until=fact.valid_until,
            by_id=by_id,
            now=now,
        )

    def last_change(self, agent_id: str, scopes: Sequence[str]) -> FactChange | None:
        rows = [self._session.one("last_change_of_scope", agent_id=agent_id, scope=scope) for scope in scopes]
        return max((change_of(row) for row in rows if row), key=lambda change: change.number, default=None)

    def next_changed_scope(self, agent_id: str, after: int) -> tuple[str, int] | None:
        row = self._session.one("next_changed_scope", agent_id=agent_id, after=after)
        return (row["scope"], row["position"]) if row else None

    def changes(self, fact_id: str, limit: int) -> list[FactChange]:
        return [change_of(row) for row in self._session.rows("changes_of_fact", fact_id=fact_id, limit=limit)]

    def erase(self, before: int, limit: int) -> int:
        self._session.execute("erase_changes", before=before, limit=limit)
        return self._session.execute("erase_facts", before=before, limit=limit)

    def prune(self, before: int, limit: int) -> int:
        # A change is never newer than the last update of a fact that it replaced. So a change is deleted before these
        # facts, and every remaining change can be undone.
        changes = self._session.execute("prune_changes", oldest=first_id_at(before), limit=limit)
        self._session.execute("prune_changes_of_ended_facts", before=before, limit=limit)
        return max(changes, self._session.execute("prune_ended_facts", before=before, limit=limit))

    def move(self, old: str, new: str) -> None:
        """Move all facts of one scope, with their changes and search words, to another scope."""
        for row in self._session.rows("facts_in_scope", old=old):
            key = scope_key(row["agent_id"], new)
            self._session.execute("move_fact_words", number=row["number"], scope_key=key)
            self._session.execute("move_vector", id=row["id"], area=key)
        self._session.execute("move_facts", old=old, new=new)
        self._session.execute("move_fact_changes", old=old, new=new)

    def _index(self, fact: Fact) -> None:
        words = " ".join(map(token, words_of(fact.content)))
        self._session.execute(
            "add_fact_words", number=fact.number, scope_key=scope_key(fact.agent_id, fact.scope), words=words
        )

    def _next(self, name: str) -> int:
        row = self._session.one("next_number", name=name)
        return int(row["value"]) if row else 1


class SqlStates:
    """Implements the port `States` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, agent_id: str, scope: str, key: str) -> State | None:
        row = self._session.one("get_state", agent_id=agent_id, scope=scope, key=key)
        return state_of(row) if row else None

    def of(self, agent_id: str, scopes: Sequence[str], limit: int) -> list[State]:
        found = [
            state
            for three in _threes(scopes)
            for state in self._session.held("states_of_scopes", _STATES, agent_id=agent_id, **three, limit=limit)
        ]
        return sorted(found, key=lambda state: (state.key, state.scope))[:limit]

    def count(self, agent_id: str, scope: str) -> int:
        row = self._session.one("count_states", agent_id=agent_id, scope=scope)
        return row["number"] if row else 0

    def put(self, state: State) -> None:
        columns = {name: getattr(state, name) for name in state.__slots__}
        self._session.execute("put_state", **{**columns, "taint": taint_text(state.taint)})

    def remove(self, agent_id: str, scope: str, key: str) -> bool:
        return self._session.execute("remove_state", agent_id=agent_id, scope=scope, key=key) == 1


def ranked_facts(
    by_words: Sequence[Fact], others: Sequence[Fact], similar: Sequence[tuple[str, float]]
) -> list[FoundFact]:
    """Return these facts, best first. `by_words` are the facts that contain words of the question, best first.
    `similar` contains the ids and the similarities of the facts with a similar meaning, best first."""
    known = {fact.id: fact for fact in (*others, *by_words)}
    places = {fact.id: place for place, fact in enumerate(by_words, start=1)}
    similarities = {each: similarity for each, similarity in similar if each in known}
    sure = sorted(known, key=lambda each: (-known[each].confidence, -known[each].accessed_at, known[each].number))
    order = fused([Ranking([*places], 1.0), Ranking([*similarities], OF_MEANING), Ranking(sure, OF_CONFIDENCE)])
    return [FoundFact(known[each], score, places.get(each), similarities.get(each)) for each, score in order.items()]


def fact_of(row: Row) -> Fact:
    columns: dict[str, Any] = {name: row[name] for name in Fact.__slots__}
    columns["category"] = Category(row["category"])
    columns["status"] = FactStatus(row["status"])
    columns["taint"] = taint_of(row["taint"])
    return Fact(**columns)


def change_of(row: Row) -> FactChange:
    columns: dict[str, Any] = {name: row[name] for name in FactChange.__slots__}
    return FactChange(**{**columns, "taint": taint_of(row["taint"])})


def state_of(row: Row) -> State:
    columns: dict[str, Any] = {name: row[name] for name in State.__slots__}
    return State(**{**columns, "taint": taint_of(row["taint"])})


def _index_of(rows: Sequence[Row]) -> FactIndex:
    return FactIndex.of([(row["id"], row["number"], row["content"]) for row in rows])


_FACTS, _STATES, _INDEX = each(fact_of), each(state_of), _index_of
