"""Typing and drafts: they show in a chat that an agent is working, its text so far, and its current step.

This module serves platforms whose bots can show typing or drafts. The dashboard reads the events of the bus itself. The
process that runs the turns listens to the bus and stores the state only in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import structlog

from arvis.bus import EventBus
from arvis.delivery import drafts
from arvis.delivery.drafts import DraftStream, Pace, locate
from arvis.delivery.late_replies import ChannelBackoff
from arvis.domain.errors import StoreError
from arvis.domain.events import DeliveryPostponed, DeliverySettled, Delta, StatusChanged, StepProgress, TypingRequested
from arvis.domain.messages import FINAL_STATUSES, Address, DeliveryState, MessageStatus
from arvis.domain.platforms import Draft
from arvis.ports.clock import Clock
from arvis.ports.connector import Ability, Connector, SendError, ShowsDrafts, ShowsTyping
from arvis.ports.store import Store

log = structlog.get_logger(__name__)

#: The time (s) for which typing continues in a place without a running turn: before a turn begins, or after it ended.
TYPING_SECONDS = 60.0
#: The time (s) without an event after which the turns of a place no longer count as running in this process.
LONGEST_SILENCE = 900.0
#: The delay (s) before typing is first shown, because the message has to reach the model first.
TYPING_AFTER = 0.05
#: Typing is sent again after this fraction of the time for which the platform shows typing.
TYPING_AGAIN = 0.9
#: The maximum number of abandoned drafts that are removed when the process starts.
MOST_LEFT = 1000
#: The maximum number of remembered turns that this process has shown. Also the maximum number of places whose time of
#: the last answer is remembered.
MOST_REMEMBERED = 1000
#: The time (s) for which an answer waits if another process may still be changing the draft.
SETTLING_SECONDS = 1.0
#: The maximum time (s) for which an answer waits until this process has finished its last change of the draft.
LONGEST_CHANGE = 10.0
#: The maximum time (s) for which no typing is shown in a place where an answer is being sent. The time ends earlier
#: when the answer is sent or postponed.
LONGEST_QUIET = 60.0

_OVER = FINAL_STATUSES | {MessageStatus.WAITING}


class Presence:
    """The drafts and typing of this process. `run` removes abandoned drafts of earlier processes, and listens to the
    bus until it is cancelled. The deliverer uses `release` and `backoff`."""

    def __init__(
        self,
        *,
        store: Store,
        bus: EventBus,
        connector_of: Callable[[Address], Connector | None],
        clock: Clock,
        pace: Pace | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._connector_of = connector_of
        self._clock = clock
        self._pace = pace or Pace()
        self.backoff = ChannelBackoff(clock=clock)
        self._typing: dict[Address, asyncio.Task[None]] = {}
        #: The ids of the messages of the running turns, by place.
        self._at_work: dict[Address, set[str]] = {}
        #: The time of the last event of a running turn, by place.
        self._heard: dict[Address, float] = {}
        #: For each place where an answer is being sent: the time until which no typing is shown.
        self._quiet: dict[Address, float] = {}
        #: The time at which the last answer was sent, by place.
        self._settled: dict[Address, float] = {}
        self._showings: dict[str, DraftStream] = {}
        #: The drafts whose last change may still be in progress.
        self._ending: set[DraftStream] = set()
        #: The ids of the newest turns that this process has shown.
        self._ours: dict[str, None] = {}
        self._texts: dict[str, list[tuple[int, str]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._typists = Ability(lambda each: each if isinstance(each, ShowsTyping) else None)

    async def run(self, up: Callable[[], None]) -> None:
        with self._listening():
            up()
            try:
                for draft in await self._store.read(drafts.abandoned, MOST_LEFT):
                    await self._remove(draft)
                await asyncio.Event().wait()
            finally:
                for task in [*self._tasks, *self._typing.values()]:
                    task.cancel()

    async def release(self, execution_id: str, address: Address) -> None:
        """Prepare for the answer of a turn: stop its draft and typing, and wait for running requests that change the
        draft. Otherwise the chat could still show typing for seconds after the answer."""
        now = self._clock.monotonic()
        self._quiet = {place: until for place, until in self._quiet.items() if until > now}
        self._quiet[address] = now + LONGEST_QUIET
        if (task := self._typing.pop(address, None)) is not None:
            task.cancel()
        if (showing := self._shown(execution_id)) is not None:
            with contextlib.suppress(TimeoutError):  # an answer does not wait for a platform that hangs
                async with asyncio.timeout(LONGEST_CHANGE):
                    await showing.stop()
        elif self._may_be_shown_elsewhere(execution_id) and await self._store.read(drafts.is_shown, execution_id):
            await self._clock.sleep(SETTLING_SECONDS)

    def _may_be_shown_elsewhere(self, execution_id: str) -> bool:
        return self._store.shared and execution_id not in self._ours

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        subscriptions = [
            self._bus.subscribe(TypingRequested, self._typing_requested),
            self._bus.subscribe(Delta, self._delta),
            self._bus.subscribe(StepProgress, self._step_progress),
            self._bus.subscribe(StatusChanged, self._status_changed),
            self._bus.subscribe(DeliverySettled, self._delivery_settled),
            self._bus.subscribe(DeliveryPostponed, self._delivery_postponed),
        ]
        try:
            yield
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    # -- events of the bus -----------------------------------------------------------------------------------

    def _shows_nothing(self, address: Address) -> bool:
        """Return True if the platform shows neither typing nor drafts, as the web does."""
        connector = self._connector_of(address)
        return connector is not None and connector.capabilities.whole and self._typists.of(connector) is None

    def _typing_requested(self, event: TypingRequested) -> None:
        self._type(event.address)

    def _delta(self, event: Delta) -> None:
        if self._shows_nothing(event.address):
            return
        self._begin(event.address, event.message_id)
        if (showing := self._showings.get(event.message_id)) is not None:
            showing.add_text(event.offset, event.text)
        elif event.message_id in self._texts:
            self._texts[event.message_id].append((event.offset, event.text))

    def _step_progress(self, event: StepProgress) -> None:
        if (showing := self._shown(event.execution_id)) is not None:
            showing.add_progress(event.text)

    def _status_changed(self, event: StatusChanged) -> None:
        if self._shows_nothing(event.address):
            return
        if event.status is MessageStatus.RUNNING:
            self._begin(event.address, event.message_id)
        elif event.status in _OVER:
            self._end(event.address, event.message_id)
            if event.status is MessageStatus.CANCELLED:  # the turn may have no delivery that would stop the typing
                self._stop_typing(event.address)

    def _delivery_settled(self, event: DeliverySettled) -> None:
        if event.state is DeliveryState.SENT and self._shows_nothing(event.address):
            return
        self._quiet.pop(event.address, None)
        self._settled.pop(event.address, None)
        self._settled[event.address] = self._clock.monotonic()
        if len(self._settled) > MOST_REMEMBERED:
            del self._settled[next(iter(self._settled))]
        self._stop_typing(event.address)
        if self._at_work.get(event.address):
            self._type(event.address)
        if event.execution_id is not None and event.state is not DeliveryState.SENT:
            self._keep(self._take_away(event.execution_id))

    def _delivery_postponed(self, event: DeliveryPostponed) -> None:
        """Show typing again for a running turn, because the answer was postponed."""
        self._quiet.pop(event.address, None)
        if self._at_work.get(event.address):
            self._type(event.address)

    def _begin(self, address: Address, message_id: str) -> None:
        turns = self._at_work.setdefault(address, set())
        self._heard[address] = self._clock.monotonic()
        if message_id in turns:
            return
        connector = self._connector_of(address)
        if connector is None or connector.capabilities.whole:
            self._forget(address)
            return
        turns.add(message_id)
        self._type(address)
        if isinstance(connector, ShowsDrafts):
            self._texts[message_id] = []
            self._keep(self._show(connector, address, message_id))

    def _end(self, address: Address, message_id: str) -> None:
        turns = self._at_work.get(address, set())
        turns.discard(message_id)
        if not turns:
            # The event of the turn's end may arrive after the event of its delivery.
            if self._settled.get(address, 0.0) > self._heard.get(address, 0.0):
                self._stop_typing(address)
            self._forget(address)
        self._texts.pop(message_id, None)
        if (showing := self._showings.pop(message_id, None)) is not None:
            self._ending.add(showing)
            self._keep(self._finish(showing))

    def _forget(self, address: Address) -> None:
        self._at_work.pop(address, None)
        self._heard.pop(address, None)

    # -- drafts ------------------------------------------------------------------------------------------------

    async def _show(self, connector: ShowsDrafts, address: Address, message_id: str) -> None:
        execution_id = await self._store.read(drafts.execution_of, message_id)
        if execution_id is None or message_id not in self._texts:
            return
        texts = self._texts.pop(message_id)
        if (known := self._shown(execution_id)) is not None:  # another message of the same turn has opened the draft
            self._showings[message_id] = known
            return
        showing = DraftStream(
            store=self._store,
            clock=self._clock,
            connector=connector,
            address=address,
            message_id=message_id,
            execution_id=execution_id,
            pace=self._pace,
            backoff=self.backoff,
        )
        self._showings[message_id] = showing
        self._ours[execution_id] = None
        if len(self._ours) > MOST_REMEMBERED:
            del self._ours[next(iter(self._ours))]
        for offset, text in texts:
            showing.add_text(offset, text)
        await showing.run()

    def _shown(self, execution_id: str) -> DraftStream | None:
        known = [*self._showings.values(), *self._ending]
        return next((one for one in known if one.execution_id == execution_id), None)

    async def _finish(self, showing: DraftStream) -> None:
        """Stop a draft. If no reply will replace the draft, remove it from the chat."""
        await showing.stop()
        self._ending.discard(showing)
        await self._take_away(showing.execution_id)

    async def _take_away(self, execution_id: str) -> None:
        if (draft := await self._store.read(drafts.abandoned_of_turn, execution_id)) is not None:
            await self._remove(draft)

    async def _remove(self, draft: Draft) -> None:
        connector = self._connector_of(draft.address)
        with contextlib.suppress(SendError):  # a draft that cannot be removed stays in the chat
            platform_id = (await locate(connector, draft)).platform_id
            if platform_id is not None and isinstance(connector, ShowsDrafts):
                await connector.remove_draft(draft.address, platform_id)
        await self._store.write(drafts.mark_removed, draft, self._clock.now())

    # -- typing ------------------------------------------------------------------------------------------------

    def _type(self, address: Address) -> None:
        connector = self._typists.of(self._connector_of(address))
        if connector is None or self._clock.monotonic() < self._quiet.get(address, 0.0):
            return
        if address not in self._typing:
            task = asyncio.create_task(self._keep_typing(connector, address))
            self._typing[address] = task
            task.add_done_callback(lambda ended: self._typed(address, ended))

    def _stop_typing(self, address: Address) -> None:
        """Stop typing in this place, unless a turn is running there."""
        if not self._at_work.get(address) and (task := self._typing.pop(address, None)) is not None:
            task.cancel()

    def _typed(self, address: Address, ended: asyncio.Task[None]) -> None:
        if self._typing.get(address) is ended:
            del self._typing[address]
        _log_failure(ended)

    async def _keep_typing(self, connector: ShowsTyping, address: Address) -> None:
        await self._clock.sleep(TYPING_AFTER)
        last = self._clock.monotonic()
        while self._clock.monotonic() - last < TYPING_SECONDS:
            if self._is_at_work(address):
                last = self._clock.monotonic()
            try:
                await connector.typing(address)
            except SendError as error:
                if error.permanent:
                    return
                await self._clock.sleep(error.retry_after or 0)
            await self._clock.sleep(TYPING_AGAIN * connector.typing_seconds)

    def _is_at_work(self, address: Address) -> bool:
        """Return True if a turn is running in this place. Turns without an event for `LONGEST_SILENCE` are forgotten:
        another process may have taken them over, and the bus of this process does not report their end."""
        if self._clock.monotonic() - self._heard.get(address, 0.0) > LONGEST_SILENCE:
            self._forget(address)
        return address in self._at_work

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._kept)

    def _kept(self, ended: asyncio.Task[None]) -> None:
        self._tasks.discard(ended)
        _log_failure(ended)


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log the error of a task instead of raising it, because nothing depends on drafts and typing."""
    if not task.cancelled() and (error := task.exception()) is not None:
        level = log.warning if isinstance(error, StoreError) else log.error
        level("not_shown", error=repr(error))
