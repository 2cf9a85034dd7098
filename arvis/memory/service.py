"""Stores facts of agents. Each fact is stored once, in its newest form, and fades if no prompt uses it.

A tainted fact never replaces a fact without taint; both are stored. The functions that take a `tx` are transaction
scripts; their callers decide who may store or delete facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.memory import Category, Fact, FactStatus, NewFact, State, asked_words
from arvis.domain.messages import RANKS
from arvis.domain.regex import regex
from arvis.domain.taint import CLEAN
from arvis.domain.text import storable
from arvis.memory.decay import ARVIS, fade
from arvis.memory.similarity import Similarity, Wording
from arvis.memory.updating import likeness
from arvis.ports.memory import FactChange
from arvis.ports.store import Transaction

_MOST = 200


def whole(text: str) -> str:
    """Return the full text on one line. Invisible characters are replaced by their code points."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)


def brief(text: str, most: int = _MOST) -> str:
    """Return the text on one line of at most `most` letters, without invisible characters."""
    line = " ".join(text.split())
    seen = "".join(letter for letter in line if letter.isprintable())
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"


#: The maximum number of letters in a fact, and in a value.
MOST_LETTERS = 2_000
#: The maximum number of facts in one scope of an agent.
MOST_FACTS = 500
#: The maximum number of keys of values in one scope of an agent.
MOST_KEYS = 200
KEY = regex(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)

_SURE = 1000

#: The maximum number of words of a new fact by which similar facts are searched.
_WORDS = 8
#: The maximum number of facts that this search returns.
_LOOKED_UP = 20
#: The maximum number of found facts that are compared with the new fact letter by letter. The comparison is slow and
#: delays the transaction.
_COMPARED = 5


class Kept(StrEnum):
    """The way in which a fact was stored: as a new fact, as the repetition of a known fact, or in place of an older
    fact."""

    ADDED = "added"
    REFRESHED = "refreshed"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A stored fact. `old`: the fact that was replaced, or the same fact before it was refreshed."""

    kind: Kept
    fact: Fact
    old: Fact | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The refusal to store a fact or a value: the reason, and an alternative."""

    problem: str
    fix: str


_EXPIRED = Refused("The fact would expire in the past.", "Set a later time.")
_TURNED_ROUND = Refused("The period would end before it begins.", "Set a later end or an earlier beginning.")
#: The maximum number of past facts with which a new fact is compared, and of facts that the undo of a merge restores.
_PAST = 200
#: The maximum number of changes of a fact that an undo reads.
_CHANGES = 10_000


def remember(tx: Transaction, new: NewFact, *, by_id: str, now: int) -> Remembered | Refused:
    """Store a fact, replace the fact that it updates, or refresh a known fact."""
    new = replace(new, content=storable(new.content).strip())
    if not 0 < len(new.content) <= MOST_LETTERS:
        return _wrong_length("A fact")
    if new.expires_at is not None and new.expires_at <= now:
        return _EXPIRED
    if _is_turned_round(new.valid_from, new.valid_until):
        return _TURNED_ROUND
    if new.valid_until is not None and new.valid_until <= now:
        return _add_past(tx, new, by_id=by_id, now=now)
    old, like = _nearest(new, [fact for fact in _akin(tx, new) if _may_yield(fact, new, now)])
    if old is None or like is None:
        return _add(tx, new, by_id=by_id, now=now)
    if like.same and bool(old.taint) == bool(new.taint):
        return _refresh(tx, old, new, by_id=by_id, now=now)
    return _supersede(tx, old, new, by_id=by_id, now=now)


def forget(tx: Transaction, fact_id: str, *, by_id: str, now: int) -> Fact | None:
    """Delete a fact and return it. Return None if the fact does not exist or is deleted already."""
    fact = tx.facts.get(fact_id)
    if fact is None or fact.status is FactStatus.DELETED:
        return None
    return _end(tx, fact, FactStatus.DELETED, by_id=by_id, now=now)


