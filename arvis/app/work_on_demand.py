"""The inbox and the handlers of jobs, whose parts are built at the first message or job of this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.jobs import Job, JobKind, JobResult, Unfinished
from arvis.domain.messages import Address, Delivery, FeedPosition, IncomingMessage
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit
from arvis.domain.reactions import ReactionChange
from arvis.inbox.feeds import FeedPositions, Fence, unfenced
from arvis.ports.inbox import Clicked, Inbox, Received
from arvis.ports.store import Store, Transaction
from arvis.process.on_demand import OnDemand
from arvis.queue.queue import Handler


class FencedInbox(Inbox, Protocol):
    def fenced_by(self, fence: Fence) -> Inbox:
        """Return an inbox that calls `fence` in every commit."""
        ...


class DeliveryHandler(Handler, Protocol):
    def show(self, deliveries: Sequence[Delivery]) -> None:
        """Show these deliveries in the dashboard and to clients of the API. A commit has already stored them as
        sent."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """The parts that handle events of platforms and jobs. `deliverer` handles the jobs of kind `deliver`.
    `show_presence` shows typing and drafts until it is cancelled."""

    inbox: FencedInbox
    handlers: Mapping[JobKind, Handler]
    deliverer: DeliveryHandler
    show_presence: Callable[[], Awaitable[None]]


class LateHandler:
    """The handler of one kind of job. Implements `Handler`."""

    def __init__(self, *, work: OnDemand[Work], kind: JobKind) -> None:
        self._work = work
        self._kind = kind

    async def run(self, job: Job) -> JobResult:
        return await self._of(await self._work.get()).run(job)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self._of(self._work.now()).postponed(tx, job, outcome, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        await self._of(await self._work.get()).announce(job, outcome)

    def _of(self, work: Work) -> Handler:
        return work.deliverer if self._kind is JobKind.DELIVER else work.handlers[self._kind]


class LateDeliverer(LateHandler):
    def __init__(self, *, work: OnDemand[Work]) -> None:
        super().__init__(work=work, kind=JobKind.DELIVER)

    def show(self, deliveries: Sequence[Delivery]) -> None:
        self._work.now().deliverer.show(deliveries)


class LateInbox:
    """The inbox; implements `Inbox`. Every commit calls `fence`."""

    def __init__(self, *, work: OnDemand[Work], store: Store, fence: Fence = unfenced) -> None:
        self._work = work
        self._store = store
        self._fence = fence
        self._feeds = FeedPositions(store=store, fence=fence)
        self._built: Inbox | None = None

    def fenced_by(self, fence: Fence) -> LateInbox:
        return LateInbox(work=self._work, store=self._store, fence=fence)

    async def _inbox(self) -> Inbox:
        if self._built is None:
            inbox = (await self._work.get()).inbox
            self._built = inbox if self._fence is unfenced else inbox.fenced_by(self._fence)
        return self._built

    async def receive(self, message: IncomingMessage) -> Received:
        return await (await self._inbox()).receive(message)

    async def edit(self, edit: MessageEdit) -> None:
        await (await self._inbox()).edit(edit)

    async def delete(self, deletion: MessageDeletion) -> None:
        await (await self._inbox()).delete(deletion)

    async def react(self, change: ReactionChange) -> None:
        await (await self._inbox()).react(change)

    async def click(self, click: Click) -> Clicked:
        return await (await self._inbox()).click(click)

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        await (await self._inbox()).move(old, new_channel, position)

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        await (await self._inbox()).reachable(place, position)

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        await (await self._inbox()).unreachable(place, reason, position)

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        await self._feeds.passed(platform, connector, position)

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        return await self._feeds.position(platform, connector, feed)

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        return await self._feeds.feeds(platform, connector)

    async def stop(self, address: Address, by: str) -> int:
        return await (await self._inbox()).stop(address, by)
