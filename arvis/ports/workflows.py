"""The repositories of workflows and of their runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Execution, ExecutionStatus, WaitKind
from arvis.domain.workflows import LogEntry, RunStatus, Trigger, Workflow, WorkflowRun, WorkflowVersion
from arvis.ports.pages import Page


class Workflows(Protocol):
    """Return a workflow; removed workflows are found by their id only."""

    def get(self, workflow_id: str) -> Workflow | None: ...

    def by_slug(self, slug: str) -> Workflow | None: ...

    def hold(self, workflow_id: str) -> Workflow | None:
        """Return the workflow and lock it until this commit."""
        ...

    def add(self, workflow: Workflow) -> None: ...

    def update(self, workflow: Workflow) -> None: ...

    def keep_version(self, version: WorkflowVersion) -> None: ...

    def version(self, workflow_id: str, version: int) -> WorkflowVersion | None: ...

    def set_triggers(self, workflow_id: str, triggers: Sequence[Trigger]) -> None:
        """Replace the triggers of a workflow."""
        ...

    def triggers(self, kinds: Collection[str], limit: int) -> list[Trigger]:
        """Return the triggers of these kinds, by the ids of their workflows."""
        ...

    def begun_by(self, workflow: Workflow) -> set[str]:
        """Return the kinds of rows that name it and are switched on: those of schedules (`ScheduleKind`), and `webhook`."""
        ...

    def all(self) -> list[Workflow]:
        """Return workflows that are not removed, by their ids."""
        ...

    def count(self) -> int:
        """Count the workflows that are not removed."""
        ...


class WorkflowRuns(Protocol):
    def add(self, run: WorkflowRun) -> None: ...

    def get(self, execution_id: str) -> WorkflowRun | None: ...

    def of_request(self, request: str) -> WorkflowRun | None:
        """Return the run that this request started."""
        ...

    def log(self, run_id: str, entries: Sequence[tuple[str, str, str]], now: int) -> int:
        """Append lines of (node, type, content), in this order; return the number of the last. If the run does not
        exist, store nothing and return 0."""
        ...

    def entries(self, run_id: str, after: int, limit: int) -> list[LogEntry]:
        """Return the lines after number `after`, in order."""
        ...

    def live(self, workflow_id: str, limit: int) -> list[str]:
        """Return the ids of its live runs, newest first."""
        ...

    def at_work(self, limit: int) -> list[Execution]:
        """Return the live executions of all workflows, newest first."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete the logs of up to this many runs that ended before this time; return how many there were."""
        ...


@dataclass(frozen=True, slots=True)
class LastRun:
    id: str
    status: RunStatus
    at: int


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """A workflow in a list: the errors in its newest version, the kinds of its triggers, its newest run and the
    number of live runs (`MOST_LIVE` means that many or more)."""

    workflow: Workflow
    problems: int
    triggers: Sequence[str]
    last_run: LastRun | None
    live: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version without its document; `by` is the name of the person who saved it."""

    version: int
    problems: int
    note: str
    by: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Asked:
    """An open question to a person, of a run or of its child executions, and the position of the run that it belongs
    to (in the engine's form)."""

    wait_id: str
    node: str | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list. `asked` are its open questions, oldest first; `cost_micros` includes all executions that it
    called. Times in ms; `ended_at` is None while it is live."""

    run: WorkflowRun
    slug: str
    name: str
    status: RunStatus
    error: str | None
    ended_at: int | None
    asked: Sequence[Asked]
    cost_micros: int


@dataclass(frozen=True, slots=True)
class RunRetry:
    """A failed try: the number of failed tries, when the next one is (ms), and why the last one failed."""

    attempts: int
    next_at: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunChild:
    """An execution that a run called, and the position that called it; `retry` while it waits for its next try."""

    id: str
    graph: str
    status: ExecutionStatus
    created_at: int
    node: str | None
    retry: RunRetry | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A position of a run, and the kind of wait there (None: none)."""

    node: str
    waits_for: WaitKind | None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its page shows it. `places` are its positions; `visits` counts completed visits by position;
    `children` are the executions that it called, oldest first; `message_id` is the message that it answers."""

    row: RunRow
    execution: Execution
    places: Sequence[Place]
    visits: Mapping[str, int]
    children: Sequence[RunChild]
    message_id: str | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Counts of runs that ended in a period, by status; and of runs that wait now, for a person, a timer or a called
    execution."""

    ended: Mapping[RunStatus, int]
    paused: int


#: At most this many live runs are counted, and at most this many open questions of one run are shown.
MOST_LIVE = 100


class WorkflowInsights(Protocol):
    async def workflows(
        self, *, text: str | None, enabled: bool | None, limit: int, cursor: str | None
    ) -> Page[WorkflowRow]:
        """Return workflows, newest first; with `text` those whose name, slug or description contains it, ignoring
        case."""
        ...

    async def workflow(self, workflow_id: str) -> WorkflowRow | None: ...

    async def workflow_versions(self, workflow_id: str, *, limit: int, cursor: str | None) -> Page[VersionRow]:
        """Return versions, newest first."""
        ...

    async def runs(
        self,
        *,
        workflow_id: str | None,
        status: RunStatus | None,
        source: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[RunRow]:
        """Return runs, newest first. `source` is a whole source, or the part before its colon."""
        ...

    async def run(self, run_id: str) -> RunView | None: ...

    async def run_head(self, run_id: str) -> RunRow | None:
        """Return the run without its steps."""
        ...

    async def run_figures(self, since: int, until: int) -> RunFigures:
        """Return the runs that ended from `since` up to `until` (ms), and those that wait."""
        ...

    async def run_log(self, run_id: str, *, after: int, limit: int) -> Sequence[LogEntry] | None:
        """Return the lines after number `after`, in order; None if there is no such run."""
        ...
