"""How an agent's work ended, in its own words (behaviour.md 2.2): what its turn's timeline tells, and what whoever gave it the
task reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from arvis.domain.executions import Answer, ExecutionStatus
from arvis.tags import Reply

#: A status is told in so many characters.
LONGEST_NOTE = 240


class WorkStatus(StrEnum):
    """`open`: it never said; `exhausted`: it went on until it was stopped. Of heartbeats, `idle`: there was nothing to do, and no
    model was asked; `failed`: what it called came to no end."""

    DONE = "done"
    BLOCKED = "blocked"
    CONTINUE = "continue"
    OPEN = "open"
    EXHAUSTED = "exhausted"
    IDLE = "idle"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """`visible` is what people may see of the last reply. `report` goes with `continue`, `reason` and `requirements` with
    `blocked`, `result` with `done`. `attributes` are those that the agent's plugins asked for."""

    status: WorkStatus
    visible: str = ""
    report: str = ""
    reason: str = ""
    requirements: str = ""
    result: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """One line that says where it stands."""
        said = self.reason or self.report or self.result or self.visible
        return " ".join(said.split())[:LONGEST_NOTE]

    @property
    def summary(self) -> str:
        """What the next cycle, or another agent, is to know of it."""
        return self.report or self.result or self.visible or self.reason

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "attributes": dict(self.attributes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WorkOutcome:
        return cls(**{**data, "status": WorkStatus(data["status"])})


def outcome_of(reply: Reply, otherwise: WorkStatus) -> WorkOutcome:
    """What a reply says of itself; without a word of it, what its place takes it for."""
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
    """How a child execution ended. Without an outcome it failed or was cancelled, as `error` says, and the code `reason`."""

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
