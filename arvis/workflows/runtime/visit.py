"""One visit of a node: its limits, the data that it stores, its agent and tools, its questions to a model, and its
success or failure.

Every output is stored in the execution's state under `out:` and the id of its node, for templates and for the end of
the run. Different branches write different keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ExecutionError, sentences
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.taint import CLEAN, Taint, taint_in
from arvis.domain.workflows import MADE, OUTPUT, SYSTEM, LogType
from arvis.engine.graph import Call, Decision, Fail, Goto, Node, NodeContext, Pause
from arvis.graphs.agent.subagents import words_of
from arvis.graphs.context import narrowed
from arvis.ports.store import Store, Transaction
from arvis.tasks.access import asker_of, may_reach, refusal
from arvis.tasks.state import RUN, TaskSpec, WorkState, child_end
from arvis.tasks.task import GRAPH, child_state
from arvis.workflows.runtime import joins, templates
from arvis.workflows.runtime import log as run_log
from arvis.workflows.runtime.log import Line, line
from arvis.workflows.runtime.parts import NodeSpec
from arvis.workflows.runtime.texts import Texts
from arvis.workflows.runtime.token import Token, bounded, proceed

# -- limits, beginning and errors of a visit ---------------------------------------------------------------------------


#: The number of visits of nodes that are not in the document: one visit of `begin`.
_VISITS_OF_BEGIN = 1


@dataclass(frozen=True, slots=True)
class VisitLimits:
    """The limits of one run."""

    #: The maximum visits of all nodes together.
    steps: int
    #: The maximum visits of one node on one path. Inside a loop, each round of the loop has this limit.
    visits: int


def guarded(node: Node, spec: NodeSpec, limits: VisitLimits) -> Node:
    """Return the node with the limits of visits enforced. An `ExecutionError` fails only the branch of the node."""

    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        if (excess := _excess(context, spec, token, limits)) is not None:
            run_log.write(context, [line(spec.id, LogType.ERROR, excess), line(SYSTEM, LogType.RUN_END, "failed")])
            run_log.announce_state(context)
            return Fail(excess)
        if context.answer is None:
            run_log.write(context, _beginning(spec, token))
        try:
            decision = await node(context)
        except ExecutionError as error:
            return fail_branch(context, spec, token, sentences(f"{error.what.rstrip('.')}.", error.why, error.fix))
        if isinstance(decision, Pause):
            run_log.announce_state(context)
        return decision

    return visit


def _excess(context: NodeContext, spec: NodeSpec, token: Token, limits: VisitLimits) -> str | None:
    if context.visited - _VISITS_OF_BEGIN >= limits.steps:
        return f"The run made more than {limits.steps} steps; it was at “{spec.label}”."
    if token.visits.get(spec.id, 0) >= limits.visits:
        return f"The run visited “{spec.label}” more than {limits.visits} times."
    return None


def _beginning(spec: NodeSpec, token: Token) -> list[Line]:
    lines = [line(spec.id, LogType.STEP_START, f"{spec.kind.label}: {spec.label}")]
    if token.joined:
        count = len(token.joined)
        lines.append(
            line(spec.id, LogType.JOIN, f"{count} {'branch has' if count == 1 else 'branches have'} come together")
        )
    return lines


# -- the agent of a node and its tools: never more than the run itself may use -----------------------------------------


#: An agent with one of these graphs works in its own graph in a workflow, too. Every other agent works in `GRAPH`.
_MANNERS = frozenset({"agent", "code"})
_WEB_SEARCH = "web_search"


def worker(tx: Transaction, execution: Execution, data: Mapping[str, Any]) -> Agent:
    """Return the agent that a node names by id or slug, or the run's agent if the node names none. Raise
    `ExecutionError` if the agent does not exist, is not active, or may not be used by the person for whom the run
    works. A workflow grants no rights."""
    own_id = WorkState.from_json(execution.state).agent
    own = tx.agents.get(own_id)
    wanted = str(data.get("agent") or "").strip()
    target = (tx.agents.get(wanted) or tx.agents.by_slug(wanted)) if wanted else own
    if target is None:
        raise ExecutionError(f"There is no agent {wanted or own_id}", fix="Choose another agent.")
    if not target.active:
        raise ExecutionError(f"The agent {target.slug} is not active", fix="Activate it, or choose another agent.")
    asker = asker_of(tx, execution, own)
    own_one = own is not None and target.id == own.id and refusal(tx, target, asker) is None
    if own is None or not (own_one or may_reach(tx, target, asker)):
        raise ExecutionError(
            f"The agent {target.slug} may not be used in this run",
            why="The person for whom the run works may not use this agent here.",
            fix="Choose another agent, or let an owner or operator start the run.",
        )
    return target


def is_chosen(data: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Return whether the node or the settings of the document name an agent. If not, the run's own agent does the work;
    if this agent is the conductor, it works without its special rights."""
    return any(str(each.get("agent") or "").strip() for each in (data, document.get("settings") or {}))


