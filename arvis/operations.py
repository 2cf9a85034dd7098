"""Defines the operations by which people control work: retry, cancel, delete, answer and rewind.

The API, the command line and chats call these operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from arvis.approvals import APPROVERS, Approvers, answer_question, asked_of, may_answer
from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.conversations import Conversation, EarlierEffects
from arvis.domain.errors import Conflict, NotFound
from arvis.domain.events import Changed, ConversationRewound
from arvis.domain.executions import ExecutionStatus, Wait
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import Address, DeliveryState, Principal, Sender
from arvis.engine import lifecycle
from arvis.messaging.streaming import Shown, StreamedTexts, nothing_shown
from arvis.ports.clock import Clock
from arvis.ports.operations import OPERATOR, RewoundConversation, WaitAnswer, WaitRights
from arvis.ports.store import Store, Transaction
from arvis.services import workflow_runs
from arvis.services.allowances import NO_LIMITS, Allowed
from arvis.tasks.access import limits_of_sender
from arvis.turns import cancellation
from arvis.turns.branching import branch_conversation
from arvis.turns.cancellation import CancelledTurn, close
from arvis.turns.requeue import ask_anew
from arvis.turns.rewind import Request, answer_again, effects_from, switch_version

LIVE = {JobStatus.PENDING, JobStatus.RUNNING}


class StoreOperations:
    """The operations on the store; implements `Operations`. Each operation publishes its events after the commit. If an
    operation resumes a turn, the turn publishes its own events, perhaps before the operation has returned. `approvers`
    are the roles and people who may approve a tool call, and `allowed` are the limits of a person."""

    def __init__(
        self,
        *,
        store: Store,
        bus: EventBus,
        clock: Clock,
        approvers: Approvers = tuple(APPROVERS["owners"]),
        allowed: Allowed = NO_LIMITS,
    ) -> None:
        self._approvers = approvers
        self._allowed = allowed
        self._store = store
        self._bus = bus
        self._clock = clock
        self._shown = StreamedTexts(bus).shown

    async def retry_job(self, job_id: str) -> None:
        await self._store.write(_retry, job_id, self._clock.now())

    async def ask_anew(self, job_id: str, content: str, by: Principal) -> str:
        return await self._store.write(ask_anew, job_id, content, by, self._clock.now())

    async def cancel_job(self, job_id: str, *, by: str = OPERATOR) -> None:
        cancelled = await self._store.write(_cancel, job_id, by, self._clock.now(), self._shown)
        cancellation.announce_cancelled(self._bus, cancelled)

    async def delete_job(self, job_id: str) -> None:
        await self._store.write(_delete, job_id)

    async def cancel_execution(self, execution_id: str, *, by: str = OPERATOR) -> None:
        now = self._clock.now()
        cancelled = await self._store.write(_cancel_execution, execution_id, by, now, self._shown)
        cancellation.announce_cancelled(self._bus, cancelled)

    async def close_conversation(self, conversation_id: str, by: Principal) -> None:
        for turn in await self._store.write(close, conversation_id, by.name, self._clock.now()):
            cancellation.announce_cancelled(self._bus, turn)

    async def switch_memory(self, conversation_id: str, *, on: bool) -> None:
        await self._store.write(_switch_memory, conversation_id, on=on)
        self._bus.publish(Changed(ChangeTopic.CONVERSATIONS))

    async def earlier_effects(self, message_id: str, by: Principal) -> EarlierEffects:
        return await self._store.read(effects_from, message_id, by)

    async def answer_again(
        self, message_id: str, by: Principal, sender: Sender, *, content: str | None = None
    ) -> RewoundConversation:
        now, limits = self._clock.now(), limits_of_sender(sender)
        return self._announced(
            await self._store.write(
                answer_again,
                message_id,
                by,
                now,
                content=content,
                limits=limits,
                request=Request(sender, self._allowed),
            )
        )

    async def switch_version(self, conversation_id: str, version_id: str, by: Principal) -> RewoundConversation:
        now = self._clock.now()
        return self._announced(await self._store.write(switch_version, conversation_id, version_id, by, now))

    async def branch_conversation(self, message_id: str, place: Address, by: Principal) -> Conversation:
        now = self._clock.now()
        return await self._store.write(branch_conversation, message_id, place, by, now)

    def _announced(self, rewound: RewoundConversation) -> RewoundConversation:
        """Publish that the messages of a conversation have changed."""
        conversation = rewound.conversation
        self._bus.publish(ConversationRewound(conversation.address, conversation.id))
        return rewound

    async def wait_rights(self, waits: Sequence[Wait], by: Principal) -> Sequence[WaitRights]:
        return await self._store.read(_rights, waits, by, self._approvers)

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        await self._store.write(
            answer_question, wait_id, answer, by=by, approvers=self._approvers, now=self._clock.now()
        )


# -- scripts -----------------------------------------------------------------------------------------------


def _retry(tx: Transaction, job_id: str, now: int) -> None:
    job = _job(tx, job_id)
    _check_wanted(tx, job)
    _check_active(tx, job)
    if tx.jobs.requeue(job_id, now) is None:
        raise Conflict(
            f"The job {job_id} has not failed.", why=f"It is {job.status}.", fix="Only failed jobs can be retried."
        )
    if job.delivery_id is not None:
        tx.deliveries.set_state(job.delivery_id, DeliveryState.PENDING, now)
    if job.execution_id is not None and lifecycle.try_again(tx, job.execution_id, now):
        tx.messages.reopen_turn(job.execution_id)


def _check_wanted(tx: Transaction, job: Job) -> None:
    """Raise `Conflict` if another execution called the execution of this job, and has already continued or failed
    without the result. A retry would cost money, but no execution would use its result."""
    execution = tx.executions.get(job.execution_id or "")
    wait = tx.waits.get(execution.parent_wait) if execution is not None and execution.parent_wait else None
    if job.status is not JobStatus.FAILED or wait is None or wait.answered_at is None:
        return
    found = workflow_runs.run_of(tx, wait.execution_id)
    fix = "Send the message again to repeat the whole turn."
    if found is not None:
        fix = f"Rerun the run from that step: “Rerun” on its page, or POST /api/runs/{found}/rerun with the step as `node`."
    raise Conflict(
        "This job cannot be retried separately.",
        why="The execution that waited for the result of the job has failed or has continued without the result.",
        fix=fix,
        code="not_wanted",
    )


def _check_active(tx: Transaction, job: Job) -> None:
    """Raise `Conflict` if the message of this job belongs to an inactive version of its conversation."""
    message = tx.messages.get(job.message_id or "")
    if message is not None and message.version_id is not None:
        raise Conflict(
            "The message of this job belongs to a version of the conversation that is not active.",
            fix="Switch to this version first.",
            code="inactive_version",
        )


def _cancel(tx: Transaction, job_id: str, by: str, now: int, shown: Shown = nothing_shown) -> CancelledTurn:
    job = _job(tx, job_id)
    # A turn that waits for a person has no live job, but has not ended.
    execution = tx.executions.get(job.execution_id or "")
    slept = execution is not None and execution.status is ExecutionStatus.PAUSED
    if job.execution_id is not None and (job.status in LIVE or slept):
        turn = cancellation.cancel_turn(tx, job.execution_id, by, now, shown=shown)
        if turn.jobs or turn.messages or slept:
            return turn
    if tx.jobs.cancel(job_id, now) is None:
        raise Conflict(
            f"The job {job_id} has ended.",
            why=f"It is {job.status}.",
            fix="Only waiting and running jobs can be cancelled.",
        )
    if job.delivery_id is not None and (delivery := tx.deliveries.get(job.delivery_id)) is not None:
        interrupted = delivery.state is DeliveryState.SENDING
        state = DeliveryState.UNKNOWN if interrupted else DeliveryState.FAILED
        tx.deliveries.set_state(delivery.id, state, now, error="cancelled")
    return CancelledTurn([], [job_id])


def _cancel_execution(
    tx: Transaction, execution_id: str, by: str, now: int, shown: Shown = nothing_shown
) -> CancelledTurn:
    """Cancel the root execution of this execution and all executions that belong to the root. No execution would use
    their results."""
    execution = tx.executions.get(execution_id)
    if execution is None:
        raise NotFound(f"There is no execution {execution_id}.", fix="Check the id of the execution.")
    root = lifecycle.root_of(tx, execution)
    if root.status not in lifecycle.LIVE:
        raise Conflict(f"The execution {execution_id} has ended already.", why=f"It is {root.status}.")
    return cancellation.cancel_turn(tx, root.id, by, now, shown=shown)


def _delete(tx: Transaction, job_id: str) -> None:
    job = _job(tx, job_id)
    if not tx.jobs.delete(job_id):
        raise Conflict(f"The job {job_id} cannot be deleted.", why=f"It is {job.status}.", fix="Cancel it first.")


def _rights(tx: Transaction, waits: Sequence[Wait], by: Principal, approvers: Approvers) -> list[WaitRights]:
    return [WaitRights(asked_of(tx, wait, approvers), may_answer(tx, wait, by, approvers)) for wait in waits]


def _job(tx: Transaction, job_id: str) -> Job:
    job = tx.jobs.get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.", fix="`arvis jobs list` shows the jobs.")
    return job


def _switch_memory(tx: Transaction, conversation_id: str, *, on: bool) -> None:
    conversation = tx.conversations.get(conversation_id)
    if conversation is None:
        raise NotFound(f"There is no conversation {conversation_id}.", fix="Check the id of the conversation.")
    tx.conversations.set_remembers(conversation, remembers=on)
