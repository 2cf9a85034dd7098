"""Step 13 of a message: the handler of `deliver` jobs sends a delivery and decides what happens after a failure.

Some platforms accept a delivery undivided, and show it only once even if it is sent twice (`Capabilities.whole`). For
these platforms, one commit after the send is enough. For all other platforms the delivery is divided into parts, and
each part is recorded before it is sent (`sender.py`), so that an interrupted send is detected. If a delivery fails, its
final state, an incident for the agent and an alert for the owner are stored.

A delivery that was stored as sent has no job: `show` shows it to the clients that are connected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from arvis.bus import EventBus
from arvis.delivery import drafts, sender
from arvis.delivery.drafts import locate as locate_draft
from arvis.delivery.late_replies import ChannelBackoff, LateReplies, Timing, marked
from arvis.delivery.sender import Interrupted, PartSender
from arvis.domain.events import DeliveryPostponed, DeliverySettled
from arvis.domain.jobs import Done, Fail, Job, JobResult, Retry, Snooze, Unfinished
from arvis.domain.messages import Address, Delivery, DeliveryState
from arvis.domain.platforms import ChannelStatus, Part, PartState, Piece
from arvis.messaging.owner_alerts import alert_dead_letter
from arvis.ports.clock import Clock
from arvis.ports.connector import Ability, Connector, Guarantee, SendError, ShowsStored
from arvis.ports.store import Store, Transaction
from arvis.tasks import deadlines

#: The maximum number of characters of a platform's error, and of the message that an incident quotes.
LONGEST_ERROR = 300
LONGEST_QUOTE = 80

_MAYBE = {"interrupted", "uncertain"}


def record(tx: Transaction, job: Job, outcome: Fail, now: int) -> None:
    """Record the final failure of a delivery: the state `unknown` if the delivery may have arrived, otherwise
    `failed`."""
    delivery = tx.deliveries.get(job.delivery_id or "")
    if delivery is None:
        return
    maybe = delivery.state is DeliveryState.SENDING or outcome.reason in _MAYBE
    state = DeliveryState.UNKNOWN if maybe else DeliveryState.FAILED
    tx.deliveries.set_state(delivery.id, state, now, error=outcome.error)
    _inform_agent(tx, delivery, state, outcome.error, now)
    _record_step(tx, delivery, outcome.reason, now)
    alert_dead_letter(tx, job, outcome, now)


def expire(tx: Transaction, job: Job, delivery: Delivery, now: int) -> None:
    """End a delivery that is too late, with the state `expired`."""
    sender.finish(tx, job, delivery, DeliveryState.EXPIRED, now)
    _inform_agent(tx, delivery, DeliveryState.EXPIRED, "it was too old to send", now)
    _record_step(tx, delivery, "late", now)


def _inform_agent(tx: Transaction, delivery: Delivery, state: DeliveryState, error: str, now: int) -> None:
    message = tx.messages.get(delivery.message_id)
    if message is not None and message.conversation_id is not None:
        tx.incidents.add(message.conversation_id, incident(delivery, state, error), now)


def incident(delivery: Delivery, state: DeliveryState, error: str) -> str:
    """Return the text of the incident that informs the agent about a delivery."""
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
    asked = delivery.answers or ((delivery.reply_to,) if delivery.reply_to else ())
    tx.timeline.note(asked, "undelivered", {"delivery": delivery.id, "reason": reason}, now)


#: The minimum pause (s), for platforms that always answer "retry immediately".
SHORTEST_PAUSE = 1.0
#: The time (s) that is added to a requested pause, so that rounding never makes the pause shorter.
ROUNDING = 0.001
#: The first and the longest pause (s) between two checks for a bot that is not running here.
FIRST_BOT_CHECK, LAST_BOT_CHECK = 5.0, 60.0
#: The time (ms) after which a delivery without a running bot fails.
NO_BOT_MS = 3_600_000
#: The time (ms) after the first failure during which attempts are not counted, and the longest pause (s) between two
#: attempts.
OUTAGE_MS = 3_600_000
LONGEST_PAUSE = 60.0
#: The time (ms) after which a delivery to a closed place is sent again, even if the platform has not reported it as
#: open.
CLOSED_MS = 3_600_000
#: A text with more characters is divided into parts in a separate thread.
_SHORT = 1_000

OfAddress = Callable[[Address], Connector | None]


async def _no_drafts(_execution_id: str, _address: Address) -> None:
    """Do nothing: the default if no drafts are shown."""


class Deliverer:
    """The handler of jobs of the kind `deliver`. `connector_of` returns the connector of an address, or None if the
    address belongs to a bot that is not running here. `release` ends the draft and typing of a turn before its answer
    is sent. `backoff` contains the pauses that platforms requested; drafts use the same object."""

    def __init__(
        self,
        *,
        store: Store,
        connector_of: OfAddress,
        clock: Clock,
        bus: EventBus,
        late_replies: LateReplies | None = None,
        release: Callable[[str, Address], Awaitable[None]] = _no_drafts,
        backoff: ChannelBackoff | None = None,
    ) -> None:
        self._store = store
        self._connector_of = connector_of
        self._clock = clock
        self._bus = bus
        self._late_replies = late_replies or LateReplies()
        self._release = release
        self._backoff = backoff or ChannelBackoff(clock=clock)
        self._since = clock.now()
        #: The time (ms) of the first failure in this process, for each delivery (by id) that still fails.
        self._failing: dict[str, int] = {}
        self._marking: set[asyncio.Task[None]] = set()
        self._storing = Ability(lambda each: each if isinstance(each, ShowsStored) else None)

    def show(self, deliveries: Sequence[Delivery]) -> None:
        """Show deliveries that a commit has stored as sent."""
        for delivery in deliveries:
            if self._late_replies.may_be_overdue(delivery):
                task = asyncio.create_task(self._show_marked(delivery))
                self._marking.add(task)
                task.add_done_callback(self._marking.discard)
            else:
                self._show(delivery)

    async def _show_marked(self, delivery: Delivery) -> None:
        connector = self._connector_of(delivery.address)
        self._show(delivery if connector is None else await self._marked_if_late(connector, delivery))

    def _show(self, delivery: Delivery) -> None:
        connector = self._connector_of(delivery.address)
        if (showing := self._storing.of(connector)) is not None:
            showing.show(delivery)
        self._announce_settled(delivery)

    async def run(self, job: Job) -> JobResult:
        if (delivery := job.delivery) is None:
            return Fail("no_delivery", "the delivery of this job does not exist")
        connector = self._connector_of(delivery.address)
        if connector is None:
            return self._wait_for_bot(delivery)
        if connector.capabilities.whole:
            return await self._send_whole(connector, job, delivery)
        if rest := self._backoff.remaining(delivery.address):
            return Snooze.after(self._clock.now(), rest + ROUNDING, "rate_limit")
        found = await self._store.read(sender.load, delivery)
        if found.place is not None and (result := await self._closed_or_moved(job, delivery, found.place)) is not None:
            return result
        if all(
            part.state is PartState.PENDING and part.platform_id is None for part in found.parts
        ):  # nothing is shown yet, so the delivery can still expire or be marked as late
            return await self._send_first(connector, job, delivery, found.asked_at)
        parts = found.parts
        left = [part for part in parts if part.state is not PartState.SENT]
        if not left:
            return await self._finish(job, parts[-1].delivery, DeliveryState.SENT, platform_id=parts[-1].platform_id)
        return await self._send_parts(connector, job, left[0], left[1:], begun=False)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        """Record the failure if the outcome is `Fail`. Do nothing after other outcomes."""
        if isinstance(outcome, Fail):
            record(tx, job, outcome, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        if job.delivery is None:
            return
        if isinstance(outcome, Fail):
            given_up = await self._store.read(_delivery, job.delivery.id)
            self._announce_settled(given_up or job.delivery)
        else:
            self._bus.publish(DeliveryPostponed(job.delivery.address))

    # -- ways to send --------------------------------------------------------------------------------------

    async def _send_whole(self, connector: Connector, job: Job, delivery: Delivery) -> JobResult:
        shown = await self._marked_if_late(connector, delivery)
        try:
            receipt = await connector.send(Part(shown, 0, Piece(shown.content, shown.buttons, shown.files)))
        except SendError as error:
            return self._result_of(error, delivery)
        return await self._finish(job, delivery, DeliveryState.SENT, platform_id=receipt.platform_id)

    async def _marked_if_late(self, connector: Connector, delivery: Delivery) -> Delivery:
        """Return the delivery. If the delivery is late, add the mark of late replies. A late delivery is never dropped
        here, because the platform shows the whole history."""
        if not self._late_replies.may_be_overdue(delivery):
            return delivery
        asked_at = await self._store.read(deadlines.asked_at, delivery)
        timing = self._late_replies.judge(delivery, connector.capabilities, delivery.created_at, asked_at=asked_at)
        return delivery if timing is Timing.IN_TIME else marked(delivery)

    async def _send_first(self, connector: Connector, job: Job, delivery: Delivery, asked_at: int | None) -> JobResult:
        if not (delivery.content.strip() or delivery.files or delivery.buttons):
            return await self._finish(job, delivery, DeliveryState.SENT)
        match self._late_replies.judge(delivery, connector.capabilities, self._clock.now(), asked_at=asked_at):
            case Timing.EXPIRED:
                await self._store.write(expire, job, delivery, self._clock.now())
                self._announce_settled(delivery, DeliveryState.EXPIRED)
                return Done()
            case Timing.LATE:
                if rest := self._late_replies.wait_for(delivery.address, self._clock.now()):
                    return Snooze.after(self._clock.now(), rest + ROUNDING, "pace")
                return await self._begin(connector, job, delivery, await _divided(connector, marked(delivery)))
            case Timing.IN_TIME:
                return await self._begin(connector, job, delivery, await _divided(connector, delivery))

    async def _begin(self, connector: Connector, job: Job, delivery: Delivery, pieces: Sequence[Piece]) -> JobResult:
        if delivery.execution_id is not None:
            await self._release(delivery.execution_id, delivery.address)
            try:
                await self._find_draft(connector, delivery.execution_id)
            except SendError as error:
                return self._back_off(error, delivery)
        first, *behind = await self._store.write(sender.start, job, delivery, pieces, self._clock.now())
        return await self._send_parts(connector, job, first, behind, begun=True)

    async def _find_draft(self, connector: Connector, execution_id: str) -> None:
        """Find the chat message that shows the turn's draft, if an earlier process ended before it stored the id of
        this message. The answer can then replace the draft."""
        draft = await self._store.read(drafts.of_turn, execution_id)
        if draft is not None and draft.platform_id is None:
            draft = await locate_draft(connector, draft)
            if draft.platform_id is not None:
                await self._store.write(drafts.mark_shown, draft, draft.platform_id, self._clock.now())

    async def _send_parts(
        self, connector: Connector, job: Job, first: Part, behind: Sequence[Part], *, begun: bool
    ) -> JobResult:
        part_sender = PartSender(
            store=self._store, connector=connector, clock=self._clock, backoff=self._backoff, job=job, part=first
        )
        try:
            if not begun:
                await part_sender.resume()
            await part_sender.send(behind)
        except Interrupted:
            return Fail("interrupted", "the process crashed while it sent this part, so the part may have arrived")
        except SendError as error:
            return await self._after_failure(error, connector, job, part_sender.part)
        self._announce_settled(first.delivery, DeliveryState.SENT)
        return Done()

    # -- obstacles --------------------------------------------------------------------------------------

    def _wait_for_bot(self, delivery: Delivery) -> JobResult:
        """Postpone a delivery whose bot is not running here. Fail the delivery if the bot has been missing for
        `NO_BOT_MS` since the delivery was created. For a delivery that is older than this process, the time begins at
        the start of the process, so that a bot has enough time to start after a long downtime."""
        now, address = self._clock.now(), delivery.address
        waited = now - max(delivery.created_at, self._since)
        if waited >= NO_BOT_MS:
            return Fail("no_connector", f"no bot {address.platform}/{address.connector} is set up")
        return Snooze.after(now, min(max(waited / 1000, FIRST_BOT_CHECK), LAST_BOT_CHECK), "no_connector")

    async def _closed_or_moved(self, job: Job, delivery: Delivery, place: ChannelStatus) -> JobResult | None:
        """Return the result of the job if the place is closed or has moved; None if the delivery may be sent."""
        if place.moved_to is not None:
            await self._store.write(sender.move, job, delivery, place.moved_to, self._clock.now())
            return Done()
        if self._clock.now() - place.updated_at < CLOSED_MS:
            return Fail(sender.GONE, place.reason)
        await self._store.write(sender.reopen, delivery)
        return None

    async def _after_failure(self, error: SendError, connector: Connector, job: Job, part: Part) -> JobResult:
        if error.uncertain:
            once = connector.capabilities.guarantee is Guarantee.AT_MOST_ONCE and part.platform_id is None
            return Fail("uncertain", str(error)) if once else self._result_of(error, part.delivery)
        now = self._clock.now()
        if error.moved_to is not None:
            await self._store.write(sender.move, job, part.delivery, error.moved_to, now, part=part)
            return Done()
        await self._store.write(sender.unsend, job, part, str(error) if error.gone else None, now)
        return self._back_off(error, part.delivery)

    def _back_off(self, error: SendError, delivery: Delivery) -> JobResult:
        if error.retry_after is not None and not error.permanent:
            self._backoff.note(delivery.address, error.retry_after)
        return self._result_of(error, delivery)

    def _result_of(self, error: SendError, delivery: Delivery) -> JobResult:
        """Return the result of the job for an error. After a temporary failure, the pause is as long as the time since
        the first failure, but at least `SHORTEST_PAUSE` and at most `LONGEST_PAUSE`. Attempts are counted only if
        `OUTAGE_MS` have passed since the first failure."""
        if error.permanent:
            return Fail(sender.GONE if error.gone else "refused", str(error))
        now = self._clock.now()
        if error.retry_after is not None:
            return Snooze.after(now, max(error.retry_after, SHORTEST_PAUSE) + ROUNDING, "rate_limit")
        # Forget deliveries that were cancelled or are now sent by another process.
        self._failing = {known: since for known, since in self._failing.items() if now - since < 2 * OUTAGE_MS}
        lasted = now - self._failing.setdefault(delivery.id, now)
        if lasted >= OUTAGE_MS:
            return Retry(str(error))
        return Snooze.after(now, min(max(lasted / 1000, SHORTEST_PAUSE), LONGEST_PAUSE), "not_sent")

    # -- ends ------------------------------------------------------------------------------------------------

    async def _finish(
        self, job: Job, delivery: Delivery, state: DeliveryState, *, platform_id: str | None = None
    ) -> JobResult:
        await self._store.write(sender.finish, job, delivery, state, self._clock.now(), platform_id=platform_id)
        self._announce_settled(delivery, state)
        return Done()

    def _announce_settled(self, delivery: Delivery, state: DeliveryState | None = None) -> None:
        self._failing.pop(delivery.id, None)
        self._bus.publish(DeliverySettled(delivery.address, delivery.execution_id, state or delivery.state))


async def _divided(connector: Connector, delivery: Delivery) -> Sequence[Piece]:
    """Divide the delivery into parts. A long text is divided in a separate thread, because the division may take
    seconds."""
    if len(delivery.content) <= _SHORT:
        return connector.plan(delivery)
    return await asyncio.to_thread(connector.plan, delivery)


def _delivery(tx: Transaction, delivery_id: str) -> Delivery | None:
    return tx.deliveries.get(delivery_id)
