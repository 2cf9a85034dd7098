"""What an agent is reminded of in a turn: the rules that always hold, and what its people's words bring to mind.

It only reads. The same facts come in the same order, so that the same memory makes the same prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arvis.domain.memory import Category, Fact, State
from arvis.domain.words import asked_words
from arvis.ports.store import Transaction

#: Sticky facts and states: how many, and of how many letters. Other facts: shown, and looked at.
MOST_STICKY = 50
MOST_STATES = 50
MOST_LETTERS = 8_000
SHOWN = 15
LOOKED_AT = 20

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


def recall(tx: Transaction, agent_id: str, scopes: Sequence[str], text: str, now: int) -> Recall:
    """Of these scopes and no other; `text` is what is being talked about."""
    kept = [fact for fact in tx.facts.of(agent_id, scopes, category=Category.STICKY, limit=_ALL) if _lives(fact, now)]
    rules = [fact for fact in kept if _is_rule(fact)]
    states = tx.states.of(agent_id, scopes, _ALL)
    sticky, known = _newest_rules(rules), _newest_states(states)
    return Recall(
        sticky=sticky,
        facts=_others(tx, agent_id, scopes, text, now, rules=len(rules)),
        states=known,
        left_out=len(rules) - len(sticky) + len(states) - len(known),
    )


def touch(tx: Transaction, fact_ids: Sequence[str], now: int) -> None:
    """These facts stood in a prompt: for the commit of the step that built it."""
    tx.facts.touch(fact_ids, now)


def _others(
    tx: Transaction, agent_id: str, scopes: Sequence[str], text: str, now: int, *, rules: int
) -> tuple[Fact, ...]:
    """What holds words of the text first, then what is trusted most and was used last."""
    # The rules are told already; whatever their number, they take no place here.
    limit = LOOKED_AT + rules
    matching = tx.facts.search(agent_id, scopes, asked_words(text), limit)
    found = {fact.id: fact for fact in (*matching, *tx.facts.of(agent_id, scopes, limit=limit))}
    chosen = [fact for fact in found.values() if _lives(fact, now) and not _is_rule(fact)][:SHOWN]
    return tuple(sorted(chosen, key=lambda fact: fact.number))


def _newest_rules(rules: Sequence[Fact]) -> tuple[Fact, ...]:
    newest = sorted(rules, key=lambda fact: -fact.number)
    count = _what_fits([len(fact.content) for fact in newest[:MOST_STICKY]])
    return tuple(reversed(newest[:count]))


def _newest_states(states: Sequence[State]) -> tuple[State, ...]:
    newest = sorted(states, key=lambda state: (-state.updated_at, state.key, state.scope))
    count = _what_fits([len(state.key) + len(state.value) for state in newest[:MOST_STATES]])
    return tuple(sorted(newest[:count], key=lambda state: (state.key, state.scope)))


def _what_fits(lengths: Sequence[int]) -> int:
    """How many of the first ones have no more letters together than there is room for."""
    room = MOST_LETTERS
    for count, length in enumerate(lengths):
        room -= length
        if room < 0:
            return count
    return len(lengths)


def _lives(fact: Fact, now: int) -> bool:
    return fact.expires_at is None or fact.expires_at > now


def _is_rule(fact: Fact) -> bool:
    """Only what nobody but its people wrote may always stand among the instructions."""
    return fact.category is Category.STICKY and not fact.taint
