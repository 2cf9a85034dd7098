"""Compile a document to a graph of the engine.

Each node of the document becomes a node of the graph, named by a prefix and its id. A node that joins branches has a
gate before it (`joins.py`). The graph's node `begin` leads to the node at which the run begins; `finish` ends the run
after all its branches have ended.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from arvis.domain.errors import Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.runs import RunResult
from arvis.domain.workflows import PREFIX, STATE, SYSTEM, LogType, WorkflowVersion
from arvis.engine.graph import Decision, Edge, End, Fail, Gate, Goto, Graph, Node, NodeContext
from arvis.ports.store import Transaction
from arvis.services import workflow_runs
from arvis.services.workflow_runs import note_begun, source_for
from arvis.tasks.state import WorkOutcome, WorkStatus
from arvis.workflows.document.kinds import KINDS, SETTINGS, SUBAGENT, Category, Kind
from arvis.workflows.document.view import backwards, label_of, reach
from arvis.workflows.nodes import make_node
from arvis.workflows.runtime import joins, log
from arvis.workflows.runtime.joins import Join, LastOne, gate_of, merges_of, reachable, ways_of
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import BEGIN, FINISH, LAST, NodeParts, NodeSpec, name_of
from arvis.workflows.runtime.texts import Texts
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import VisitLimits, guarded, is_tainted, taint_of, token_of
from arvis.workflows.validation.check import check
from arvis.workflows.validation.fields import is_whole
from arvis.workflows.validation.rules import Severity

# The first and the last node of every graph: the beginning of the run, and its result.


def begin_node(node_ids: Collection[str], error: str = "") -> Node:
    """Return the node that passes the run's input to the run's first node. If `error` is not empty, the run fails with
    this error."""

    async def begin(context: NodeContext) -> Decision:
        context.record(_ensure_run, context.execution, context.now())
        about = context.state[STATE]
        entry = str(about.get("entry", ""))
        wrong = error or ("" if entry in node_ids else f"The workflow has no node “{entry}” to begin at.")
        if wrong:
            log.write(context, [line(SYSTEM, LogType.ERROR, wrong), line(SYSTEM, LogType.RUN_END, "failed")])
            log.announce_state(context)
            return Fail(wrong)
        log.announce_state(context)
        kept = about.get("token")
        token = Token.from_json(kept) if kept is not None else Token(output=about.get("input"))
        return Goto(name_of(entry), token.to_json())

    return begin


def finish_node(document: Mapping[str, Any]) -> Node:
    """Return the node that ends a run. The result of the run is the output of its last branch, as a `RunResult`. Its
    text has harmless links and images only, unlike its output, which is data."""

    async def finish(context: NodeContext) -> Decision:
        token = token_of(context)
        output = token.output
        text = Texts(context.state, token, document, tainted=is_tainted(context)).shown_output()
        outcome = WorkOutcome(WorkStatus.DONE, visible=text)
        log.write_state(context, LogType.RUN_END, "completed")
        result = RunResult(text, "", "", "").to_json() | {
            "outcome": outcome.to_json(),
            "output": output,
            "last": token.source,
        }
        return End(result, taint=sorted(taint_of(context.state)), status_note=outcome.note)

    return finish


def _ensure_run(tx: Transaction, execution: Execution, now: int) -> None:
    """Write the row of a run that another workflow calls. The rows of other runs are written when the runs begin."""
    wait = tx.waits.get(execution.parent_wait) if execution.parent_wait is not None else None
    caller = tx.executions.get(wait.execution_id) if wait is not None else None
    if caller is not None:
        workflow_runs.join(tx, execution, caller, now)
    note_begun(tx, execution, source_for(execution, caller.id if caller is not None else None), now)


#: The maximum number of the engine's steps for one visit of a node: its questions and calls, and the join before it.
_STEPS_OF_A_VISIT = 10
#: The maximum number of rounds of a loop without a body. The engine visits such a loop once per round, with no other
#: node between two visits.
_MOST_ROUNDS = 1_000
#: The maximum number of branches of a run at the same time. A run with more branches is stopped, because its branches
#: probably multiply without limit.
_MOST_BRANCHES = 1_000


def compile_document(document: Mapping[str, Any], parts: NodeParts, name: str) -> Graph:
    """Return the graph of a document; `name` becomes the graph's name. Raise `Unprocessable` if the document has
    errors, so that no part of it is run."""
    errors = [each for each in check(document) if each.severity is Severity.ERROR]
    if errors:
        more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
        raise Unprocessable(f"{errors[0].message}{more}", fix=errors[0].fix, code="workflow_problems")
    drawing = [_spec(node, document) for node in document["nodes"]]
    known = _joins(document, drawing)
    limits = VisitLimits(steps=_setting(document, "maxSteps"), visits=_setting(document, "maxVisits"))
    entrances = {each.id: gate_of(each.id) if each.id in known else name_of(each.id) for each in drawing}
    return Graph(
        name=name,
        start=BEGIN,
        nodes={
            BEGIN: begin_node(frozenset(each.id for each in drawing)),
            FINISH: finish_node(document),
            **{name_of(each.id): guarded(make_node(each, parts), each, limits) for each in drawing},
        },
        edges={name_of(each.id): _edge(each, entrances) for each in drawing},
        # The limits in `guarded` fail the run with an explanation; this limit only stops runs that bypass them.
        max_steps=_STEPS_OF_A_VISIT * limits.steps + 3 * _MOST_BRANCHES,
        counts_visits=True,
        max_repeats=max(limits.visits, _MOST_ROUNDS) + 2,
        max_branches=_MOST_BRANCHES,
        gates={**_gates(drawing, known), LAST: Gate(FINISH, LastOne().open, last=True)},
        breaks=_breaks(document, drawing),
    )


def refusal(name: str, error: str) -> Graph:
    """Return a graph whose run fails immediately, with this error."""
    return Graph(name=name, start=BEGIN, nodes={BEGIN: begin_node(frozenset(), error)}, edges={})


def _setting(document: Mapping[str, Any], name: str) -> Any:
    given = (document.get("settings") or {}).get(name)
    return given if given is not None else next(each.default for each in SETTINGS if each.name == name)


def _spec(node: Mapping[str, Any], document: Mapping[str, Any]) -> NodeSpec:
    kind = KINDS.get(node["type"]) or Kind(str(node["type"]), str(node["type"]), Category.FLOW, "")
    mine = [each for each in document["connections"] if each["source"] == node["id"]]
    return NodeSpec(
        id=node["id"],
        kind=kind,
        label=label_of(node),
        data=node.get("data") or {},
        ways=tuple(each for each in mine if each["sourceHandle"] != SUBAGENT),
        document=document,
        subagents=tuple(each["target"] for each in mine if each["sourceHandle"] == SUBAGENT),
    )


# -- edges -------------------------------------------------------------------------------------------------------------


def _edge(spec: NodeSpec, entrances: Mapping[str, str]) -> Edge:
    """Return the edge after this node. It follows the connections with the handle that the node chose, or all
    connections if the node chose no handle. If the document's setting `unlabelled` is `follow`, it also follows every
    connection without a handle. If it can follow no connection, the branch ends without an error."""
    always = spec.document.get("settings", {}).get("unlabelled") == "follow"

    def lead(_state: Mapping[str, Any], value: Any) -> Sequence[str]:
        chosen = Token.from_json(value).handle
        ways = [
            each["target"]
            for each in spec.ways
            if chosen is None or each["sourceHandle"] == chosen or (always and not each["sourceHandle"])
        ]
        return [entrances[target] for target in ways if target in entrances] or [LAST]

    return lead


def joins_of(document: Mapping[str, Any]) -> dict[str, Join]:
    """Return the joins of a document without errors, by node."""
    return _joins(document, [_spec(node, document) for node in document["nodes"]])


# -- joins -------------------------------------------------------------------------------------------------------------


def _joins(document: Mapping[str, Any], drawing: Sequence[NodeSpec]) -> dict[str, Join]:
    """Return the join of each node that has a join rule, by the id of the node."""
    ways, order = ways_of(document), {each.id: index for index, each in enumerate(drawing)}
    merges = merges_of(document)
    back = backwards(ways)
    found = dict[str, Join]()
    for each in drawing:
        if (rule := _rule(each)) is not None:
            closes = frozenset(parallel for parallel, merge in merges.items() if merge == each.id)
            around = reach(back.get(each.id, ()), back, closes.__contains__) - closes
            found[each.id] = Join(
                id=each.id,
                rule=rule,
                before=_places(reachable(back, each.id)),
                order=order,
                count=max(1, each.data["joinCount"]) if rule == joins.COUNT else 1,
                merges=each.kind.name == "merge",
                closes=closes,
                around=_places(around),
            )
    return found


def _places(nodes: Iterable[str]) -> frozenset[str]:
    """Return the engine's names of the nodes, and of the gates before them."""
    return frozenset(name for each in nodes for name in (name_of(each), gate_of(each)))


