"""Executions: durable passes through a graph (architecture §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: State key of a cancelled execution: the nodes of its positions at that time.
CUT_OFF = "cut_off"


class ExecutionStatus(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Execution:
    """`state` is plain JSON shared by all its nodes; `steps` counts node visits; `parent_wait` is the open
    question of the execution that called it."""

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
    """An active position. `repeats` counts visits of the same node in a row, `visits` those of any node;
    `wait_id` is set while the position waits for an answer."""

    id: str
    execution_id: str
    node: str
    value: Any
    repeats: int = 0
    visits: int = 0
    wait_id: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One node visit in the append-only history."""

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
    """One remembered side effect. `visit` is the number of its cursor's step being made, so that a loop does not
    read its first round."""

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


#: Kinds that a person may list and answer; timers and children answer themselves.
PERSONAL_WAITS = frozenset({WaitKind.APPROVAL, WaitKind.REVIEW, WaitKind.USER})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a wait. `by` is a principal id, `timer` or `child`; `expired` if no answer arrived in time."""

    value: Any
    by: str
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """One open question. `expires_at` in ms; the first answer wins. A question of the engine itself has a `subject`,
    the interrupted effect or the lost step that it is about, and `resumes` the wait whose answer the visit had."""

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
