"""Runs: work of an agent without a message of a chat. A schedule or a web hook begins one, and its result is posted;
a graph begins one as its child, and reads the outcome.

A run has only the history that it is given, no user message, and a lane of its own, so it delays no conversation with
the agent. Scripts, and the states with which executions of graph `agent` begin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.executions import Execution
from arvis.domain.jobs import JobKind, NewJob
from arvis.domain.messages import Address, MessageStatus, PastMessage, Principal, Role, StoredMessage
from arvis.domain.taint import CLEAN, Taint, taint_in
from arvis.engine import lifecycle
from arvis.ports.store import Transaction
from arvis.tasks.access import Asker, PlacedState, caller_limits, check_use

#: The key of the state that makes an execution a run.
RUN = "run"
GRAPH = "agent"
#: In it, the messages that a run was given.
MESSAGES = "messages"
#: And with it, of a child: what had that run begin which it works for.
_UNDER = "under"
#: As people read it.
_CALLERS = {"schedule": "a schedule", "webhook": "a web hook"}


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The task of a run."""

    prompt: str
    #: Added to the agent's own instructions.
    instructions: str = ""
    #: How replies end (`implicit`, `explicit`); None: as the agent is configured.
    completion: str | None = None
    #: Pairs of role and text in front of the prompt.
    history: Sequence[tuple[str, str]] = ()
    #: The only tools it may use, of those of its agent (None: all).
    tools: Sequence[str] | None = None
    #: Id of the message to whose sender the reply is streamed (None: it is not streamed).
    audience: str | None = None
    #: Sources of the prompt other than the person for whom the work is done.
    taint: Taint = CLEAN
    #: Shown with the prompt (`pictures_of`).
    pictures: Sequence[Sequence[str]] = ()
    #: Called instead of the agent's own model.
    model: str | None = None
    #: Rounds of tools (None: as configured for all agents).
    rounds: int | None = None
    #: Further tools (`Subagent` as JSON).
    subagents: Sequence[Mapping[str, Any]] = ()
    #: The workflow run whose log holds the calls of the subagents.
    within: Mapping[str, Any] | None = None
    #: True: without the powers of a conductor, because no person chose the conductor for this work.
    plain: bool = False
    #: Id and text of each message of a person in the prompt, to note which of them were read.
    messages: Sequence[Sequence[str]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; fields that few tasks use are left out where they are empty."""
        more = {
            "model": self.model,
            "rounds": self.rounds,
            "subagents": [dict(each) for each in self.subagents],
            "within": self.within,
            "plain": self.plain,
            MESSAGES: [list(each) for each in self.messages],
        }
        return {
            "prompt": self.prompt,
            "instructions": self.instructions,
            "completion": self.completion,
            "history": [list(each) for each in self.history],
            "tools": None if self.tools is None else list(self.tools),
            "audience": self.audience,
            "pictures": [list(each) for each in self.pictures],
            **{name: value for name, value in more.items() if value},
        }


@dataclass(frozen=True, slots=True)
class RunTask(TaskSpec):
    """The task in the state of a run."""

    #: The origin: `schedule:ID`, `webhook:ID`, `chat`, …; empty for a child, which posts nothing.
    source: str = ""
    #: The source of the run that a child works for.
    under: str = ""

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> RunTask:
        return cls(**{"prompt": "", **{name: kept[name] for name in _RUN_FIELDS if name in kept}})


_RUN_FIELDS = tuple(each.name for each in fields(RunTask) if each.name != "taint")


def task_in(state: Mapping[str, Any]) -> RunTask | None:
    """Return the task of a run; None for other executions."""
    kept = state.get(RUN)
    return None if kept is None else RunTask.from_json(kept)


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that no execution waits for: `source` (`schedule:ID`, `webhook:ID`) marks its post at `address`. `graph`
    walks it; `more` are further parts of its state."""

    agent: Agent
    task: TaskSpec
    address: Address
    principal_id: str | None
    source: str
    graph: str = GRAPH
    more: Mapping[str, Any] = field(default_factory=dict)


def begin_run(
    tx: Transaction, run: NewRun, *, kind: JobKind, lane: str, priority: int, now: int, key: str | None = None
) -> Execution | None:
    """Its execution and job; None, and nothing was written, while a job with this `key` waits or runs. Raises `Unprocessable`
    where one of those who have a say in it may not use its agent."""
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
        "agent": run.agent.id,
        "address": run.address.to_json(),
        "conversation": conversation.id,
        "taint": sorted(run.task.taint),
        RUN: {**run.task.to_json(), "source": run.source},
        **run.more,
    }
    return lifecycle.begin(
        tx, execution_id, run.graph, state, lane=lane, priority=priority, principal_id=run.principal_id, now=now
    )


