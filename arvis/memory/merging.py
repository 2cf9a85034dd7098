"""Merges facts of one scope as a model proposes, if the proposal passes strict checks. Facts are untrusted text, so the
model may obey an instruction in a fact. Therefore a reply is carried out completely or not at all. It may name facts
only by their numbers, and can neither add information nor end an unrelated fact. People can undo each merge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.memory import Category, Fact, FactStatus, NewFact, words_of
from arvis.domain.messages import Address
from arvis.domain.search import question_of
from arvis.domain.taint import CLEAN
from arvis.memory.decay import ARVIS
from arvis.memory.similarity import Wording, marks
from arvis.ports.store import Transaction

#: The maximum number of facts in one batch, and of letters in all these facts together.
MOST_FACTS, MOST_LETTERS = 60, 12_000
_LONGEST = 2_000
#: Words count as equal if this number of their first letters are equal.
_COMPARED = 4
#: The maximum number of changes of a fact that are read.
_CHANGES = 10_000
#: The minimum share of the words of a duplicate that the kept fact must contain.
_SHARE = 0.5
_WORDS = 64


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words that a merged fact may have in addition to the words of its sources.
_JOINING = _listed(
    "a an the and or also in on at of to with und auch in im am mit der die das y e con el la et avec le les"
)


class MergeKind(StrEnum):
    #: The dropped facts have the same meaning as the kept fact.
    DUPLICATES = "duplicates"
    #: The kept fact is newer, and the dropped facts are no longer true.
    OUTDATED = "outdated"
    #: One new fact replaces several facts.
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Merge:
    """One change that a model proposes. If the kind is `MERGED`, `kept` is None and `text` is the new fact."""

    kind: MergeKind
    kept: Fact | None
    dropped: tuple[Fact, ...]
    text: str = ""


def may_be_merged(fact: Fact) -> bool:
    """Return True if a model stored this active fact, no person has corrected or confirmed it, and it is neither sticky
    nor limited in time."""
    by_model = fact.execution_id is not None and fact.author_id is not None and fact.confirmed_by is None
    timeless = fact.expires_at is None and fact.valid_from is None and fact.valid_until is None
    return by_model and timeless and fact.status is FactStatus.ACTIVE and fact.category is not Category.STICKY


def slices_of(facts: Sequence[Fact]) -> Iterator[Sequence[Fact]]:
    """Yield batches of facts that may be merged with one another. The facts of a batch have the same author, category
    and taint."""
    groups: dict[tuple[str | None, str, bool], list[Fact]] = {}
    for fact in filter(may_be_merged, facts):
        groups.setdefault((fact.author_id, fact.category, bool(fact.taint)), []).append(fact)
    for group in groups.values():
        part: list[Fact] = []
        for fact in sorted(group, key=lambda fact: fact.number):
            if len(part) == MOST_FACTS or sum(len(each.content) for each in part) + len(fact.content) > MOST_LETTERS:
                yield part
                part = []
            part.append(fact)
        if len(part) > 1:
            yield part


def merges_of(reply: str, facts: Sequence[Fact]) -> Sequence[Merge] | None:
    """Return the changes that a reply proposes for this batch. Return None if any part of the reply is not
    acceptable."""
    found = _parsed(reply)
    if found is None or not found.keys() <= set(map(str, MergeKind)):
        return None
    known, merges, named = {fact.number: fact for fact in facts}, list[Merge](), list[int]()
    for kind in MergeKind:
        entries = found.get(kind, [])
        if not isinstance(entries, list):
            return None
        for entry in entries:
            merge = _merge_of(kind, entry, known)
            if merge is None or not _is_sound(merge):
                return None
            merges.append(merge)
            named += [fact.number for fact in (*merge.dropped, *filter(None, [merge.kept]))]
    dropped = sum(len(merge.dropped) for merge in merges)
    return merges if len(set(named)) == len(named) and dropped <= len(facts) * 2 // 3 else None


def _parsed(reply: str) -> Mapping[str, Any] | None:
    start, end = reply.find("{"), reply.rfind("}")
    try:
        found = json.loads(reply[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _merge_of(kind: MergeKind, entry: object, known: Mapping[int, Fact]) -> Merge | None:
    if not isinstance(entry, dict):
        return None
    if kind is MergeKind.MERGED:
        if entry.keys() != {"facts", "text"} or not isinstance(entry["text"], str):
            return None
        sources = _facts(entry["facts"], known)
        return Merge(kind, None, sources, " ".join(entry["text"].split())) if len(sources) > 1 else None
    if entry.keys() != {"keep", "drop"}:
        return None
    kept, dropped = _facts([entry["keep"]], known), _facts(entry["drop"], known)
    return Merge(kind, kept[0], dropped) if kept and dropped else None


def _facts(numbers: object, known: Mapping[int, Fact]) -> tuple[Fact, ...]:
    """Return the facts with these numbers; an empty tuple if one of the numbers is not in the batch."""
    if not isinstance(numbers, list) or not all(type(number) is int and number in known for number in numbers):
        return ()
    return tuple(known[number] for number in numbers)


def _is_sound(merge: Merge) -> bool:
    match merge.kind, merge.kept:
        case MergeKind.DUPLICATES, Fact() as kept:
            return all(_shared(kept, fact) >= _SHARE and _covers(kept.content, fact.content) for fact in merge.dropped)
        case MergeKind.OUTDATED, Fact() as kept:
            return all(_shared(kept, fact) > 0 and kept.number > fact.number for fact in merge.dropped)
        case _:
            return _is_composed(merge)


def _shared(one: Fact, other: Fact) -> float:
    """Return the share of the content words of `other` that also occur in `one`. Words are compared by their first
    letters."""
    known, words = ({word[:_COMPARED] for word in question_of(fact.content, _WORDS).words} for fact in (one, other))
    return len(known & words) / max(1, len(words))


def _covers(text: str, other: str) -> bool:
    """Return True if `text` contains all numbers, dates and quoted names of `other`, and contains a negation exactly if
    `other` contains one."""
    numbers, dates, quoted, denied = marks(Wording.of(text))
    others = marks(Wording.of(other))
    return (
        set(others[0]) <= set(numbers) and others[1] <= dates and set(others[2]) <= set(quoted) and others[3] == denied
    )


def _is_composed(merge: Merge) -> bool:
    """Return True if the new text consists of words of its sources and omits no number or name. No source may contain a
    negation, because its words could be combined with another statement."""
    allowed = {word for fact in merge.dropped for word in words_of(fact.content)} | _JOINING
    first, *others = merge.dropped
    return (
        0 < len(merge.text) <= _LONGEST
        and set(words_of(merge.text)) <= allowed
        and all(_shared(first, fact) > 0 for fact in others)
        and not any(marks(Wording.of(text))[3] for text in (merge.text, *(fact.content for fact in merge.dropped)))
        and all(_covers(merge.text, fact.content) for fact in merge.dropped)
    )


def apply_merges(tx: Transaction, merges: Sequence[Merge], now: int) -> int:
    """Carry out these changes and return their number. Skip a change if one of its facts has changed since the model
    was asked."""
    return sum(_apply(tx, merge, now) for merge in merges)


def _apply(tx: Transaction, merge: Merge, now: int) -> bool:
    facts = [tx.facts.get(fact.id) for fact in (*merge.dropped, *filter(None, [merge.kept]))]
    present = [fact for fact in facts if fact is not None and may_be_merged(fact) and not _is_restored(tx, fact)]
    if len(present) != len(facts) or len({fact.scope for fact in present}) > 1:
        return False
    dropped = present[: len(merge.dropped)]
    if merge.kept is None and len({_place_of(tx, fact) for fact in dropped}) > 1:
        return False  # the new fact refers to one message only, so an erasure of another channel would miss the fact
    successor = present[-1] if merge.kept is not None else _add(tx, dropped, merge.text, now)
    for fact in dropped:
        tx.facts.note(fact, "merged", by_id=ARVIS, now=now, other_id=successor.id)
        ended = successor.created_at if merge.kind is MergeKind.OUTDATED else None
        gone = replace(fact, status=FactStatus.SUPERSEDED, superseded_by=successor.id, valid_until=ended)
        tx.facts.update(gone, now)
    details = {"kind": merge.kind, "agent": successor.agent_id, "facts": [fact.id for fact in dropped]}
    tx.audit.add(access_entry(tx.new_id(), Access(AccessKind.FACTS_MERGED, successor.id, details), now))
    return True


def _is_restored(tx: Transaction, fact: Fact) -> bool:
    """Return True if a person has undone a change of this fact."""
    return any(change.change == "restored" for change in tx.facts.changes(fact.id, _CHANGES))


def _place_of(tx: Transaction, fact: Fact) -> Address | None:
    message = tx.messages.get(fact.message_id) if fact.message_id is not None else None
    return None if message is None else message.address


def _add(tx: Transaction, sources: Sequence[Fact], text: str, now: int) -> Fact:
    newest = max(sources, key=lambda fact: fact.number)
    taint = CLEAN.union(*(fact.taint for fact in sources))
    # A fact without an execution counts as a fact that no model stored, so the new fact is not merged again.
    new = NewFact(
        newest.agent_id, newest.scope, newest.category, text, taint=taint, author_id=newest.author_id,
        message_id=newest.message_id,
    )  # fmt: skip
    fact = tx.facts.add(new, now)
    tx.facts.note(fact, "added", by_id=ARVIS, now=now)
    return fact
