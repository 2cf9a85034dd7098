"""Ending what runs in a place at somebody's word. Scripts; what they return is announced after the commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from arvis.agents import cancelling
from arvis.agents.cancelling import CancelledTurn
from arvis.agents.runs import source_of
from arvis.agents.streamed import Shown, nothing_shown
from arvis.domain.conversations import Conversation
from arvis.domain.executions import PERSONAL_WAITS, WaitKind
from arvis.domain.messages import Address
from arvis.graph import lifecycle
from arvis.ports.store import Transaction

#: So many runs of the house are looked at.
_MOST_RUNS = 1_000
#: What a turn may wait for that can be stopped: people, and what it called.
_STOPPABLE = (*sorted(PERSONAL_WAITS), WaitKind.CHILD, WaitKind.TIMER)


def stop_turns(
    tx: Transaction,
    address: Address,
    by: str,
    now: int,
    *,
    asked_by: str | None = None,
    shown: Shown = nothing_shown,
) -> list[CancelledTurn]:
    """Cancel the turn that runs, or is the next to run, and those that wait for people, with each agent of this place;
    what waits behind stays. `asked_by`: only those that this principal asked for."""
    talks = tx.conversations.in_place(address)
    lanes = [conversation.lane for conversation in talks]
    for execution_id in _stoppable(tx, lanes, asked_by):
        lifecycle.hold_children(tx, execution_id)
    tx.jobs.lock([address.lane, *lanes])
    found = _stoppable(tx, lanes, asked_by)
    stopped = [cancelling.cancel_turn(tx, execution_id, by, now, shown=shown) for execution_id in found]
    return [*stopped, *_stop_runs(tx, {talk.id for talk in talks}, by, now, asked_by)]


def stop_waiting(
    tx: Transaction, conversation: Conversation, by: str, now: int, *, asked_by: str | None = None
) -> list[CancelledTurn]:
    """Cancel what waits in a conversation for people, or for what it called; what runs itself goes on. `asked_by` as above."""
    for execution_id in _waiting(tx, conversation.lane, asked_by):
        lifecycle.hold_children(tx, execution_id)
    tx.jobs.lock([conversation.address.lane, conversation.lane])
    return [cancelling.cancel_turn(tx, each, by, now) for each in _waiting(tx, conversation.lane, asked_by)]


def _stop_runs(
    tx: Transaction, talks: Collection[str], by: str, now: int, asked_by: str | None
) -> Iterator[CancelledTurn]:
    """The runs of workflows that somebody began there: they have lanes of their own."""
    for execution in tx.workflow_runs.at_work(_MOST_RUNS):
        here = execution.state.get("conversation") in talks and source_of(execution) == "chat"
        if here and asked_by in {None, execution.principal_id}:
            yield cancelling.cancel_turn(tx, execution.id, by, now)


def _waiting(tx: Transaction, lane: str, asked_by: str | None) -> list[str]:
    found = [wait.execution_id for kind in _STOPPABLE for wait in tx.waits.open_in_lane(lane, kind)]
    return [each for each in _roots(tx, found) if asked_by is None or _is_of(tx, each, asked_by)]


def _stoppable(tx: Transaction, lanes: Sequence[str], asked_by: str | None) -> list[str]:
    heads = [tx.jobs.head_of_lane(lane) for lane in lanes]
    found = [head.execution_id for head in heads if head is not None and head.execution_id is not None]
    found += [wait.execution_id for lane in lanes for kind in _STOPPABLE for wait in tx.waits.open_in_lane(lane, kind)]
    return [each for each in _roots(tx, found) if asked_by is None or _is_of(tx, each, asked_by)]


def _roots(tx: Transaction, found: Sequence[str]) -> Sequence[str]:
    """What works for something else ends with it."""
    executions = [execution for each in dict.fromkeys(found) if (execution := tx.executions.get(each)) is not None]
    return list(dict.fromkeys(lifecycle.root_of(tx, execution).id for execution in executions))


def _is_of(tx: Transaction, execution_id: str, principal_id: str) -> bool:
    execution = tx.executions.get(execution_id)
    return execution is not None and execution.principal_id == principal_id