def asker_of_run(tx: Transaction, run: NewRun) -> Asker:
    """In whose name it would work."""
    person = tx.principals.get(run.principal_id) if run.principal_id is not None else None
    return Asker(person, caller_limits(run.more), run.address, run.agent)


def child_state(parent: Mapping[str, Any], task: TaskSpec, *, agent_id: str | None = None) -> dict[str, Any]:
    """The state of a child of this execution's state, for `Call("agent", …)`: it works in the same place, for the same
    person, and is tainted by what its parent read."""
    return {
        "agent": agent_id or parent["agent"],
        "address": parent["address"],
        "conversation": parent["conversation"],
        "taint": sorted({*parent.get("taint", ()), *task.taint}),
        **caller_limits(parent).to_json(),
        RUN: {**task.to_json(), "source": "", _UNDER: _begun_by(parent)},
    }


def is_run(execution: Execution) -> bool:
    return RUN in execution.state


def source_of(execution: Execution) -> str:
    """Return the origin of a run; empty for a child, which posts nothing."""
    task = task_in(execution.state)
    return "" if task is None else task.source


def messages_of(execution: Execution, person: Principal | None) -> list[StoredMessage]:
    """The prompt of a run in the form of messages."""
    whole = message_of(execution, person)
    parts = _task_of(execution).messages
    return [replace(whole, id=message_id, content=text) for message_id, text in parts] or [whole]


def message_of(execution: Execution, person: Principal | None) -> StoredMessage:
    """The prompt of a run in the form of a message; it is kept nowhere else than in the execution."""
    place = PlacedState.from_json(execution.state)
    return StoredMessage(
        id=execution.id,
        conversation_id=place.conversation,
        role=Role.USER,
        content=_task_of(execution).prompt,
        tokens=0,
        status=MessageStatus.ACCEPTED,
        address=place.address,
        principal_id=execution.principal_id,
        user_name=_asker(execution, person),
        agent_id=place.agent,
        execution_id=execution.id,
        turn=None,
        created_at=execution.created_at,
    )


def _task_of(execution: Execution) -> RunTask:
    return RunTask.from_json(execution.state[RUN])


def _begun_by(state: Mapping[str, Any]) -> str:
    task = task_in(state)
    return "" if task is None else task.source or task.under


def _asker(execution: Execution, person: Principal | None) -> str:
    """Return the name of the asker in the prompt; a schedule or web hook is named as such, so that the model takes it
    for no person."""
    caller = _CALLERS.get(_begun_by(execution.state).partition(":")[0], "")
    name = person.name if person is not None else ""
    return f"{caller}, for {name}" if caller and name else caller or name


def history_of(execution: Execution) -> list[PastMessage]:
    """Return the history that a run was given."""
    taint = taint_in(execution.state)
    return [
        PastMessage(
            role=Role(role),
            content=text,
            tokens=0,
            id=f"{execution.id}-{number}",
            turn=number,
            taint=taint,
            principal_id=execution.principal_id if role == Role.USER else None,
            created_at=execution.created_at,
        )
        for number, (role, text) in enumerate(_task_of(execution).history)
    ]
