"""Lists the fourteen steps of a message, and defines `MessageFlow`, which does the steps of a worker.

    1  receive             inbox/inbox.py           InboxService.receive
    2  route and permit    routing.py               Router.route, called by inbox/accept.py handle_message
    3  typing              inbox/inbox.py           InboxService._publish_received
    4  store the message   turns/turns.py           begin_turn
    5  load the context    graphs/context.py        load_turn_context
    6  recall facts        memory/                  recall, called by load_turn_context
    7  compose the prompt  graphs/agent/graph.py    prepare
    8  enqueue             turns/turns.py           begin_turn: execution and job; commit 1 with 4
    9  claim and join      graphs/agent/steering.py join_waiting_messages
    10 call the model      graphs/agent/graph.py    call_model; its tools: graphs/agent/tools.py use_tools
    11 parse the reply     actions/turn_end.py      parse_reply
    12 apply and store     actions/turn_end.py      TurnEnd.end_walk; commit 2 with 14
    13 send                delivery/deliverer.py    Deliverer.run, commit 3; on the web Deliverer.show, without a commit
    14 end the job         engine/lifecycle.py      complete

Steps 1, 2, 4 and 8 are one commit, without a model call; step 3 follows this commit. `MessageFlow.run` does steps 5 to
7, 9 to 12 and 14 in a worker. If the worker dies, another worker repeats only the work since the last commit. Events
are published after the commit of the rows that they announce.
"""

from __future__ import annotations

from collections.abc import Sequence

from arvis.actions.context import Limits
from arvis.actions.delegation import on_turn_end
from arvis.actions.turn_end import TurnEnd, TurnResult
from arvis.bus import EventBus
from arvis.domain.dataclass import replace
from arvis.domain.errors import PERMANENT, BudgetBusy, BudgetReached, ExecutionError, ProviderErrorKind, sentences
from arvis.domain.events import Changed, GraphCompleted, RunAdvanced, SchedulesChanged, StatusChanged
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.jobs import POISON, Done, Fail, Job, JobResult, Retry, Snooze, Unfinished
from arvis.domain.messages import MessageStatus, Role, StoredMessage
from arvis.domain.money import budget_reason
from arvis.domain.taint import taint_in
from arvis.engine import lifecycle
from arvis.engine.engine import Engine
from arvis.engine.state import changes
from arvis.graphs.agent.steering import is_suspect, join_waiting_messages
from arvis.graphs.compaction import scripts
from arvis.graphs.compaction.scripts import COMPACTION
from arvis.llm.attempts import RunFailed, Unserved
from arvis.messaging import messages, notices
from arvis.messaging.owner_alerts import alert_dead_letter
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.services import workflow_runs
from arvis.services.schedule_runs import run_ended
from arvis.services.workflow_runs import is_workflow
from arvis.tasks.deadlines import TOO_LATE, waiting_since
from arvis.tasks.state import WorkState
from arvis.tasks.task import is_run, source_of
from arvis.turns import turns, workflow_results
from arvis.turns.requeue import separate
from arvis.turns.turns import Ending

#: A person gets a notice about a wait of at least this many seconds.
NOTICE_AFTER = 20
#: The seconds from a rate limit to the next attempt if the vendor names no time.
LIMIT_SECONDS = 60
#: The seconds until the next attempt of a call for which no budget is left, because running calls have reserved it.
BUSY_SECONDS = 2
BUSY = "budget"


