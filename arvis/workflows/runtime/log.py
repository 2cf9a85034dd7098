"""The log of a run: lines are written in the same commit as their step, and announced after the commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arvis.domain.events import Changed, RunAdvanced
from arvis.domain.text import storable
from arvis.domain.workflows import SYSTEM, LogType
from arvis.engine import lifecycle
from arvis.engine.graph import NodeContext
from arvis.graphs.agent.subagents import DELEGATES, close_calls
from arvis.ports.store import Transaction

#: Maximum characters of a line; longer lines are cut.
LONGEST_LINE = 20_000
_CUT = " […]"

#: A line of the log: the id of its node (or `system`), its type, and its content.
Line = tuple[str, str, str]


def line(node_id: str, kind: str, content: Any = "") -> Line:
    """Make a line. `kind` is a `LogType`, or a type that the kind of the node declares. `content` is a text, or a value
    that becomes JSON."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
    text = storable(text)
    return node_id, str(kind), text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}{_CUT}"


def write(context: NodeContext, lines: Sequence[Line]) -> None:
    """Write the lines in the same commit as this step, and announce them to clients that watch the run."""
    if lines:
        run_id = context.execution.id
        context.record_of_step(_write, run_id, list(lines), context.now())
        context.publish_after_commit(RunAdvanced(run_id))


def write_state(context: NodeContext, kind: LogType, content: Any = "") -> None:
    """Write a line about the run as a whole: it begins, pauses or ends."""
    write(context, [line(SYSTEM, kind, content)])
    announce_state(context)


def announce_state(context: NodeContext) -> None:
    """Announce that the state of the run has changed, so that lists of runs show the new state."""
    context.publish_after_commit(Changed("workflows", context.execution.id))


def _write(tx: Transaction, run_id: str, lines: Sequence[Line], now: int) -> None:
    """Write the lines. If the last line ends the run, first write an end for each call of a subagent that has no
    end, so that the last line stays last."""
    _explain(tx, run_id, lines, now)
    *before, last = lines
    if last[1] != LogType.RUN_END:
        tx.workflow_runs.log(run_id, lines, now)
        return
    tx.workflow_runs.log(run_id, before, now)
    execution = tx.executions.get(run_id)
    if execution is not None and execution.state.get(DELEGATES):
        close_calls(tx, run_id, f"The run has ended: {last[2]}.", now)
    tx.workflow_runs.log(run_id, [last], now)


def _explain(tx: Transaction, run_id: str, lines: Sequence[Line], now: int) -> None:
    """Add the warnings among these lines to the explanation of the message that the run answers."""
    warnings = [(node_id, content) for node_id, kind, content in lines if kind == LogType.WARNING]
    execution = tx.executions.get(run_id) if warnings else None
    if execution is None:
        return
    message_ids = [message.id for message in tx.messages.of_turn(lifecycle.root_of(tx, execution).id)]
    for node_id, content in warnings:
        tx.timeline.note(message_ids, "warning", {"node": node_id, "warning": content}, now)
