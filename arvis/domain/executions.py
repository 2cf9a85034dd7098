"""Executions: passes of the engine through a graph, stored step by step so that they survive a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: State key of a cancelled execution: the names of the nodes at which it was when it was cancelled.
CUT_OFF = "cut_off"


class ExecutionStatus(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Execution:
    """One pass of the engine through a graph. `state` is plain JSON that all nodes share; `steps` counts the stored
    steps. `parent_wait` is the wait of the execution that called this one and waits for its result (None: no caller
    waits). `begun_by` is the execution for which this one works."""

    id: str
    graph: str
    version: str
    state: Mapping[str, Any]
    status: ExecutionStatus
    result: Any
    lane: str
    priority: int
    principal_id: str | None
    parent_wait: str | None
    steps: int
    error: str | None
    created_at: int
    updated_at: int
    begun_by: str | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """One current position of an execution. `repeats` counts the visits of the same node in a row, `visits` the ended
    visits of all nodes. `wait_id` is set while the position waits for an answer."""

    id: str
    execution_id: str
    node: str
    value: Any
    repeats: int = 0
    visits: int = 0
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
    """The stored record of one effect. `visit` is the number of the cursor's visit that made the effect, so that a
    later visit of the same node makes its own effects and does not use the results of the first visit."""

    execution_id: str
    cursor_id: str
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
    """The answer to a wait. `by` is a principal id, `timer` or `child`. `expired`: no answer came before the
    deadline."""

    value: Any
    by: str
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait of an execution: a question to a person, a timer or a called execution. Only the first answer counts.
    Times in ms. A question that the engine itself asks has a `subject`, the interrupted effect or the lost step to
    decide about; `resumes` is then the earlier wait of the same visit, so that its answer is still known."""

    id: str
    execution_id: str
    cursor_id: str
    kind: WaitKind
    prompt: str
    choices: tuple[str, ...]
    asked_at: int
    expires_at: int | None
    subject: str | None = None
    resumes: str | None = None
    answer: Answer | None = None
    answered_by: str | None = None
    answered_at: int | None = None