class MessageFlow:
    """The `Handler` of the jobs of kind `message`, `advance` and `compact`. `zone` is the time zone of the daemon, and
    `limits` are the limits of actions in replies. A job that makes no progress for longer than `answer_within` (ms)
    fails; None means no limit."""

    def __init__(
        self,
        *,
        store: Store,
        engine: Engine,
        bus: EventBus,
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
        """Continue the execution of the turn until it ends or waits, and commit the reply (steps 5 to 7, 9 to 12 and
        14)."""
        if (late := await self._too_late(job, self._clock.now())) is not None:
            return late
        if is_suspect(job):
            await self._store.write(separate_messages, job, self._clock.now())
        if job.followers:
            await self._store.write(join_waiting_messages, job, self._clock.now())  # step 9
        turn_end = TurnEnd(limits=self._limits, zone=self._zone)
        try:
            # The nodes of the graph do steps 5 to 7 and 10; `turn_end` does 11 and 12; the commit of 12 includes 14.
            execution, ended = await self._engine.advance(job, completion=turn_end.completion)
        except (RunFailed, BudgetReached, BudgetBusy) as failure:
            result = result_of(failure, self._clock.now())
            # The job fails now if its pause would last longer than `answer_within` allows.
            late = await self._too_late(job, result.run_at) if isinstance(result, Snooze) else None
            return late or result
        except ExecutionError as broken:  # a defect of the graph: no attempt can succeed
            return Fail("broken", broken.what)
        if ended is not None:
            self._publish_end(execution, ended)
        return Done()  # the commit has stored the delivery (step 13)

    def _publish_end(self, execution: Execution, ended: TurnResult) -> None:
        """Publish the events about the commit in which an execution has ended or begun to wait."""
        self._publish(ended.messages, _status_after(execution))
        if ended.rescheduled:
            self._bus.publish(SchedulesChanged())
        for topic in ended.topics:
            self._bus.publish(Changed(topic))
        if ended.messages:
            self._bus.publish(completed(execution, ended.messages[-1]))

    def postponed(self, tx: Transaction, job: Job, result: Unfinished, now: int) -> None:
        """Store a line in the timeline. If the wait is long or the job has failed, also store a notice to the person.
        The queue calls this in the commit that postpones or fails the job."""
        execution = tx.executions.get(job.execution_id or "")
        if execution is None:
            return
        if isinstance(result, Fail):
            _give_up(tx, job, execution, result, now, limits=self._limits)
            return
        asked = [message.id for message in tx.messages.of_turn(execution.id)]
        workflow_runs.log_retry(tx, job, execution, result, now)
        match result:
            case Retry(run_at=run_at, error=error):
                tx.timeline.note(asked, "retried", {"error": error, "runAt": run_at}, now)
                _report_delay(tx, execution, run_at, "retry", now)
            case Snooze(run_at=run_at, reason=reason):
                tx.timeline.note(asked, "snoozed", {"reason": reason, "runAt": run_at}, now)
                _report_delay(tx, execution, run_at, reason, now)

    async def announce(self, job: Job, result: Unfinished) -> None:
        """Publish the new status of the messages and of the workflow run, after the commit of `postponed`."""
        asked = await self._store.read(messages_of, job.execution_id or "")
        if isinstance(result, Fail):
            self._publish(asked, MessageStatus.FAILED, result.reason)
        else:
            self._publish(asked, MessageStatus.QUEUED, "retry" if isinstance(result, Retry) else result.reason)
        run_id = await self._store.read(workflow_runs.run_of, job.execution_id or "")
        if run_id is not None:
            self._bus.publish(RunAdvanced(run_id))

    async def _too_late(self, job: Job, at: int) -> Fail | None:
        """Return the failure of the job if, at the time `at` (ms), the job has made no progress for longer than
        `answer_within`. Otherwise return None."""
        if self._answer_within is None or at - job.created_at <= self._answer_within:
            return None
        waited = at - await self._store.read(waiting_since, job)
        if waited <= self._answer_within:
            return None
        why = f"the job made no progress for {waited // 1000} seconds, but delivery.answer_within is"
        return Fail(TOO_LATE, f"{why} {self._answer_within // 1000} seconds")

    def _publish(self, asked: Sequence[StoredMessage], status: MessageStatus, reason: str | None = None) -> None:
        for message in asked:
            self._bus.publish(StatusChanged(message.address, message.id, status, reason))


def completed(execution: Execution, message: StoredMessage) -> GraphCompleted:
    """Return the event that reports the end of the stream of a reply to clients."""
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
    """Return the result of a job whose model call failed or was refused by a budget."""
    match failure:
        case BudgetReached(budget=budget):
            return Fail(budget_reason(budget), sentences(failure.what, failure.fix))
        case BudgetBusy():
            return Snooze.after(now, BUSY_SECONDS, BUSY)
        case Unserved():
            return Fail("no_model", failure.what)
    error = failure.error
    if error.kind is ProviderErrorKind.RATE_LIMIT:
        seconds = LIMIT_SECONDS if error.retry_after is None else error.retry_after
        return Snooze.after(now, seconds, "rate_limit")
    if error.kind in PERMANENT or error.kind is ProviderErrorKind.EMPTY:
        return Fail(error.kind, error.what)  # the runner has already repeated the call after an empty reply
    return Retry(error.what, needs_model=True)


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


def separate_messages(tx: Transaction, job: Job, now: int) -> None:
    """Move the messages that joined a turn into separate turns, because one of these messages may cause the crashes of
    the worker."""
    if tx.jobs.held(job) and (execution := tx.executions.get(job.execution_id or "")) is not None:
        separate(tx, execution, now)


def messages_of(tx: Transaction, execution_id: str) -> list[StoredMessage]:
    """Return the messages of the turn for which an execution works. These are the messages of the root execution."""
    execution = tx.executions.get(execution_id)
    return tx.messages.of_turn(lifecycle.root_of(tx, execution).id) if execution is not None else []


def _give_up(tx: Transaction, job: Job, execution: Execution, failed: Fail, now: int, *, limits: Limits) -> None:
    """End the execution of a job that has finally failed, and the turn or run for which the execution worked. Alert an
    owner."""
    if failed.reason == POISON:
        separate(tx, execution, now)
    lifecycle.fail(tx, execution.id, failed.error, now, reason=failed.reason)
    if execution.graph == COMPACTION:
        scripts.give_up(tx, execution, now, reason=failed.reason, error=failed.error)
    alert_dead_letter(tx, job, failed, now)
    if is_run(execution) and source_of(execution):
        run_ended(tx, execution, "failed", failed.error, now)
    if is_workflow(execution) and (ended := tx.executions.get(execution.id)) is not None:
        workflow_results.ended(tx, ended, now)
    ending = Ending(MessageStatus.FAILED, Role.NOTICE, notices.failed(failed.reason), failed.reason)
    if turns.end_turn(tx, execution, ending, now):
        on_turn_end(tx, execution, ending.content, taint_in(execution.state), now, limits=limits)


def _report_delay(tx: Transaction, execution: Execution, run_at: int, reason: str, now: int) -> None:
    """Send a notice about a wait of at least `NOTICE_AFTER` seconds. Consecutive short waits for a budget count as one
    long wait."""
    since = now
    if reason == BUSY:
        since = WorkState.from_json(execution.state).waits_since or now
        waiting = changes(WorkState, waits_since=since)
        execution = replace(execution, state={**execution.state, **waiting})
    if run_at - since >= NOTICE_AFTER * 1000:
        messages.send_notice_once(tx, execution, notices.delayed((run_at - now) / 1000, reason), now)
    elif since == now and reason == BUSY:
        tx.executions.save(execution)
