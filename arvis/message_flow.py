"""The way of a message behind the door, top to bottom: steps 9 to 14 of the fourteen of seed 004.

Steps 1 to 8 are one commit in `arvis/inbox/accept.py`, which calls no model; `run` answers in a worker and survives
its death. Four commits a message: accept (and claim), the call that is about to be made, finish (and
claim), sent. A row first, an event second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.actions.context import Limits
from arvis.actions.delegation import on_turn_end
from arvis.actions.turn_end import TurnEnd, TurnResult
from arvis.domain.errors import PERMANENT, BudgetBusy, BudgetReached, ExecutionError, ProviderErrorKind
from arvis.domain.events import Changed, GraphCompleted, RunAdvanced, SchedulesChanged, StatusChanged
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.jobs import POISON, Done, Fail, Job, JobKind, JobResult, Retry, Snooze, Unfinished
from arvis.domain.messages import MessageStatus, Role, StoredMessage
from arvis.domain.money import budget_reason
from arvis.domain.taint import taint_in
from arvis.engine import lifecycle
from arvis.engine.engine import Engine
from arvis.graphs.agent.steering import gather, is_suspect
from arvis.graphs.compaction import scripts
from arvis.graphs.compaction.scripts import COMPACTION
from arvis.llm import RunFailed, Unserved
from arvis.messaging import messages, notices
from arvis.messaging.owner_alerts import tell_of_dead_letter
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.services import workflow_retries
from arvis.services.schedule_runs import run_ended
from arvis.services.workflow_runs import is_workflow
from arvis.tasks.deadlines import TOO_LATE, waiting_since
from arvis.tasks.task import is_run, source_of
from arvis.turns import turns, workflow_results
from arvis.turns.turns import Ending
from arvis.turns.unread import separate

#: Seconds of waiting after which the user is told (reliability.md, decisions).
PATIENCE = 20
#: How long a limited account rests when the provider does not say (behaviour 1.11), in seconds.
LIMIT_SECONDS = 60
#: How long a call waits whose budget is set aside for calls under way, in seconds.
BUSY_SECONDS = 2
BUSY = "budget"


class MessageFlow:
    """`Handler` for jobs of kind `message`, `advance` and `compact`. `zone` is the daemon's, `limits` bound what replies may
    set going. What makes no progress for `answer_within` ms is given up (None: never)."""

    def __init__(
        self,
        *,
        store: Store,
        engine: Engine,
        bus: Bus,
        clock: Clock,
        zone: str = "UTC",
        limits: Limits | None = None,
        answer_within: int | None = None,
    ) -> None:
        self._store = store
        self._engine = engine
        self._bus = bus
        self._clock = clock
        self._zone = zone
        self._limits = limits or Limits()
        self._answer_within = answer_within

    async def run(self, job: Job) -> JobResult:
        """Steps 9–14: let waiting messages join, walk the turn's execution to its end, commit the reply."""
        if (late := await self._too_late(job, self._clock.now())) is not None:
            return late
        await self._gather(job)  # 9
        turn_end = TurnEnd(limits=self._limits, zone=self._zone)
        try:
            execution, ended = await self._engine.advance(job, completion=turn_end.completion)  # 5–14
        except (RunFailed, BudgetReached, BudgetBusy) as failure:
            return await self._in_time(job, result_of(failure, self._clock.now()))
        except ExecutionError as broken:  # a defect of the graph: no attempt can succeed
            return Fail("broken", broken.what)
        if ended is not None:
            self._publish_end(execution, ended)
        return Done()

    def _publish_end(self, execution: Execution, ended: TurnResult) -> None:
        """Publish the changes of the commit that ended a walk."""
        self._publish(ended.messages, _status_after(execution))
        if ended.rescheduled:
            self._bus.publish(SchedulesChanged())
        for topic in ended.topics:
            self._bus.publish(Changed(topic))
        if ended.messages:
            self._bus.publish(completed(execution, ended.messages[-1]))

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        """In the commit that postpones the job or gives it up: a word to the user, a line in the timeline."""
        execution = tx.executions.get(job.execution_id or "")
        if execution is None:
            return
        if isinstance(outcome, Fail) and outcome.reason == POISON:
            separate(tx, execution, now)
        asked = [message.id for message in tx.messages.of_turn(execution.id)]
        match outcome:
            case Fail(reason=reason, error=error):
                lifecycle.fail(tx, execution.id, error, now, reason=reason)
                if execution.graph == COMPACTION:
                    scripts.give_up(tx, execution, now, reason=reason, error=error)
                ending = Ending(MessageStatus.FAILED, Role.NOTICE, notices.failed(reason), reason)
                tell_of_dead_letter(tx, job, outcome, now)
                if is_run(execution) and source_of(execution):
                    run_ended(tx, execution, "failed", error, now)
                if is_workflow(execution) and (failed := tx.executions.get(execution.id)) is not None:
                    workflow_results.ended(tx, failed, now)
                if turns.end_turn(tx, execution, ending, now):
                    on_turn_end(tx, execution, ending.content, taint_in(execution.state), now, limits=self._limits)
            case Retry(run_at=run_at, error=error):
                workflow_retries.tell(tx, job, execution, outcome, now)
                tx.timeline.note(asked, "retried", {"error": error, "runAt": run_at}, now)
                _tell_of_delay(tx, execution, run_at, "retry", now)
            case Snooze(run_at=run_at, reason=reason):
                workflow_retries.tell(tx, job, execution, outcome, now)
                tx.timeline.note(asked, "snoozed", {"reason": reason, "runAt": run_at}, now)
                _tell_of_delay(tx, execution, run_at, reason, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        """After that commit: tell whoever waits."""
        asked = await self._store.read(asked_of, job.execution_id or "")
        if isinstance(outcome, Fail):
            self._publish(asked, MessageStatus.FAILED, outcome.reason)
        else:
            self._publish(asked, MessageStatus.QUEUED, "retry" if isinstance(outcome, Retry) else outcome.reason)
        run_id = await self._store.read(workflow_retries.run_of, job.execution_id or "")
        if run_id is not None:
            self._bus.publish(RunAdvanced(run_id))

    async def _in_time(self, job: Job, result: JobResult) -> JobResult:
        """A pause that ends after the time for an answer gives the job up at once."""
        if not isinstance(result, Snooze):
            return result
        return await self._too_late(job, result.run_at) or result

    async def _too_late(self, job: Job, at: int) -> Fail | None:
        """Return the failure of a job whose time for an answer will have passed at `at` (ms), else None."""
        if self._answer_within is None or at - job.created_at <= self._answer_within:
            return None
        waited = at - await self._store.read(waiting_since, job)
        if waited <= self._answer_within:
            return None
        why = f"nothing could be done for {waited // 1000} seconds; delivery.answer_within allows"
        return Fail(TOO_LATE, f"{why} {self._answer_within // 1000}")

    async def _gather(self, job: Job) -> None:
        """A turn that begins takes its followers along, unless it may be what kills the process; one that goes on after an
        answer says so."""
        if is_suspect(job):
            await self._store.write(_separate, job, self._clock.now())
        if job.kind is JobKind.ADVANCE:
            self._publish(await self._store.read(asked_of, job.execution_id or ""), MessageStatus.RUNNING)
        elif job.followers:
            await self._store.write(gather, job, self._clock.now())

    def _publish(self, asked: Sequence[StoredMessage], status: MessageStatus, reason: str | None = None) -> None:
        for message in asked:
            self._bus.publish(StatusChanged(message.address, message.id, status, reason))


def completed(execution: Execution, message: StoredMessage) -> GraphCompleted:
    """The last word of a walk for whoever shows it (seed 000)."""
    waits = execution.status is ExecutionStatus.PAUSED
    status = (execution.result or {}).get("outcome", {}).get("status") if not waits else None
    return GraphCompleted(
        address=message.address,
        message_id=message.id,
        graph=execution.graph,
        stop_reason="waiting" if waits else status or execution.status.value,
        waiting_for_user=waits,
        thread_id=message.conversation_id or "",
    )


def result_of(failure: RunFailed | BudgetReached | BudgetBusy, now: int) -> Unfinished:
    """Return the result of a job whose model call failed or was not allowed."""
    match failure:
        case BudgetReached(budget=budget):
            return Fail(budget_reason(budget), f"{failure.what}; {failure.fix}")
        case BudgetBusy():
            return Snooze.after(now, BUSY_SECONDS, BUSY)
        case Unserved():
            return Fail("no_model", failure.what)
    error = failure.error
    if error.kind is ProviderErrorKind.RATE_LIMIT:
        seconds = LIMIT_SECONDS if error.retry_after is None else error.retry_after
        return Snooze.after(now, seconds, "rate_limit")
    if error.kind in PERMANENT or error.kind is ProviderErrorKind.EMPTY:
        return Fail(error.kind, error.what)  # an empty reply was asked for several times within the run
    return Retry(error.what)


def _status_after(execution: Execution) -> MessageStatus:
    match execution.status:
        case ExecutionStatus.DONE:
            return MessageStatus.ANSWERED
        case ExecutionStatus.CANCELLED:
            return MessageStatus.CANCELLED
        case ExecutionStatus.FAILED:
            return MessageStatus.FAILED
        case _:
            return MessageStatus.WAITING


# -- scripts -----------------------------------------------------------------------------------------------


def _separate(tx: Transaction, job: Job, now: int) -> None:
    if tx.jobs.held(job) and (execution := tx.executions.get(job.execution_id or "")) is not None:
        separate(tx, execution, now)


def asked_of(tx: Transaction, execution_id: str) -> list[StoredMessage]:
    """What waits for an execution: the messages of the turn that it works for."""
    execution = tx.executions.get(execution_id)
    return tx.messages.of_turn(lifecycle.root_of(tx, execution).id) if execution is not None else []


def _tell_of_delay(tx: Transaction, execution: Execution, run_at: int, reason: str, now: int) -> None:
    """One wait for a budget is short, but many may follow one another: they count in all."""
    since = now
    if reason == BUSY:
        since = int(execution.state.get("waits_since", now))
        execution = replace(execution, state={**execution.state, "waits_since": since})
    if run_at - since >= PATIENCE * 1000:
        messages.tell(tx, execution, notices.delayed((run_at - now) / 1000, reason), now)
    elif since == now and reason == BUSY:
        tx.executions.save(execution)
