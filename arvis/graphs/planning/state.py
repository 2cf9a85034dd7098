"""What the nodes of a planning run share: what is written in the state of the execution, and how a child is given its part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.taint import taint_in
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Call
from arvis.graphs.planning.evidence import PART, Evidence, load_evidence
from arvis.graphs.planning.lanes import Lane, lane_of
from arvis.ports.store import Store
from arvis.tasks.task import GRAPH, TaskSpec, child_state

#: Key of the state: the plan as it is now, in Markdown.
PLAN = "prd"

PLAN_RETRIEVAL, PLANNER, REASONING = "plan_retrieval", "planner", "reasoning"
ACTION, CRITIC, OUTPUT = "action", "skill_critic", "output"


def goal_of(state: Mapping[str, Any]) -> str:
    goal: str = state["plan"]["goal"]
    return goal


def brief_number(state: Mapping[str, Any]) -> int:
    """How many briefs there were; 0: the executor works on the goal itself."""
    number: int = state.get("brief_number", 0)
    return number


def own_lane(state: Mapping[str, Any], name: str, shared: Lane) -> Lane:
    """The lane of one node; it begins once with a copy of the shared one."""
    kept = lane_of(state, name)
    return shared if kept is None else kept


async def evidence_of(store: Store, context: NodeContext) -> Evidence:
    return await store.read(load_evidence, context.execution)


def tainted(state: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    """The change of state by what the children read."""
    return {"taint": sorted(taint_in(state) | evidence.taint)}


def call_agent(context: NodeContext, part: str, errand: TaskSpec, **changes: Any) -> Call:
    """Nobody sees the child's words on the way: they may hold a plan or a brief."""
    mark = {PART: {"part": part, "brief": brief_number(context.state)}}
    return Call(GRAPH, child_state(context.state, errand) | mark, **changes)
