"""The repositories of workflows and of their runs, and the queries for their pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Execution, ExecutionStatus, WaitKind
from arvis.domain.workflows import LogEntry, RunStatus, Trigger, Workflow, WorkflowRun, WorkflowVersion
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

    def triggers(self, kinds: Collection[str], limit: int) -> list[Trigger]:
        """Return up to `limit` triggers of these kinds, in the order of their workflows' ids."""
        ...

    def begun_by(self, workflow: Workflow) -> set[str]:
        """Return the kinds of the rows that start this workflow and are switched on: kinds of schedules
        (`ScheduleKind`), and `webhook`."""
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
        """Append lines to the log of a run, each (node, type, content), and return the number of the last line. If the
        run does not exist, store nothing and return 0."""
        ...

    def entries(self, run_id: str, after: int, limit: int) -> list[LogEntry]:
        """Return the lines of a run's log whose numbers follow `after`, in order."""
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
    """A workflow in a list. `problems` counts the problems of its newest version; `triggers` are the kinds of its
    triggers; `live` counts its live runs (`MOST_LIVE` means that many or more)."""

    workflow: Workflow
    problems: int
    triggers: Sequence[str]
    last_run: LastRun | None
    live: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version in a list, without its document. `by` is the name of the person who saved the version; `at` in ms."""

    version: int
    problems: int
    note: str
    by: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Asked:
    """An open question of a run, or of an execution that the run called. `node` is the name in the engine of the node
    that waits for the answer."""

    wait_id: str
    node: str | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list. `asked` are its open questions, oldest first. `cost_micros` includes the costs of all executions
    that the run called. `ended_at` in ms; None while the run is live."""

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
    """The state of an execution that will be tried again. `attempts` counts the failed attempts; `next_at` is the time
    (ms) of the next one; `reason` is the reason why the last one failed."""

    attempts: int
    next_at: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunChild:
    """An execution that a run called. `node` is the name in the engine of the node that called it. `retry` is set while
    the execution waits for its next attempt."""

    id: str
    graph: str
    status: ExecutionStatus
    created_at: int
    node: str | None
    retry: RunRetry | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A current position of a run. `waits_for` is the kind of the wait there; None: the position does not wait."""

    node: str
    waits_for: WaitKind | None


@dataclass(frozen=True, slots=True)
class RunView:
    """The data of the page of a run. `places` are its current positions; `visits` counts the completed visits of each
    node; `children` are the executions that the run called, oldest first; `message_id` is the message that the run
    answers, if any."""

    row: RunRow
    execution: Execution
    places: Sequence[Place]
    visits: Mapping[str, int]
    children: Sequence[RunChild]
    message_id: str | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Counts of runs. `ended` counts the runs that ended in a period, by status; `paused` counts the runs that wait
    now, for a person, a timer or a called execution."""

    ended: Mapping[RunStatus, int]
    paused: int


#: The maximum number of live runs of a workflow that are counted, and of open questions of a run that are shown.
MOST_LIVE = 100


class WorkflowInsights(Protocol):
    async def workflows(
        self, *, text: str | None, enabled: bool | None, limit: int, cursor: str | None
    ) -> Page[WorkflowRow]:
        """Return workflows, newest first. With `text`, return only workflows whose name, slug or description contains
        the text in upper or lower case."""
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
        """Return runs, newest first. `source` is a complete `WorkflowRun.source`, or only the part before its colon."""
        ...

    async def run(self, run_id: str) -> RunView | None: ...

    async def run_head(self, run_id: str) -> RunRow | None:
        """Return the run as in a list, without steps and positions."""
        ...

    async def run_figures(self, since: int, until: int) -> RunFigures:
        """Return counts of the runs that ended from `since` up to `until` (ms), and of the runs that wait now."""
        ...

    async def run_log(self, run_id: str, *, after: int, limit: int) -> Sequence[LogEntry] | None:
        """Return the lines of a run's log whose numbers follow `after`, in order; None if there is no such run."""
        ...
