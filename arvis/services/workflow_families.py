"""All workflow runs that follow from one beginning: counted together, so that workflows that start one another end,
and charged to the budget of one question (reliability.md T5). Parts of scripts.

A child run belongs to its caller anyway; runs that were started separately, transferred to, or started by an agent
are recorded below the turn or run at the root.
"""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.errors import ExecutionError, Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.messages import Principal
from arvis.engine import lifecycle
from arvis.ports.changes import Delegation
from arvis.ports.store import Transaction
from arvis.tasks.access import RUNS_THE_HOUSE

#: The most concurrent runs for a user who is neither owner nor operator.
MOST_AT_ONCE = 5
#: The most runs from one beginning.
MOST_RUNS = 1_000
_RUN = "run"


def check_room(tx: Transaction, execution: Execution) -> None:
    """Raises `ExecutionError` where nothing more may be begun of what this execution belongs to."""
    top = lifecycle.root_of(tx, execution)
    given = tx.delegations.get(top.id)
    if tx.delegations.runs_of_root(given.root_id if given is not None else top.id) >= MOST_RUNS:
        raise ExecutionError(
            f"This has led to {MOST_RUNS} runs of workflows already",
            why="workflows that begin one another would never end",
            fix="remove the node by which one of them calls itself, or begin with less",
        )


def check_pace(tx: Transaction, person: Principal | None) -> None:
    """Raise `Unprocessable` if the person has the most concurrent runs; owners and operators have no limit."""
    if person is None or person.role in RUNS_THE_HOUSE:
        return
    going = sum(each.principal_id == person.id for each in tx.workflow_runs.at_work(MOST_RUNS))
    if going >= MOST_AT_ONCE:
        raise Unprocessable(
            f"{MOST_AT_ONCE} workflows that you began are still at work.",
            fix="Wait until one of them ends, or end them with /stop.",
            code="too_many_runs",
        )


def join(tx: Transaction, begun: Execution, of: Execution, now: int) -> None:
    """Count this run among those of another one, or of a turn. Nothing happens the second time."""
    tx.executions.put_below(begun.id, of.id)
    if tx.delegations.get(begun.id) is not None:
        return
    top = lifecycle.root_of(tx, of)
    given = tx.delegations.get(top.id)
    agent = str(begun.state["agent"])
    path = given.path if given is not None else (str(top.state["agent"]),)
    tx.delegations.add(
        Delegation(
            execution_id=begun.id,
            root_id=given.root_id if given is not None else top.id,
            parent_id=of.id,
            agent_id=agent,
            depth=given.depth if given is not None else 0,
            path=path if path[-1] == agent else (*path, agent),
            kind=_RUN,
            created_at=now,
        )
    )


def take_place(tx: Transaction, begun: Execution, of: Execution, now: int) -> None:
    """The same for what answers a turn instead of another execution: a task that an agent gave stays that task."""
    given = tx.delegations.get(of.id)
    if given is None:
        join(tx, begun, of, now)
    else:
        tx.delegations.add(replace(given, execution_id=begun.id, created_at=now))
    # Earlier work is a part of the same family.
    tx.executions.put_below(begun.id, of.begun_by or "")
    tx.executions.put_below(of.id, begun.id)
