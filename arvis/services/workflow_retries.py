"""Retries of failed steps in the log of a run: the number of the attempt, its error and the time of the next one.

Part of a script: it is written with the postponement itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.executions import Execution
from arvis.domain.explanation import duration
from arvis.domain.jobs import CALLED, Job, Retry, Snooze
from arvis.domain.reasons import in_words
from arvis.domain.workflows import POSITION, SYSTEM, LogType
from arvis.ports.store import Transaction
from arvis.services.workflow_runs import is_workflow

#: The most characters of an error.
_LONGEST = 1_000


def tell(tx: Transaction, job: Job, execution: Execution, outcome: Retry | Snooze, now: int) -> str | None:
    """Write the line for the run that this job works for, at the node that waits for it. Return the id of the run for
    its watchers; None if there is no such run, or it waits only for its own children."""
    found = _run_of(tx, execution)
    if found is None or (isinstance(outcome, Snooze) and outcome.reason == CALLED):
        return None
    run_id, node = found
    when = duration(max(outcome.run_at - now, 0))
    if isinstance(outcome, Retry):
        text = f"Try {job.attempts + 1} failed: {outcome.error[:_LONGEST]} The next one is in {when}."
    else:
        text = f"It waits for {when}: {in_words(outcome.reason)}."
    tx.workflow_runs.log(run_id, [(node, LogType.WARNING.value, text)], now)
    return run_id


def tell_tools(tx: Transaction, execution_id: str, told: Sequence[Mapping[str, Any]], now: int) -> None:
    """Write the tool calls of an agent that works for a run, at its node; `told` as stored in the timeline."""
    execution = tx.executions.get(execution_id)
    found = _run_of(tx, execution) if execution is not None and execution.parent_wait is not None else None
    if found is None:
        return
    run_id, node = found
    lines = [
        line
        for each in told
        for line in (
            (node, LogType.TOOL_CALL.value, json.dumps({"tool": each["tool"], "arguments": each["arguments"]})),
            (node, LogType.TOOL_RESULT.value, f"{'failed: ' if each['failed'] else ''}{each['output']}"),
        )
    ]
    tx.workflow_runs.log(run_id, lines, now)


def run_of(tx: Transaction, execution_id: str) -> str | None:
    """Return the id of the nearest run of a workflow that an execution is, or works for."""
    execution = tx.executions.get(execution_id)
    found = _run_of(tx, execution) if execution is not None else None
    return found[0] if found is not None else None


def _run_of(tx: Transaction, execution: Execution) -> tuple[str, str] | None:
    """The nearest run of a workflow above this execution, and its node that waits for it."""
    node = SYSTEM
    while not is_workflow(execution):
        wait = tx.waits.get(execution.parent_wait) if execution.parent_wait is not None else None
        above = tx.executions.get(wait.execution_id) if wait is not None else None
        if wait is None or above is None:
            return None
        places = {cursor.id: cursor.node for cursor in tx.executions.cursors(above.id)} if is_workflow(above) else {}
        node = places.get(wait.cursor_id, "").removeprefix(POSITION) or SYSTEM
        execution = above
    return execution.id, node
