"""The time limit of an answer (`delivery.answer_within`). It is checked before a turn begins, at every pause, and at
the turn's end.

The limit applies to the time without progress. This time starts again after a person's answer, after the end of a
child, and after each committed step. So a turn may work for hours, but it fails if it only waits for longer than the
limit.
"""

from __future__ import annotations

from arvis.domain.executions import Execution
from arvis.domain.jobs import CLASS_MS, Job
from arvis.domain.messages import Delivery, Role
from arvis.ports.store import Transaction

#: The reason code of a job that failed because of the time limit.
TOO_LATE = "too_late"


def waiting_since(tx: Transaction, job: Job) -> int:
    """Return the time (ms) of the last progress of a job: its arrival, a committed step, or an answer."""
    arrived = max(job.created_at, job.rank - CLASS_MS * job.priority)
    execution = tx.executions.get(job.execution_id or "")
    return arrived if execution is None else max(arrived, execution.updated_at, _answered(tx, execution))


def asked_at(tx: Transaction, delivery: Delivery) -> int | None:
    """Return the time (ms) of the newest message that this delivery answers. If a question of its turn was answered
    later, return the time of that answer. Return None if the delivery is not a reply of an agent."""
    message = tx.messages.get(delivery.message_id)
    asked = [found.created_at for each in delivery.answers if (found := tx.messages.get(each)) is not None]
    if message is None or message.role is not Role.ASSISTANT or not asked:
        return None
    execution = tx.executions.get(delivery.execution_id or "")
    return max(asked) if execution is None else max(*asked, _answered(tx, execution))


def _answered(tx: Transaction, execution: Execution) -> int:
    """Return the time (ms) of the newest answer to this execution, by a person, a timer or a child. Return 0 if the
    execution has no answer."""
    return max((wait.answered_at or 0 for wait in tx.waits.of_execution(execution.id)), default=0)
