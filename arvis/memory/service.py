"""Keeps what agents are told: each fact once, the newest word of it, and nothing lost on the way (behaviour.md 1.7).

What a tainted turn says stands beside what people vouch for, never in its place (reliability.md T8). Every function is a
script of a transaction; what may be kept of whom is decided by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from arvis.domain.memory import Category, Fact, FactStatus, NewFact, State
from arvis.domain.messages import RANKS
from arvis.domain.taint import CLEAN
from arvis.domain.text import storable
from arvis.domain.words import asked_words
from arvis.memory.render import brief
from arvis.memory.similarity import Similarity, Wording, similarity
from arvis.memory.updating import updates
from arvis.ports.memory import FactChange
from arvis.ports.store import Transaction

#: Letters of a fact and of a state's value; facts and keys of one agent and scope.
MOST_LETTERS = 2_000
MOST_FACTS = 500
MOST_KEYS = 200
KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)

#: Who does what nobody asked for.
ARVIS = "arvis"

_SURE = 1000

#: Facts that share words with a new one: by so many of its words, looked up, and compared letter by letter. All of it is
#: dear, and the transaction waits.
_WORDS = 8
_LOOKED_UP = 20
_COMPARED = 5


class Kept(StrEnum):
    """What became of a fact that was told: `refreshed` means that it was known."""

    ADDED = "added"
    REFRESHED = "refreshed"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Remembered:
    """`fact` is what is kept now; `old` what it took the place of, or what was known already."""

    kind: Kept
    fact: Fact
    old: Fact | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """It cannot be kept: why, and what to do instead."""

    problem: str
    fix: str


def remember(tx: Transaction, new: NewFact, *, by_id: str, now: int) -> Remembered | Refused:
    """Keep a fact, or what it is news about gives way, or what is known is refreshed."""
    new = replace(new, content=storable(new.content).strip())
    if not 0 < len(new.content) <= MOST_LETTERS:
        return _wrong_length("A fact")
    old, like = _nearest(new, [fact for fact in _akin(tx, new) if _may_yield(fact, new, now)])
    if old is None or like is None:
        return _add(tx, new, by_id=by_id, now=now)
    if like.same and bool(old.taint) == bool(new.taint):
        return _refresh(tx, old, new, by_id=by_id, now=now)
    return _supersede(tx, old, new, by_id=by_id, now=now)


def forget(tx: Transaction, fact_id: str, *, by_id: str, now: int) -> Fact | None:
    """Delete a fact; None when there is no such fact any more."""
    fact = tx.facts.get(fact_id)
    if fact is None or fact.status is FactStatus.DELETED:
        return None
    return _end(tx, fact, FactStatus.DELETED, by_id=by_id, now=now)


def fade(tx: Transaction, fact: Fact, now: int) -> None:
    """Nobody needs it any more."""
    _end(tx, fact, FactStatus.FADED, by_id=ARVIS, now=now)


def confirm(tx: Transaction, fact_id: str, *, by_id: str, now: int) -> Fact | None:
    """Somebody vouches for an active fact: its taint is gone, and for others it counts as their word, too. None when there is
    no such fact."""
    fact = tx.facts.get(fact_id)
    if fact is None or fact.status is not FactStatus.ACTIVE:
        return None
    if not fact.taint and not _has_more_rights(tx, by_id, fact.confirmed_by or fact.author_id):
        return fact
    tx.facts.note(fact, "confirmed", by_id=by_id, now=now)
    return _put(tx, replace(fact, taint=CLEAN, confirmed_by=by_id), now)


def _has_more_rights(tx: Transaction, person_id: str, author_id: str | None) -> bool:
    """Whether this person has more rights than the author; of whom nothing is known, nothing follows."""
    person = tx.principals.get(person_id)
    author = tx.principals.get(author_id) if author_id is not None else None
    return person is not None and author is not None and RANKS.index(person.role) > RANKS.index(author.role)


def undo(tx: Transaction, agent_id: str, scopes: Sequence[str], *, by_id: str, now: int) -> str | None:
    """Take back the newest change of these scopes; what was taken back in words, None when there is nothing."""
    change = tx.facts.last_change(agent_id, scopes)
    fact = None if change is None else tx.facts.get(change.fact_id)
    if change is None or fact is None:
        return None
    return _take_back(tx, change, fact, by_id=by_id, now=now)


def put_state(tx: Transaction, state: State) -> State | Refused:
    """Keep a value under a key. A tainted value takes no place of one that somebody vouches for."""
    state = replace(state, value=storable(state.value).strip())
    if not KEY.fullmatch(state.key):
        return Refused("A state key is 1 to 64 letters, digits, dots, - and _.", "Use another key.")
    if len(state.value) > MOST_LETTERS:
        return _wrong_length("A value")
    before = tx.agent_state.get(state.agent_id, state.scope, state.key)
    if before is not None and state.taint and not before.taint:
        return Refused(
            f"`{state.key}` was set by somebody's own word, and this value comes from elsewhere.",
            "Say it yourself, or use another key.",
        )
    if before is None and tx.agent_state.count(state.agent_id, state.scope) >= MOST_KEYS:
        return Refused(f"There are {MOST_KEYS} state keys already.", "Use one of them again.")
    tx.agent_state.put(state)
    return state


def _akin(tx: Transaction, new: NewFact) -> Sequence[Fact]:
    """The facts that may be about the same, found by their words, and the very same text in any case."""
    same = tx.facts.same(new.agent_id, new.scope, new.content)
    # Long words are rarer.
    words = sorted(asked_words(new.content), key=len, reverse=True)[:_WORDS]
    found = tx.facts.search(new.agent_id, [new.scope], words, _LOOKED_UP)
    return list({fact.id: fact for fact in (*same, *found)}.values())


def _may_yield(fact: Fact, new: NewFact, now: int) -> bool:
    """Whether a known fact may be one with the new one, or give way to it."""
    return (
        fact.category in {new.category, Category.STICKY}
        and (bool(fact.taint) or not new.taint)
        and (fact.expires_at is None or fact.expires_at > now)
    )


def _nearest(new: NewFact, known: Sequence[Fact]) -> tuple[Fact, Similarity] | tuple[None, None]:
    """The fact that says the same, else the one that the new one is the clearest news about."""
    wording = Wording.of(new.content)
    worded = [(fact, Wording.of(fact.content)) for fact in known]
    # Equal texts share all words, so that they come first.
    worded.sort(key=lambda pair: (pair[1].text != wording.text, -len(pair[1].seen & wording.seen), pair[0].number))
    alike = [
        (fact, like)
        for fact, old in worded[:_COMPARED]
        if (like := similarity(wording, old)) is not None and (like.same or updates(wording, old))
    ]
    return min(alike, key=lambda pair: (not pair[1].same, pair[1].differing, pair[0].number), default=(None, None))


def _add(tx: Transaction, new: NewFact, *, by_id: str, now: int) -> Remembered | Refused:
    """Where there is no room, the facts that are trusted least and were used longest ago fade; for what nobody vouches for
    only such facts do."""
    too_many = max(0, tx.facts.count(new.agent_id, new.scope) + 1 - MOST_FACTS)
    weak = tx.facts.weakest(new.agent_id, new.scope, tainted=bool(new.taint), limit=too_many) if too_many else []
    if too_many > len(weak):
        kinds = "sticky or vouched for" if new.taint else "sticky"
        return Refused(f"{MOST_FACTS} facts are kept here already, all of them {kinds}.", "Delete some of them.")
    fact = tx.facts.add(new, now)
    tx.facts.note(fact, "added", by_id=by_id, now=now)
    for weakest in weak:
        fade(tx, weakest, now)
    return Remembered(Kept.ADDED, fact)


def _refresh(tx: Transaction, old: Fact, new: NewFact, *, by_id: str, now: int) -> Remembered:
    """It is as sure as on the first day, and keeps whatever it was tainted with."""
    tx.facts.note(old, "refreshed", by_id=by_id, now=now)
    lasting = old.expires_at is None or new.expires_at is None
    fresh = replace(
        old,
        confidence=_SURE,
        accessed_at=now,
        taint=old.taint | new.taint,
        expires_at=None if lasting else max(old.expires_at or 0, new.expires_at or 0),
    )
    return Remembered(Kept.REFRESHED, _put(tx, fresh, now), old)


def _supersede(tx: Transaction, old: Fact, new: NewFact, *, by_id: str, now: int) -> Remembered:
    """What takes the place of something sticky is sticky, too."""
    sticky = old.category is Category.STICKY
    fact = tx.facts.add(replace(new, category=Category.STICKY) if sticky else new, now)
    tx.facts.note(fact, "added", by_id=by_id, now=now)
    tx.facts.note(old, "superseded", by_id=by_id, now=now, other_id=fact.id)
    old = _put(tx, replace(old, status=FactStatus.SUPERSEDED, superseded_by=fact.id), now)
    return Remembered(Kept.SUPERSEDED, fact, old)


def _take_back(tx: Transaction, change: FactChange, fact: Fact, *, by_id: str, now: int) -> str:
    match change.change:
        case "added":
            _end(tx, fact, FactStatus.DELETED, by_id=by_id, now=now, undoes=change.id)
            return f"Forgotten again: {brief(fact.content)}"
        case "confirmed":
            tx.facts.note(fact, "restored", by_id=by_id, now=now, undoes=change.id)
            _put(tx, replace(fact, taint=change.taint, confirmed_by=None), now)
            return f"Unconfirmed again: {brief(fact.content)}"
        case "superseded":
            return _bring_back(tx, change, fact, by_id=by_id, now=now)
        case _:
            tx.facts.note(fact, "restored", by_id=by_id, now=now, undoes=change.id)
            status = FactStatus.ACTIVE if fact.superseded_by is None else FactStatus.SUPERSEDED
            _put(tx, replace(fact, status=status), now)
            return f"Remembered again: {brief(fact.content)}"


def _bring_back(tx: Transaction, change: FactChange, old: Fact, *, by_id: str, now: int) -> str:
    """The old fact returns, and the one that took its place goes, as if it had never been added."""
    tx.facts.note(old, "restored", by_id=by_id, now=now, undoes=change.id)
    _put(tx, replace(old, status=FactStatus.ACTIVE, superseded_by=None), now)
    told = f"Remembered again: {brief(old.content)}"
    new = tx.facts.get(change.other_id or "")
    if new is None or new.status is not FactStatus.ACTIVE:
        return told
    added = next(iter(tx.facts.changes(new.id, limit=1)), None)
    _end(tx, new, FactStatus.DELETED, by_id=by_id, now=now, undoes=added.id if added else None)
    return f"{told} (instead of: {brief(new.content)})"


def _end(tx: Transaction, fact: Fact, status: FactStatus, *, by_id: str, now: int, undoes: str | None = None) -> Fact:
    tx.facts.note(fact, str(status), by_id=by_id, now=now, undoes=undoes)
    return _put(tx, replace(fact, status=status), now)


def _put(tx: Transaction, fact: Fact, now: int) -> Fact:
    tx.facts.update(fact, now)
    return replace(fact, updated_at=now)


def _wrong_length(what: str) -> Refused:
    return Refused(f"{what} has 1 to {MOST_LETTERS} characters.", "Say it in fewer words.")