def tools_of(agent: Agent, data: Mapping[str, Any], state: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the tools to which the node and the task of the run limit the agent; None if the agent may use all its
    tools."""
    allowed: Sequence[str] | None = state.get(RUN, {}).get("tools")
    if named := data.get("allowTools"):
        allowed = named if allowed is None else narrowed(named, allowed)
    if (data.get("tools") or {}).get(_WEB_SEARCH) is False and _WEB_SEARCH in agent.tools:
        allowed = [each for each in (agent.tools if allowed is None else allowed) if each != _WEB_SEARCH]
    return allowed


def graph_of(agent: Agent, *, delegates: bool) -> str:
    """Return the graph in which the agent works. An agent that writes scripts also does so in a workflow, unless it has
    to call subagents (`delegates`), because scripts cannot call them."""
    return agent.graph if agent.graph in _MANNERS and not delegates else GRAPH


# -- the output of a node, and questions to a model --------------------------------------------------------------------


#: The key of taint labels in the run's state, and in the part of the state that belongs to a node.
_TAINT = "taint"
#: Maximum characters of a warning that is stored for a node.
_LONGEST_WARNING = 1_000


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply."""

    text: str
    #: The error; empty if the model replied.
    error: str = ""
    #: The taint of the sources that the model read.
    taint: Taint = CLEAN


def token_of(context: NodeContext) -> Token:
    """Return the token with which the position arrived at this node."""
    return Token.from_json(context.value)


def fill(text: str, context: NodeContext, token: Token) -> str:
    """Return the text with its templates replaced by the values of the run. The result is for comparisons, not for readers."""
    return templates.fill(text, templates.known_in(context.state, token))


def texts_of(spec: NodeSpec, context: NodeContext, token: Token) -> Texts:
    """Return the texts of this visit for people and agents."""
    return Texts(context.state, token, spec.document, tainted=is_tainted(context))


def taint_of(state: Mapping[str, Any]) -> Taint:
    """Return the taint of everything that the run has read so far. The labels are stored under a key of the whole run
    and with each node. Both are read, because two branches that end at the same time can overwrite each other's labels
    under the key of the run."""
    kept = [each for name, each in state.items() if name.startswith(OUTPUT) and isinstance(each, dict)]
    return taint_in(state, *kept)


def is_tainted(context: NodeContext) -> bool:
    """Return whether the run has read untrusted text. Its decisions may be based on such text."""
    return bool(taint_of(context.state))


def succeed(
    context: NodeContext,
    spec: NodeSpec,
    token: Token,
    output: Any,
    *,
    handle: str | None = None,
    log: Sequence[Line] = (),
    tainted: bool = False,
    taint: Taint = CLEAN,
    made: bool = False,
    **changes: Any,
) -> Decision:
    """End the visit with this output, and follow the connections with this handle. `log`: lines (`log.line`) to write
    for the node. `tainted`: True if the node's decision was based on untrusted text. `taint`: the taint of this node's
    children. `made`: True if a script may have made addresses in the output. `changes`: further changes of the state."""
    taken = [each for each in spec.ways if handle is None or each["sourceHandle"] in {handle, ""}]
    output = bounded(output, context.state, spec.id, context.branches + max(len(taken), 1) - 1)
    end_note = " ".join(filter(None, [handle or "", "(tainted)" if tainted else ""]))
    run_log.write(context, [*log, line(spec.id, LogType.STEP_END, end_note)])
    known = taint_of(context.state) | taint
    kept: dict[str, Any] = {"output": output, "label": spec.label, "at": context.now(), "handle": handle}
    kept |= {"came": token.origin(), **({"tainted": True} if tainted else {})}
    kept |= {_TAINT: sorted(taint)} if taint else {}
    kept |= {MADE: True} if made else {}
    kept |= {"warnings": warnings} if (warnings := warnings_in(log)) else {}
    moved = _counted(token, spec).on(spec.id, output, handle)
    return proceed(moved, **{OUTPUT + spec.id: kept, _TAINT: sorted(known), **changes})


def warnings_in(log: Sequence[Line]) -> list[str]:
    """Return the texts of the warnings among these lines, each short enough for the state of a run."""
    return [content[:_LONGEST_WARNING] for _, kind, content in log if kind == LogType.WARNING]


def fail_branch(
    context: NodeContext,
    spec: NodeSpec,
    token: Token,
    error: str,
    *,
    log: Sequence[Line] = (),
    kind: LogType = LogType.ERROR,
    taint: Taint = CLEAN,
    **changes: Any,
) -> Decision:
    """Fail this branch. Inside a `parallel` with a merge, the branch continues at the merge with the error; elsewhere
    the run fails. `log`: lines to write before the line with the error. `kind`: the type of the error's line. `taint`:
    the taint of this node's children."""
    error = texts_of(spec, context, token).error(error)
    merge = joins.merge_behind(spec.document, spec.id, token.regions)
    kept: dict[str, Any] = {"output": None, "label": spec.label, "at": context.now(), "failed": error}
    kept |= {_TAINT: sorted(taint), "came": token.origin()}
    changes = {OUTPUT + spec.id: kept, _TAINT: sorted(taint_of(context.state) | taint), **changes}
    lines = [*log, line(spec.id, kind, error)]
    if merge is None:
        run_log.write(context, [*lines, line(SYSTEM, LogType.RUN_END, "failed")])
        run_log.announce_state(context)
        return Fail(f"{spec.label}: {error}", **changes)
    context.record(_settle, context.execution, context.now())
    run_log.write(context, [*lines, line(spec.id, LogType.BRANCH_FAILED, f"The run continues at {merge.label}.")])
    failed = replace(_counted(token, spec).on(spec.id, None), failed=f"{spec.label}: {error}")
    return Goto(merge.gate, failed.to_json(), **changes)


def _settle(tx: Transaction, execution: Execution, now: int) -> None:
    """Cancel the failed jobs of the run's children, because the run itself handles these failures."""
    for child in tx.executions.children_of(execution.id):
        if child.status is ExecutionStatus.FAILED:
            tx.jobs.cancel_failed(child.id, now)


async def ask_model(
    context: NodeContext,
    spec: NodeSpec,
    prompt: str,
    *,
    store: Store,
    **changes: Any,
) -> Call:
    """Return the call in which the agent of this node answers one question without tools. When the answer has arrived,
    the engine visits the node again, and the node reads the answer with `model_reply`. Raise `ExecutionError` if the
    run may not use the agent."""
    task = TaskSpec(
        prompt=prompt,
        completion="implicit",
        tools=(),
        taint=taint_of(context.state),
        plain=True,
    )
    agent = await store.read(worker, context.execution, spec.data)
    return Call("agent", child_state(context.state, task, agent_id=agent.id), **changes)


async def model_reply(context: NodeContext, *, store: Store) -> ModelReply:
    """Return the reply of the child whose end caused this visit. Raise `ExecutionError` if no child caused it."""
    if context.answer is None:
        raise ExecutionError("This node asked no question")
    end = child_end(context.answer)
    taint = await children_taint(context, store=store)
    if end.outcome is None:
        return ModelReply("", end.error, taint)
    return ModelReply(words_of(end.outcome), taint=taint)


async def children_taint(context: NodeContext, *, store: Store) -> Taint:
    """Return the taint of this execution's children."""
    return await store.read(_children_taint, context.execution)


def _children_taint(tx: Transaction, execution: Execution) -> Taint:
    return taint_in(*(child.state for child in tx.executions.children_of(execution.id)))


def _counted(token: Token, spec: NodeSpec) -> Token:
    """Count one more visit of this node on this path."""
    return replace(token, visits={**token.visits, spec.id: token.visits.get(spec.id, 0) + 1})


# -- the data that a visit stores between its children or questions ----------------------------------------------------


#: The prefix of the state's keys for the data that a visit stores; the id of the position follows the prefix.
AT = "at:"


def kept_state(context: NodeContext, prefix: str = AT) -> Mapping[str, Any]:
    """Return the data that this visit has stored; empty at the beginning of the visit."""
    cursor_id, visit = context.place
    found: Mapping[str, Any] = context.state.get(prefix + cursor_id) or {}
    return found if found.get("visit") == visit else {}


def keep_state(context: NodeContext, values: Mapping[str, Any], prefix: str = AT) -> dict[str, Any]:
    """Return the change of the state that stores these values until the visit ends."""
    cursor_id, visit = context.place
    return {prefix + cursor_id: {**values, "visit": visit}}


def drop_state(context: NodeContext, prefix: str = AT) -> dict[str, Any]:
    """Return the change of the state that deletes the stored data of the visit, for its end."""
    return {prefix + context.place[0]: None}
