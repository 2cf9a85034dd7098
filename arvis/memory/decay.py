"""Forgetting: unused facts lose confidence until they fade (behaviour.md 1.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from arvis.domain.memory import Category, Fact
from arvis.memory.service import fade
from arvis.ports.store import Transaction

_DAY_MS = 86_400_000

#: The life of each category: after each such time without use, confidence falls. Sticky facts stay.
LIVES_MS: Mapping[Category, int] = {
    Category.USER_PREFERENCE: 90 * _DAY_MS,
    Category.PROJECT_CONTEXT: 30 * _DAY_MS,
    Category.LEARNED_PATTERN: 30 * _DAY_MS,
    Category.IMPORTANT_EVENT: 365 * _DAY_MS,
}

#: In thousandths: where confidence stops falling, and below what a fact fades.
_FLOOR = 100
_FADED = 150


def decay(tx: Transaction, now: int, limit: int) -> int:
    """Lower the confidence of up to `limit` facts or fade them; return their number. Repeated calls are safe: each
    time without use counts once."""
    expired = tx.facts.expired(now, limit)
    for fact in expired:
        fade(tx, fact, now)
    done = len(expired)
    for category, life in LIVES_MS.items():
        idle = tx.facts.idle(category, now - life, limit - done) if done < limit else []
        for fact in idle:
            _fall(tx, fact, life, now)
        done += len(idle)
    return done


def _fall(tx: Transaction, fact: Fact, life: int, now: int) -> None:
    """Lower the confidence once for each life since the last use, or the last fall."""
    confidence = fact.confidence
    for _ in range((now - max(fact.accessed_at, fact.updated_at)) // life):
        confidence = max(_FLOOR, confidence * 9 // 10)
    fallen = replace(fact, confidence=min(confidence, fact.confidence))
    if fallen.confidence < _FADED and fact.created_at < now - life:
        fade(tx, fallen, now)
    else:
        tx.facts.update(fallen, now)