def _rule(spec: NodeSpec) -> str | None:
    """Return the join rule of a node; None if the node runs once for every arrival. A loop has no join rule, because
    the loop itself distinguishes new entries from the ends of its rounds. `joinCount` is checked here, because the
    fields of unknown kinds were not checked before."""
    rule = spec.data.get("join") if spec.kind.name != "loop" else None
    if spec.kind.name == "merge" and rule in {None, "", "each"}:
        return joins.ANY if spec.data.get("strategy") == "first" else joins.ALL
    if rule == joins.COUNT and not is_whole(spec.data.get("joinCount")):
        return None
    return rule if rule in (joins.ALL, joins.ANY, joins.COUNT) else None


def _gates(drawing: Sequence[NodeSpec], known: Mapping[str, Join]) -> dict[str, Gate]:
    labels = {each.id: each.label for each in drawing}
    return {
        gate_of(join.id): Gate(name_of(join.id), join.open, f"“{labels[join.id]}”", watch=join.watch)
        for join in known.values()
    }


def _breaks(document: Mapping[str, Any], drawing: Sequence[NodeSpec]) -> frozenset[str]:
    """Return the nodes that pause the whole run. These are the nodes that ask people. There are none if the document's
    setting `pauses` lets other branches continue."""
    if _setting(document, "pauses") == "branch":
        return frozenset()
    return frozenset(name_of(each.id) for each in drawing if each.kind.asks)


