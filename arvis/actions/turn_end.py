"""Steps 11, 12 and 14 of a message (`message_flow.py`): the results of an execution that ended or waits, written in the
commit of its last step.

The reply is parsed before the commit. The commit contains the actions that the reply asks for, the message, the
delivery of the message, and, if the conversation is too long, the job that compacts it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from arvis.actions import change_approvals
from arvis.actions.context import ActionContext, Limits
from arvis.actions.delegation import on_turn_end
from arvis.actions.gate import judge
from arvis.actions.perform import note, perform
from arvis.actions.report import not_done, report
from arvis.actions.schedules import CHANGES
from arvis.domain.changes import topic_of_effect
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.executions import PERSONAL_WAITS, Execution, ExecutionStatus, WaitKind
from arvis.domain.explanation import CUT
from arvis.domain.messages import FINAL_STATUSES, MessageStatus, Role, StoredMessage
from arvis.domain.runs import RunResult
from arvis.domain.taint import Taint, taint_in
from arvis.domain.text import storable, storable_json
from arvis.domain.workflows import SAID
from arvis.engine import lifecycle
from arvis.engine.lifecycle import OnComplete
from arvis.graphs.agent.graph import is_turn
from arvis.graphs.context import working_agent
from arvis.messaging import messages, notices
from arvis.messaging.messages import post, unsilenced
from arvis.messaging.owner_alerts import alert_failed_run, resolve_failed_runs
from arvis.ports.store import Transaction
from arvis.services.schedule_runs import run_ended
from arvis.services.workflow_runs import is_workflow
from arvis.tags import Reply, read
from arvis.tasks.access import acting
from arvis.tasks.past_rounds import AGENT_GRAPHS
from arvis.tasks.state import AgentState, WorkOutcome, WorkState, WorkStatus
from arvis.tasks.task import is_run, source_of
from arvis.turns import turns, workflow_results
from arvis.turns.turns import Ending

#: The maximum nesting of lists and objects in the fields of a proposal.
DEEPEST = 12


def sound(proposal: Proposal) -> Proposal:
    """Return the proposal without characters that the database cannot store. If a value cannot be stored, leave out all
    fields and set the proposal's problem."""
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
        return "one of its values is nested too deeply"
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            return "one of its numbers is too large"
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if inner and (flaw := _flaw(inner, depth - 1)):
            return flaw
    return None


def apply(tx: Transaction, proposals: Sequence[Proposal], situation: ActionContext, now: int) -> list[EffectResult]:
    """Judge and carry out the proposals, and return their results in the order of execution.

    Agents are created before crons, because a cron may name a new agent. Tasks come last, because they may be for a new
    agent. A failed proposal does not stop the others. Proposals that this execution has already handled are skipped.
    """
    known = {effect.name for effect in tx.executions.effects(situation.execution.id)}
    fresh = [proposal for proposal in map(sound, proposals) if proposal.name not in known]
    return [_settle(tx, proposal, situation, now) for proposal in sorted(fresh, key=_order)]


