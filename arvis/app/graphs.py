"""Builds the graphs that executions run, and gives the nodes of the graphs the parts that they need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field

from arvis.actions.change_approvals import proposal_graph
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.engine.graph import Graph
from arvis.graphs.agent.files import FileRules
from arvis.graphs.agent.graph import PREPARE, AgentParts, agent_graph
from arvis.graphs.agent.plugins import Extending
from arvis.graphs.agent.prompt import PromptBuilder
from arvis.graphs.agent.tool_protocols import CodeTools
from arvis.graphs.agent.tools import ToolRules
from arvis.graphs.compaction.graph import Compactor, Measures, compaction_graph
from arvis.graphs.evaluation.graph import EvaluationParts, evaluation_graph
from arvis.graphs.handover.graph import ConverseParts, converse_graph
from arvis.graphs.heartbeat import HeartbeatParts, heartbeat_graph
from arvis.graphs.model import ModelCaller
from arvis.graphs.planning.graph import planning_graph
from arvis.graphs.planning.state import PLAN_RETRIEVAL
from arvis.graphs.reset import reset_graph
from arvis.graphs.workflow_dispatch import dispatch_graph
from arvis.llm.budgets import BudgetSession
from arvis.llm.runner import Runner
from arvis.llm.tokens import estimator_of
from arvis.plugins import NoPlugins, Plugins
from arvis.ports.conversations import Calibration
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.ports.transcriber import Speaker
from arvis.prompt import Budget
from arvis.skills import Skill
from arvis.tools.code import Workbench
from arvis.workflows.compiler import WorkflowGraphs
from arvis.workflows.runtime.parts import NodeParts


@dataclass(frozen=True, slots=True)
class GraphParts:
    """The parts of all graphs. `skills` returns the current skills. `summarizer` is the model that writes summaries
    (None: the agent's model). `reply_bytes` is the maximum size of a reply. If `bench` is None, the graph `code` does
    not exist."""

    store: Store
    runner: Runner
    budget: BudgetSession
    tools: ToolRules
    skills: Callable[[], Awaitable[Collection[Skill]]]
    new_id: Callable[[], str]
    files: FileRules
    summarizer: str | None = None
    reply_bytes: int = 262_144
    continuations: int = 0
    speaker: Speaker | None = None
    loops: int = 40
    bench: Workbench | None = None
    plugins: Plugins = field(default_factory=NoPlugins)
    meaning: MeaningOf = no_meaning
    #: The search of messages, which evaluations of the search call.
    insights: Insights | None = None


def build_graphs(parts: GraphParts) -> Mapping[str, Graph]:
    """Return the graphs by name."""
    caller, rules = ModelCaller(runner=parts.runner, budget=parts.budget), parts.tools
    agent = AgentParts(
        store=parts.store,
        caller=caller,
        prompt_builder=PromptBuilder(runner=parts.runner, zone=rules.timezone),
        skills=parts.skills,
        compactor=_compactor(parts, caller, after=PREPARE),
        tools=rules,
        files=parts.files,
        extending=Extending(store=parts.store, plugins=parts.plugins, sessions=rules.sessions, zone=rules.timezone),
        reply_bytes=parts.reply_bytes,
        continuations=parts.continuations,
        speaker=parts.speaker,
        loops=parts.loops,
        meaning=parts.meaning,
    )
    graphs = (
        agent_graph(agent),
        *(
            [agent_graph(agent, CodeTools(registry=rules.registry, permit=rules.permit, bench=parts.bench))]
            if parts.bench
            else []
        ),
        converse_graph(ConverseParts(store=parts.store, files=parts.files)),
        planning_graph(replace(agent, compactor=_compactor(parts, caller, after=PLAN_RETRIEVAL))),
        heartbeat_graph(HeartbeatParts(store=parts.store, skills=parts.skills, zone=parts.tools.timezone)),
        compaction_graph(_compactor(parts, caller, after=None)),
        proposal_graph(deadline_ms=rules.approval_ms, on_expiry=rules.on_expiry),
        dispatch_graph(),
        evaluation_graph(
            EvaluationParts(
                store=parts.store,
                caller=caller,
                prompt_builder=agent.prompt_builder,
                skills=parts.skills,
                registry=rules.registry,
                rounds=rules.rounds,
                reply_bytes=parts.reply_bytes,
                insights=parts.insights,
                meaning=parts.meaning,
            )
        ),
        reset_graph(store=parts.store, plugins=parts.plugins, sessions=rules.sessions, zone=rules.timezone),
    )
    return {graph.name: graph for graph in graphs}


def _compactor(parts: GraphParts, caller: ModelCaller, *, after: str | None) -> Compactor:
    def budget(agent: Agent) -> Budget:
        window = parts.runner.profile(agent.model, agent.fallbacks).window
        if parts.summarizer is not None:
            window = min(window, parts.runner.profile(parts.summarizer).window)
        return Budget(window, agent.context_tokens)

    def counter(agent: Agent, known: Sequence[Calibration]) -> Callable[[str], int]:
        asked = {
            parts.runner.profile(agent.model, agent.fallbacks).name,
            parts.runner.profile(parts.summarizer or agent.model).name,
        }
        by_model = {each.model: each for each in known}
        estimators = [estimator_of(by_model.get(model)) for model in asked]
        return lambda text: max(estimator.tokens(text) for estimator in estimators)

    return Compactor(
        store=parts.store,
        runner=parts.runner,
        caller=caller,
        measures=Measures(
            ceiling=lambda agent: budget(agent).ceiling,
            usable=lambda agent: budget(agent).usable,
            counter=counter,
        ),
        new_id=parts.new_id,
        summarizer=parts.summarizer,
        after=after,
    )


def drawn_graphs(parts: GraphParts) -> WorkflowGraphs:
    return WorkflowGraphs(
        parts=NodeParts(
            store=parts.store,
            rules=parts.tools,
            plugins=parts.plugins,
        )
    )
