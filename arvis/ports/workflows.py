"""The repositories of workflows and of their runs, and the queries for their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution, ExecutionStatus, WaitKind
from arvis.domain.triggers import Trigger, TriggerIndex
from arvis.domain.workflows import LogEntry, RunStatus, Workflow, WorkflowRun, WorkflowVersion
from arvis.ports.pages import Page


class Workflows(Protocol):
    """Workflows with their versions and triggers. A removed workflow is found only by its id."""

    def get(self, workflow_id: str) -> Workflow | None: ...

    def by_slug(self, slug: str) -> Workflow | None: ...

    def hold(self, workflow_id: str) -> Workflow | None:
        """Lock the workflow until this commit, and return it."""
        ...

    def add(self, workflow: Workflow) -> None: ...

    def update(self, workflow: Workflow) -> None: ...

    def keep_version(self, version: WorkflowVersion) -> None: ...

    def version(self, workflow_id: str, version: int) -> WorkflowVersion | None: ...

    def set_triggers(self, workflow_id: str, triggers: Sequence[Trigger]) -> None:
        """Replace the triggers of a workflow."""
        ...

    def triggers(self, kind: str, limit: int) -> TriggerIndex:
        """Return up to `limit` triggers of this kind, in the order of their workflows' ids."""
        ...

    def begun_by(self, workflow: Workflow) -> set[str]:
        """Return the kinds of the enabled schedules that start this workflow (values of `ScheduleKind`), and `webhook`
        if an enabled webhook starts it."""
        ...

    def all(self) -> list[Workflow]:
        """Return the workflows that are not removed, in the order of their ids."""
        ...

    def count(self) -> int:
        """Count the workflows that are not removed."""
        ...


class WorkflowRuns(Protocol):
    def add(self, run: WorkflowRun) -> None: ...

    def get(self, execution_id: str) -> WorkflowRun | None: ...

    def of_request(self, request: str) -> WorkflowRun | None:
        """Return the run that the request with this key started."""
        ...

    def log(self, run_id: str, entries: Sequence[tuple[str, str, str]], now: int) -> int:
        """Append lines, each as (node, type, content), to the log of a run. Return the number of the last line. If the
        run does not exist, store nothing and return 0."""
        ...

    def entries(self, run_id: str, after: int, limit: int) -> list[LogEntry]:
        """Return the lines of a run's log with numbers above `after`, in order."""
        ...

    def live(self, workflow_id: str, limit: int) -> list[str]:
        """Return the ids of the live runs of a workflow, newest first."""
        ...

    def at_work(self, limit: int) -> list[Execution]:
        """Return the executions of the live runs of all workflows, newest first."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete the logs of up to `limit` runs that ended before this time; return the number of these runs."""
        ...


@dataclass(frozen=True, slots=True)
class LastRun:
    id: str
    status: RunStatus
    at: int


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """A workflow in a list."""

    workflow: Workflow
    #: The number of problems of the newest version.
    problems: int
    #: The kinds of the workflow's triggers.
    triggers: Sequence[str]
    last_run: LastRun | None
    #: The number of live runs, counted up to `MOST_LIVE`. The value `MOST_LIVE` means `MOST_LIVE` runs or more.
    live: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version in a list, without its document. `at` in ms."""

    version: int
    problems: int
    note: str
    #: The name of the person who saved the version.
    by: str | None
    at: int


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question of a run, or of an execution that the run called."""

    wait_id: str
    #: The name that the engine uses for the node that waits for the answer.
    node: str | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list."""

    run: WorkflowRun
    slug: str
    name: str
    status: RunStatus
    error: str | None
    #: The end of the run in ms; None if the run is live.
    ended_at: int | None
    #: The open questions of the run, oldest first.
    open_questions: Sequence[OpenQuestion]
    #: The cost of the run and of all executions that it called.
    cost_micros: int


@dataclass(frozen=True, slots=True)
class RunRetry:
    """The state of an execution that will be retried."""

    #: The number of failed attempts.
    attempts: int
    #: The time (ms) of the next attempt.
    next_at: int
    #: The reason why the last attempt failed.
    reason: str


@dataclass(frozen=True, slots=True)
class RunChild:
    """An execution that a run called."""

    id: str
    graph: str
    status: ExecutionStatus
    created_at: int
    #: The name that the engine uses for the node that called the execution.
    node: str | None
    #: Set while the execution waits for its next attempt.
    retry: RunRetry | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A node at which a run is at present. A run can be at several nodes at once."""

    node: str
    #: The kind of the wait at this position; None if the run does not wait there.
    waits_for: WaitKind | None


@dataclass(frozen=True, slots=True)
class RunView:
    """The data of the page of a run."""

    row: RunRow
    execution: Execution
    #: The current positions of the run.
    places: Sequence[Place]
    #: The number of completed visits of each node.
    visits: Mapping[str, int]
    #: The executions that the run called, oldest first.
    children: Sequence[RunChild]
    #: The id of the message that the run answers; None if the run answers no message.
    message_id: str | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Counts of runs."""

    #: The runs that ended in the period, by status.
    ended: Mapping[RunStatus, int]
    #: The runs that wait now, for a person, a timer or a called execution.
    paused: int


#: The live runs of a workflow are counted only up to this number. At most this number of open questions of a run are
#: shown.
MOST_LIVE = 100


class WorkflowInsights(Protocol):
    async def workflows(
        self, *, text: str | None, enabled: bool | None, limit: int, cursor: str | None
    ) -> Page[WorkflowRow]:
        """Return workflows, newest first. With `text`, return only workflows whose name, slug or description contains
        the text; case is ignored."""
        ...

    async def workflow(self, workflow_id: str) -> WorkflowRow | None: ...

    async def workflow_versions(self, workflow_id: str, *, limit: int, cursor: str | None) -> Page[VersionRow]:
        """Return the versions of a workflow, newest first."""
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
        """Return runs, newest first. `source` is a complete `WorkflowRun.source`, or the part before its colon."""
        ...

    async def run(self, run_id: str) -> RunView | None: ...

    async def run_head(self, run_id: str) -> RunRow | None:
        """Return the run as in a list, without steps and positions."""
        ...

    async def run_figures(self, since: int, until: int) -> RunFigures:
        """Return counts of the runs that ended from `since` up to `until` (ms), and of the runs that wait now."""
        ...

    async def run_log(self, run_id: str, *, after: int, limit: int) -> Sequence[LogEntry] | None:
        """Return the lines of a run's log with numbers above `after`, in order; None if there is no such run."""
        ...