def correct(tx: Transaction, fact: Fact, wanted: Fact, *, by_id: str, now: int) -> Remembered | Refused:
    """Replace a fact by the text of a person. Both facts stay in the history, and `undo` restores the old fact.
    `wanted` is the fact with the correct text and times. If only the times differ, the fact is changed and not
    replaced."""
    content, expires_at = storable(wanted.content).strip(), wanted.expires_at
    if not 0 < len(content) <= MOST_LETTERS:
        return _wrong_length("A fact")
    if expires_at is not None and expires_at <= now:
        if expires_at == fact.expires_at:
            return Refused(
                f"The fact #{fact.number} has expired.", "First set how long it is used: /memory expire NUMBER DAYS."
            )
        return _EXPIRED
    if _is_turned_round(wanted.valid_from, wanted.valid_until):
        return _TURNED_ROUND
    if content == fact.content:
        tx.facts.note(fact, "refreshed", by_id=by_id, now=now)
        # If the correction removes the end of the fact's validity, the planned successor no longer replaces the fact.
        successor = None if wanted.valid_until is None else wanted.superseded_by
        changed = replace(wanted, content=content, superseded_by=successor)
        return Remembered(Kept.REFRESHED, _put(tx, replace(changed, status=_status_of(changed, now)), now), fact)
    if known := tx.facts.same(fact.agent_id, fact.scope, content):
        return Refused(f"The fact #{known[0].number} already says this.", "Delete the wrong fact instead.")
    new = NewFact(
        fact.agent_id,
        fact.scope,
        fact.category,
        content,
        author_id=by_id,
        expires_at=expires_at,
        valid_from=wanted.valid_from,
        valid_until=wanted.valid_until,
    )
    return _replace(tx, fact, new, ends_at=None, by_id=by_id, now=now)  # the old fact was never true


def confirm(tx: Transaction, fact_id: str, *, by_id: str, now: int) -> Fact | None:
    """Confirm an active fact: remove its taint, and record the person as its confirmer. From then on, the rights of the
    confirmer count instead of the author's. A fact without taint changes only if the person has more rights than the
    earlier confirmer. If no one has confirmed the fact, the person must have more rights than the author. Return the
    fact, or None if it does not exist or is not active."""
    fact = tx.facts.get(fact_id)
    if fact is None or fact.status is not FactStatus.ACTIVE:
        return None
    if not fact.taint and not _has_more_rights(tx, by_id, fact.confirmed_by or fact.author_id):
        return fact
    tx.facts.note(fact, "confirmed", by_id=by_id, now=now)
    return _put(tx, replace(fact, taint=CLEAN, confirmed_by=by_id), now)


def _has_more_rights(tx: Transaction, person_id: str, author_id: str | None) -> bool:
    """Return True if this person has more rights than the author, and both are known."""
    person = tx.principals.get(person_id)
    author = tx.principals.get(author_id) if author_id is not None else None
    return person is not None and author is not None and RANKS.index(person.role) > RANKS.index(author.role)


def undo(tx: Transaction, agent_id: str, scopes: Sequence[str], *, by_id: str, now: int) -> str | None:
    """Undo the newest change of a fact in these scopes. Return a sentence about the result, or None if there is no
    change to undo."""
    change = tx.facts.last_change(agent_id, scopes)
    fact = None if change is None else tx.facts.get(change.fact_id)
    if change is None or fact is None:
        return None
    return _take_back(tx, change, fact, by_id=by_id, now=now)


def put_state(tx: Transaction, state: State) -> State | Refused:
    """Store a value under a key. A tainted value does not replace a verified value."""
    state = replace(state, value=storable(state.value).strip())
    if not KEY.fullmatch(state.key):
        return Refused("The key of a value must be 1 to 64 letters, digits, dots, - and _.", "Use another key.")
    if len(state.value) > MOST_LETTERS:
        return _wrong_length("A value")
    before = tx.agent_state.get(state.agent_id, state.scope, state.key)
    if before is not None and state.taint and not before.taint:
        return Refused(
            f"A person set the value of `{state.key}`. A value that comes from another person, a tool or a file cannot "
            "replace it.",
            "Ask a person to set the value, or use another key.",
        )
    if before is None and tx.agent_state.count(state.agent_id, state.scope) >= MOST_KEYS:
        return Refused(f"There are already {MOST_KEYS} values. This is the limit.", "Use an existing key.")
    tx.agent_state.put(state)
    return state


def _akin(tx: Transaction, new: NewFact) -> Sequence[Fact]:
    """Return facts that may have the same subject: facts with the same text, and facts that share words with the new
    fact."""
    same = tx.facts.same(new.agent_id, new.scope, new.content)
    # Long words are rarer, so they find fewer facts about other subjects.
    words = sorted(asked_words(new.content), key=len, reverse=True)[:_WORDS]
    found = tx.facts.search(new.agent_id, [new.scope], words, _LOOKED_UP)
    return list({fact.id: fact for fact in (*same, *found)}.values())


def _may_yield(fact: Fact, new: NewFact, now: int) -> bool:
    """Return True if the new fact may refresh or replace this known fact."""
    return (
        fact.category in {new.category, Category.STICKY}
        and (bool(fact.taint) or not new.taint)
        and (fact.expires_at is None or fact.expires_at > now)
        and not fact.is_over(now)
    )


