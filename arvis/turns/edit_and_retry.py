"""Editing and retrying: an owner or operator changes the text of a message whose turn failed. Scripts.

The message keeps its place and its sender. A new turn begins with the new text; the rows of the old turn stay and
have no effect on it.
"""

from __future__ import annotations

from arvis.domain.conversations import conversation_lane
from arvis.domain.errors import Conflict, Forbidden, NotFound
from arvis.domain.executions import Execution
from arvis.domain.jobs import Job, JobKind, JobStatus, NewJob
from arvis.domain.messages import RANKS, Principal, StoredMessage
from arvis.domain.taint import CLEAN, Label
from arvis.engine import lifecycle
from arvis.graphs.agent.graph import new_turn_state
from arvis.llm.tokens import estimate_tokens
from arvis.ports.store import Transaction
from arvis.services.graph_selection import default_graph, marked
from arvis.services.workflow_runs import is_workflow, note_begun

#: Parts of a turn's state that hold for its person, in every attempt.
_STANDING = ("reach", "paired")
_OVER = {JobStatus.FAILED, JobStatus.CANCELLED}


def ask_anew(tx: Transaction, job_id: str, content: str, by: Principal, now: int) -> str:
    """Change the text of a message whose turn failed or was cancelled, and begin a new turn; return the id of the new
    job. The old job ends as replaced. Raises `NotFound`, `Conflict` and `Forbidden`."""
    job = tx.jobs.get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}")
    execution, message = _told_again(tx, job, by)
    agent = tx.agents.get(message.agent_id or "")
    if agent is None:
        raise Conflict("The agent that was asked is gone", fix="write a new message to another agent")
    before = execution.id
    tx.messages.reopen_turn(before)
    way = default_graph(tx, agent, content)
    begun = lifecycle.begin(
        tx,
        tx.new_id(),
        way.graph,
        _state(execution, message) | dict(marked(tx, way.state, execution.principal_id, CLEAN)),
        lane=conversation_lane(message.conversation_id or ""),
        priority=execution.priority,
        principal_id=execution.principal_id,
        now=now,
    )
    if is_workflow(begun):
        note_begun(tx, begun, "message", now)
    tx.messages.join_turn(before, begun.id)
    tx.incoming.replace_text(message.id, content, estimate_tokens(content))
    if by.id != message.principal_id:
        # A person who edits the text does not act with the author's rights.
        tx.messages.label(message.id, message.taint | {Label.PEOPLE})
    note = {"before": message.content, "by": by.name, "userId": by.user_id, "job": job.id}
    tx.timeline.note([message.id], "edited", note, now)
    added = tx.jobs.add(_job(job, begun, content), now)
    tx.jobs.take_over(job.id, added.id, now)
    return added.id


def _told_again(tx: Transaction, job: Job, by: Principal) -> tuple[Execution, StoredMessage]:
    """Return the execution and the message of a job, if this person may change its text."""
    message = tx.messages.get(job.message_id or "") if job.kind is JobKind.MESSAGE else None
    execution = tx.executions.get(job.execution_id or "")
    if message is None or execution is None or message.execution_id != execution.id:
        raise Conflict(f"The job {job.id} answers no message", fix="only what a person wrote can be edited")
    if job.status not in _OVER or execution.status in lifecycle.LIVE:
        raise Conflict(
            f"The job {job.id} has not failed", why=f"it is {job.status}", fix="wait for its end, or cancel it first"
        )
    if execution.state.get("task") or message.principal_id is None:
        raise Conflict("An agent wrote this message", fix="edit the message of the person who asked that agent")
    author = tx.principals.get(message.principal_id)
    if author is not None and RANKS.index(author.role) > RANKS.index(by.role):
        raise Forbidden("You may not change a message of a person with more rights", fix=f"ask an {author.role}")
    return execution, message


def _state(execution: Execution, message: StoredMessage) -> dict[str, object]:
    state = new_turn_state(message.agent_id or "", message.address, message.conversation_id or "")
    return state | {name: execution.state[name] for name in _STANDING if name in execution.state}


def _job(job: Job, execution: Execution, content: str) -> NewJob:
    return NewJob.answer(
        execution.lane,
        job.priority,
        agent_id=execution.state["agent"],
        principal_id=job.principal_id,
        message_id=job.message_id or "",
        execution_id=execution.id,
        tokens=estimate_tokens(content),
    )
