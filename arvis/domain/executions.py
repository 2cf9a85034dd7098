"""Executions: passes of the engine through a graph, stored step by step so that they survive a restart."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from arvis.domain.dataclass import dataclass

#: A key in the state of a cancelled execution. Its value lists the nodes at which the execution was cancelled.
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
    #: The id of the wait in which a caller waits for the result of this execution; None if no caller waits.
    parent_wait: str | None
    #: The number of stored steps.
    steps: int
    error: str | None
    created_at: int
    updated_at: int
    #: The id of the execution for which this execution works, such as its caller.
    begun_by: str | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """One current position of an execution."""

    id: str
    execution_id: str
    node: str
    value: Any
    #: The number of consecutive visits of the current node.
    repeats: int = 0
    #: The number of visits that this position has ended, at all nodes together.
    visits: int = 0
    #: The id of the wait whose answer this position needs; None if the position does not wait.
    wait_id: str | None = None

    @classmethod
    def start(cls, execution_id: str, node: str = "") -> Self:
        """Return the first position of an execution. The position is not stored until the execution leaves it. The id
        of the position is the id of the execution, so that effects of the first visit are found again after a crash."""
        return cls(execution_id, execution_id, node, None)


@dataclass(frozen=True, slots=True)
class Step:
    """One visit of a node, in the history of an execution. Steps are never changed."""

    execution_id: str
    number: int
    node: str
    decision: str
    #: The changes of the state as JSON, with long values shortened.
    changes: str
    at: int


class EffectState(StrEnum):
    STARTED = "started"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Effect:
    """The stored record of one effect."""

    execution_id: str
    cursor_id: str
    #: The number of the visit that made the effect, counted over all visits of this cursor. So a later visit of the
    #: same node does not use the results of earlier visits.
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
    #: A tool server asks the person for whom its tool is called (`domain/forms.py`).
    INPUT = "input"
    #: The program that sent the message runs tools.
    CLIENT = "client"


#: Kinds of waits that people can list and answer. The engine or a program answers the other kinds.
PERSONAL_WAITS = frozenset({WaitKind.APPROVAL, WaitKind.REVIEW, WaitKind.USER, WaitKind.INPUT})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a wait."""

    value: Any
    #: The source of the answer, such as the id of a principal, `timer` or `child`.
    by: str
    #: True if no answer came before the deadline.
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
    #: The interrupted effect or the missing node about which a person decides. Set only for a question of the engine
    #: itself.
    subject: str | None = None
    #: The id of an earlier wait. After this question, the visit still needs the answer to that wait. Set only together
    #: with `subject`.
    resumes: str | None = None
    answer: Answer | None = None
    answered_by: str | None = None
    answered_at: int | None = None
