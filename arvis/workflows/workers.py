"""Who does the work of a node, and with which tools: never more than the run itself may reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.agents.reach import asker_of, may_reach, refusal
from arvis.agents.runs import GRAPH, RUN
from arvis.agents.standing import narrowed
from arvis.domain.agents import Agent
from arvis.domain.errors import ExecutionError
from arvis.domain.executions import Execution
from arvis.ports.store import Transaction

#: Graphs that work in their own manner where an agent has them.
_MANNERS = frozenset({"agent", "code"})
_WEB_SEARCH = "web_search"


def worker(tx: Transaction, execution: Execution, data: Mapping[str, Any]) -> Agent:
    """The agent that a node names by its id or slug; else the run's. Raises `ExecutionError` where it is gone, or out of reach for
    whom the run works for: a drawing opens no door."""
    own = tx.agents.get(execution.state["agent"])
    wanted = str(data.get("agent") or "").strip()
    target = (tx.agents.get(wanted) or tx.agents.by_slug(wanted)) if wanted else own
    if target is None:
        raise ExecutionError(f"There is no agent {wanted or execution.state['agent']}", fix="choose another one")
    if not target.active:
        raise ExecutionError(f"The agent {target.slug} is not active", fix="let it go on, or choose another one")
    asker = asker_of(tx, execution, own)
    own_one = own is not None and target.id == own.id and refusal(tx, target, asker) is None
    if own is None or not (own_one or may_reach(tx, target, asker)):
        raise ExecutionError(
            f"The agent {target.slug} is out of reach",
            why="whom this run works for may not reach it from here",
            fix="choose another one, or let an owner or operator begin the run",
        )
    return target


def is_chosen(data: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Return whether somebody chose the agent of this node, by the node or for the whole document. Where nobody has, the run's own does
    the work, and a conductor does it without its powers."""
    return any(str(each.get("agent") or "").strip() for each in (data, document.get("settings") or {}))


def tools_of(agent: Agent, data: Mapping[str, Any], state: Mapping[str, Any]) -> Sequence[str] | None:
    """The only tools that it may use of its own, by the node and by the errand of the run; None: all."""
    allowed: Sequence[str] | None = state.get(RUN, {}).get("tools")
    if named := data.get("allowTools"):
        allowed = named if allowed is None else narrowed(named, allowed)
    if (data.get("tools") or {}).get(_WEB_SEARCH) is False and _WEB_SEARCH in agent.tools:
        allowed = [each for each in (agent.tools if allowed is None else allowed) if each != _WEB_SEARCH]
    return allowed


def graph_of(agent: Agent, *, delegates: bool) -> str:
    """Who writes scripts does so here, too, unless it is to ask other agents, which no script does."""
    return agent.graph if agent.graph in _MANNERS and not delegates else GRAPH
