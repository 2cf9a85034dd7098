"""The status with which an agent ends its work (behaviour.md 2.2): the timeline shows it, and the agent or graph that
gave the task reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from arvis.domain.executions import Answer, ExecutionStatus
from arvis.tags import Reply

#: Characters of a status line.
LONGEST_NOTE = 240


class WorkStatus(StrEnum):
    """`open`: the reply had no status; `exhausted`: the work was stopped at a limit. Of heartbeats, `idle`: there was
    nothing to do, and no model was called; `failed`: the called execution failed."""

    DONE = "done"
    BLOCKED = "blocked"
    CONTINUE = "continue"
    OPEN = "open"
    EXHAUSTED = "exhausted"
    IDLE = "idle"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """`visible` is the part of the last reply that people may see. `report` belongs to `continue`, `reason` and
    `requirements` to `blocked`, `result` to `done`. `attributes` are those that the agent's plugins required."""

    status: WorkStatus
    visible: str = ""
    report: str = ""
    reason: str = ""
    requirements: str = ""
    result: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """One line about the present status."""
        said = self.reason or self.report or self.result or self.visible
        return " ".join(said.split())[:LONGEST_NOTE]

    @property
    def summary(self) -> str:
        """The information for the next cycle, or for another agent."""
        return self.report or self.result or self.visible or self.reason

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "attributes": dict(self.attributes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WorkOutcome:
        return cls(**{**data, "status": WorkStatus(data["status"])})


def outcome_of(reply: Reply, otherwise: WorkStatus) -> WorkOutcome:
    """Return the status of a reply; `otherwise` for a reply without one."""
    wrapper = reply.wrapper
    if wrapper is None:
        return WorkOutcome(otherwise, reply.visible, attributes=reply.attributes)
    return WorkOutcome(
        status=WorkStatus(wrapper.status.value),
        visible=wrapper.visible,
        report=wrapper.report,
        reason=wrapper.reason,
        requirements=wrapper.requirements,
        result=wrapper.result,
        attributes=reply.attributes,
    )


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of a child execution. Without an outcome it failed or was cancelled; `error` is a sentence and `reason`
    a code."""

    outcome: WorkOutcome | None
    error: str = ""
    reason: str = ""


def child_end(answer: Answer) -> ChildEnd:
    """Read from the answer that a `Call` got."""
    value: Mapping[str, Any] = answer.value or {}
    result = value.get("result") or {}
    if value.get("status") != ExecutionStatus.DONE or "outcome" not in result:
        error = value.get("error") or f"It was {value.get('status', 'lost')}."
        return ChildEnd(None, error, value.get("reason") or "")
    return ChildEnd(WorkOutcome.from_json(result["outcome"]))