def _nearest(new: NewFact, known: Sequence[Fact]) -> tuple[Fact, Similarity] | tuple[None, None]:
    """Return the known fact with the same meaning. If there is none, return the most similar fact that the new fact
    updates. The second value is the similarity of the two facts."""
    wording = Wording.of(new.content)
    worded = [(fact, Wording.of(fact.content)) for fact in known]
    # Identical texts share all words, so they come first.
    worded.sort(key=lambda pair: (pair[1].text != wording.text, -len(pair[1].seen & wording.seen), pair[0].number))
    alike = [(fact, like) for fact, old in worded[:_COMPARED] if (like := likeness(wording, old)) is not None]
    return min(alike, key=lambda pair: (not pair[1].same, pair[1].differing, pair[0].number), default=(None, None))


def _add(tx: Transaction, new: NewFact, *, by_id: str, now: int) -> Remembered | Refused:
    """Add a fact. If the scope is full, fade the facts with the least confidence. Of facts with equal confidence, fade
    those first that were unused for the longest time. A tainted new fact fades only tainted facts."""
    too_many = max(0, tx.facts.count(new.agent_id, new.scope) + 1 - MOST_FACTS)
    weak = tx.facts.weakest(new.agent_id, new.scope, tainted=bool(new.taint), limit=too_many) if too_many else []
    if too_many > len(weak):
        kinds = "sticky or confirmed" if new.taint else "sticky"
        return Refused(
            f"This scope already has {MOST_FACTS} facts, and all of them are {kinds}.", "Delete some of these facts."
        )
    fact = tx.facts.add(new, now)
    tx.facts.note(fact, "added", by_id=by_id, now=now)
    for weakest in weak:
        fade(tx, weakest, now)
    return Remembered(Kept.ADDED, fact)


def _add_past(tx: Transaction, new: NewFact, *, by_id: str, now: int) -> Remembered | Refused:
    """Add a fact that was true before. It replaces no other fact."""
    words = asked_words(new.content)
    known = [
        fact for fact in tx.facts.past(new.agent_id, [new.scope], words, now, _PAST) if fact.content == new.content
    ]
    if known and (bool(new.taint) or not known[0].taint):
        return Remembered(Kept.REFRESHED, known[0], known[0])
    fact = tx.facts.add(new, now)  # it is not active, so the limit of active facts does not apply
    tx.facts.note(fact, "added", by_id=by_id, now=now)
    return Remembered(Kept.ADDED, fact)


def _refresh(tx: Transaction, old: Fact, new: NewFact, *, by_id: str, now: int) -> Remembered:
    """Refresh a known fact: restore its full confidence, add the new taint, keep the later expiry, and use the stated times of
    its validity."""
    tx.facts.note(old, "refreshed", by_id=by_id, now=now)
    lasting = old.expires_at is None or new.expires_at is None
    fresh = replace(
        old,
        confidence=_SURE,
        accessed_at=now,
        taint=old.taint | new.taint,
        expires_at=None if lasting else max(old.expires_at or 0, new.expires_at or 0),
        valid_from=old.valid_from if new.valid_from is None else new.valid_from,
        valid_until=old.valid_until if new.valid_until is None else new.valid_until,
    )
    if _is_turned_round(fresh.valid_from, fresh.valid_until):
        fresh = replace(fresh, valid_from=new.valid_from, valid_until=new.valid_until)
    return Remembered(Kept.REFRESHED, _put(tx, fresh, now), old)


def _supersede(tx: Transaction, old: Fact, new: NewFact, *, by_id: str, now: int) -> Remembered:
    """Store the new fact in place of the old fact, which ends when the new fact begins. If the old fact is sticky, the
    new fact becomes sticky too."""
    begins = now if new.valid_from is None else new.valid_from
    if old.valid_from is not None and begins <= old.valid_from:
        begins = now
    never_true = old.valid_from is not None and begins <= old.valid_from
    ends_at = None if never_true else min(begins, begins if old.valid_until is None else old.valid_until)
    return _replace(tx, old, new, ends_at=ends_at, by_id=by_id, now=now)


def _replace(tx: Transaction, old: Fact, new: NewFact, *, ends_at: int | None, by_id: str, now: int) -> Remembered:
    """Store the new fact in place of the old fact. `ends_at` is the time (ms) until which the old fact is true (None:
    the old fact was never true). If this time is in the future, the old fact stays active until then."""
    sticky = old.category is Category.STICKY
    fact = tx.facts.add(replace(new, category=Category.STICKY) if sticky else new, now)
    tx.facts.note(fact, "added", by_id=by_id, now=now)
    tx.facts.note(old, "superseded", by_id=by_id, now=now, other_id=fact.id)
    replaced = replace(old, superseded_by=fact.id, valid_until=ends_at)
    old = _put(tx, replace(replaced, status=_status_of(replaced, now)), now)
    return Remembered(Kept.SUPERSEDED, fact, old)


