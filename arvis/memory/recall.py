"""The facts and values for a turn: sticky facts, values, and other facts. Other facts that share words with the turn's
messages are preferred.

Recall only reads. It returns the same facts in the same order while the memory is unchanged, so the prompt stays the
same and can be cached.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning
from arvis.domain.memory import Category, Fact, FoundFact, State, asked_words, is_personal
from arvis.domain.messages import RANKS
from arvis.domain.ranking import Ranking, fused
from arvis.domain.taint import Label
from arvis.domain.validity import asks_about_the_past
from arvis.ports.store import Transaction

#: The maximum number of recalled sticky facts.
MOST_STICKY = 50
#: The maximum number of recalled values.
MOST_STATES = 50
#: The maximum number of letters in all recalled sticky facts together, and in all recalled values together.
MOST_LETTERS = 8_000
#: The maximum number of other recalled facts. They are chosen from `LOOKED_AT` facts that the database returns.
SHOWN = 15
LOOKED_AT = 20
#: The maximum number of recalled facts that were true before.
MOST_PAST = 5

#: The time for which one use of a fact counts.
USE_MS = 3_600_000

_OTHERS = frozenset({Label.PEOPLE})
#: A limit above the maximum number of facts in a scope, so that no fact is left out.
_ALL = 2_000


@dataclass(frozen=True, slots=True)
class Recall:
    """The recalled facts and values. `sticky`: sticky facts without taint. `facts` and `states` may be tainted.
    `left_out`: the number of sticky facts and values that the limits exclude. `searched`: True if more facts exist than
    are recalled, so that a search chose `facts`. `found`: the facts that the search has found, with their scores.
    `past`: facts that were true before, if the question is about earlier times."""

    sticky: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    states: tuple[State, ...]
    left_out: int = 0
    searched: bool = False
    found: tuple[FoundFact, ...] = ()
    past: tuple[Fact, ...] = ()

    @property
    def fact_ids(self) -> list[str]:
        """The ids of all recalled facts that are true now."""
        return [fact.id for fact in (*self.sticky, *self.facts)]


def recall(
    tx: Transaction,
    agent_id: str,
    scopes: Sequence[str],
    text: str,
    now: int,
    *,
    among_others: bool = False,
    asker: str | None = None,
    meaning: Meaning | None = None,
) -> Recall:
    """Recall the facts and values of these scopes (the narrowest first). Facts are searched by the words of `text`. If
    other people read the answer (`among_others`), only preferences are recalled from the scopes of a person. `asker` is
    the id of the principal who asks; facts by people with fewer rights get the label `people`. With `meaning`, the vector of
    `text`, facts with a similar meaning are found, too."""
    private = frozenset(filter(is_personal, scopes)) if among_others else frozenset[str]()
    key = ("recall", agent_id, *scopes, asker, among_others)
    memory: _ScopedMemory = tx.held(key, lambda: _read_memory(tx, agent_id, scopes, private, asker))
    past = _past(tx, agent_id, scopes, text, now, private=private, asker=asker)
    if not (memory.sticky or memory.states or memory.newest):
        return Recall((), (), (), past=past) if past else NOTHING_RECALLED
    rules = [fact for fact in memory.sticky if fact.is_used(now) and _is_rule(fact)]
    sticky, states = _newest_rules(rules, memory.widest_first), _newest_states(memory.states, memory.widest_first)
    question = _Question(text, meaning)
    others = _others(tx, agent_id, scopes, question, now, private=private, memory=memory, asker=asker)
    return Recall(
        sticky=sticky,
        facts=others.facts,
        states=states,
        left_out=len(rules) - len(sticky) + len(memory.states) - len(states),
        searched=others.searched,
        found=others.found,
        past=past,
    )


@dataclass(frozen=True, slots=True)
class _ScopedMemory:
    """The facts and values of some scopes, which are held in memory because they depend neither on the question nor on
    the time. `newest`: the facts with the most confidence and the latest use."""

    widest_first: tuple[str, ...]
    sticky: tuple[Fact, ...]
    states: tuple[State, ...]
    newest: tuple[Fact, ...]

    @property
    def rows(self) -> tuple[Fact | State, ...]:
        """All facts and values, which the cache of the store counts."""
        return (*self.sticky, *self.states, *self.newest)


def _read_memory(
    tx: Transaction, agent_id: str, scopes: Sequence[str], private: frozenset[str], asker: str | None
) -> _ScopedMemory:
    heard = _Hearing(tx, asker)
    widest_first = tuple(scope for scope in reversed(scopes) if scope not in private)
    sticky = tuple(map(heard.fact, tx.facts.of(agent_id, widest_first, category=Category.STICKY, limit=_ALL)))
    states = tuple(map(heard.state, tx.agent_state.of(agent_id, widest_first, _ALL)))
    # More facts are read than recalled, because the rules among them are dropped later.
    limit = LOOKED_AT + len(sticky)
    shared = tx.facts.of(agent_id, [scope for scope in scopes if scope not in private], limit=limit)
    preferences = tx.facts.of(agent_id, sorted(private), category=Category.USER_PREFERENCE, limit=limit)
    newest = sorted((*shared, *preferences), key=lambda fact: (-fact.confidence, -fact.accessed_at, fact.number))
    return _ScopedMemory(widest_first, sticky, states, tuple(map(heard.fact, newest)))


#: The recall of a conversation without memory.
NOTHING_RECALLED = Recall((), (), ())


class _Hearing:
    """A filter that adds the label `people` to facts and values whose author has fewer rights than `asker`. If `asker`
    is None, it adds no label."""

    def __init__(self, tx: Transaction, asker: str | None) -> None:
        self._tx = tx
        self._ranks: dict[str, int] = {}
        self._rank = self._rank_of(asker)

    def fact(self, fact: Fact) -> Fact:
        return (
            replace(fact, taint=fact.taint | _OTHERS) if self._is_lesser(fact.confirmed_by or fact.author_id) else fact
        )

    def state(self, state: State) -> State:
        return replace(state, taint=state.taint | _OTHERS) if self._is_lesser(state.author_id) else state

    def _is_lesser(self, author: str | None) -> bool:
        if author is None or self._rank is None:
            return False
        rank = self._rank_of(author)
        return rank is not None and rank < self._rank

    def _rank_of(self, person_id: str | None) -> int | None:
        if person_id is None:
            return None
        if person_id not in self._ranks:
            person = self._tx.principals.get(person_id)
            self._ranks[person_id] = -1 if person is None else RANKS.index(person.role)
        rank = self._ranks[person_id]
        return None if rank < 0 else rank


def uncounted(recalled: Recall, fact_ids: Collection[str], now: int) -> list[str]:
    """Return the ids of the facts whose use was not counted in the last `USE_MS`. So a conversation writes each fact
    once, and the facts stay in memory between its messages."""
    facts = (*recalled.sticky, *recalled.facts)
    return [
        fact.id for fact in facts if fact.id in fact_ids and (not fact.access_count or fact.accessed_at <= now - USE_MS)
    ]


def touch(tx: Transaction, fact_ids: Sequence[str], now: int) -> None:
    """Count a use of these facts. The step that built the prompt commits it."""
    tx.facts.touch(fact_ids, now)


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    meaning: Meaning | None


@dataclass(frozen=True, slots=True)
class _Others:
    """The recalled facts that are not rules, and the values of `Recall.searched` and `Recall.found`."""

    facts: tuple[Fact, ...]
    searched: bool
    found: tuple[FoundFact, ...]


def _others(
    tx: Transaction,
    agent_id: str,
    scopes: Sequence[str],
    question: _Question,
    now: int,
    *,
    private: frozenset[str],
    memory: _ScopedMemory,
    asker: str | None,
) -> _Others:
    """Return up to `SHOWN` facts. Facts that fit the question are chosen first, then facts with the most
    confidence and the latest use. `private`: scopes of which only preferences are returned. Rules are not returned."""
    matching: Sequence[Fact] = ()
    hits: Sequence[FoundFact] = ()
    if searched := len(memory.newest) > SHOWN:  # otherwise all facts are returned, and no search is needed
        words, most = asked_words(question.text), LOOKED_AT + len(memory.sticky) if not private else _ALL
        if question.meaning is None:
            matching = tx.facts.search(agent_id, scopes, words, most, corrects=True)
            hits = _scored(matching)
        else:
            hits = tx.facts.search_meaning(agent_id, scopes, words, question.meaning, most)
            matching = [hit.fact for hit in hits]
    heard = _Hearing(tx, asker)
    known = (*map(heard.fact, matching), *memory.newest)
    found = {fact.id: fact for fact in known if not (fact.scope in private and _is_secret(fact))}
    chosen = [fact for fact in found.values() if fact.is_used(now) and not _is_rule(fact)][:SHOWN]
    shown = {fact.id for fact in chosen}
    found_facts = tuple(hit for hit in hits if hit.fact.id in shown)
    return _Others(tuple(sorted(chosen, key=lambda fact: fact.number)), searched, found_facts)


def _scored(matching: Sequence[Fact]) -> list[FoundFact]:
    """Return these results of a search by words, best first, with their scores."""
    scores = fused([Ranking([fact.id for fact in matching], 1.0)])
    return [FoundFact(fact, scores[fact.id], place, None) for place, fact in enumerate(matching, start=1)]


def _past(
    tx: Transaction,
    agent_id: str,
    scopes: Sequence[str],
    text: str,
    now: int,
    *,
    private: frozenset[str],
    asker: str | None,
) -> tuple[Fact, ...]:
    """Return facts that were true before, if the text asks about earlier times, the best match first."""
    if not asks_about_the_past(text):
        return ()
    found = tx.facts.past(agent_id, scopes, asked_words(text), now, _ALL)
    heard = _Hearing(tx, asker)
    earlier = [heard.fact(fact) for fact in found if not (fact.scope in private and _is_secret(fact))]
    return tuple(earlier[:MOST_PAST])


def _newest_rules(rules: Sequence[Fact], scopes: Sequence[str]) -> tuple[Fact, ...]:
    """Return the newest rules of each scope, in the order of `scopes`. The widest scope must be first, because a prompt
    that is too long drops the last rules first."""
    if not rules:
        return ()
    newest = [
        sorted((fact for fact in rules if fact.scope == scope), key=lambda fact: -fact.number) for scope in scopes
    ]
    counts = _shared_out([[len(fact.content) for fact in of_scope] for of_scope in newest], MOST_STICKY)
    return tuple(fact for of_scope, count in zip(newest, counts, strict=True) for fact in reversed(of_scope[:count]))


def _newest_states(states: Sequence[State], scopes: Sequence[str]) -> tuple[State, ...]:
    if not states:
        return ()
    by_age = sorted(states, key=lambda state: (-state.updated_at, state.key))
    newest = [[state for state in by_age if state.scope == scope] for scope in scopes]
    counts = _shared_out(
        [[len(state.key) + len(state.value) for state in of_scope] for of_scope in newest], MOST_STATES
    )
    chosen = [state for of_scope, count in zip(newest, counts, strict=True) for state in of_scope[:count]]
    return tuple(sorted(chosen, key=lambda state: (state.key, state.scope)))


def _shared_out(lengths: Sequence[Sequence[int]], most: int) -> list[int]:
    """Return the number of entries that each scope may contribute: together at most `most`, with at most `MOST_LETTERS`
    letters. `lengths`: the letters of each entry, by scope. The first scope may use half of both limits, and each other
    scope a quarter. A scope may also use the unused shares of the scopes after it. So entries about one person cannot
    displace entries that apply everywhere."""
    counts = list[int]()
    letters = MOST_LETTERS
    for place, of_scope in enumerate(lengths):
        later = lengths[place + 1 :]
        room = letters - sum(min(sum(each[: most // 4]), MOST_LETTERS // 4) for each in later)
        places = most - sum(counts) - sum(min(len(each), most // 4) for each in later)
        count = _what_fits(of_scope[:places], room)
        letters -= sum(of_scope[:count])
        counts.append(count)
    return counts


def _what_fits(lengths: Sequence[int], room: int) -> int:
    """Return the number of entries, counted from the first entry, whose letters together fit into `room`."""
    for count, length in enumerate(lengths):
        room -= length
        if room < 0:
            return count
    return len(lengths)


def _is_secret(fact: Fact) -> bool:
    """Return True if the fact may come from a private conversation. Preferences may be used everywhere."""
    return fact.category is not Category.USER_PREFERENCE


def _is_rule(fact: Fact) -> bool:
    """Return True for a sticky fact without taint; only such facts become instructions."""
    return fact.category is Category.STICKY and not fact.taint
