"""The repositories of workflows and of their runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from arvis.domain.workflows import LogEntry, Trigger, Workflow, WorkflowRun, WorkflowVersion


class Workflows(Protocol):
    """Removed ones are found by their id alone."""

    def get(self, workflow_id: str) -> Workflow | None: ...

    def by_slug(self, slug: str) -> Workflow | None: ...

    def hold(self, workflow_id: str) -> Workflow | None:
        """The same, held: nobody else changes it before this commit."""
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

    def count(self) -> int:
        """Those that are not removed."""
        ...


class WorkflowRuns(Protocol):
    def add(self, run: WorkflowRun) -> None: ...

    def get(self, execution_id: str) -> WorkflowRun | None: ...

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

    def prune(self, before: int, limit: int) -> int:
        """Forget the logs of so many runs that ended before this time; how many there were."""
        ...
