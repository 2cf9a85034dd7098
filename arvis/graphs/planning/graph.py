"""Graph `planning`: estimate the work, plan it, write a brief for one step, carry out this step, check it, and report
to the person.

The graph begins like graph `agent`. Child executions of graph `agent` do the work that needs tools. The limits
(`Bounds`) end the work even if the models never report success.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.engine.graph import Graph, Node
from arvis.graphs.agent.files import FileNode
from arvis.graphs.agent.graph import AgentParts
from arvis.graphs.agent.input import READ_FILES, InputNode, load_arrival
from arvis.graphs.planning import action
from arvis.graphs.planning.action import PROJECT, TECHNICAL, ActionNode, CriticNode
from arvis.graphs.planning.model import Adviser
from arvis.graphs.planning.output import OutputNode
from arvis.graphs.planning.planner import PlannerNode, ReasoningNode
from arvis.graphs.planning.state import ACTION, CRITIC, OUTPUT, PLAN_RETRIEVAL, PLANNER, REASONING, Bounds
from arvis.graphs.planning.triage import Complexity, RetrievalNode
from arvis.messaging.spoken_replies import SpokenReply

GRAPH = "planning"
#: The maximum number of steps. The other limits end the work earlier: they allow five checks with twenty actions each,
#: and repeated attempts of every node.
_MOST_STEPS = 1_000


def planning_graph(parts: AgentParts) -> Graph:
    """Return the graph. The compactor in `parts` must be set up so that the graph continues at `PLAN_RETRIEVAL` after a
    compaction. The result of an execution is a `RunResult` as JSON, with a `WorkOutcome` under the additional key
    `outcome`."""
    return Graph(
        name=GRAPH,
        start="check_input",
        nodes={
            "check_input": InputNode(store=parts.store).examine,
            READ_FILES: FileNode(store=parts.store, rules=parts.files).read_files,
            **_nodes(parts, Bounds()),
            **parts.compactor.nodes,
        },
        edges={
            READ_FILES: "check_input",
            "check_input": PLAN_RETRIEVAL,
            PLAN_RETRIEVAL: after_retrieval,
            PLANNER: REASONING,
            REASONING: ACTION,
            ACTION: after_action,
            CRITIC: after_critic,
        },
        max_steps=_MOST_STEPS,
        opening=load_arrival,
    )


def _nodes(parts: AgentParts, bounds: Bounds) -> dict[str, Node]:
    store, prompt_builder = parts.store, parts.prompt_builder
    adviser = Adviser(
        store=store,
        caller=parts.caller,
        prompt_builder=prompt_builder,
        tools=parts.tools,
        reply_bytes=parts.reply_bytes,
    )
    retrieval = RetrievalNode(
        store=store,
        adviser=adviser,
        prompt_builder=prompt_builder,
        skills=parts.skills,
        bounds=bounds,
        files=READ_FILES,
        compact="compact",
    )
    spoken = SpokenReply(store=store, speaker=parts.speaker)
    return {
        PLAN_RETRIEVAL: retrieval.plan_retrieval,
        PLANNER: PlannerNode(store=store, adviser=adviser, skills=parts.skills, bounds=bounds).planner,
        REASONING: ReasoningNode(store=store, adviser=adviser, bounds=bounds).reasoning,
        ACTION: ActionNode(store=store, adviser=adviser, bounds=bounds).action,
        CRITIC: CriticNode(store=store, adviser=adviser, bounds=bounds).skill_critic,
        OUTPUT: OutputNode(store=store, adviser=adviser, prompt_builder=prompt_builder, spoken=spoken).output,
    }


# -- the edges ---------------------------------------------------------------------------------------------------------


def after_retrieval(_state: Mapping[str, Any], complexity: Any) -> str:
    """Return the node after the estimate: for "low" the node that answers, for "medium" the executor, otherwise the
    planner."""
    return {Complexity.LOW.value: OUTPUT, Complexity.MEDIUM.value: ACTION}.get(complexity, PLANNER)


def after_action(_state: Mapping[str, Any], value: Any) -> str:
    """Return the node after the executor. If the executor is blocked for a new reason, a new brief follows. In all
    other cases the check follows, even if the same reason blocks the executor again or its calls are used up."""
    return REASONING if value == action.BLOCKED else CRITIC


def after_critic(_state: Mapping[str, Any], value: Any) -> str:
    """Return the node after the check: a new brief if the technical part is incomplete, a new plan if only the project
    is incomplete, otherwise the report."""
    return {TECHNICAL: REASONING, PROJECT: PLANNER}.get(value, OUTPUT)
