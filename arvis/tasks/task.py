"""Runs: work of an agent that no chat message started. If a schedule or a webhook begins a run, its result is posted.
If a graph begins a run as its child, the graph reads the outcome.

A run has no user message, and no history except the history in its task. It has a separate lane, so that it delays no
conversation with the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Execution
from arvis.domain.jobs import JobKind, NewJob
from arvis.domain.messages import Address, MessageStatus, PastMessage, Principal, Role, StoredMessage
from arvis.engine import lifecycle
from arvis.engine.state import changes
from arvis.ports.store import Transaction
from arvis.tasks.access import Asker, caller_limits, check_use
from arvis.tasks.state import RUN, UNDER, RunTask, TaskSpec, WorkState

GRAPH = "agent"
#: The words for the source of a run in a prompt, by the part of `RunTask.source` before the colon.
_CALLERS = {"schedule": "a schedule", "webhook": "a webhook"}


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to begin. No other execution waits for it."""

    agent: Agent
    task: TaskSpec
    #: The place where the result is posted.
    address: Address
    #: The id of the user for whom the run works (None: no user).
    principal_id: str | None
    #: `schedule:ID` or `webhook:ID`.
    source: str
    #: The name of the run's graph.
    graph: str = GRAPH
    #: Further keys of the run's state.
    more: Mapping[str, Any] = field(default_factory=dict)


def begin_run(
    tx: Transaction, run: NewRun, *, kind: JobKind, lane: str, priority: int, now: int, key: str | None = None
) -> Execution | None:
    """Write the execution and the job of a run. Return None and write nothing if a job with this `key` waits or runs.
    Raise `Unprocessable` if the person, or an author of the executed text, may not use the agent."""
    check_use(tx, run.agent, asker_of_run(tx, run))
    execution_id = tx.new_id()
    job = NewJob(
        kind=kind,
        priority=priority,
        lane=lane,
        key=key,
        key_live=key is not None,
        agent_id=run.agent.id,
        principal_id=run.principal_id,
        execution_id=execution_id,
    )
    if not tx.jobs.add(job, now).created:
        return None
    conversation = tx.conversations.open(run.agent.id, run.address, now, direct=False)
    state = {
        **changes(
            WorkState,
            agent=run.agent.id,
            address=run.address,
            conversation=conversation.id,
            taint=run.task.taint,
        ),
        RUN: {**run.task.to_json(), "source": run.source},
        **run.more,
    }
    return lifecycle.begin(
        tx, execution_id, run.graph, state, lane=lane, priority=priority, principal_id=run.principal_id, now=now
    )


def asker_of_run(tx: Transaction, run: NewRun) -> Asker:
    """Return the asker of this run."""
    person = tx.principals.get(run.principal_id) if run.principal_id is not None else None
    return Asker(person, caller_limits(run.more), run.address, run.agent)


def child_state(parent: Mapping[str, Any], task: TaskSpec, *, agent_id: str | None = None) -> dict[str, Any]:
    """Return the state of a child run, for `Call("agent", …)`. `parent` is the state of the calling execution. The
    child has the same place, person and conversation as the parent, and the taint of both the parent and the task."""
    state = WorkState.from_json(parent)
    return {
        **changes(
            WorkState,
            agent=agent_id or state.agent,
            address=state.address,
            conversation=state.conversation,
            taint=state.taint | task.taint,
        ),
        **caller_limits(parent).to_json(),
        RUN: {**task.to_json(), "source": "", UNDER: _begun_by(state)},
    }


def is_run(execution: Execution) -> bool:
    return RUN in execution.state


def source_of(execution: Execution) -> str:
    """Return the source of a run; empty for a child run and for a turn."""
    task = WorkState.from_json(execution.state).run
    return "" if task is None else task.source


def messages_of(execution: Execution, person: Principal | None) -> list[StoredMessage]:
    """Return the prompt of a run as messages: one for each entry of `TaskSpec.messages`, or a single message with the
    whole prompt if there are no entries."""
    whole, task = message_of(execution, person), WorkState.from_json(execution.state).run or RunTask("")
    return [replace(whole, id=message_id, content=text) for message_id, text in task.messages] or [whole]


def message_of(execution: Execution, person: Principal | None) -> StoredMessage:
    """Return the prompt of a run as one message. No row of the database contains this message; the prompt is stored in
    the execution."""
    state = WorkState.from_json(execution.state)
    # The author's name mentions the schedule or webhook, so that the model does not take the prompt for a person's
    # message.
    caller = _CALLERS.get(_begun_by(state).partition(":")[0], "")
    name = person.name if person is not None else ""
    return StoredMessage(
        id=execution.id,
        conversation_id=state.conversation,
        role=Role.USER,
        content="" if state.run is None else state.run.prompt,
        tokens=0,
        status=MessageStatus.ACCEPTED,
        address=state.address,
        principal_id=execution.principal_id,
        user_name=f"{caller}, for {name}" if caller and name else caller or name,
        agent_id=state.agent,
        execution_id=execution.id,
        turn=None,
        created_at=execution.created_at,
    )


def _begun_by(state: WorkState) -> str:
    return "" if state.run is None else state.run.source or state.run.under


def history_of(execution: Execution) -> list[PastMessage]:
    """Return the history in the task of a run."""
    state = WorkState.from_json(execution.state)
    return [
        PastMessage(
            role=Role(role),
            content=text,
            tokens=0,
            id=f"{execution.id}-{number}",
            turn=number,
            taint=state.taint,
            principal_id=execution.principal_id if role == Role.USER else None,
            created_at=execution.created_at,
        )
        for number, (role, text) in enumerate(state.run.history if state.run is not None else ())
    ]
