"""The repositories of workflows and of their runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Execution, ExecutionStatus, WaitKind
from arvis.domain.workflows import LogEntry, RunStatus, Trigger, Workflow, WorkflowRun, WorkflowVersion
from arvis.ports.pages import Page


class Workflows(Protocol):
    """Removed ones are found by their id alone."""

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
        """Instead of those it had."""
        ...

    def triggers(self, kinds: Collection[str], limit: int) -> list[Trigger]:
        """Those of these kinds, by the ids of their workflows."""
        ...

    def begun_by(self, workflow: Workflow) -> set[str]:
        """Return the kinds of rows that name it and are switched on: those of schedules (`ScheduleKind`), and `webhook`."""
        ...

    def all(self) -> list[Workflow]:
        """Those that are not removed, by their ids."""
        ...

    def count(self) -> int:
        """Those that are not removed."""
        ...


class WorkflowRuns(Protocol):
    def add(self, run: WorkflowRun) -> None: ...

    def get(self, execution_id: str) -> WorkflowRun | None: ...

    def of_request(self, request: str) -> WorkflowRun | None:
        """The one that this request began."""
        ...

    def log(self, run_id: str, entries: Sequence[tuple[str, str, str]], now: int) -> int:
        """Append lines of (node, type, content), in this order; the number of the last. Nothing is kept, and 0 is returned,
        where there is no such run."""
        ...

    def entries(self, run_id: str, after: int, limit: int) -> list[LogEntry]:
        """The lines behind number `after`, in order."""
        ...

    def live(self, workflow_id: str, limit: int) -> list[str]:
        """The ids of its runs that are not over, the newest first."""
        ...

    def at_work(self, limit: int) -> list[Execution]:
        """The executions of all workflows that are not over, the newest first."""
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
    """A version without its document; `by` is the name of who saved it."""

    version: int
    problems: int
    note: str
    by: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Asked:
    """An open question to a person, of a run or of what works for it, and the position of the run at which that is (as the engine
    calls it)."""

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
    """A try that failed: how many did, when the next is (ms), and why the last failed."""

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
    """A position of a run, and what it waits for there (None: nothing)."""

    node: str
    waits_for: WaitKind | None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its page shows it. `places` are its positions, `visits` counts those that were left, by them; `children` are what it
    called, the oldest first; `message_id` is the message that it answers."""

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
        """The newest first."""
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
        """The newest first. `source` is a whole one, or the part before its colon."""
        ...

    async def run(self, run_id: str) -> RunView | None: ...

    async def run_head(self, run_id: str) -> RunRow | None:
        """The same without what it did."""
        ...

    async def run_figures(self, since: int, until: int) -> RunFigures:
        """Return the runs that ended from `since` up to `until` (ms), and those that wait."""
        ...

    async def run_log(self, run_id: str, *, after: int, limit: int) -> Sequence[LogEntry] | None:
        """The lines behind number `after`, in order; None where there is no such run."""
        ...
