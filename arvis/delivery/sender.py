"""The parts of one delivery on their way: each is on record as under way before it is sent, and as sent behind it.

What was interrupted goes by the guarantee of the platform (`Guarantee`). A part that is the content of a message which
stands there already is an edit, and may be repeated anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arvis.delivery.late_replies import ChannelBackoff
from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import Done, Job, Settlement, Snooze
from arvis.domain.messages import Delivery, DeliveryState
from arvis.domain.platforms import ChannelStatus, Draft, DraftState, Part, PartState, Piece
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, FindsParts, Guarantee, Reserves, SendError
from arvis.ports.store import Store, Transaction
from arvis.tasks.deadlines import asked_at

# The scripts of a delivery on its way. Each asks first whether the job is still ours.


GONE, MOVED = "gone", "moved"


@dataclass(frozen=True, slots=True)
class Look:
    """What is on record of a delivery when its job starts."""

    parts: Sequence[Part]
    place: ChannelStatus | None
    asked_at: int | None = None


def look(tx: Transaction, delivery: Delivery) -> Look:
    return Look(tx.parts.of_delivery(delivery.id), tx.channel_status.get(delivery.address), asked_at(tx, delivery))


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
        tx.channel_status.put(ChannelStatus(part.delivery.address, GONE, gone, None, now))


def back(tx: Transaction, delivery: Delivery) -> None:
    """Its place takes messages again."""
    tx.channel_status.clear(delivery.address)


def follow(tx: Transaction, job: Job, delivery: Delivery, channel: str, now: int, *, part: Part | None = None) -> None:
    """The channel has become another one: everything goes there, this delivery in front."""
    tx.jobs.lock([delivery.address.lane, replace(delivery.address, channel=channel).lane])
    _settle(tx, job, Snooze(now, MOVED), now)
    if part is not None:
        _take_back(tx, part, now)
    tx.channel_status.move(delivery.address, channel, now)


def _take_back(tx: Transaction, part: Part, now: int) -> None:
    tx.parts.put(part, PartState.PENDING)
    tx.deliveries.set_state(part.delivery.id, DeliveryState.PENDING, now)


def _hold(tx: Transaction, job: Job) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("The job was taken away while it ran")


def _settle(tx: Transaction, job: Job, outcome: Settlement, now: int) -> None:
    if not tx.jobs.settle(job, outcome, now):
        raise LeaseLost("The job was taken away while it ran")


class Interrupted(Exception):
    """A part may have arrived, and nobody can tell."""


class PartSender:
    """Sends what is left of a delivery. `part` is the one that is under way; `rests` are those of all channels."""

    def __init__(
        self, *, store: Store, connector: Connector, clock: Clock, rests: ChannelBackoff, job: Job, part: Part
    ) -> None:
        self._store = store
        self._connector = connector
        self._clock = clock
        self._rests = rests
        self._job = job
        self.part = part

    async def resume(self) -> None:
        """Take up a part that was tried before. Raises `SendError`, `Interrupted`."""
        part = self.part
        if part.state is PartState.SENDING and part.platform_id is None:
            await self._settle_interrupted()
        if self.part.state is PartState.SENT:
            return
        if part.state is PartState.PENDING or part.delivery.state is not DeliveryState.SENDING:
            tried_at = part.tried_at or self._clock.now()
            self.part = replace(part, state=PartState.SENDING, tried_at=tried_at)
            await self._store.write(mark, self._job, self.part, self._clock.now())

    async def send(self, behind: Sequence[Part]) -> None:
        """This part and those behind it, to the end of the job. Raises `SendError`."""
        for following in behind:
            await self._send_part()
            now = self._clock.now()
            await self._store.write(go_on, self._job, self.part, following, now)
            self.part = replace(following, state=PartState.SENDING, tried_at=now)
        await self._send_part()
        await self._store.write(finish, self._job, self.part, self._clock.now())

    async def _settle_interrupted(self) -> None:
        guarantee = self._connector.capabilities.guarantee
        if guarantee is Guarantee.AT_MOST_ONCE and self.part.delivery.state is DeliveryState.SENDING:
            raise Interrupted
        if isinstance(self._connector, FindsParts) and guarantee is Guarantee.RECONCILED:
            await self._look_for(self._connector)

    async def _look_for(self, finder: FindsParts) -> None:
        try:
            receipt = await finder.find(self.part)
        except SendError as error:
            if error.permanent:  # it cannot be told here: rather twice than never
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
        self._keep_rest()
        try:
            receipt = await self._connector.send(whole)
        except SendError as error:
            if not error.acknowledged:
                raise
            await self._take_for_sent(error)
        else:
            self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id)

    async def _take_for_sent(self, error: SendError) -> None:
        """The platform says that it shows the part, but not under which id. Where it can be looked for, it is; elsewhere a
        second send could only show it twice. Raises `SendError`."""
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
            self._keep_rest()
            try:
                receipt = await self._connector.reserve(self.part)
            except SendError as error:
                if not error.acknowledged:
                    raise
                return  # A placeholder without a known id cannot be filled: the part is sent beside it.
            await self._store.write(reserved, self._job, self.part, receipt.platform_id)
            self.part = replace(self.part, state=PartState.RESERVED, platform_id=receipt.platform_id)

    def _keep_rest(self) -> None:
        """The channel may have asked for one through another lane, since this job began. Raises `SendError`."""
        if rest := self._rests.left(self.part.delivery.address):
            raise SendError("the platform asked for a rest", retry_after=rest)

    async def _bytes(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for file in self.part.piece.files:
            if file.sha256 and file.sha256 not in found:
                data = await self._store.get_blob(file.sha256)
                if data is None:
                    raise SendError(f"the file {file.filename} is not stored any more", permanent=True)
                found[file.sha256] = data
        return found
