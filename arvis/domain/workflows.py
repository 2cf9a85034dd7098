"""Workflows: graphs that people draw, with versions, triggers, runs and run logs (behaviour.md 4, 2.7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arvis.domain.executions import ExecutionStatus

#: The graph of a workflow's executions is `workflow:` and the id of the workflow; agents and schedules may also name
#: it by its slug.
PREFIX = "workflow:"

#: Keys of the execution's state: the run (`{"id", "version", "entry", "trigger", "input", "carried"?}`), and, before the id of a node,
#: its newest output (`{"output", "label", "at", "failed"?, "tainted"?}`).
STATE = "workflow"
OUTPUT = "out:"
#: The prefix of a workflow node's name in the engine.
POSITION = "node:"
#: The prefix of a node id whose text was already posted, so that the end of the run does not post it again.
SAID = "said:"
#: The number of runs in the chain of runs that started this one.
DEPTH = "workflow_depth"

#: The route of run results to the agent that started the run: a separate thread of its conversation.
RESULTS = "workflow"

#: Kinds of nodes that start a run automatically.
MESSAGE_TRIGGERS = frozenset({"message", "chat-app", "dashboard"})


@dataclass(frozen=True, slots=True)
class Workflow:
    """`version` is the newest version, `runnable` the newest without problems (None: there never was one). Times in
    ms."""

    id: str
    slug: str
    name: str
    description: str
    enabled: bool
    version: int
    runnable: int | None
    principal_id: str | None
    created_at: int
    updated_at: int
    removed_at: int | None = None

    @property
    def graph(self) -> str:
        return f"{PREFIX}{self.id}"


@dataclass(frozen=True, slots=True)
class WorkflowVersion:
    """`document` is in the canonical form (`arvis/workflows/document/model.py`); `problems` counts the problems that
    prevent a run. `principal_id` saved it; `author_id` wrote it if that was a different person (an older version was
    restored)."""

    workflow_id: str
    version: int
    document: Mapping[str, Any]
    problems: int
    note: str
    principal_id: str | None
    at: int
    author_id: str | None = None

    @property
    def authors(self) -> tuple[str, ...]:
        """The principals whose rights limit a run: the author of the document, and the person who saved this version."""
        return tuple(dict.fromkeys(each for each in (self.author_id, self.principal_id) if each is not None))


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger that starts a workflow at `node_id`. Empty `platform`, `channel` and `words` (comma-separated) match
    everything."""

    workflow_id: str
    node_id: str
    kind: str
    platform: str = ""
    channel: str = ""
    words: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One execution of a workflow. Its state is the execution of the same id."""

    execution_id: str
    workflow_id: str
    version: int
    #: The cause: `api`, `chat`, `message`, `schedule:ID`, `webhook:ID`, `agent:EXECUTION` or
    #: `workflow:EXECUTION`.
    source: str
    #: The node at which it began.
    entry: str
    #: The run that it repeats from there.
    rerun_of: str | None
    principal_id: str | None
    created_at: int
    #: The number of lines in its log.
    entries: int = 0
    #: The key of the request that started it. A repeated request starts no second run.
    request: str | None = None


class LogType(StrEnum):
    """Log types of seed 002, and those of the node kinds of 2.7. Subagent events hold JSON."""

    STEP_START = "step_start"
    START_PROMPT = "start_prompt"
    LOGIC_CHECK = "logic_check"
    WAIT_INPUT = "wait_input"
    INPUT_RECEIVED = "input_received"
    LLM_RESPONSE = "llm_response"
    LLM_ERROR = "llm_error"
    ERROR = "error"
    WARNING = "warning"
    SUBAGENT_START = "subagent_call_start"
    SUBAGENT_END = "subagent_call_end"
    SUBAGENT_ERROR = "subagent_call_error"
    STEP_END = "step_end"
    BRANCH_FAILED = "branch_failed"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TIMER = "timer"
    LOOP = "loop"
    JOIN = "join"
    TRANSFER = "transfer"
    ESCALATED = "escalated"
    RUN_END = "run_end"


#: The node of entries about the whole run.
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of a run's log; `number` counts from 1; `node_id` is `system` if the line is about the whole run."""

    run_id: str
    number: int
    at: int
    node_id: str
    type: str
    content: str


class RunStatus(StrEnum):
    """The status of a run, in seed 002's terms. `pending`: no step yet; `completed`: the execution is `done`."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: The run status for each end of an execution.
ENDS: Mapping[ExecutionStatus, RunStatus] = {
    ExecutionStatus.DONE: RunStatus.COMPLETED,
    ExecutionStatus.FAILED: RunStatus.FAILED,
    ExecutionStatus.CANCELLED: RunStatus.CANCELLED,
}


def as_text(value: Any) -> str:
    """Return the output of a node as text: a text unchanged, other values as compact JSON like seed 002."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
