"""One process of the product: the real queue, flow, engine and deliverer on its own loop. Only its store and its
external calls wait for the test, which decides what happens next and with what result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from arvis.bus import EventBus
from arvis.config.sections import Routing
from arvis.delivery import Deliverer
from arvis.domain.errors import LeaseLost, StoreError, UsageError
from arvis.domain.events import JobSettled
from arvis.domain.jobs import (
    POISON_CRASHES,
    Done,
    Fail,
    Job,
    JobKind,
    JobResult,
    Retry,
    Snooze,
    Unfinished,
)
from arvis.domain.messages import Delivery, Principal, PrincipalRole
from arvis.domain.platforms import Part, Piece
from arvis.engine import lifecycle
from arvis.engine.engine import Engine
from arvis.engine.graph import Graph
from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService
from arvis.message_flow import MessageFlow
from arvis.operations import StoreOperations
from arvis.ports.clock import Clock
from arvis.ports.connector import BotUp, Capabilities, Guarantee, Receipt, SendError
from arvis.ports.inbox import Inbox
from arvis.ports.job_store import Claimer
from arvis.ports.store import Store, Transaction
from arvis.queue.outages import RetryingStore
from arvis.queue.queue import Handler, Queue, RetryPolicy
from arvis.routing import Router
from tests.conformance.machine.backends import Fate, Script
from tests.conformance.machine.loop import HandLoop, ProcessClock, WallClock

P = ParamSpec("P")
R = TypeVar("R")

PLATFORM, BOT = "chat", "main"
OWNER = "owner"
OWNER_IN_PERSON = Principal("p-owner", PLATFORM, OWNER, OWNER, PrincipalRole.OWNER)
LEASE_SECONDS = 30
#: Kinds of jobs that the test itself adds, with a payload that names their result.
PLAIN = (JobKind.CRON, JobKind.WEBHOOK, JobKind.HEARTBEAT)

#: The job that the current task works on.
JOB: ContextVar[Job | None] = ContextVar("job", default=None)


class Died(BaseException):
    """Raised in place of the next step of a dead process. Not an `Exception`, so that no code of the product can
    catch it."""


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """A transaction that waits to be run."""

    process: Process
    script: Script
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True, eq=False)
class OutsideCall:
    """An external call that waits to be made, for a claim of a job. `refusal` makes the error for a failure."""

    process: Process
    what: str
    future: asyncio.Future[None]
    job: Job | None
    refusal: Callable[[Fate], Exception]


class Desk(Protocol):
    """The place where all requests wait, with the facts that are known outside of all processes."""

    def wait(self, something: Write | OutsideCall) -> None: ...

    def read(self, script: Script) -> Any: ...

    def entered(self, job: Job) -> None:
        """Note that the handler of a job begins."""
        ...

    def broke(self, what: str) -> None:
        """Report an event that must never happen."""
        ...


class Process:
    """A process from its start to its death. `graphs` are made for each process, because they make external calls
    through it."""

    def __init__(
        self,
        *,
        boot: str,
        node: str,
        wall: WallClock,
        desk: Desk,
        new_id: Callable[[], str],
        graphs: Callable[[Process], Mapping[str, Graph]],
        safe_resend: bool,
    ) -> None:
        self.boot = boot
        self.node = node
        self.loop = HandLoop()
        self.loop.set_exception_handler(self._complain)
        self.clock = ProcessClock(self.loop, wall)
        self.alive = True
        self.frozen = False
        self.stopping = False
        self.stopped = False
        self.news = asyncio.Event()
        self.claimer: Claimer | None = None
        self.safe_resend = safe_resend
        self._tasks: set[asyncio.Task[None]] = set()
        self._desk = desk
        self.store = cast(Store, WaitingStore(self, desk))
        self._bus = EventBus()
        self.flow = self._flow(graphs(self), new_id)
        self.inbox = self._door()
        self.operations = StoreOperations(store=self.store, bus=self._bus, clock=self.clock)
        self.queue: Queue | None = None
        self.do(self._start())

    def _flow(self, graphs: Mapping[str, Graph], new_id: Callable[[], str]) -> MessageFlow:
        engine = Engine(
            store=RetryingStore(store=self.store, clock=self.clock),
            graphs=graphs,
            clock=self.clock,
            bus=self._bus,
            new_id=new_id,
        )
        return MessageFlow(store=self.store, engine=engine, bus=self._bus, clock=self.clock)

    def _door(self) -> InboxService:
        return InboxService(
            admit=lambda: None,
            store=self.store,
            router=Router(rules=Routing, owners={PLATFORM: {OWNER}}),
            bus=self._bus,
            clock=self.clock,
            rules=InboxRules(),
            new_code=lambda: "23456789AB",
        )

    async def _start(self) -> None:
        platform = Platform(self)
        deliverer = Deliverer(store=self.store, connector_of=lambda _: platform, clock=self.clock, bus=self._bus)
        plain = dict.fromkeys(PLAIN, cast(Handler, PlainHandler(self.store, self.clock)))
        handlers: dict[JobKind, Handler] = {
            JobKind.MESSAGE: self.flow,
            JobKind.ADVANCE: self.flow,
            JobKind.COMPACT: self.flow,
            JobKind.DELIVER: deliverer,
            **plain,
        }
        queue = Queue(
            store=self.store,
            clock=self.clock,
            policy=RetryPolicy(max_attempts=3, unit_ms=60_000, random=lambda: 0.5),
            handlers={kind: WatchedHandler(handler, self._desk) for kind, handler in handlers.items()},
            expire=lifecycle.expire,
            workers=2,
            delivery_workers=2,
            lease_seconds=LEASE_SECONDS,
            boot=self.boot,
            node=self.node,
            sent=deliverer.show,
        )
        self._bus.subscribe(JobSettled, lambda event: queue.abandon(event.job_id))
        self.queue = queue
        self.do(queue.watch())
        await queue.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run in a task of this process."""
        task = self.loop.create_task(_told(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def rest(self) -> None:
        if self.alive and not self.frozen:
            self.loop.rest()

    def look(self) -> None:
        if self.queue is not None:
            self.loop.call_soon(self.queue.look)

    def stop(self, drain_seconds: float) -> None:
        if self.queue is not None and not self.stopping:
            self.stopping = True
            self.do(self._stop(self.queue, drain_seconds))

    async def _stop(self, queue: Queue, drain_seconds: float) -> None:
        await queue.stop(drain_seconds)
        self.stopped = True

    def die(self) -> None:
        """End the process; its tasks cannot do anything more."""
        self.alive = False
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.rest()
        self.loop.close()

    async def outside(self, what: str, refusal: Callable[[Fate], Exception]) -> None:
        """Make an external call, which happens when the test decides."""
        self._check()
        call = OutsideCall(self, what, self.loop.create_future(), JOB.get(), refusal)
        self._desk.wait(call)
        await call.future

    def _check(self) -> None:
        if not self.alive:
            raise Died

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        if self.alive and not isinstance(context.get("exception"), Died):
            self._desk.broke(f"{context.get('message')}: {context.get('exception')!r}")


async def _told(work: Coroutine[Any, Any, Any]) -> None:
    """Run the work. Errors that a person or a platform may receive are no defects; report all others."""
    with suppress(UsageError, StoreError):
        await work


class WaitingStore:
    """A `Store` whose writes wait to be run. Reads return the current data immediately."""

    shared = True

    def __init__(self, process: Process, desk: Desk) -> None:
        self._process = process
        self._desk = desk

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self._check()
        write = Write(self._process, lambda tx: script(tx, *args, **kwargs), self._process.loop.create_future())
        self._desk.wait(write)
        result: R = await write.future
        return result

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self._check()
        result: R = self._desk.read(lambda tx: script(tx, *args, **kwargs))
        return result

    def attend(self, claimer: Claimer | None) -> None:
        self._process.claimer = claimer

    async def wait_for_change(self, timeout: float) -> bool:
        try:
            async with asyncio.timeout(timeout):
                await self._process.news.wait()
        except TimeoutError:
            return False
        self._process.news.clear()
        return True

    def _check(self) -> None:
        if not self._process.alive:
            raise Died


class WatchedHandler:
    """Reports every job that begins, and attributes its external calls to it."""

    def __init__(self, handler: Handler, desk: Desk) -> None:
        self._handler = handler
        self._desk = desk
        self.postponed = handler.postponed
        self.announce = handler.announce

    async def run(self, job: Job) -> JobResult:
        JOB.set(job)
        self._desk.entered(job)
        return await self._handler.run(job)


class PlainHandler:
    """Does with a job what its payload says."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def run(self, job: Job) -> JobResult:
        match job.payload["does"]:
            case "again":
                return Retry("no")
            case "rest" if job.claim < POISON_CRASHES:
                return Snooze.after(self._clock.now(), 20, "busy")
            case "give up":
                return Fail("no", "no")
            case "throw":
                raise ValueError("no")
        await self._store.write(self._settle, job)
        return Done()

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        """Do nothing: nothing depends on it."""

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        """Do nothing: no caller waits for it."""

    def _settle(self, tx: Transaction, job: Job) -> None:
        if not tx.jobs.settle(job, Done(), self._clock.now()):
            raise LeaseLost("taken away")


class Platform:
    """The connection of this process to the chat platform."""

    platform = PLATFORM
    name = BOT

    def __init__(self, process: Process) -> None:
        self._process = process
        safe = process.safe_resend
        self.capabilities = Capabilities(whole=True) if safe else Capabilities(Guarantee.AT_MOST_ONCE)

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        """Do nothing: events come from the test."""

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return [Piece(delivery.content)]

    async def send(self, part: Part) -> Receipt:
        await self._process.outside(f"send {part.delivery.id}", _send_error)
        return Receipt(f"p-{part.delivery.id}")

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _send_error(fate: Fate) -> Exception:
    """Return the error of a send that failed certainly, or possibly."""
    return SendError("no", uncertain=fate is Fate.LOST)
