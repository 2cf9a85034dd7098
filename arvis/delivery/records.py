"""The scripts of a delivery on its way. Each asks first whether the job is still ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arvis.agents.timeliness import asked_at
from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import Done, Job, Outcome, Snooze
from arvis.domain.messages import Delivery, DeliveryState
from arvis.domain.platforms import Draft, DraftState, Part, PartState, Piece, Place
from arvis.ports.store import Transaction

GONE, MOVED = "gone", "moved"


@dataclass(frozen=True, slots=True)
class Look:
    """What is on record of a delivery when its job starts."""

    parts: Sequence[Part]
    place: Place | None
    asked_at: int | None = None


def look(tx: Transaction, delivery: Delivery) -> Look:
    return Look(tx.parts.of_delivery(delivery.id), tx.places.get(delivery.address), asked_at(tx, delivery))


def begin(tx: Transaction, job: Job, delivery: Delivery, pieces: Sequence[Piece], now: int) -> list[Part]:
    """The parts, the first of them marked as under way; it takes the place of the draft that is shown."""
    _hold(tx, job)
    draft = _shown_draft(tx, delivery)
    parts = [Part(delivery, number, piece) for number, piece in enumerate(pieces)]
    parts[0] = replace(
        parts[0], state=PartState.SENDING, tried_at=now, platform_id=draft.platform_id if draft else None
    )
    tx.parts.plan(delivery.id, parts)
    tx.deliveries.set_state(delivery.id, DeliveryState.SENDING, now)
    if draft is not None:
        tx.drafts.put(draft.execution_id, DraftState.GONE, platform_id=None, now=now)
    return parts


def _shown_draft(tx: Transaction, delivery: Delivery) -> Draft | None:
    draft = tx.drafts.get(delivery.execution_id) if delivery.execution_id is not None else None
    if draft is None or draft.state is not DraftState.SHOWN or draft.platform_id is None:
        return None
    return draft if draft.address == delivery.address else None


def mark(tx: Transaction, job: Job, part: Part, now: int) -> None:
    """It is tried again; when it was first tried stays known."""
    _hold(tx, job)
    tx.parts.put(part, PartState.SENDING, tried_at=part.tried_at)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.SENDING, now)


def reserved(tx: Transaction, job: Job, part: Part, platform_id: str) -> None:
    _hold(tx, job)
    tx.parts.put(part, PartState.RESERVED, platform_id=platform_id)


def go_on(tx: Transaction, job: Job, part: Part, following: Part, now: int) -> None:
    """A part has arrived, and the next one is under way."""
    _hold(tx, job)
    tx.parts.put(part, PartState.SENT, platform_id=part.platform_id)
    tx.parts.put(following, PartState.SENDING, tried_at=now)


def finish(tx: Transaction, job: Job, part: Part, now: int) -> None:
    """The last part has arrived."""
    _settle(tx, job, Done(), now)
    tx.parts.put(part, PartState.SENT, platform_id=part.platform_id)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.SENT, now, platform_id=part.platform_id)


def close(
    tx: Transaction, job: Job, delivery: Delivery, state: DeliveryState, now: int, *, platform_id: str | None = None
) -> None:
    """A delivery without parts has come to its end."""
    _settle(tx, job, Done(), now)
    tx.deliveries.set_state(delivery.id, state, now, platform_id=platform_id)


def unsent(tx: Transaction, job: Job, part: Part, gone: str | None, now: int) -> None:
    """This try showed nothing. `gone`: why its place takes nothing any more."""
    _hold(tx, job)
    _take_back(tx, part, now)
    if gone is not None:
        tx.places.put(Place(part.delivery.address, GONE, gone, None, now))


def back(tx: Transaction, delivery: Delivery) -> None:
    """Its place takes messages again."""
    tx.places.clear(delivery.address)


def follow(tx: Transaction, job: Job, delivery: Delivery, channel: str, now: int, *, part: Part | None = None) -> None:
    """The channel has become another one: everything goes there, this delivery in front."""
    tx.jobs.lock([delivery.address.lane, replace(delivery.address, channel=channel).lane])
    _settle(tx, job, Snooze(now, MOVED), now)
    if part is not None:
        _take_back(tx, part, now)
    tx.places.move(delivery.address, channel, now)


def _take_back(tx: Transaction, part: Part, now: int) -> None:
    tx.parts.put(part, PartState.PENDING)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.PENDING, now)


def _hold(tx: Transaction, job: Job) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("The job was taken away while it ran")


def _settle(tx: Transaction, job: Job, outcome: Outcome, now: int) -> None:
    if not tx.jobs.settle(job, outcome, now):
        raise LeaseLost("The job was taken away while it ran")
