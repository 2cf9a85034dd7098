"""Actions that need an approval: a separate execution shows a person the exact change and asks for approval.

An approval is valid only for the proposal and the change that were shown. The action is not carried out if the object
has changed since then, or if the asker or the agent no longer has the rights. The change is shown line by line
(`changes_of`), with the values that will be written, including defaults for fields that the tag leaves out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from arvis.actions.administration import Plan, known_agent, plan_of, wanted_client
from arvis.actions.context import ActionContext, Limits
from arvis.actions.gate import Verdict, judge
from arvis.actions.perform import note, perform
from arvis.actions.report import LISTS, not_done, report, wish
from arvis.actions.schedules import found_schedule, wanted_changes, wanted_schedule
from arvis.approvals import change, change_question, line, verdict_of
from arvis.domain.agents import Agent, Binding
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.errors import UsageError
from arvis.domain.executions import Execution, WaitKind
from arvis.domain.jobs import NewJob, Priority
from arvis.domain.messages import RANKS, Address, Principal, StoredMessage
from arvis.domain.schedules import Schedule, ScheduleKind
from arvis.domain.taint import CLEAN, Taint, taint_of, taint_text
from arvis.engine import lifecycle
from arvis.engine.graph import Decision, End, Graph, NodeContext, Pause
from arvis.engine.state import State, changes, stored, to_changes
from arvis.messaging import messages
from arvis.ports.store import Transaction
from arvis.services import agents
from arvis.tasks.access import CallerLimits, caller_limits, limited
from arvis.tasks.task import is_run, message_of
from arvis.turns.questions import proposals_lane

#: The maximum number of characters that are shown of the prompt of a deleted agent or schedule.
PROMPT_HEAD = 300

_AGENT = ("slug", "name", "role", "description", "prompt", "model", "fallbacks", "tools")
#: Fields that are shown only if their value is not the default.
_MORE_OF_AGENT = (
    "graph",
    "completion",
    "on_new_message",
    "timezone",
    "plugins",
    "helpers",
    "skills",
    "credentials",
    "knowledge",
    "context_tokens",
    "effort",
)
_MORE_OF_SCHEDULE = ("graph", "max_cycles", "grace", "model", "effort")
_SCHEDULE = ("name", "schedule", "timezone", "prompt", "platform", "channel", "script", "missed", "enabled")

_Lines = Callable[[Transaction, Proposal, ActionContext], list[str]]


def changes_of(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    """Return the lines that show a change to a person. They contain every field that would be written. For an update,
    they also contain the present values; for a deletion, they contain the object. Raise `UsageError` if the change is
    impossible."""
    if proposal.kind in LISTS:
        return [line("shown in", _place(situation.address.platform, situation.address.channel))]
    lines_of = _LINES.get(proposal.kind)
    if lines_of is not None:
        return lines_of(tx, proposal, situation)
    return [line(name, value) for name, value in proposal.fields.items()]


def hidden_of(tx: Transaction, proposal: Proposal) -> list[str]:
    """Return the whole agent or schedule that the proposal would delete or pause, as text for the hash of the change.
    (The question shows only a part of the agent or schedule.) Return an empty list for all other changes."""
    lines_of = _LINES.get(proposal.kind)
    if lines_of is _stopped_agent:
        return [repr(known_agent(tx, proposal.subject))]
    return [repr(_fields(_schedule(tx, proposal), _SCHEDULE))] if lines_of is _removed_schedule else []


# -- agents ------------------------------------------------------------------------------------------------


def _new_agent(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    plan = plan_of(tx, proposal, situation.address)
    return [*_all(_fields(plan.changed, _AGENT)), *_unusual(plan.changed, _MORE_OF_AGENT), *_channels(plan)]


def _changed_agent(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    plan = plan_of(tx, proposal, situation.address)
    changed = plan.changed
    lines = [change(name, getattr(plan.agent, name), getattr(changed, name)) for name in plan.changes]
    if plan.status is not None:
        lines.append(change("status", plan.agent.status.value, plan.status.value))
    return lines + _channels(plan)


def _channels(plan: Plan) -> list[str]:
    """Return a line for each channel that is added. (Tags never remove channels.)"""
    return [line("additional channel", _bound(place)) for place in plan.places]


def _stopped_agent(tx: Transaction, proposal: Proposal, _situation: ActionContext) -> list[str]:
    agent = known_agent(tx, proposal.subject)
    channels = [_place(each.platform, each.channel) for each in tx.agents.bindings(agent.id)]
    return _all({"slug": agent.slug, "name": agent.name, "channels": channels}) + _head(agent.prompt)


# -- schedules and clients ---------------------------------------------------------------------------------


def _new_schedule(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    """Return the lines of a new schedule. The agent of the schedule may not exist yet, because the same reply may
    create it."""
    wanted = wanted_schedule(proposal, situation)
    agent = agents.find(tx, wanted.agent_id)
    shown = {"agent": agent.slug if agent is not None else wanted.agent_id, **_fields(wanted, _SCHEDULE)}
    return [*_all(shown), *_unusual(wanted, _MORE_OF_SCHEDULE)]


def _changed_schedule(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    known = _schedule(tx, proposal)
    wanted = wanted_changes(proposal, situation)
    shown = {*_SCHEDULE, *_MORE_OF_SCHEDULE}
    return [change(name, getattr(known, name), value) for name, value in wanted.items() if name in shown]


def _removed_schedule(tx: Transaction, proposal: Proposal, _situation: ActionContext) -> list[str]:
    known = _schedule(tx, proposal)
    agent = tx.agents.get(known.agent_id)
    shown = {"agent": agent.slug if agent is not None else known.agent_id, **_fields(known, _SCHEDULE)}
    return _all({name: value for name, value in shown.items() if name not in {"prompt", "script"}}) + _head(
        known.prompt
    )


def _schedule(tx: Transaction, proposal: Proposal) -> Schedule:
    crons = {EffectKind.UPDATE_CRON, EffectKind.DELETE_CRON}
    return found_schedule(tx, proposal, ScheduleKind.CRON if proposal.kind in crons else ScheduleKind.HEARTBEAT)


def _new_client(_tx: Transaction, proposal: Proposal, _situation: ActionContext) -> list[str]:
    client = wanted_client(proposal)
    return _all({"name": client.name, "plan": client.plan.value, "notes": client.notes})


_LINES: Mapping[EffectKind, _Lines] = {
    EffectKind.CREATE_AGENT: _new_agent,
    EffectKind.UPDATE_AGENT: _changed_agent,
    EffectKind.PAUSE_AGENT: _stopped_agent,
    EffectKind.DELETE_AGENT: _stopped_agent,
    EffectKind.CREATE_CRON: _new_schedule,
    EffectKind.CREATE_HEARTBEAT: _new_schedule,
    EffectKind.UPDATE_CRON: _changed_schedule,
    EffectKind.UPDATE_HEARTBEAT: _changed_schedule,
    EffectKind.DELETE_CRON: _removed_schedule,
    EffectKind.DELETE_HEARTBEAT: _removed_schedule,
    EffectKind.CREATE_CLIENT: _new_client,
}


# -- lines -------------------------------------------------------------------------------------------------


def _fields(holder: Agent | Schedule, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in names}


def _unusual(holder: Agent | Schedule, names: tuple[str, ...]) -> list[str]:
    usual = {field.name: field.default for field in fields(holder)}
    return [line(name, getattr(holder, name)) for name in names if getattr(holder, name) != usual[name]]


def _all(shown: Mapping[str, Any]) -> list[str]:
    """Return a line for each value that is not empty. `False` is not empty."""
    return [line(name, value) for name, value in shown.items() if value or value is False]


def _head(prompt: str) -> list[str]:
    if not prompt:
        return []
    if len(prompt) <= PROMPT_HEAD:
        return [line("prompt", prompt)]
    return [line(f"prompt, the first {PROMPT_HEAD} of {len(prompt)} characters", prompt[:PROMPT_HEAD])]


def _bound(binding: Binding) -> str:
    return f"{_place(binding.platform, binding.channel)} ({binding.permission})"


def _place(platform: str, channel: str) -> str:
    return f"{platform} {channel}"


GRAPH = "proposal"
APPROVE, REJECT = "approve", "reject"
#: The maximum number of open questions of one conversation.
OPEN_QUESTIONS = 10
#: The value of the field `by` of a decision that was made because the deadline passed without an answer.
NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class ProposalOrigin(State):
    """The turn or run that asked for the action. Its fields are stored together under one key of the state, because an
    execution whose state has the key `conversation` would count as a turn."""

    agent: str = ""
    principal: str | None = None
    address: Address = stored(Address("", "", ""), read=Address.from_json, write=Address.to_json)
    conversation: str = ""
    execution: str = ""
    message: str | None = None
    limits: CallerLimits = stored(
        CallerLimits(), key="standing", read=CallerLimits.from_json, write=CallerLimits.to_json
    )
    taint: Taint = stored(CLEAN, read=taint_of, write=taint_text)

    def to_json(self) -> dict[str, Any]:
        return to_changes(ProposalOrigin, {each.name: getattr(self, each.name) for each in fields(self)})


@dataclass(frozen=True, slots=True)
class ProposalState(State):
    """The state of the graph `proposal`."""

    question: str = ""
    #: The hash of the change, including the parts that the question does not show.
    digest: str = ""
    proposal: Proposal = stored(read=Proposal.from_json, write=Proposal.to_json)
    origin: ProposalOrigin = stored(key="from", read=ProposalOrigin.from_json, write=ProposalOrigin.to_json)

    def asks_the_same(self, other: ProposalState) -> bool:
        """Return True if both states have the same proposal, question and change. The question names the asker, so the
        proposals of two people differ."""
        same = replace(self.proposal, ordinal=0) == replace(other.proposal, ordinal=0)
        return same and (self.question, self.digest) == (other.question, other.digest)


def proposal_graph(*, deadline_ms: int, on_expiry: str) -> Graph:
    """Return the graph that asks a person once. Its result is the decision: `{"decision", "by", …}`."""

    async def ask(context: NodeContext) -> Decision:
        if context.answer is None:
            until = context.now() + deadline_ms
            return Pause(
                WaitKind.APPROVAL,
                ProposalState.from_json(context.state).question,
                until=until,
                choices=(APPROVE, REJECT),
            )
        given = verdict_of(context.answer, choices=(APPROVE, REJECT), on_expiry=on_expiry)
        return End({**given, "by": context.answer.by})

    return Graph(name=GRAPH, start="ask", nodes={"ask": ask}, edges={})


# -- scripts -----------------------------------------------------------------------------------------------


def begin(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    """Begin an execution that asks a person to approve a proposal. Return the result `ASKED`. Return a refusal if the
    question cannot show the whole change, or if too many questions are open."""
    try:
        shown = changes_of(tx, proposal, situation)
    except UsageError as error:
        return not_done(proposal, Outcome.FAILED, error.code, error.what)
    question = _question(proposal, shown, situation)
    if question is None:
        return not_done(
            proposal,
            Outcome.REFUSED,
            "too_long",
            "the request is too long to be shown completely to the person who approves it",
        )
    state = ProposalState(question, _digest([*shown, *hidden_of(tx, proposal)]), proposal, _origin(situation))
    talk = proposals_lane(situation.conversation.id)
    waiting = [tx.executions.get(wait.execution_id) for wait in tx.waits.open_in_lane(talk, WaitKind.APPROVAL)]
    if any(state.asks_the_same(ProposalState.from_json(each.state)) for each in waiting if each is not None):
        return EffectResult(proposal, Outcome.ASKED, f"{wish(proposal)} (asked before)", "asked_before")
    if len(waiting) >= OPEN_QUESTIONS:
        return not_done(
            proposal,
            Outcome.REFUSED,
            "too_many_questions",
            f"{OPEN_QUESTIONS} questions wait for an answer in this conversation already",
        )
    _put(tx, state, situation, talk, now)
    return EffectResult(proposal, Outcome.ASKED, wish(proposal), "approval")


def _put(tx: Transaction, state: ProposalState, situation: ActionContext, talk: str, now: int) -> None:
    execution_id = tx.new_id()
    # The execution has a higher priority than a turn, because it calls no model and people wait for its question.
    priority, principal_id = Priority.OWNER, situation.principal.id if situation.principal is not None else None
    asking = situation.execution.id
    lifecycle.begin(
        tx,
        execution_id,
        GRAPH,
        changes(
            ProposalState,
            question=state.question,
            digest=state.digest,
            proposal=state.proposal,
            origin=state.origin,
        ),
        lane=talk,
        priority=priority,
        principal_id=principal_id,
        now=now,
        begun_by=asking,
    )
    # The job gets a new lane, because this commit has already locked the lanes of the conversation and must not wait
    # for the lock of another lane.
    job = NewJob.advance(execution_id, f"execution:{execution_id}", priority, principal_id=principal_id)
    tx.jobs.add(job, now)


def post_question(tx: Transaction, execution: Execution, now: int) -> None:
    """Post the open question in the place where the action was requested, in the commit that pauses the execution."""
    origin = ProposalState.from_json(execution.state).origin
    asked_in = _asked_in(tx, origin.message, tx.executions.get(origin.execution))
    if asked_in is not None:
        messages.show_questions(tx, execution, like=asked_in, now=now)


def _asked_in(tx: Transaction, message_id: str | None, asking: Execution | None) -> StoredMessage | None:
    """Return a message in the place where the action was requested; None if there is no such place. For a turn, return
    the message that the turn answers. For a child, return the last message of the turn to which the child belongs. For
    a run, return a message in the place where the run posts."""
    if message_id is not None or asking is None:
        return tx.messages.get(message_id or "")
    root = lifecycle.root_of(tx, asking)
    if asked := tx.messages.of_turn(root.id):
        return asked[-1]
    return message_of(root, None) if is_run(root) else None


def conclude(tx: Transaction, execution: Execution, now: int, *, limits: Limits, zone: str = "UTC") -> EffectResult:
    """Carry out an approved proposal, or report that it was not approved, in the commit that ends the execution."""
    proposal, verdict = ProposalState.from_json(execution.state).proposal, execution.result
    situation = _situation(tx, execution, limits, zone)
    if situation is None:
        return not_done(proposal, Outcome.FAILED, "gone", "the agent or the conversation is gone")
    if verdict.get("decision") == APPROVE:
        result = _approved(tx, proposal, situation, execution, now)
    else:
        result = not_done(proposal, Outcome.REFUSED, _why(verdict), _by(tx, verdict, "rejected it"))
    if result.outcome is Outcome.DONE and proposal.kind not in LISTS:
        done = result.report or "remembered it"
        result = replace(result, report=f"{done} ({_by(tx, verdict, 'approved it')})")
    note(tx, result, situation, now)
    _announce(tx, result, situation, now)
    return result


def _approved(
    tx: Transaction, proposal: Proposal, situation: ActionContext, execution: Execution, now: int
) -> EffectResult:
    """Carry out an approved proposal. Refuse a tainted proposal that counts as approved only because its deadline
    passed (`on_expiry`)."""
    by = execution.result.get("by") or ""
    if by == NOBODY:
        if situation.taint:
            return not_done(proposal, Outcome.REFUSED, "expired", "no answer arrived in time")
        return _perform(tx, proposal, situation, execution, now, within=situation.principal)
    approver = tx.principals.get(by)
    if approver is None:
        return not_done(proposal, Outcome.REFUSED, "no_right", "the person who approved it no longer exists")
    return _perform(tx, proposal, situation, execution, now, within=approver)


def _perform(
    tx: Transaction,
    proposal: Proposal,
    situation: ActionContext,
    execution: Execution,
    now: int,
    *,
    within: Principal | None,
) -> EffectResult:
    """Judge the proposal again. Carry it out if the change is still the change that was shown. Judge it with the lower
    of two roles: the role of the asker and the role of `within`. `within` is the approver, or the asker if the deadline
    passed without an answer."""
    against: Verdict = judge(tx, proposal, _lesser(situation, within), now, confirmed=True)
    if against.outcome is not None:
        return not_done(proposal, against.outcome, against.reason, against.words)
    if not _stands(tx, proposal, situation, ProposalState.from_json(execution.state).digest):
        return not_done(proposal, Outcome.FAILED, "changed", "the data has changed since the question was asked")
    # The approved change counts as a request of a person, so it has no taint.
    return perform(tx, proposal, replace(situation, taint=CLEAN, confirmed=True), now)


def _lesser(situation: ActionContext, other: Principal | None) -> ActionContext:
    person = situation.principal
    if person is None or other is None:
        return situation
    role = min(person.role, other.role, key=RANKS.index)
    return replace(situation, principal=replace(person, role=role))


def _stands(tx: Transaction, proposal: Proposal, situation: ActionContext, digest: str) -> bool:
    """Return True if the change, computed again from the present data, still has this hash."""
    try:
        return _digest([*changes_of(tx, proposal, situation), *hidden_of(tx, proposal)]) == digest
    except UsageError:
        return False


def _announce(tx: Transaction, result: EffectResult, situation: ActionContext, now: int) -> None:
    asked_in = _asked_in(tx, situation.message_id, situation.execution)
    text = report([result])
    if asked_in is not None:
        messages.notice(tx, like=asked_in, text=text, priority=Priority.OWNER, now=now)


# -- the stored data of the turn that asked ----------------------------------------------------------------


def _origin(situation: ActionContext) -> ProposalOrigin:
    return ProposalOrigin(
        agent=situation.agent.id,
        principal=situation.principal.id if situation.principal is not None else None,
        address=situation.address,
        conversation=situation.conversation.id,
        execution=situation.execution.id,
        message=situation.message_id,
        limits=caller_limits(situation.execution.state),
        taint=situation.taint,
    )


def _situation(tx: Transaction, execution: Execution, limits: Limits, zone: str) -> ActionContext | None:
    """Return the context of the turn that asked, with the present rights of its person; None if the agent or the
    conversation no longer exists. If the execution of the turn no longer exists, the context contains `execution`
    instead."""
    origin = ProposalState.from_json(execution.state).origin
    agent, conversation = tx.agents.get(origin.agent), tx.conversations.get(origin.conversation)
    if agent is None or conversation is None:
        return None
    return ActionContext(
        agent=agent,
        principal=limited(tx, tx.principals.get(origin.principal or ""), origin.limits),
        taint=origin.taint,
        address=origin.address,
        conversation=conversation,
        execution=tx.executions.get(origin.execution) or execution,
        message_id=origin.message,
        limits=limits,
        zone=zone,
    )


# -- texts -------------------------------------------------------------------------------------------------


def _question(proposal: Proposal, changes: list[str], situation: ActionContext) -> str | None:
    agent: Agent = situation.agent
    person, sources = situation.principal, sorted(situation.taint)
    return change_question(wish(proposal), changes, agent=agent.name, person=person, sources=sources)


def _digest(changes: list[str]) -> str:
    return hashlib.sha256("\n".join(changes).encode()).hexdigest()[:32]


def _why(verdict: dict[str, Any]) -> str:
    return "expired" if verdict.get("by") == NOBODY else "rejected"


def _by(tx: Transaction, verdict: dict[str, Any], decided: str) -> str:
    person = tx.principals.get(verdict.get("by") or "")
    return f"{person.name} {decided}" if person is not None else "no answer arrived in time"
