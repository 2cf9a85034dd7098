"""What a reply asks for by its tags, dealt with in the transaction that ends the turn (reliability.md T2, T4)."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.effects import approvals
from arvis.effects.gate import judge
from arvis.effects.intake import sound
from arvis.effects.performing import note, perform
from arvis.effects.situation import Situation
from arvis.effects.words import not_done
from arvis.ports.store import Transaction


def apply(tx: Transaction, proposals: Sequence[Proposal], situation: Situation, now: int) -> list[EffectResult]:
    """What became of each, in the order in which they were dealt with: agents before the crons that name them, and tasks
    last, for they may go to an agent of this very reply. None keeps another one from being done; what this turn has
    dealt with before is left out."""
    known = {effect.name for effect in tx.executions.effects(situation.execution.id)}
    fresh = [proposal for proposal in map(sound, proposals) if proposal.name not in known]
    return [_settle(tx, proposal, situation, now) for proposal in sorted(fresh, key=_order)]


def _settle(tx: Transaction, proposal: Proposal, situation: Situation, now: int) -> EffectResult:
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
