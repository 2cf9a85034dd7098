"""The handler of `deliver` jobs: what becomes of a delivery, and of one that could not be sent.

A platform that shows a delivery whole, and once however often it is sent, costs one commit. Any other gets the delivery in
parts that are on record (`shipment.py`), so that an interrupted send is never repeated blindly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from arvis.delivery import drafts, failures, sender
from arvis.delivery.drafts import found as found_draft
from arvis.delivery.late_replies import ChannelBackoff, LateReplies, Timing, marked
from arvis.delivery.sender import Interrupted, PartSender
from arvis.domain.events import DeliveryPostponed, DeliverySettled
from arvis.domain.jobs import Done, Fail, Job, JobResult, Retry, Snooze, Unfinished
from arvis.domain.messages import Address, Delivery, DeliveryState
from arvis.domain.platforms import ChannelStatus, Part, PartState, Piece
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, Guarantee, SendError
from arvis.ports.store import Store, Transaction
from arvis.tasks import deadlines

#: Seconds; a platform that says "again at once" every time must not keep us busy.
SHORTEST_REST = 1.0
#: A millisecond more than a platform asks for, so that no rounding makes it less.
ROUNDING = 0.001
#: Seconds between two looks for a bot that is not here, and milliseconds until it is given up.
FIRST_LOOK, LAST_LOOK = 5.0, 60.0
NO_BOT_MS = 3_600_000
#: How long a platform may fail before that counts as attempts (ms), and the longest rest meanwhile (seconds).
WEATHER_MS = 3_600_000
LONGEST_REST = 60.0
#: Milliseconds after which a place that was shut is tried once more, if nobody said that it is back.
SHUT_MS = 3_600_000
#: Characters that are divided at once.
_SHORT = 1_000

OfAddress = Callable[[Address], Connector | None]


async def _nothing_shown(_execution_id: str, _address: Address) -> None:
    """Nobody shows drafts."""


class Deliverer:
    """`Handler` for jobs of kind `deliver`. `connector_of` gives the bot of an address, or None while it is not here;
    `release` ends what is shown of a turn at work, its draft and typing; `rests` is shared with them."""

    def __init__(
        self,
        *,
        store: Store,
        connector_of: OfAddress,
        clock: Clock,
        bus: Bus,
        lateness: LateReplies | None = None,
        release: Callable[[str, Address], Awaitable[None]] = _nothing_shown,
        rests: ChannelBackoff | None = None,
    ) -> None:
        self._store = store
        self._connector_of = connector_of
        self._clock = clock
        self._bus = bus
        self._lateness = lateness or LateReplies()
        self._release = release
        self._rests = rests or ChannelBackoff(clock=clock)
        self._since = clock.now()
        #: Since when (ms) the deliveries fail that this process tries again and again.
        self._failing: dict[str, int] = {}

    async def run(self, job: Job) -> JobResult:
        if (delivery := job.delivery) is None:
            return Fail("no_delivery", "the delivery of this job does not exist")
        connector = self._connector_of(delivery.address)
        if connector is None:
            return self._wait_for_bot(delivery)
        if connector.capabilities.whole:
            return await self._send_whole(connector, job, delivery)
        if rest := self._rests.left(delivery.address):
            return Snooze.after(self._clock.now(), rest + ROUNDING, "rate_limit")
        found = await self._store.read(sender.look, delivery)
        if found.place is not None and (result := await self._shut_out(job, delivery, found.place)) is not None:
            return result
        if all(
            _is_untouched(part) for part in found.parts
        ):  # also when it was tried, and showed nothing: it may be late now
            return await self._send_first(connector, job, delivery, found.asked_at)
        return await self._send_rest(connector, job, found.parts)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        """A delivery that is given up says so; `unknown` when it may have arrived."""
        if isinstance(outcome, Fail):
            failures.record(tx, job, outcome, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        if job.delivery is None:
            return
        if isinstance(outcome, Fail):
            given_up = await self._store.read(_delivery, job.delivery.id)
            self._tell(given_up or job.delivery)
        else:
            self._bus.publish(DeliveryPostponed(job.delivery.address))

    # -- ways to send --------------------------------------------------------------------------------------

    async def _send_whole(self, connector: Connector, job: Job, delivery: Delivery) -> JobResult:
        shown = await self._marked_if_late(connector, delivery)
        try:
            receipt = await connector.send(Part(shown, 0, Piece(shown.content, shown.buttons, shown.files)))
        except SendError as error:
            return self._result_of(error, delivery)
        return await self._close(job, delivery, DeliveryState.SENT, platform_id=receipt.platform_id)

    async def _marked_if_late(self, connector: Connector, delivery: Delivery) -> Delivery:
        """Where a history is shown, nothing is dropped: a late answer is marked."""
        if not self._lateness.may_be_overdue(delivery):
            return delivery
        asked_at = await self._store.read(deadlines.asked_at, delivery)
        timing = self._lateness.judge(delivery, connector.capabilities, delivery.created_at, asked_at=asked_at)
        return delivery if timing is Timing.IN_TIME else marked(delivery)

    async def _send_first(self, connector: Connector, job: Job, delivery: Delivery, asked_at: int | None) -> JobResult:
        if not (delivery.content.strip() or delivery.files or delivery.buttons):
            return await self._close(job, delivery, DeliveryState.SENT)
        match self._lateness.judge(delivery, connector.capabilities, self._clock.now(), asked_at=asked_at):
            case Timing.EXPIRED:
                await self._store.write(failures.expire, job, delivery, self._clock.now())
                self._tell(delivery, DeliveryState.EXPIRED)
                return Done()
            case Timing.LATE:
                if rest := self._lateness.rest(delivery.address, self._clock.now()):
                    return Snooze.after(self._clock.now(), rest + ROUNDING, "pace")
                return await self._begin(connector, job, delivery, await _planned(connector, marked(delivery)))
            case Timing.IN_TIME:
                return await self._begin(connector, job, delivery, await _planned(connector, delivery))

    async def _begin(self, connector: Connector, job: Job, delivery: Delivery, pieces: Sequence[Piece]) -> JobResult:
        if delivery.execution_id is not None:
            await self._release(delivery.execution_id, delivery.address)
            try:
                await self._find_draft(connector, delivery.execution_id)
            except SendError as error:
                return self._put_off(error, delivery)
        first, *behind = await self._store.write(sender.begin, job, delivery, pieces, self._clock.now())
        return await self._ship(connector, job, first, behind, begun=True)

    async def _find_draft(self, connector: Connector, execution_id: str) -> None:
        """One that was shown by a process that died before it was on record, so that the answer takes its place, too."""
        draft = await self._store.read(drafts.of_turn, execution_id)
        if draft is not None and draft.platform_id is None:
            draft = await found_draft(connector, draft)
            if draft.platform_id is not None:
                await self._store.write(drafts.shown, draft, draft.platform_id, self._clock.now())

    async def _send_rest(self, connector: Connector, job: Job, parts: Sequence[Part]) -> JobResult:
        left = [part for part in parts if part.state is not PartState.SENT]
        if not left:
            return await self._close(job, parts[-1].delivery, DeliveryState.SENT, platform_id=parts[-1].platform_id)
        return await self._ship(connector, job, left[0], left[1:], begun=False)

    async def _ship(
        self, connector: Connector, job: Job, first: Part, behind: Sequence[Part], *, begun: bool
    ) -> JobResult:
        shipment = PartSender(
            store=self._store, connector=connector, clock=self._clock, rests=self._rests, job=job, part=first
        )
        try:
            if not begun:
                await shipment.resume()
            await shipment.send(behind)
        except Interrupted:
            return Fail("interrupted", "the process died while this was being sent: it may have arrived")
        except SendError as error:
            return await self._after(error, connector, job, shipment.part)
        self._tell(first.delivery, DeliveryState.SENT)
        return Done()

    # -- what stands in the way ------------------------------------------------------------------------------

    def _wait_for_bot(self, delivery: Delivery) -> JobResult:
        """It may be starting, or about to be entered; a daemon that was down for long gives it its time, too."""
        now, address = self._clock.now(), delivery.address
        waited = now - max(delivery.created_at, self._since)
        if waited >= NO_BOT_MS:
            return Fail("no_connector", f"no bot {address.platform}/{address.connector} is set up")
        return Snooze.after(now, min(max(waited / 1000, FIRST_LOOK), LAST_LOOK), "no_connector")

    async def _shut_out(self, job: Job, delivery: Delivery, place: ChannelStatus) -> JobResult | None:
        """None: try it."""
        if place.moved_to is not None:
            await self._store.write(sender.follow, job, delivery, place.moved_to, self._clock.now())
            return Done()
        if self._clock.now() - place.updated_at < SHUT_MS:
            return Fail(sender.GONE, place.reason)
        await self._store.write(sender.back, delivery)
        return None

    async def _after(self, error: SendError, connector: Connector, job: Job, part: Part) -> JobResult:
        if error.uncertain:
            once = connector.capabilities.guarantee is Guarantee.AT_MOST_ONCE and part.platform_id is None
            return Fail("uncertain", str(error)) if once else self._result_of(error, part.delivery)
        now = self._clock.now()
        if error.moved_to is not None:
            await self._store.write(sender.follow, job, part.delivery, error.moved_to, now, part=part)
            return Done()
        await self._store.write(sender.unsent, job, part, str(error) if error.gone else None, now)
        return self._put_off(error, part.delivery)

    def _put_off(self, error: SendError, delivery: Delivery) -> JobResult:
        if error.retry_after is not None and not error.permanent:
            self._rests.note(delivery.address, error.retry_after)
        return self._result_of(error, delivery)

    def _result_of(self, error: SendError, delivery: Delivery) -> JobResult:
        """Bad weather is waited out: at first a second, then as long again as it has lasted. Only after an hour of it the
        attempts are counted."""
        if error.permanent:
            return Fail(sender.GONE if error.gone else "refused", str(error))
        now = self._clock.now()
        if error.retry_after is not None:
            return Snooze.after(now, max(error.retry_after, SHORTEST_REST) + ROUNDING, "rate_limit")
        # What was cancelled, or taken by another process, is forgotten with time.
        self._failing = {known: since for known, since in self._failing.items() if now - since < 2 * WEATHER_MS}
        lasted = now - self._failing.setdefault(delivery.id, now)
        if lasted >= WEATHER_MS:
            return Retry(str(error))
        return Snooze.after(now, min(max(lasted / 1000, SHORTEST_REST), LONGEST_REST), "not_sent")

    # -- ends ------------------------------------------------------------------------------------------------

    async def _close(
        self, job: Job, delivery: Delivery, state: DeliveryState, *, platform_id: str | None = None
    ) -> JobResult:
        await self._store.write(sender.close, job, delivery, state, self._clock.now(), platform_id=platform_id)
        self._tell(delivery, state)
        return Done()

    def _tell(self, delivery: Delivery, state: DeliveryState | None = None) -> None:
        self._failing.pop(delivery.id, None)
        self._bus.publish(DeliverySettled(delivery.address, delivery.execution_id, state or delivery.state))


async def _planned(connector: Connector, delivery: Delivery) -> Sequence[Piece]:
    """A long text may take seconds to divide: beside the event loop."""
    if len(delivery.content) <= _SHORT:
        return connector.plan(delivery)
    return await asyncio.to_thread(connector.plan, delivery)


def _is_untouched(part: Part) -> bool:
    return part.state is PartState.PENDING and part.platform_id is None


def _delivery(tx: Transaction, delivery_id: str) -> Delivery | None:
    return tx.deliveries.get(delivery_id)
