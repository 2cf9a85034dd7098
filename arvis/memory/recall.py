"""What an agent is reminded of in a turn: the rules that always hold, and what its people's words bring to mind.

It only reads. The same facts come in the same order, so that the same memory makes the same prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arvis.domain.memory import Category, Fact, State, is_personal
from arvis.domain.messages import RANKS
from arvis.domain.taint import Label
from arvis.domain.words import asked_words
from arvis.ports.store import Transaction

#: Sticky facts and states: how many, and of how many letters. Other facts: shown, and looked at.
MOST_STICKY = 50
MOST_STATES = 50
MOST_LETTERS = 8_000
SHOWN = 15
LOOKED_AT = 20

_OTHERS = frozenset({Label.PEOPLE})
#: More than any scope may hold.
_ALL = 2_000


@dataclass(frozen=True, slots=True)
class Recall:
    """`sticky` are without taint; `facts` and `states` may be tainted. `left_out` counts the sticky facts and states that
    there was no room for."""

    sticky: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    states: tuple[State, ...]
    left_out: int = 0

    @property
    def fact_ids(self) -> list[str]:
        """What is to be touched when the step is committed."""
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
) -> Recall:
    """Of these scopes (the narrowest first) and no other; `text` is what is being talked about. `among_others`: other
    people read the answer, so of what is kept about a person only preferences come to mind. `asker` is for whom it is
    recalled (a principal): what people with fewer rights wrote is for them the words of others."""
    heard = _Hearing(tx, asker)
    private = frozenset(filter(is_personal, scopes)) if among_others else frozenset()
    widest_first = [scope for scope in reversed(scopes) if scope not in private]
    kept = [heard.fact(fact) for fact in tx.facts.of(agent_id, widest_first, category=Category.STICKY, limit=_ALL)]
    rules = [fact for fact in kept if _lives(fact, now) and _is_rule(fact)]
    states = [heard.state(state) for state in tx.agent_state.of(agent_id, widest_first, _ALL)]
    sticky, known = _newest_rules(rules, widest_first), _newest_states(states, widest_first)
    return Recall(
        sticky=sticky,
        facts=_others(tx, agent_id, scopes, text, now, private=private, rules=len(rules), heard=heard),
        states=known,
        left_out=len(rules) - len(sticky) + len(states) - len(known),
    )


class _Hearing:
    """How what is kept is heard by `asker` (None: nobody in particular): the words of whoever has fewer rights than they
    have are those of other people."""

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


def touch(tx: Transaction, fact_ids: Sequence[str], now: int) -> None:
    """These facts stood in a prompt: for the commit of the step that built it."""
    tx.facts.touch(fact_ids, now)


def _others(
    tx: Transaction,
    agent_id: str,
    scopes: Sequence[str],
    text: str,
    now: int,
    *,
    private: frozenset[str],
    rules: int,
    heard: _Hearing,
) -> tuple[Fact, ...]:
    """What holds words of the text first, then what is trusted most and was used last."""
    # The rules are told already; whatever their number, they take no place here, and neither does what is private.
    limit = LOOKED_AT + rules
    shared = tx.facts.of(agent_id, [scope for scope in scopes if scope not in private], limit=limit)
    preferences = tx.facts.of(agent_id, sorted(private), category=Category.USER_PREFERENCE, limit=limit)
    used = sorted((*shared, *preferences), key=lambda fact: (-fact.confidence, -fact.accessed_at, fact.number))
    matching: Sequence[Fact] = ()
    if len(used) > SHOWN:  # else all of them are told, whatever is asked
        matching = tx.facts.search(agent_id, scopes, asked_words(text), limit if not private else _ALL)
    known = (heard.fact(fact) for fact in (*matching, *used))
    found = {fact.id: fact for fact in known if not (fact.scope in private and _is_secret(fact))}
    chosen = [fact for fact in found.values() if _lives(fact, now) and not _is_rule(fact)][:SHOWN]
    return tuple(sorted(chosen, key=lambda fact: fact.number))


def _newest_rules(rules: Sequence[Fact], scopes: Sequence[str]) -> tuple[Fact, ...]:
    """In the order of the scopes, so that what holds everywhere is the last to go when a prompt is short of room, too."""
    newest = [
        sorted((fact for fact in rules if fact.scope == scope), key=lambda fact: -fact.number) for scope in scopes
    ]
    counts = _shared_out([[len(fact.content) for fact in of_scope] for of_scope in newest], MOST_STICKY)
    return tuple(fact for of_scope, count in zip(newest, counts, strict=True) for fact in reversed(of_scope[:count]))


def _newest_states(states: Sequence[State], scopes: Sequence[str]) -> tuple[State, ...]:
    by_age = sorted(states, key=lambda state: (-state.updated_at, state.key))
    newest = [[state for state in by_age if state.scope == scope] for scope in scopes]
    counts = _shared_out(
        [[len(state.key) + len(state.value) for state in of_scope] for of_scope in newest], MOST_STATES
    )
    chosen = [state for of_scope, count in zip(newest, counts, strict=True) for state in of_scope[:count]]
    return tuple(sorted(chosen, key=lambda state: (state.key, state.scope)))


def _shared_out(lengths: Sequence[Sequence[int]], most: int) -> list[int]:
    """How many of the first ones of each scope there is room for: together `most`, of `MOST_LETTERS` letters. Half of both
    is the first scope's own, a quarter each of the others'; what they do not need of it goes to the earliest that does. So
    nothing that people tell pushes out what holds everywhere."""
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
    """How many of the first ones have no more letters together than there is room for."""
    for count, length in enumerate(lengths):
        room -= length
        if room < 0:
            return count
    return len(lengths)


def _is_secret(fact: Fact) -> bool:
    """It may have been learnt in a talk between two; preferences are for everywhere."""
    return fact.category is not Category.USER_PREFERENCE


def _lives(fact: Fact, now: int) -> bool:
    return fact.expires_at is None or fact.expires_at > now


def _is_rule(fact: Fact) -> bool:
    """Only what nobody but its people wrote may always stand among the instructions."""
    return fact.category is Category.STICKY and not fact.taint