def _take_back(tx: Transaction, change: FactChange, fact: Fact, *, by_id: str, now: int) -> str:
    match change.change:
        case "added":
            _end(tx, fact, FactStatus.DELETED, by_id=by_id, now=now, undoes=change.id)
            return f"Deleted: {brief(fact.content)}"
        case "confirmed":
            tx.facts.note(fact, "restored", by_id=by_id, now=now, undoes=change.id)
            _put(tx, replace(fact, taint=change.taint, confirmed_by=None), now)
            return f"No longer confirmed: {brief(fact.content)}"
        case "merged":
            return _separate(tx, change, fact, by_id=by_id, now=now)
        case "superseded":
            return _bring_back(tx, change, fact, by_id=by_id, now=now)
        case _:
            tx.facts.note(fact, "restored", by_id=by_id, now=now, undoes=change.id)
            _put(tx, replace(fact, status=_status_of(fact, now)), now)
            return f"Restored: {brief(fact.content)}"


def _bring_back(tx: Transaction, change: FactChange, old: Fact, *, by_id: str, now: int) -> str:
    """Restore a replaced fact and delete the fact that replaced it. Return a sentence about the result."""
    tx.facts.note(old, "restored", by_id=by_id, now=now, undoes=change.id)
    restored = replace(old, superseded_by=None, valid_until=change.valid_until)
    _put(tx, replace(restored, status=_status_of(restored, now)), now)
    answer = f"Restored: {brief(old.content)}"
    new = tx.facts.get(change.other_id or "")
    if new is None or new.status is not FactStatus.ACTIVE:
        return answer
    added = next(iter(tx.facts.changes(new.id, limit=1)), None)
    _end(tx, new, FactStatus.DELETED, by_id=by_id, now=now, undoes=added.id if added else None)
    return f"{answer} (deleted: {brief(new.content)})"


def _separate(tx: Transaction, change: FactChange, source: Fact, *, by_id: str, now: int) -> str:
    """Restore all facts that were merged into one fact, and delete that fact if the merge added it."""
    restored = list[Fact]()
    for fact in tx.facts.replaced_by(change.other_id or "", _PAST):
        known = [change] if fact.id == change.fact_id else reversed(tx.facts.changes(fact.id, _CHANGES))
        merged = next((each for each in known if each.change == "merged" and each.other_id == change.other_id), None)
        if merged is not None:
            tx.facts.note(fact, "restored", by_id=by_id, now=now, undoes=merged.id)
            active = replace(fact, superseded_by=None, valid_until=merged.valid_until)
            restored.append(_put(tx, replace(active, status=_status_of(active, now)), now))
    if all(each.id != change.fact_id for each in restored):  # the source was deleted meanwhile
        tx.facts.note(source, "restored", by_id=by_id, now=now, undoes=change.id)
    successor = tx.facts.get(change.other_id or "")
    answer = f"Merge undone. Restored: {'; '.join(brief(fact.content) for fact in reversed(restored))}"
    added = next(iter(tx.facts.changes(successor.id, limit=1)), None) if successor is not None else None
    # A fact that a model stored has an execution. So a fact that Arvis added without an execution was made by the
    # merge.
    if successor is None or added is None or added.by_id != ARVIS or successor.execution_id is not None:
        return answer
    if successor.status is FactStatus.ACTIVE:
        _end(tx, successor, FactStatus.DELETED, by_id=by_id, now=now, undoes=added.id)
    return answer


def _end(tx: Transaction, fact: Fact, status: FactStatus, *, by_id: str, now: int, undoes: str | None = None) -> Fact:
    tx.facts.note(fact, str(status), by_id=by_id, now=now, undoes=undoes)
    return _put(tx, replace(fact, status=status), now)


def _status_of(fact: Fact, now: int) -> FactStatus:
    """Return the status of a fact that was not deleted and has not faded."""
    if fact.superseded_by is not None and (fact.valid_until is None or fact.is_over(now)):
        return FactStatus.SUPERSEDED
    return FactStatus.ENDED if fact.is_over(now) else FactStatus.ACTIVE


def _is_turned_round(valid_from: int | None, valid_until: int | None) -> bool:
    return valid_from is not None and valid_until is not None and valid_until <= valid_from


def _put(tx: Transaction, fact: Fact, now: int) -> Fact:
    tx.facts.update(fact, now)
    return replace(fact, updated_at=now)


def _wrong_length(what: str) -> Refused:
    return Refused(f"{what} must have 1 to {MOST_LETTERS} characters.", "Write a text of that length.")
