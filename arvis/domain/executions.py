"""Executions: passes of the engine through a graph, stored step by step so that they survive a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: The state key, in a cancelled execution, of the names of the nodes that it was visiting when it was cancelled.
CUT_OFF = "cut_off"


class ExecutionStatus(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Execution:
    """One pass of the engine through a graph."""

    id: str
    graph: str
    version: str
    #: Plain JSON that all nodes share.
    state: Mapping[str, Any]
    status: ExecutionStatus
    result: Any
    lane: str
    priority: int
    principal_id: str | None
    #: The wait in which the caller waits for the result of this execution; None: no caller waits.
    parent_wait: str | None
    #: The number of stored steps.
    steps: int
    error: str | None
    created_at: int
    updated_at: int
    #: The execution for which this one works.
    begun_by: str | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """One current position of an execution."""

    id: str
    execution_id: str
    node: str
    value: Any
    #: The number of visits of the same node in a row.
    repeats: int = 0
    #: The number of ended visits of all nodes.
    visits: int = 0
    #: The wait whose answer this position needs; None: the position does not wait.
    wait_id: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One visit of a node, in the history of an execution. Steps are never changed."""

    execution_id: str
    number: int
    node: str
    decision: str
    changes: Mapping[str, Any]
    at: int


class EffectState(StrEnum):
    STARTED = "started"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Effect:
    """The stored record of one effect."""

    execution_id: str
    cursor_id: str
    #: The number of the cursor's visit that made the effect. A later visit of the same node makes its own effects; it
    #: does not use the results of earlier visits.
    visit: int
    name: str
    state: EffectState
    result: Any
    at: int


class WaitKind(StrEnum):
    APPROVAL = "approval"
    REVIEW = "review"
    USER = "user"
    TIMER = "timer"
    CHILD = "child"


#: Kinds of waits that a person may list and answer. The engine answers the other kinds: timers and child executions.
PERSONAL_WAITS = frozenset({WaitKind.APPROVAL, WaitKind.REVIEW, WaitKind.USER})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a wait."""

    value: Any
    #: A principal id, `timer` or `child`.
    by: str
    #: No answer came before the deadline.
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait of an execution: a question to a person, a timer or a called execution. Only the first answer counts.
    Times in ms."""

    id: str
    execution_id: str
    cursor_id: str
    kind: WaitKind
    prompt: str
    choices: tuple[str, ...]
    asked_at: int
    expires_at: int | None
    #: The interrupted effect or the lost step to decide about; only for a question that the engine itself asks.
    subject: str | None = None
    #: The earlier wait of the same visit, whose answer is still needed; only with a `subject`.
    resumes: str | None = None
    answer: Answer | None = None
    answered_by: str | None = None
    answered_at: int | None = None
