"""A chat that survives every process, bots that send to it with each guarantee, and a driver that sends a delivery
through any number of deaths."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast
from uuid import uuid4

from arvis.bus import EventBus
from arvis.delivery import Deliverer, LateReplies
from arvis.domain.events import DeliverySettled
from arvis.domain.jobs import Done, Job, NewJob
from arvis.domain.messages import (
    Address,
    Delivery,
    DeliveryState,
    MessageStatus,
    Role,
    StoredMessage,
)
from arvis.domain.platforms import Draft, DraftState, Part, Piece
from arvis.ports.connector import BotUp, Capabilities, Connector, Guarantee, Receipt, SendError
from arvis.ports.inbox import Inbox
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from arvis.queue.queue import RetryPolicy
from arvis.testing.clock import SteppedClock
from tests.flows.engine_kit import PLENTY, Cut, CuttingStore, Death

PLACEHOLDER = "…"
#: A delivery that has not ended after this many rounds never ends.
ROUNDS = 400


@dataclass
class Chat:
    """A chat platform. `shown` maps its message ids to the texts that people see. `keys` maps the keys of sends to
    message ids. `script` lists the errors of the next calls (None: success), and `death` is the call at which the
    process dies."""

    shown: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    data: dict[str, bytes] = field(default_factory=dict)
    script: deque[SendError | None] = field(default_factory=deque)
    death: Death | None = None

    def call(self, what: str, carry_out: Callable[[], str | None]) -> str | None:
        """Record and carry out a call; an uncertain error is raised after the call was carried out."""
        self.calls.append(what)
        error = self.script.popleft() if self.script else None
        death = self.death if self.death is not None and len(self.calls) == self.death.at else None
        if death is not None and not death.committed:
            raise Cut
        if error is not None and not error.uncertain:
            raise error
        answer = carry_out()
        if death is not None:
            raise Cut
        if error is not None:
            raise error
        return answer

    def post(self, key: str, text: str) -> str:
        platform_id = f"m{len(self.shown) + 1}"
        self.shown[platform_id] = text
        self.keys[key] = platform_id
        return platform_id

    @property
    def texts(self) -> list[str]:
        return list(self.shown.values())


class ChatBot:
    """A bot that sends one part for each piece of a text between bars."""

    platform, name = "chat", "main"

    def __init__(self, chat: Chat, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self._chat = chat

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        """Do nothing, since nobody writes to the bot."""

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        *before, last = delivery.content.split("|")
        return [*map(Piece, before), Piece(last, delivery.buttons, delivery.files)]

    async def send(self, part: Part) -> Receipt:
        def carry_out() -> str:
            if part.platform_id in self._chat.shown:
                self._chat.shown[part.platform_id] = part.piece.content
                return part.platform_id
            if self.capabilities.guarantee is Guarantee.IDEMPOTENT and part.key in self._chat.keys:
                return self._chat.keys[part.key]
            return self._chat.post(part.key, part.piece.content)

        self._chat.data.update(part.data)
        return Receipt(self._chat.call(f"send {part.number}", carry_out) or "")

    async def close(self) -> None:
        """Do nothing, since nothing is open."""


class FindingBot(ChatBot):
    async def find(self, part: Part) -> Receipt | None:
        found = self._chat.call(f"find {part.number}", lambda: self._chat.keys.get(part.key))
        return Receipt(found) if found else None


class ReservingBot(ChatBot):
    async def reserve(self, part: Part) -> Receipt:
        return Receipt(self._chat.call(f"reserve {part.number}", lambda: self._chat.post(part.key, PLACEHOLDER)) or "")


def bot_of(chat: Chat, capabilities: Capabilities) -> Connector:
    kinds = {Guarantee.RECONCILED: FindingBot, Guarantee.RESERVE_THEN_FILL: ReservingBot}
    return kinds.get(capabilities.guarantee, ChatBot)(chat, capabilities)


class Voyage:
    """Deliveries to one chat, sent by one process after the other."""

    def __init__(self, store: Store, capabilities: Capabilities, *, late_replies: LateReplies | None = None) -> None:
        self.store = store
        self.chat = Chat()
        self.clock = SteppedClock()
        self.bot: Connector | None = bot_of(self.chat, capabilities)
        self.told: list[DeliverySettled] = []
        self.released: list[str] = []
        self.address = Address("chat", "main", uuid4().hex)
        self._bus = EventBus()
        self._bus.subscribe(DeliverySettled, self.told.append)
        self._late_replies = late_replies or LateReplies()
        self._boots = 0

    async def begin(self, content: str, **changes: object) -> str:
        """Store a pending delivery, and return its id."""
        return await self.store.write(self._begin, content, changes)

    def _begin(self, tx: Transaction, content: str, changes: dict[str, object]) -> str:
        now = self.clock.now()
        message = StoredMessage(
            id=tx.new_id(),
            conversation_id=None,
            role=Role.NOTICE,
            content=content,
            tokens=0,
            status=MessageStatus.ANSWERED,
            address=self.address,
            principal_id=None,
            user_name="",
            agent_id=None,
            execution_id=None,
            turn=None,
            created_at=now,
        )
        tx.messages.add(replace(message, **{k: v for k, v in changes.items() if k == "conversation_id"}))  # type: ignore[arg-type]
        delivery = Delivery(
            id=tx.new_id(),
            message_id=message.id,
            part=0,
            address=self.address,
            seq=tx.deliveries.next_seq(self.address),
            content=content,
            reply_to=None,
            answers=(),
            agent=None,
            state=DeliveryState.PENDING,
            created_at=now,
        )
        delivery = replace(delivery, **{k: v for k, v in changes.items() if k != "conversation_id"})  # type: ignore[arg-type]
        tx.deliveries.add(delivery)
        tx.jobs.add(NewJob.deliver(self.address, 5, delivery_id=delivery.id, message_id=message.id), now)
        return delivery.id

    async def draft(self, execution_id: str) -> str:
        """Store a shown draft of a turn, and return its id in the chat."""
        platform_id = self.chat.post(f"draft {execution_id}", "Writ")
        draft = Draft(execution_id, "draft", self.address, DraftState.SHOWN, platform_id, self.clock.now())
        await self.store.write(lambda tx: tx.drafts.add(draft))
        return platform_id

    async def play(self, death: Death | None = None) -> int:
        """Run until no job is left, or to the death, and return the number of writes."""
        self._boots += 1
        boot = f"boot-{self._boots}"
        await self.store.write(queue.rescue, "node", boot, self.clock.now())
        store = cast(Store, CuttingStore(self.store, death))
        deliverer = Deliverer(
            store=store,
            connector_of=lambda _: self.bot,
            clock=self.clock,
            bus=self._bus,
            late_replies=self._late_replies,
            release=self._release,
        )
        for _ in range(ROUNDS):
            jobs = await self.store.write(self._claim, boot)
            for job in jobs:
                await self._work(deliverer, store, job)
            if not jobs and (due := await self.store.read(self._due)) is None:
                return cast(CuttingStore, store).writes
            if not jobs and due is not None:
                await self.clock.sleep(max(0, due - self.clock.now()) / 1000)
                await self.store.write(queue.wake, lambda *_: None, self.clock.now())
        raise AssertionError("it does not end")

    def _claim(self, tx: Transaction, boot: str) -> list[Job]:
        return tx.jobs.claim(PLENTY, boot, "node", self.clock.now(), self.clock.now() + 30_000)

    def _due(self, tx: Transaction) -> int | None:
        return tx.jobs.next_due()

    async def _release(self, execution_id: str, address: Address) -> None:
        self.released.append(execution_id)

    async def _work(self, deliverer: Deliverer, store: Store, job: Job) -> None:
        verdict = await deliverer.run(job)
        if isinstance(verdict, Done):
            return
        policy = RetryPolicy(max_attempts=3, unit_ms=1000, random=lambda: 0.0)
        outcome = policy.scheduled(job, verdict, self.clock.now())
        await store.write(queue.postpone, job, outcome, deliverer.postponed, self.clock.now())
        await deliverer.announce(job, outcome)

    async def delivery(self, delivery_id: str) -> Delivery:
        found = await self.store.read(lambda tx: tx.deliveries.get(delivery_id))
        assert found is not None
        return found

    async def state(self, delivery_id: str) -> DeliveryState:
        return (await self.delivery(delivery_id)).state