# -- graphs of executions ----------------------------------------------------------------------------------------------


#: Maximum compiled graphs in memory; the least recently used graphs are dropped first.
_MOST_KEPT = 64


class WorkflowGraphs:
    """A cache of the graphs of workflow versions. Each version is compiled once, because it never changes."""

    def __init__(self, *, parts: NodeParts) -> None:
        self._parts = parts
        self._kept: OrderedDict[tuple[str, int], Graph] = OrderedDict()
        self._lock = Lock()  # reads of the store run in several threads

    def find(self, tx: Transaction, execution: Execution) -> Graph | None:
        """Return the graph of this execution; None if the execution runs no workflow. If the version of the workflow is
        missing or has errors, the returned graph fails the run."""
        if not execution.graph.startswith(PREFIX) or STATE not in execution.state:
            return None
        about = execution.state[STATE]
        key = (str(about["id"]), int(about["version"]))
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known
        version = tx.workflows.version(*key)
        if version is None:
            return refusal(execution.graph, f"There is no version {key[1]} of this workflow.")
        if version.problems:
            return refusal(execution.graph, f"Version {key[1]} of this workflow cannot run.")
        graph = self._compiled(version, execution.graph)
        with self._lock:
            self._kept[key] = graph
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return graph

    def _compiled(self, version: WorkflowVersion, name: str) -> Graph:
        try:
            return compile_document(version.document, self._parts, name)
        except Unprocessable as error:
            return refusal(name, " ".join(filter(None, [error.what, error.fix])))
