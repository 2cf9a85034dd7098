"""What operators do to running work: retry, cancel, delete, answer. One set of verbs for API, command line and chat."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from arvis.agents import turns
from arvis.agents.rounds import TOOL_EFFECT
from arvis.agents.turns import CancelledTurn
from arvis.domain.errors import Conflict, Forbidden, NotFound, Unprocessable
from arvis.domain.executions import PERSONAL_WAITS, Answer, ExecutionStatus, Wait, WaitKind
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import DeliveryState, Principal, PrincipalRole
from arvis.graph import lifecycle
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Store, Transaction

LIVE = {JobStatus.PENDING, JobStatus.RUNNING}
#: Who may allow what a tool wants to do, by the word of the configuration.
APPROVERS: Mapping[str, Collection[PrincipalRole]] = {
    "owners": {PrincipalRole.OWNER},
    "operators": {PrincipalRole.OWNER, PrincipalRole.OPERATOR},
}
DECISIONS = {"approve", "accept", "reject", "edit", "feedback", "answer"}


class StoreOperations:
    """`Operations` over the store; events after the commit. A turn that goes on says so itself when it runs, which may
    be before the verb that let it go on has returned. `approvers` says who may allow what a tool wants to do."""

    def __init__(self, *, store: Store, bus: Bus, clock: Clock, approvers: str = "owners") -> None:
        self._approvers = APPROVERS[approvers]
        self._store = store
        self._bus = bus
        self._clock = clock

    async def retry_job(self, job_id: str) -> None:
        await self._store.write(_retry, job_id, self._clock.now())

    async def cancel_job(self, job_id: str) -> None:
        turns.announce_cancelled(self._bus, await self._store.write(_cancel, job_id, self._clock.now()))

    async def delete_job(self, job_id: str) -> None:
        await self._store.write(_delete, job_id)

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        await self._store.write(_answer, wait_id, answer, by=by, approvers=self._approvers, now=self._clock.now())


# -- scripts -----------------------------------------------------------------------------------------------


def _retry(tx: Transaction, job_id: str, now: int) -> None:
    job = _job(tx, job_id)
    if tx.jobs.requeue(job_id, now) is None:
        raise Conflict(
            f"The job {job_id} has not failed", why=f"it is {job.status}", fix="only failed jobs are retried"
        )
    if job.delivery_id is not None:
        tx.deliveries.set_state(job.delivery_id, DeliveryState.PENDING, now)
    if job.execution_id is not None and lifecycle.try_again(tx, job.execution_id, now):
        tx.messages.reopen_turn(job.execution_id)


def _cancel(tx: Transaction, job_id: str, now: int) -> CancelledTurn:
    job = _job(tx, job_id)
    if job.execution_id is not None and (job.status in LIVE or _sleeps(tx, job.execution_id)):
        turn = turns.cancel_turn(tx, job.execution_id, "an operator", now)
        if turn.jobs or turn.asked:
            return turn
    if tx.jobs.cancel(job_id, now) is None:
        raise Conflict(
            f"The job {job_id} is over", why=f"it is {job.status}", fix="only waiting or running jobs end here"
        )
    if job.delivery_id is not None and (delivery := tx.deliveries.get(job.delivery_id)) is not None:
        interrupted = delivery.state is DeliveryState.SENDING
        state = DeliveryState.UNKNOWN if interrupted else DeliveryState.FAILED
        tx.deliveries.set_state(delivery.id, state, now, error="cancelled")
    return CancelledTurn([], [job_id])


def _sleeps(tx: Transaction, execution_id: str) -> bool:
    """A turn that waits for people holds no job, and is not over."""
    execution = tx.executions.get(execution_id)
    return execution is not None and execution.status is ExecutionStatus.PAUSED


def _delete(tx: Transaction, job_id: str) -> None:
    job = _job(tx, job_id)
    if not tx.jobs.delete(job_id):
        raise Conflict(f"The job {job_id} is {job.status}", fix="cancel it first")


def _answer(
    tx: Transaction, wait_id: str, answer: WaitAnswer, *, by: Principal, approvers: Collection[PrincipalRole], now: int
) -> None:
    wait = tx.waits.get(wait_id)
    if wait is None or wait.kind not in PERSONAL_WAITS:
        raise NotFound(f"There is no question {wait_id}")
    execution = tx.executions.get(wait.execution_id)
    asked_them = execution is not None and execution.principal_id == by.id and wait.kind is WaitKind.USER
    allowed = approvers if _is_about_a_tool(wait) else APPROVERS["operators"]
    if not asked_them and by.role not in allowed:
        raise Forbidden("You may not answer this question", fix=f"ask an {' or '.join(sorted(allowed, reverse=True))}")
    given = Answer(checked_answer(wait, answer), by.id)
    if not lifecycle.answer(tx, wait_id, given, now):
        raise Conflict("This question is answered already", why=f"by {wait.answered_by or 'somebody else'}")


def _is_about_a_tool(wait: Wait) -> bool:
    """Whether a yes makes a call of a tool: also that of one which may already have been made."""
    return wait.kind is WaitKind.APPROVAL or (wait.subject or "").startswith(TOOL_EFFECT)


def checked_answer(wait: Wait, answer: WaitAnswer) -> dict[str, object]:
    """The answer as its execution will see it. Raises `Unprocessable` when it says too little."""
    decision = "approve" if answer.decision == "accept" else answer.decision
    if decision not in DECISIONS:
        raise Unprocessable(f"“{decision}” is no decision", fix=f"say one of {', '.join(sorted(DECISIONS))}")
    if decision == "edit" and answer.arguments is None:
        raise Unprocessable("An edit needs `arguments`")
    if decision in {"feedback", "answer"} and not answer.text:
        raise Unprocessable(f"The decision {decision} needs `text`")
    if decision == "answer" and wait.choices and answer.text not in wait.choices:
        raise Unprocessable(f"“{answer.text}” is no choice", fix=f"say one of {', '.join(wait.choices)}")
    arguments = dict(answer.arguments) if answer.arguments is not None else None
    return {"decision": decision, "note": answer.note, "arguments": arguments, "text": answer.text}


def _job(tx: Transaction, job_id: str) -> Job:
    job = tx.jobs.get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}")
    return job
