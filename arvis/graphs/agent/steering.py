"""Messages of a person that arrive while the agent works for this person. The agent's setting `on_new_message` decides:
the message waits for its own turn (`queue`), is added to the next model call (`steer`), or restarts the turn
(`restart`).

A message joins the turn in a separate commit, before a model call contains the message. So the message is answered only
once, even after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.jobs import SUSPECT_CRASHES, Job, JobKind
from arvis.domain.messages import StoredMessage
from arvis.engine.graph import Decision, Goto, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent.completion import EXPLICIT
from arvis.ports.store import Store, Transaction
from arvis.tasks.state import AgentState
from arvis.tasks.task import is_run

QUEUE, STEER, RESTART = "queue", "steer", "restart"

#: The graphs that add messages to a running turn.
HEARING = frozenset({"agent", "code"})
#: The maximum number of messages that one turn answers, and the maximum number of tokens of these messages.
FOLD_MESSAGES = 10
FOLD_TOKENS = 8_000


def way_of(agent: Agent) -> str:
    """Return the agent's setting `on_new_message`. The default is `steer` for an agent that works alone, and `queue`
    for all others."""
    return agent.on_new_message or (STEER if agent.completion == EXPLICIT else QUEUE)


async def join_newer_messages(store: Store, context: NodeContext, agent: Agent) -> Decision | None:
    """Let the messages that wait behind this turn join it before the next model call. Return the decision to continue
    with them, or None if no message waits or the agent's setting is `queue`."""
    if way_of(agent) == QUEUE or not _state(context).rounds.count or not _is_asked_by_a_person(context):
        return None
    return await _joined(store, context, restarts=way_of(agent) == RESTART)


async def restart(store: Store, context: NodeContext, way: str) -> Decision | None:
    """Let newer messages join the turn before it ends. Return the decision to drop the answer and begin the turn again,
    or None if no message waits or the setting `way` is not `restart`."""
    if way != RESTART or not _is_asked_by_a_person(context):
        return None
    return await _joined(store, context, restarts=True)


def _state(context: NodeContext) -> AgentState:
    return AgentState.from_json(context.state)


def _is_asked_by_a_person(context: NodeContext) -> bool:
    """Return True for a turn that answers messages of a person. Runs and tasks of other agents answer no such
    messages."""
    return not is_run(context.execution) and not _state(context).task


async def _joined(store: Store, context: NodeContext, *, restarts: bool) -> Decision | None:
    if not await store.read(_waits_behind, context.job_id, context.now()):
        return None
    context.record(_join, context.job_id, context.now())
    context.commit_first()
    return Goto("check_input", **(_restarted(_state(context)) if restarts else {}))


def _restarted(state: AgentState) -> dict[str, Any]:
    """Return the changes of the state that discard the work of the turn so far."""
    dropped: dict[str, Any] = {"files": []} if state.files else {}
    fresh = changes(AgentState, first_messages=None, looping=False, reminded=False, reply_before_reminder="")
    fresh |= changes(AgentState, reply_so_far="", continued=0, corrected=False)
    return {**state.rounds.restart(), **fresh, **dropped}


def arrived_during_turn(state: AgentState, current: Sequence[StoredMessage]) -> list[str]:
    """Return the ids of the messages that arrived after the turn's first model call and were in no prompt yet."""
    if state.first_messages is None or not state.rounds.count:
        return []
    known = state.rounds.messages.union(state.first_messages)
    return [message.id for message in current if message.id not in known]


def head_of_turn(state: AgentState, current: Sequence[StoredMessage], arrived: Sequence[str]) -> list[StoredMessage]:
    """Return the messages that precede the first round in the prompt. The other messages follow a round. At the start
    of a turn and after a restart, all messages precede the first round."""
    if state.first_messages is None:
        return list(current)
    behind = state.rounds.messages.union(arrived)
    return [message for message in current if message.id not in behind]


def note_messages(state: AgentState, head: Sequence[StoredMessage], arrived: Sequence[str]) -> dict[str, Any]:
    """Return the changes of the state that note the position of each message in the next prompt."""
    first = state.first_messages is None
    noted = changes(AgentState, first_messages=[message.id for message in head]) if first else {}
    return {**noted, **(state.rounds.add_messages(arrived) if arrived else {})}


# -- transaction scripts -----------------------------------------------------------------------------------


def join_waiting_messages(tx: Transaction, job: Job, now: int) -> None:
    """Let waiting messages of the same person join a turn that has no steps yet. After the turn's first step, its
    prompt may already be built."""
    turn = tx.executions.get(job.execution_id or "")
    if turn is not None and job.kind is JobKind.MESSAGE and not turn.steps:
        _fold(tx, job, turn.id, now)


def is_suspect(job: Job) -> bool:
    """Return True if this job may have caused the crashes during its attempts. Other messages then do not join its
    turn."""
    return job.crashes >= SUSPECT_CRASHES


def _fold(tx: Transaction, job: Job, execution_id: str, now: int) -> None:
    """Let the messages that wait behind this job join the execution. The messages' own executions have not begun and
    are discarded."""
    if is_suspect(job):
        return
    for follower in tx.jobs.fold(job, FOLD_MESSAGES, FOLD_TOKENS, now):
        if follower.execution_id is not None:
            tx.messages.join_turn(follower.execution_id, execution_id, behind=_said_last(tx, execution_id))
            tx.executions.discard(follower.execution_id)


def _said_last(tx: Transaction, execution_id: str) -> int:
    """Return the position of the turn's last progress message, or 0."""
    return max((each.position for each in tx.messages.progress(execution_id)), default=0)


def _join(tx: Transaction, job_id: str, now: int) -> None:
    job = tx.jobs.get(job_id)
    turn = tx.executions.get(job.execution_id or "") if job is not None else None
    if job is not None and turn is not None and turn.graph in HEARING:
        _fold(tx, job, turn.id, now)


def _waits_behind(tx: Transaction, job_id: str, now: int) -> bool:
    job = tx.jobs.get(job_id)
    return job is not None and not is_suspect(job) and tx.jobs.would_fold(job, FOLD_MESSAGES, FOLD_TOKENS, now)
