"""Unused facts lose confidence until they fade. The functions are transaction scripts and parts of transaction
scripts."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.dataclass import replace
from arvis.domain.memory import Category, Fact, FactStatus
from arvis.ports.store import Transaction

#: The author of changes that no person asked for.
ARVIS = "arvis"

_DAY_MS = 86_400_000

#: After each period of this length without use, the confidence of a fact falls by a tenth. Sticky facts never fade.
LIVES_MS: Mapping[Category, int] = {
    Category.USER_PREFERENCE: 90 * _DAY_MS,
    Category.PROJECT_CONTEXT: 30 * _DAY_MS,
    Category.LEARNED_PATTERN: 30 * _DAY_MS,
    Category.IMPORTANT_EVENT: 365 * _DAY_MS,
}

#: Confidence in thousandths: its minimum, and the limit below which a fact fades.
_FLOOR = 100
_FADED = 150


def fade(tx: Transaction, fact: Fact, now: int) -> None:
    """Mark a fact as faded, so that it is no longer recalled."""
    tx.facts.note(fact, str(FactStatus.FADED), by_id=ARVIS, now=now, undoes=None)
    tx.facts.update(replace(fact, status=FactStatus.FADED), now)


def decay(tx: Transaction, now: int, limit: int) -> int:
    """Fade expired facts, end facts that are no longer true, and lower the confidence of unused facts. Process at most
    `limit` facts, and return their number.
    Repeated calls are safe, because each period without use counts once."""
    expired = tx.facts.expired(now, limit)
    for fact in expired:
        fade(tx, fact, now)
    over = tx.facts.over(now, limit - len(expired)) if len(expired) < limit else []
    for fact in over:
        tx.facts.note(fact, str(FactStatus.ENDED), by_id=ARVIS, now=now)
        status = FactStatus.ENDED if fact.superseded_by is None else FactStatus.SUPERSEDED
        tx.facts.update(replace(fact, status=status), now)
    done = len(expired) + len(over)
    for category, life in LIVES_MS.items():
        idle = tx.facts.idle(category, now - life, limit - done) if done < limit else []
        for fact in idle:
            _fall(tx, fact, life, now)
        done += len(idle)
    return done


def _fall(tx: Transaction, fact: Fact, life: int, now: int) -> None:
    """Lower the confidence once for each period of `life` ms since the last use or the last fall. Fade the fact if its
    confidence is below `_FADED`."""
    confidence = fact.confidence
    for _ in range((now - max(fact.accessed_at, fact.updated_at)) // life):
        confidence = max(_FLOOR, confidence * 9 // 10)
    fallen = replace(fact, confidence=min(confidence, fact.confidence))
    if fallen.confidence < _FADED and fact.created_at < now - life:
        fade(tx, fallen, now)
    else:
        tx.facts.update(fallen, now)
