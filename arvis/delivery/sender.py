"""Sends the parts of one delivery. The state of each part is stored before and after its send: `SENDING`, then `SENT`.

The platform's guarantee (`Guarantee`) decides what happens to a part whose send was interrupted. A part that changes an
existing message, such as a draft, can be repeated on any platform.
"""

from __future__ import annotations

from collections.abc import Sequence

from arvis.delivery.late_replies import ChannelBackoff
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import Done, Job, Settlement, Snooze
from arvis.domain.messages import Delivery, DeliveryState
from arvis.domain.platforms import ChannelStatus, Draft, DraftState, Part, PartState, Piece
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, FindsParts, Guarantee, Reserves, SendError
from arvis.ports.store import Store, Transaction
from arvis.tasks.deadlines import asked_at

# The transaction scripts of a delivery. Each script with a parameter `job` first checks the lease of the job.


GONE, MOVED = "gone", "moved"


@dataclass(frozen=True, slots=True)
class LoadedDelivery:
    """The stored state of a delivery when its job starts."""

    parts: Sequence[Part]
    place: ChannelStatus | None
    asked_at: int | None = None


def load(tx: Transaction, delivery: Delivery) -> LoadedDelivery:
    return LoadedDelivery(
        tx.parts.of_delivery(delivery.id), tx.channel_status.get(delivery.address), asked_at(tx, delivery)
    )


def start(tx: Transaction, job: Job, delivery: Delivery, pieces: Sequence[Piece], now: int) -> list[Part]:
    """Store the parts, and record the first part as being sent. The first part replaces a draft that is shown."""
    _check_lease(tx, job)
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


def mark_retry(tx: Transaction, job: Job, part: Part, now: int) -> None:
    """Record that the part is sent again. The stored time of its first attempt does not change."""
    _check_lease(tx, job)
    tx.parts.put(part, PartState.SENDING, tried_at=part.tried_at)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.SENDING, now)


def reserve_part(tx: Transaction, job: Job, part: Part, platform_id: str) -> None:
    _check_lease(tx, job)
    tx.parts.put(part, PartState.RESERVED, platform_id=platform_id)


def advance(tx: Transaction, job: Job, part: Part, following: Part, now: int) -> None:
    """Record that `part` was sent, and that the part `following` is being sent."""
    _check_lease(tx, job)
    tx.parts.put(part, PartState.SENT, platform_id=part.platform_id)
    tx.parts.put(following, PartState.SENDING, tried_at=now)


def finish_parts(tx: Transaction, job: Job, part: Part, now: int) -> None:
    """Record that the last part was sent, and end the delivery and its job."""
    _settle(tx, job, Done(), now)
    tx.parts.put(part, PartState.SENT, platform_id=part.platform_id)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.SENT, now, platform_id=part.platform_id)


def finish(
    tx: Transaction, job: Job, delivery: Delivery, state: DeliveryState, now: int, *, platform_id: str | None = None
) -> None:
    """End a delivery and its job. Its parts do not change."""
    _settle(tx, job, Done(), now)
    tx.deliveries.set_state(delivery.id, state, now, platform_id=platform_id)


def unsend(tx: Transaction, job: Job, part: Part, gone: str | None, now: int) -> None:
    """Record that this attempt to send a part showed nothing in the chat. If the channel no longer accepts messages,
    `gone` is the reason."""
    _check_lease(tx, job)
    _reset_part(tx, part, now)
    if gone is not None:
        tx.channel_status.put(ChannelStatus(part.delivery.address, GONE, gone, None, now))


def reopen(tx: Transaction, delivery: Delivery) -> None:
    """Delete the record that the channel accepts no messages, so that the delivery is sent again."""
    tx.channel_status.clear(delivery.address)


def move(tx: Transaction, job: Job, delivery: Delivery, channel: str, now: int, *, part: Part | None = None) -> None:
    """Change the channel's id in all of its rows to `channel`, and let this delivery run again with the new id. `part`
    is the part that was being sent."""
    tx.jobs.lock([delivery.address.lane, replace(delivery.address, channel=channel).lane])
    _settle(tx, job, Snooze(now, MOVED), now)
    if part is not None:
        _reset_part(tx, part, now)
    tx.channel_status.move(delivery.address, channel, now)


def _reset_part(tx: Transaction, part: Part, now: int) -> None:
    tx.parts.put(part, PartState.PENDING)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.PENDING, now)


def _check_lease(tx: Transaction, job: Job) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")


def _settle(tx: Transaction, job: Job, outcome: Settlement, now: int) -> None:
    if not tx.jobs.settle(job, outcome, now):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")


