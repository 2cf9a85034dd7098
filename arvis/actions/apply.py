"""Actions that a reply asks for by its tags, carried out in the transaction that ends the turn (reliability.md T2,
T4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from arvis.actions import approvals
from arvis.actions.context import ActionContext
from arvis.actions.gate import judge
from arvis.actions.perform import note, perform
from arvis.actions.report import not_done
from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.text import storable, storable_json
from arvis.ports.store import Transaction

# Proposals as they can be kept: a model may write JSON that no database takes.


#: No field of any tag holds lists or objects deeper than this.
DEEPEST = 12


def sound(proposal: Proposal) -> Proposal:
    """The same without characters that cannot be stored; where values cannot be, there is a problem in their place."""
    flaw = _flaw(proposal.fields.values(), DEEPEST)
    problem = proposal.problem or flaw
    return replace(
        proposal,
        subject=storable(proposal.subject),
        fields={} if flaw else storable_json(dict(proposal.fields)),
        problem=storable(problem) if problem else None,
    )


def _flaw(values: Iterable[Any], depth: int) -> str | None:
    if depth == 0:
        return "a value in it is nested too deep"
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            return "a number in it is too large"
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if inner and (flaw := _flaw(inner, depth - 1)):
            return flaw
    return None


def apply(tx: Transaction, proposals: Sequence[Proposal], situation: ActionContext, now: int) -> list[EffectResult]:
    """Return the result of each proposal, in the order in which they were carried out: agents before the crons that
    name them, and tasks last, because they may go to an agent of the same reply. No failure stops the others;
    proposals that this turn has already carried out are left out."""
    known = {effect.name for effect in tx.executions.effects(situation.execution.id)}
    fresh = [proposal for proposal in map(sound, proposals) if proposal.name not in known]
    return [_settle(tx, proposal, situation, now) for proposal in sorted(fresh, key=_order)]


def _settle(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    verdict = judge(tx, proposal, situation, now)
    match verdict.outcome:
        case None:
            result = perform(tx, proposal, situation, now)
        case Outcome.ASKED:
            result = approvals.begin(tx, proposal, situation, now)
        case outcome:
            result = not_done(proposal, outcome, verdict.reason, verdict.words)
    note(tx, result, situation, now)
    return result


_KINDS = list(EffectKind)


def _order(proposal: Proposal) -> tuple[bool, int, int]:
    return proposal.kind is EffectKind.DELEGATE, _KINDS.index(proposal.kind), proposal.ordinal
