"""Carries out the actions that the gate allowed, and records the result of every proposal."""

from __future__ import annotations

from collections.abc import Callable

from arvis.actions.administration import apply_agent, apply_client
from arvis.actions.context import ActionContext
from arvis.actions.delegation import apply_delegation
from arvis.actions.memory import apply_note
from arvis.actions.report import not_done
from arvis.actions.schedules import apply_schedule
from arvis.domain.effects import AuditEntry, EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.errors import AccessError, UsageError
from arvis.domain.executions import Effect, EffectState
from arvis.domain.taint import taint_text
from arvis.ports.store import Transaction

Apply = Callable[[Transaction, Proposal, ActionContext, int], EffectResult]


def _apply_schedule(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    return apply_schedule(tx, proposal, situation, now, zone=situation.zone)


_APPLY: dict[EffectKind, Apply] = {
    EffectKind.REMEMBER: apply_note,
    EffectKind.STATE: apply_note,
    EffectKind.DELEGATE: apply_delegation,
    EffectKind.CREATE_AGENT: apply_agent,
    EffectKind.UPDATE_AGENT: apply_agent,
    EffectKind.PAUSE_AGENT: apply_agent,
    EffectKind.DELETE_AGENT: apply_agent,
    EffectKind.LIST_AGENTS: apply_agent,
    EffectKind.CREATE_CRON: _apply_schedule,
    EffectKind.UPDATE_CRON: _apply_schedule,
    EffectKind.DELETE_CRON: _apply_schedule,
    EffectKind.LIST_CRONS: _apply_schedule,
    EffectKind.CREATE_HEARTBEAT: _apply_schedule,
    EffectKind.UPDATE_HEARTBEAT: _apply_schedule,
    EffectKind.DELETE_HEARTBEAT: _apply_schedule,
    EffectKind.LIST_HEARTBEATS: _apply_schedule,
    EffectKind.CREATE_CLIENT: apply_client,
    EffectKind.LIST_CLIENTS: apply_client,
}


def perform(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    """Carry out a proposal. If the rules of its action refuse the proposal, write nothing and return a failed result,
    so that other actions can follow. Database errors are not caught."""
    try:
        return _APPLY[proposal.kind](tx, proposal, situation, now)
    except (UsageError, AccessError) as error:
        return not_done(proposal, Outcome.FAILED, error.code, error.what)


def note(tx: Transaction, result: EffectResult, situation: ActionContext, now: int) -> None:
    """Record the result of a proposal as a finished effect and in the audit."""
    proposal, execution = result.proposal, situation.execution
    tx.executions.put_effect(
        Effect(execution.id, "", 0, proposal.name, EffectState.FINISHED, result.outcome.value, now)
    )
    tx.audit.add(
        AuditEntry(
            id=tx.new_id(),
            at=now,
            execution_id=execution.id,
            message_id=situation.message_id,
            agent_id=situation.agent.id,
            principal_id=situation.principal.id if situation.principal is not None else None,
            proposal=proposal,
            taint=taint_text(situation.taint),
            outcome=result.outcome,
            reason=result.reason,
            report=result.report,
        )
    )
