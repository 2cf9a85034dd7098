"""Record a failed delivery: its final state, a note for its agent, and a notice to the owner. Parts of scripts."""

from __future__ import annotations

from datetime import UTC, datetime

from arvis.delivery import sender
from arvis.domain.jobs import Fail, Job
from arvis.domain.messages import Delivery, DeliveryState
from arvis.messaging.owner_alerts import tell_of_dead_letter
from arvis.ports.store import Transaction

#: Maximum characters of a platform's error, and of the quoted message, for the agent.
LONGEST_ERROR = 300
LONGEST_QUOTE = 80

_MAYBE = {"interrupted", "uncertain"}


def record(tx: Transaction, job: Job, outcome: Fail, now: int) -> None:
    """Record that a delivery was given up."""
    delivery = tx.deliveries.get(job.delivery_id or "")
    if delivery is None:
        return
    maybe = delivery.state is DeliveryState.SENDING or outcome.reason in _MAYBE
    state = DeliveryState.UNKNOWN if maybe else DeliveryState.FAILED
    tx.deliveries.set_state(delivery.id, state, now, error=outcome.error)
    _inform_agent(tx, delivery, state, outcome.error, now)
    _record_step(tx, delivery, outcome.reason, now)
    tell_of_dead_letter(tx, job, outcome, now)


def expire(tx: Transaction, job: Job, delivery: Delivery, now: int) -> None:
    """End a delivery that is too late."""
    sender.finish(tx, job, delivery, DeliveryState.EXPIRED, now)
    _inform_agent(tx, delivery, DeliveryState.EXPIRED, "it came too late", now)
    _record_step(tx, delivery, "late", now)


def _inform_agent(tx: Transaction, delivery: Delivery, state: DeliveryState, error: str, now: int) -> None:
    message = tx.messages.get(delivery.message_id)
    if message is not None and message.conversation_id is not None:
        tx.incidents.add(message.conversation_id, incident(delivery, state, error), now)


def incident(delivery: Delivery, state: DeliveryState, error: str) -> str:
    """Return the sentence for the agent."""
    at = datetime.fromtimestamp(delivery.created_at / 1000, UTC).strftime("%H:%M UTC")
    quote = _one_line(delivery.content, LONGEST_QUOTE)
    which = f"Your message of {at} (“{quote}”)" if quote else f"Your message of {at}"
    why = _one_line(error, LONGEST_ERROR)
    if state is DeliveryState.UNKNOWN:
        return f"{which} may not have been delivered; the outcome is unknown: {why}"
    return f"{which} could not be delivered: {why}"


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _record_step(tx: Transaction, delivery: Delivery, reason: str, now: int) -> None:
    told = delivery.answers or ((delivery.reply_to,) if delivery.reply_to else ())
    tx.timeline.note(told, "undelivered", {"delivery": delivery.id, "reason": reason}, now)
