"""Facts and values that an agent stores from a conversation. They are visible only to the person or in the room of this
conversation."""

from __future__ import annotations

from arvis.actions.context import ActionContext
from arvis.actions.report import done
from arvis.domain.effects import EffectKind, EffectResult, Proposal
from arvis.domain.errors import Unprocessable
from arvis.domain.memory import Category, NewFact, State, room_scope, scope_for, taint_for_others
from arvis.domain.taint import Taint
from arvis.domain.validity import end_of, start_of
from arvis.memory.service import Refused, Remembered, put_state, remember
from arvis.ports.store import Transaction


def apply_note(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    """Store a fact or value with its taint."""
    if not situation.conversation.remembers:
        raise Unprocessable("Memory is off in this channel", fix="Do not store facts or values here.")
    keep = _put_state if proposal.kind is EffectKind.STATE else _remember
    kept = keep(tx, proposal, situation, now)
    if isinstance(kept, Refused):
        raise Unprocessable(kept.problem, fix=kept.fix)
    return done(proposal, "")


def taint_of_note(proposal: Proposal, situation: ActionContext) -> Taint:
    """Return the taint of a fact or value. The taint also depends on the author's role if everybody in a room can read
    the fact or value and no person has approved it."""
    category = None if proposal.kind is EffectKind.STATE else Category(proposal.subject)
    others_read = _scope(situation, category) == room_scope(situation.address)
    if not others_read or situation.confirmed:
        return situation.taint
    return taint_for_others(situation.taint, [situation.role])


def _remember(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> Remembered | Refused:
    if proposal.subject not in set(Category):
        raise Unprocessable(f"`{proposal.subject}` is not a category", fix=f"Use {', '.join(Category)}.")
    category, fields = Category(proposal.subject), proposal.fields
    zone = (situation.principal.timezone if situation.principal is not None else None) or situation.zone
    fact = NewFact(
        agent_id=situation.agent.id,
        scope=_scope(situation, category),
        category=category,
        content=str(proposal.fields["text"]),
        taint=taint_of_note(proposal, situation),
        author_id=_author(situation),
        message_id=situation.message_id,
        execution_id=situation.execution.id,
        expires_at=end_of(str(fields.get("expires", "")), zone),
        valid_from=start_of(str(fields.get("from", "")), zone),
        valid_until=end_of(str(fields.get("until", "")), zone),
    )
    return remember(tx, fact, by_id=situation.by_id, now=now)


def _put_state(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> State | Refused:
    state = State(
        agent_id=situation.agent.id,
        scope=_scope(situation, None),
        key=proposal.subject,
        value=str(proposal.fields["text"]),
        taint=taint_of_note(proposal, situation),
        author_id=_author(situation),
        message_id=situation.message_id,
        updated_at=now,
    )
    return put_state(tx, state)


def _scope(situation: ActionContext, category: Category | None) -> str:
    return scope_for(category, situation.address, _author(situation), direct=situation.conversation.direct)


def _author(situation: ActionContext) -> str | None:
    return situation.principal.id if situation.principal is not None else None
