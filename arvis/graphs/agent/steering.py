"""What a message does that comes while its agent works for the same person (`on_new_message`): it waits for its turn
(`queue`), is shown to the model before its next call (`steer`), or has the turn begin anew with it (`restart`).

Such a message becomes part of the turn in a commit of its own, before the model hears of it; whatever dies in between, it is
answered once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.jobs import SUSPECT_CRASHES, Job, JobKind
from arvis.domain.messages import StoredMessage
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Goto
from arvis.graphs.agent.completion import EXPLICIT
from arvis.ports.store import Store, Transaction
from arvis.tasks import rounds
from arvis.tasks.task import is_run

QUEUE, STEER, RESTART = "queue", "steer", "restart"

#: The graphs whose model is told of what joins a turn on its way.
HEARING = frozenset({"agent", "code"})
#: A turn answers at most so many waiting messages of one person at once (queue.md, merge).
FOLD_MESSAGES = 10
FOLD_TOKENS = 8_000


def way_of(agent: Agent) -> str:
    """What an agent does with such a message: who works alone listens."""
    return agent.on_new_message or (STEER if agent.completion == EXPLICIT else QUEUE)


async def newcomers(store: Store, context: NodeContext, agent: Agent) -> Decision | None:
    """Before a call: take in the messages that wait behind this turn, where the agent does so; None when there are none."""
    if way_of(agent) == QUEUE or not rounds.count(context.state) or not _is_asked_by_a_person(context):
        return None
    return await _taken_in(store, context, restarts=way_of(agent) == RESTART)


async def restart(store: Store, context: NodeContext, way: str) -> Decision | None:
    """Before the end: where a turn begins anew for a newer message, its answer is not given any more."""
    if way != RESTART or not _is_asked_by_a_person(context):
        return None
    return await _taken_in(store, context, restarts=True)


def _is_asked_by_a_person(context: NodeContext) -> bool:
    """What another agent asks for is nobody's talk, although it goes on in a person's name."""
    return not is_run(context.execution) and "task" not in context.state


async def _taken_in(store: Store, context: NodeContext, *, restarts: bool) -> Decision | None:
    if not await store.read(_waits_behind, context.job_id, context.now()):
        return None
    context.record(_join, context.job_id, context.now())
    context.commit_first()
    return Goto("check_input", **(_anew(context.state) if restarts else {}))


def _anew(state: Mapping[str, Any]) -> dict[str, Any]:
    """The change of state of a new beginning: nothing counts any more that came of the old one."""
    dropped: dict[str, Any] = {"files": []} if state.get("files") else {}
    return {"restarted": rounds.count(state), "asked": None, "looping": False, "nudged": False, "kept": "", **dropped}


def came_meanwhile(state: Mapping[str, Any], current: Sequence[StoredMessage]) -> list[str]:
    """The messages of a turn that its model has not heard of, of those that came after its first call."""
    asked = state.get("asked")
    if asked is None or not rounds.count(state):
        return []
    known = rounds.heard_in(state).union(asked)
    return [message.id for message in current if message.id not in known]


def heard_by(state: Mapping[str, Any], came: Sequence[str]) -> set[str]:
    """Those that stand behind a round and not at the head of the turn. After a new beginning all stand at its head."""
    return rounds.heard_in(state).union(came) if state.get("asked") is not None else set()


def heard_with(state: Mapping[str, Any], number: int, came: Sequence[str]) -> dict[str, Any]:
    """The change of state that puts them behind the last round."""
    return rounds.heard(number, [*state.get(f"heard {number}", ()), *came])


def noted(state: Mapping[str, Any], current: Sequence[StoredMessage], came: Sequence[str]) -> dict[str, Any]:
    """The change of state that says what the model has heard of."""
    asked = {"asked": [message.id for message in current]} if state.get("asked") is None else {}
    return {**asked, **(heard_with(state, rounds.count(state), came) if came else {})}


# -- scripts -----------------------------------------------------------------------------------------------


def gather(tx: Transaction, job: Job, now: int) -> None:
    """Waiting messages of the same person join a turn that begins. Once it has begun, its prompt may be made already."""
    turn = tx.executions.get(job.execution_id or "")
    if turn is not None and job.kind is JobKind.MESSAGE and not turn.steps:
        _fold(tx, job, turn.id, now)


def is_suspect(job: Job) -> bool:
    """Whether this job may be what kills the process: then it takes no other messages along."""
    return job.crashes >= SUSPECT_CRASHES


def _fold(tx: Transaction, job: Job, execution_id: str, now: int) -> None:
    """The turns of those that join never began."""
    if is_suspect(job):
        return
    for follower in tx.jobs.fold(job, FOLD_MESSAGES, FOLD_TOKENS, now):
        if follower.execution_id is not None:
            tx.messages.join_turn(follower.execution_id, execution_id, behind=_said_last(tx, execution_id))
            tx.executions.discard(follower.execution_id)


def _said_last(tx: Transaction, execution_id: str) -> int:
    """The position of what was said last on the way; 0 where nothing was."""
    return max((each.position for each in tx.messages.progress(execution_id)), default=0)


def _join(tx: Transaction, job_id: str, now: int) -> None:
    job = tx.jobs.get(job_id)
    turn = tx.executions.get(job.execution_id or "") if job is not None else None
    if job is not None and turn is not None and turn.graph in HEARING:
        _fold(tx, job, turn.id, now)


def _waits_behind(tx: Transaction, job_id: str, now: int) -> bool:
    job = tx.jobs.get(job_id)
    return job is not None and not is_suspect(job) and tx.jobs.would_fold(job, FOLD_MESSAGES, FOLD_TOKENS, now)