class Interrupted(Exception):
    """The error for a part whose send was interrupted. The part may have arrived, and the platform offers no way to
    check this."""


class PartSender:
    """The sender of the remaining parts of a delivery. `part` is the part that is being sent."""

    def __init__(
        self, *, store: Store, connector: Connector, clock: Clock, backoff: ChannelBackoff, job: Job, part: Part
    ) -> None:
        self._store = store
        self._connector = connector
        self._clock = clock
        self._backoff = backoff
        self._job = job
        self.part = part

    async def resume(self) -> None:
        """Prepare a part whose earlier attempt failed or was interrupted, so that `send` can send it again. Raise
        `SendError` or `Interrupted`."""
        part = self.part
        if part.state is PartState.SENDING and part.platform_id is None:
            await self._settle_interrupted()
        if self.part.state is PartState.SENT:
            return
        if part.state is PartState.PENDING or part.delivery.state is not DeliveryState.SENDING:
            tried_at = part.tried_at or self._clock.now()
            self.part = replace(part, state=PartState.SENDING, tried_at=tried_at)
            await self._store.write(mark_retry, self._job, self.part, self._clock.now())

    async def send(self, behind: Sequence[Part]) -> None:
        """Send this part and the parts `behind` it, and end the job. Raise `SendError`."""
        for following in behind:
            await self._send_part()
            now = self._clock.now()
            await self._store.write(advance, self._job, self.part, following, now)
            self.part = replace(following, state=PartState.SENDING, tried_at=now)
        await self._send_part()
        await self._store.write(finish_parts, self._job, self.part, self._clock.now())

    async def _settle_interrupted(self) -> None:
        guarantee = self._connector.capabilities.guarantee
        if guarantee is Guarantee.AT_MOST_ONCE and self.part.delivery.state is DeliveryState.SENDING:
            raise Interrupted
        if isinstance(self._connector, FindsParts) and guarantee is Guarantee.RECONCILED:
            await self._search(self._connector)

    async def _search(self, finder: FindsParts) -> None:
        try:
            receipt = await finder.find(self.part)
        except SendError as error:
            if error.permanent:  # no search is possible: send again, and risk a duplicate
                return
            raise SendError(str(error), retry_after=error.retry_after, uncertain=True) from error
        if receipt is not None:
            self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id)

    async def _send_part(self) -> None:
        if self.part.state is PartState.SENT:
            return
        if self.part.platform_id is None and self._connector.capabilities.guarantee is Guarantee.RESERVE_THEN_FILL:
            await self._reserve()
        whole = replace(self.part, data=await self._bytes())
        self._check_backoff()
        try:
            receipt = await self._connector.send(whole)
        except SendError as error:
            if not error.acknowledged:
                raise
            await self._accept_as_sent(error)
        else:
            self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id)

    async def _accept_as_sent(self, error: SendError) -> None:
        """Handle an error which says that the chat shows the part, but which does not contain the id of the part. If
        the connector can search, let it search for the part. Otherwise treat the part as sent, because a second send
        would show it twice. Raise `SendError` if the search finds nothing or fails temporarily."""
        receipt = None
        if isinstance(self._connector, FindsParts):
            try:
                receipt = await self._connector.find(self.part)
            except SendError as unknown:
                if not unknown.permanent:
                    raise SendError(str(unknown), retry_after=unknown.retry_after, uncertain=True) from unknown
            else:
                if receipt is None:
                    raise error
        self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id if receipt else None)

    async def _reserve(self) -> None:
        if isinstance(self._connector, Reserves):
            self._check_backoff()
            try:
                receipt = await self._connector.reserve(self.part)
            except SendError as error:
                if not error.acknowledged:
                    raise
                return  # without its id the placeholder cannot be filled: send the part as a new message
            await self._store.write(reserve_part, self._job, self.part, receipt.platform_id)
            self.part = replace(self.part, state=PartState.RESERVED, platform_id=receipt.platform_id)

    def _check_backoff(self) -> None:
        """Raise `SendError` if the channel's pause has not ended. The platform may have requested this pause for
        another delivery after this job began."""
        if rest := self._backoff.remaining(self.part.delivery.address):
            raise SendError("the platform asked Arvis to send nothing for some time", retry_after=rest)

    async def _bytes(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for file in self.part.piece.files:
            if file.sha256 and file.sha256 not in found:
                data = await self._store.get_blob(file.sha256)
                if data is None:
                    raise SendError(f"the file {file.filename} is not stored any more", permanent=True)
                found[file.sha256] = data
        return found
