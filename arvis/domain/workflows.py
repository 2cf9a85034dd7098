"""Workflows: diagrams that people draw, with their versions, triggers, runs and logs of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import ExecutionStatus

#: The prefix of the graph names of workflows. In executions, the id of the workflow follows the prefix. In agents and
#: schedules, the slug of the workflow may follow instead.
PREFIX = "workflow:"

#: Keys in the state of a run's execution. Under `STATE` is the run, as `{"id", "version", "entry", "trigger", "input",
#: "token"?}`. Under `OUTPUT` plus the id of a node is the node's newest output, as `{"output", "label", "at",
#: "failed"?, "tainted"?}`.
STATE = "workflow"
OUTPUT = "out:"
#: The prefix of the name of a workflow's node in the engine. The id of the node follows.
POSITION = "node:"
#: A prefix of keys in the state of a run's execution. Under `SAID` plus the id of a node is a text that this node has
#: The key of a stored output, or of the state of a run that another run began: a script may have made addresses in the
#: output, or in the input of the run.
MADE = "made"
#: already posted. The text is not posted again when the run ends.
SAID = "said:"
#: The key in the state for the depth of a run. If a person or event starts run A, and A starts run B, the depth of A is
#: 0 and the depth of B is 1.
DEPTH = "workflow_depth"

#: The value of `Task.route` for the task that reports the result of a run to the agent that started the run.
RESULTS = "workflow"

#: The kinds of trigger nodes that start a run when a message arrives.
MESSAGE_TRIGGERS = frozenset({"message", "chat-app", "dashboard"})


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow. Times in ms."""

    id: str
    slug: str
    name: str
    description: str
    enabled: bool
    #: The number of the newest version.
    version: int
    #: The number of the newest version without problems; None if every version has problems.
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
    """One version of a workflow."""

    workflow_id: str
    version: int
    #: The diagram in the canonical form (`arvis/workflows/document/model.py`).
    document: Mapping[str, Any]
    #: The number of problems that prevent a run.
    problems: int
    note: str
    #: The person who saved the version.
    principal_id: str | None
    at: int
    #: The author of the document, if this version restores an older version of another person.
    author_id: str | None = None

    @property
    def authors(self) -> tuple[str, ...]:
        """The author of the document, and the person who saved this version. A run may do only what both of them may
        do."""
        return tuple(dict.fromkeys(each for each in (self.author_id, self.principal_id) if each is not None))


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One run of a workflow."""

    #: The execution of the run. It contains the run's status and state.
    execution_id: str
    workflow_id: str
    version: int
    #: The cause of the run: `api`, `chat`, `message`, `schedule:ID`, `webhook:ID`, `agent:EXECUTION` or
    #: `workflow:EXECUTION`.
    source: str
    #: The node at which the run began.
    entry: str
    #: The earlier run that this run repeats from the node `entry` on; None if this run is not a rerun.
    rerun_of: str | None
    principal_id: str | None
    created_at: int
    #: The number of lines in the log of the run.
    entries: int = 0
    #: The key of the request that started the run, so that a repeated request starts no second run.
    request: str | None = None


class LogType(StrEnum):
    """The types of log lines that several kinds of nodes write. Lines about subagents have JSON as their content. Types
    that only one kind of node writes are declared with that kind (`workflows/document/kinds.py`)."""

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
    JOIN = "join"
    RUN_END = "run_end"


#: The value of `LogEntry.node_id` for lines about the whole run.
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of a run's log. `number` counts the lines from 1."""

    run_id: str
    number: int
    at: int
    node_id: str
    type: str
    content: str


class RunStatus(StrEnum):
    """The status of a run. `pending`: the run has made no step; `completed`: its execution is `done`."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: The status of a run for each final status of its execution.
ENDS: Mapping[ExecutionStatus, RunStatus] = {
    ExecutionStatus.DONE: RunStatus.COMPLETED,
    ExecutionStatus.FAILED: RunStatus.FAILED,
    ExecutionStatus.CANCELLED: RunStatus.CANCELLED,
}


def has_made(state: Mapping[str, Any]) -> bool:
    """Return True if a script may have made addresses in an output of the run with this state, or in its input."""
    outputs = (kept for name, kept in state.items() if name.startswith(OUTPUT))
    return bool(state.get(MADE)) or any(kept.get(MADE) for kept in outputs)


def as_text(value: Any) -> str:
    """Return the output of a node as text. Return a text unchanged, None as "", and any other value as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