def _settle(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    verdict = judge(tx, proposal, situation, now)
    match verdict.outcome:
        case None:
            result = perform(tx, proposal, situation, now)
        case Outcome.ASKED:
            result = change_approvals.begin(tx, proposal, situation, now)
        case outcome:
            result = not_done(proposal, outcome, verdict.reason, verdict.words)
    note(tx, result, situation, now)
    return result


_KINDS = list(EffectKind)


def _order(proposal: Proposal) -> tuple[bool, int, int]:
    return proposal.kind is EffectKind.DELEGATE, _KINDS.index(proposal.kind), proposal.ordinal


#: The statuses of successful work. If such work has nothing to post, its end is recorded as `silent`.
_AT_AN_END = frozenset({WorkStatus.DONE, WorkStatus.CONTINUE, WorkStatus.OPEN})


#: The sources of workflow runs whose result is posted.
POSTED = frozenset({"schedule", "webhook", "chat"})
#: The reason code of a turn whose workflow has failed.
WORKFLOW_FAILED = "workflow_failed"
#: The reason of a turn whose reply does not have the format that the client of the API requested.
WRONG_FORMAT = "wrong_format"


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The result of the commit in which an execution ended or began to wait. Its events are published after this
    commit."""

    #: The messages of the turn that has ended or waits for people.
    messages: Sequence[StoredMessage] = ()
    #: True if the times of a schedule have changed.
    rescheduled: bool = False
    #: The topics of the events about data that actions changed.
    topics: frozenset[str] = frozenset()


class TurnEnd:
    """Steps 11 and 12 of a message: parse the reply, carry out its actions and store its text. `zone` is the daemon's
    time zone."""

    def __init__(self, *, limits: Limits, zone: str) -> None:
        self._limits = limits
        self._zone = zone

    def completion(self, execution: Execution) -> OnComplete[TurnResult]:
        """Parse the reply outside the transaction, and return the script that commits the end (or wait) of the
        execution."""
        reply = parse_reply(execution)  # step 11
        return lambda tx, now: self.end_walk(tx, execution, reply, now)  # step 12

    def end_walk(self, tx: Transaction, execution: Execution, reply: Reply, now: int) -> TurnResult:
        """Write the results of an execution that has ended or waits: a turn, a run, or a question about an action."""
        done = execution.status is ExecutionStatus.DONE
        if execution.status is ExecutionStatus.FAILED:
            return self._fail(tx, execution, now)
        if execution.graph == change_approvals.GRAPH:
            if done:
                result = change_approvals.conclude(tx, execution, now, limits=self._limits, zone=self._zone)
                return TurnResult(rescheduled=result.proposal.kind in CHANGES and result.outcome is Outcome.DONE)
            change_approvals.post_question(tx, execution, now)
            return TurnResult()
        if not is_turn(execution) and not is_run(execution):
            return TurnResult()
        if not done:
            return _wait(tx, execution, now)
        return (
            self._finish_run(tx, execution, reply, now)
            if is_run(execution)
            else self._finish(tx, execution, reply, now)
        )

    def _finish(self, tx: Transaction, execution: Execution, reply: Reply, now: int) -> TurnResult:
        asked = tx.messages.of_turn(execution.id)
        if all(message.status in FINAL_STATUSES for message in asked):
            return TurnResult()
        taint = taint_in(execution.state)
        results: list[EffectResult] = []
        if reply.proposals and (situation := self._situation(tx, execution, asked[-1], taint)) is not None:
            results = apply(tx, reply.proposals, situation, now)
        text = _shown(reply, results)
        if _status(execution) is WorkStatus.EXHAUSTED:
            text = f"{text}{notices.exhausted(_stopped_for(execution))}"
        if AgentState.from_json(execution.state).cycle > 1 and messages.was_posted(tx, execution, text):
            text = ""  # a progress message of this turn has shown this text
        if _said_before(execution):
            text = ""
        reason = CUT if _result_of(execution).cut else None
        ending = Ending(MessageStatus.ANSWERED, Role.ASSISTANT, text, reason, taint=taint)
        ended = turns.end_turn(tx, execution, ending, now, asked=None if results else asked)
        on_turn_end(tx, execution, text, taint, now, limits=self._limits)
        workflow_results.ended(tx, execution, now)
        return _result(ended, results)

    def _fail(self, tx: Transaction, execution: Execution, now: int) -> TurnResult:
        """Write the end of an execution that its graph ended with a failure. Its job is not retried."""
        error = execution.error or "It failed."
        ended: Sequence[StoredMessage] = ()
        if is_run(execution):
            if source := source_of(execution):
                run_ended(tx, execution, "failed", error, now)
                alert_failed_run(tx, execution, source, error, now)
        elif is_turn(execution):
            # An agent's own graph ends with a failure only because of the format of its reply.
            own = execution.graph in AGENT_GRAPHS
            text, reason = (error, WRONG_FORMAT) if own else (notices.workflow_failed(error), WORKFLOW_FAILED)
            ending = Ending(MessageStatus.FAILED, Role.NOTICE, text, reason)
            ended = turns.end_turn(tx, execution, ending, now)
            if ended:
                on_turn_end(tx, execution, text, taint_in(execution.state), now, limits=self._limits)
        workflow_results.ended(tx, execution, now)
        return TurnResult(ended)

    def _finish_run(self, tx: Transaction, execution: Execution, reply: Reply, now: int) -> TurnResult:
        """Carry out the actions of a run and post its text. A child posts nothing, because its caller reads the
        outcome."""
        taint = taint_in(execution.state)
        situation = self._situation(tx, execution, None, taint)
        if situation is None:
            workflow_results.ended(tx, execution, now)
            return TurnResult()
        results = apply(tx, reply.proposals, situation, now) if reply.proposals else []
        workflow_results.ended(tx, execution, now)
        if source := source_of(execution):
            _post_run(tx, execution, now, source=source, reply=reply, results=results, situation=situation)
            resolve_failed_runs(tx, execution, source, now)
        return _result((), results)

    def _situation(
        self, tx: Transaction, execution: Execution, asked: StoredMessage | None, taint: Taint
    ) -> ActionContext | None:
        """Return the context for the actions of this execution; None if its agent or conversation no longer exists."""
        state = WorkState.from_json(execution.state)
        agent, conversation = tx.agents.get(state.agent), tx.conversations.get(state.conversation)
        if agent is None or conversation is None:
            return None
        return ActionContext(
            agent=working_agent(agent, execution),
            principal=acting(tx, execution),
            taint=taint,
            address=state.address,
            conversation=conversation,
            execution=execution,
            message_id=asked.id if asked is not None else None,
            limits=self._limits,
            zone=self._zone,
        )


def _post_run(
    tx: Transaction,
    execution: Execution,
    now: int,
    *,
    source: str,
    reply: Reply,
    results: Sequence[EffectResult],
    situation: ActionContext,
) -> None:
    """Post the text of a run that no execution called. Record the end of the run in its schedule or webhook."""
    visible = "" if _said_before(execution) else unsilenced(reply.visible)
    text = "\n\n".join(filter(None, [visible, report(results)]))
    # If an agent or a client of the API started the workflow, the result is not posted, because the agent or client
    # reads it from the run.
    if text and (not is_workflow(execution) or source.partition(":")[0] in POSTED):
        post(
            tx,
            agent=situation.agent,
            address=situation.address,
            text=text,
            source=source,
            taint=situation.taint,
            priority=execution.priority,
            now=now,
            execution_id=execution.id,
            files=WorkState.from_json(execution.state).files,
        )
    status = _status(execution) or WorkStatus.DONE
    outcome = (execution.result or {}).get("outcome")
    note = text or (WorkOutcome.from_json(outcome).note if outcome else "")
    run_ended(tx, execution, "silent" if status in _AT_AN_END and not text else status, note, now)


def _result(ended: Sequence[StoredMessage], results: Sequence[EffectResult]) -> TurnResult:
    done = {each.proposal.kind for each in results if each.outcome is Outcome.DONE}
    return TurnResult(ended, bool(done & CHANGES), frozenset(filter(None, map(topic_of_effect, done))))


def _wait(tx: Transaction, execution: Execution, now: int) -> TurnResult:
    """Show the open questions of a waiting execution. If no question is for people, set the status of the turn's
    messages instead: `RUNNING` while the execution waits for a child, and `WAITING` in all other cases."""
    open_ = {wait.kind for wait in tx.waits.of_execution(execution.id) if wait.answer is None}
    if open_ & PERSONAL_WAITS:
        messages.ask_questions(tx, execution, now)
        return TurnResult(tx.messages.of_turn(lifecycle.root_of(tx, execution).id))
    if WaitKind.CLIENT in open_:
        tx.messages.mark_turn(execution.id, MessageStatus.WAITING)
        return TurnResult(tx.messages.of_turn(execution.id))
    at_work = WaitKind.CHILD in open_
    tx.messages.mark_turn(execution.id, MessageStatus.RUNNING if at_work else MessageStatus.WAITING)
    return TurnResult()


def parse_reply(execution: Execution) -> Reply:
    """Return the parsed reply of a finished turn or run; an empty reply for other executions."""
    if execution.status is not ExecutionStatus.DONE or not (is_turn(execution) or is_run(execution)):
        return read("")
    reply = _with_earlier(read(_result_of(execution).content), execution)
    # Tags in the result of a workflow are ignored: the actions of its agents were carried out at the end of each
    # agent's run, and all other tags come from texts of other people.
    return replace(reply, proposals=()) if is_workflow(execution) else reply


def _result_of(execution: Execution) -> RunResult:
    """Return the result of the model; an empty result if the graph ended without a model's text."""
    given = execution.result
    if isinstance(given, dict) and "content" in given:
        return RunResult.from_json(given)
    return RunResult("", model="", provider="", account="")


def _stopped_for(execution: Execution) -> str:
    """Return the reason why the graph stopped the execution; "" if the graph did not stop it."""
    outcome = (execution.result or {}).get("outcome") if isinstance(execution.result, dict) else None
    return str(outcome.get("reason") or "") if isinstance(outcome, dict) else ""


def _said_before(execution: Execution) -> bool:
    """Return True if a node of the workflow has already sent the text with which the run ends. The last node is
    ignored, because its text is sent at the end of the run."""
    result = execution.result if isinstance(execution.result, dict) else {}
    posted = {
        text
        for name, text in execution.state.items()
        if name.startswith(SAID) and name != SAID + result.get("last", "")
    }
    return is_workflow(execution) and bool(result.get("content")) and result["content"] in posted


def _with_earlier(reply: Reply, execution: Execution) -> Reply:
    """Return the reply with the proposals of the turn's earlier replies added. A repeated proposal counts once."""
    if not (earlier := AgentState.from_json(execution.state).rounds.replies):
        return reply
    asked = [proposal for each in earlier for proposal in read(each).proposals]
    once = {each.fingerprint: each for each in reversed([*asked, *reply.proposals])}
    proposals = [replace(each, ordinal=number) for number, each in enumerate(reversed(once.values()), 1)]
    return replace(reply, proposals=tuple(proposals))


def _status(execution: Execution) -> WorkStatus | None:
    """Return the status in the outcome of the work; None if the outcome has no status."""
    status = (execution.result or {}).get("outcome", {}).get("status")
    return WorkStatus(status) if status in set(WorkStatus) else None


def _shown(reply: Reply, results: Sequence[EffectResult]) -> str:
    """Return the text for people: the reply without its tags, and a line about the results of its actions. If both are
    empty, return "" for a reply that has a status and asked for no action, and a substitute text for every other
    reply."""
    text = "\n\n".join(filter(None, [reply.visible, report(results)]))
    if text or (reply.wrapper is not None and not results):
        return text
    noted = any(result.outcome is Outcome.DONE for result in results)
    return notices.NOTED if noted else notices.NOTHING_SAID
