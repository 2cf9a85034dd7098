"""The state of a planning run, and the call of an agent that works on a part of it."""

# ruff: noqa: RUF009 - `stored` and `whole` declare fields, as `field` does
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Call
from arvis.engine.state import changes, stored
from arvis.graphs.planning.evidence import PART, Evidence, load_evidence
from arvis.graphs.planning.lanes import Lane
from arvis.ports.store import Store
from arvis.tasks.outcome import WorkOutcome
from arvis.tasks.state import WorkState
from arvis.tasks.task import GRAPH, TaskSpec, child_state

PLAN_RETRIEVAL, PLANNER, REASONING = "plan_retrieval", "planner", "reasoning"
ACTION, CRITIC, OUTPUT = "action", "skill_critic", "output"


@dataclass(slots=True)
class PlanningState(WorkState):
    #: The judgement of `plan_retrieval` (`Retrieval` as JSON): goal, complexity, skill.
    plan: Mapping[str, Any] = stored({})
    #: The request in the person's own words.
    request: str = ""
    #: The plan in Markdown.
    prd: str = ""
    brief: str = ""
    #: Number of briefs; 0: the executor works on the goal itself.
    brief_number: int = 0
    #: Messages that all nodes share, and those of single nodes; None: the lane has not begun.
    lane: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_planner: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_reasoning: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_action: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    #: When the run began (ms); None before its first decision.
    began: int | None = None
    #: Failures of each node in a row.
    tries: Mapping[str, int] = stored({})
    #: Runs of the executor since the last check.
    actions: int = 0
    #: Number of checks.
    checks: int = stored(0, key="rounds")
    #: Feedback of the checks.
    feedbacks: Sequence[str] = ()
    #: The reason with which the executor was blocked last.
    blocker: str | None = None
    #: Result of the executor's last run.
    last: WorkOutcome | None = stored(None, read=WorkOutcome.from_json, write=WorkOutcome.to_json)
    #: Why the run was stopped before its end (a key of `REASONS`).
    stopped: str = ""

    @property
    def goal(self) -> str:
        goal: str = self.plan["goal"]
        return goal

    @property
    def shared(self) -> Lane:
        return self.lane or Lane()

    def with_tries(self, node: str, number: int) -> dict[str, Any]:
        """Return the change that notes the number of failures of a node."""
        return changes(PlanningState, tries={**self.tries, node: number})

    def with_taint(self, evidence: Evidence) -> dict[str, Any]:
        """Return the change that adds the taint of the children."""
        return changes(PlanningState, taint=self.taint | evidence.taint)


async def evidence_of(store: Store, context: NodeContext) -> Evidence:
    return await store.read(load_evidence, context.execution)


def call_agent(context: NodeContext, part: str, task: TaskSpec, more: Mapping[str, Any]) -> Call:
    """Call the agent for a part of the work, with `more` changes of the state. The child's text is not streamed, because it may
    hold a plan or a brief."""
    mark = {PART: {"part": part, "brief": PlanningState.from_json(context.state).brief_number}}
    return Call(GRAPH, child_state(context.state, task) | mark, **more)
