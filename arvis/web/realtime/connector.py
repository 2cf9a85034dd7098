"""The web as a chat platform: deliveries and notices go to the sockets that are open on their channel.

A delivery counts as sent even without an open socket, because it stays in the database, and a client that reconnects
requests the deliveries that it has missed. The memory of this process contains only the connections and the unfinished
answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError, TooMany
from arvis.domain.events import (
    AgentMoved,
    ConversationRewound,
    DeliveryAdded,
    Delta,
    GraphCompleted,
    NoticesMissed,
    StatusChanged,
    TypingRequested,
)
from arvis.domain.messages import Address, Delivery, MessageStatus, Sender
from arvis.domain.platforms import Part, Piece
from arvis.domain.text import json_writer
from arvis.ports.connector import BotUp, Capabilities, Guarantee, Receipt, SendError
from arvis.ports.inbox import Inbox
from arvis.web.http.frames import delivery_frame
from arvis.web.http.identity import PLATFORM, Identity

# The outgoing side of one socket: a bounded buffer of frames. Adding a frame never waits, so a slow client delays no
# other client. If the buffer is full, the client is disconnected with code 1013 and can reconnect with `lastSeq`.
# Deltas of one answer are merged in the buffer.

_MAX_FRAMES = 1_000
_MAX_CHARACTERS = 4_000_000
#: The seconds for which pieces of answers and signs of progress wait for other frames, so that one write sends them all.
_PAUSE = 0.04

#: Close codes of the socket.
GOING_AWAY = 1001
BROKEN = 1011
TOO_SLOW = 1013
TRY_LATER = 1013
NO_ACCESS = 4001


@dataclass(frozen=True, slots=True)
class HangUp:
    """The instruction to close the socket with this code and send no more frames."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as text. `seq`: the number of the delivery in the frame; None for a frame without a delivery."""

    text: str
    seq: int | None = None

    @property
    def size(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Replay:
    """The signal to read deliveries from the database, because some may not have been pushed to this client."""


REPLAY = Replay()


@dataclass(slots=True)
class _Stream:
    """Merged deltas of one answer, from character `offset` to `end`."""

    message_id: str
    offset: int
    pieces: list[str] = field(default_factory=list)
    end: int = 0

    @property
    def size(self) -> int:
        return self.end - self.offset

    def frame(self) -> Frame:
        text = "".join(self.pieces)
        return frame({"type": "delta", "messageId": self.message_id, "offset": self.offset, "text": text})


def frame(data: dict[str, Any], seq: int | None = None) -> Frame:
    return Frame(_written(data), seq)


_written = json_writer()


class Client:
    """An authenticated socket with its buffer. `seen` is the `seq` of the last delivery that was sent to the client."""

    def __init__(self, *, id: str, identity: Identity, sender: Sender, address: Address) -> None:  # noqa: A002
        self.id = id
        self.identity = identity
        self.sender = sender
        self.address = address
        self.seen = 0
        self._waiting: deque[Frame | _Stream | Replay] = deque()
        self._characters = 0
        self._hang_up: HangUp | None = None
        self._woken = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def push(self, item: Frame, *, progress: bool = False) -> None:
        """Send a frame after those that are waiting. A sign of `progress` may wait for other frames."""
        self._waiting.append(item)
        self._grew(item.size, progress=progress)

    def request_replay(self) -> None:
        """Signal that the database may contain deliveries that were not pushed. These deliveries are sent after the
        frames that are waiting now."""
        if not self._waiting or self._waiting[-1] is not REPLAY:
            self._waiting.append(REPLAY)
        self._grew(0)

    def push_delta(self, delta: Delta) -> None:
        last = self._waiting[-1] if self._waiting else None
        if not isinstance(last, _Stream) or (last.message_id, last.end) != (delta.message_id, delta.offset):
            last = _Stream(delta.message_id, delta.offset, end=delta.offset)
            self._waiting.append(last)
        last.pieces.append(delta.text)
        last.end += len(delta.text)
        self._grew(len(delta.text), progress=True)

    def hang_up(self, code: int, reason: str) -> None:
        """Close the socket and drop all waiting frames."""
        if self._hang_up is None:
            self._hang_up = HangUp(code, reason)
        self._waiting.clear()
        self._wake()

    @property
    def behind(self) -> bool:
        """Return whether frames are still waiting."""
        return bool(self._waiting)

    @property
    def ended(self) -> bool:
        """Return whether the socket was disconnected."""
        return self._hang_up is not None

    async def next(self) -> Frame | Replay | HangUp:
        """Return the next frame or signal; wait until there is one."""
        while (item := self.take()) is None:
            self._woken.clear()
            await self._woken.wait()
        return item

    def take(self) -> Frame | Replay | HangUp | None:
        """Return the next frame or signal, or None if there is none. Skip deliveries that were already sent. If
        deliveries before the next one are missing, return `REPLAY`, because they may never be pushed and must be read
        from the database."""
        if self._hang_up is not None:
            return self._hang_up
        while self._waiting:
            item = self._waiting.popleft()
            if isinstance(item, Replay):
                return item
            self._characters -= item.size
            ready = item.frame() if isinstance(item, _Stream) else item
            if ready.seq is not None and ready.seq > self.seen + 1:
                return REPLAY
            if self.accepts(ready):
                return ready
        return None

    def accepts(self, item: Frame) -> bool:
        """Return whether this frame must still be sent, and record its delivery in `seen`."""
        if item.seq is None:
            return True
        if item.seq <= self.seen:
            return False
        self.seen = item.seq
        return True

    def _grew(self, characters: int, *, progress: bool = False) -> None:
        self._characters += characters
        if self._hang_up is not None:
            self._waiting.clear()
        elif len(self._waiting) > _MAX_FRAMES or self._characters > _MAX_CHARACTERS:
            self.hang_up(TOO_SLOW, "too slow: connect again with lastSeq")
        if not progress:
            self._wake()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._wake)

    def _wake(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._woken.set()


#: The maximum number of sockets of one channel. Each socket gets every frame of its channel, so the cost of a message
#: grows with their number.
_MOST_SOCKETS = 100


#: The maximum number of characters of all unfinished answers together. Their texts are stored for sockets that connect
#: later. Above this limit, the answer that has not grown for the longest time is dropped.
_MOST_RUNNING = 4_000_000


Notify = Callable[[DeliveryAdded], Awaitable[None]]


_CAPABILITIES = Capabilities(guarantee=Guarantee.IDEMPOTENT, whole=True)


class WebConnector:
    """The connector of the platform `web`. Its only bot is also called `web`. Clients recognise a repeated delivery by
    its `seq` and show it once.

    `notify_others` notifies the other processes that have sockets. It is None if there are no other processes.
    """

    def __init__(self, *, notify_others: Notify | None = None) -> None:
        self._rooms: dict[Address, set[Client]] = {}
        self._running = _RunningTexts()
        self._notify_others = notify_others

    @property
    def platform(self) -> str:
        return PLATFORM

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:  # noqa: ARG002 - the port's signature
        """Report that the bot is up, then do nothing: the sockets pass incoming messages to the inbox."""
        up(BotUp(PLATFORM, PLATFORM))
        await asyncio.Event().wait()

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return [Piece(delivery.content, delivery.buttons, delivery.files)]

    async def close(self) -> None:
        """Do nothing, because the server closes the sockets."""

    async def send(self, part: Part) -> Receipt:
        """Send a delivery. The delivery counts as sent only after the other processes were notified. If this process
        ends before that, the job sends the notification again."""
        delivery = part.delivery
        self.show(delivery)
        if self._notify_others is not None:
            try:
                await self._notify_others(DeliveryAdded(delivery.address))
            except StoreError as error:
                raise SendError(str(error), retry_after=1.0) from error
        return Receipt(delivery.id)

    def show(self, delivery: Delivery) -> None:
        if delivery.address in self._rooms:
            self._push(delivery.address, frame(delivery_frame(delivery), delivery.seq))

    @property
    def sockets(self) -> int:
        return sum(len(room) for room in self._rooms.values())

    def check_room(self, address: Address) -> None:
        """Raise `TooMany` if the channel has the maximum number of sockets."""
        if len(self._rooms.get(address, ())) >= _MOST_SOCKETS:
            raise TooMany(f"{_MOST_SOCKETS} sockets are open on this channel.", fix="Close some of them.")

    def join(self, client: Client) -> None:
        """Register the client for all frames of its channel, and send it the channel's unfinished answers."""
        self._rooms.setdefault(client.address, set()).add(client)
        for delta in self._running.of(client.address):
            client.push_delta(delta)

    def leave(self, client: Client) -> None:
        room = self._rooms.get(client.address, set())
        room.discard(client)
        if not room:
            self._rooms.pop(client.address, None)

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        """Forward the bus events of this platform."""
        subscriptions = [
            bus.subscribe(TypingRequested, self._typing_requested),
            bus.subscribe(Delta, self._delta),
            bus.subscribe(StatusChanged, self._status_changed),
            bus.subscribe(GraphCompleted, self._graph_completed),
            bus.subscribe(AgentMoved, self._agent_moved),
            bus.subscribe(ConversationRewound, self._rewound),
            bus.subscribe(DeliveryAdded, self._delivery_added),
            bus.subscribe(NoticesMissed, self._notices_missed),
        ]
        try:
            yield
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    def _typing_requested(self, event: TypingRequested) -> None:
        if event.address in self._rooms:
            typing = frame({"type": "typing", "channelId": event.address.channel})
            self._push(event.address, typing, progress=True)

    def _delta(self, event: Delta) -> None:
        if event.address.platform == PLATFORM:
            self._running.add(event)
        for client in self._rooms.get(event.address, ()):
            client.push_delta(event)

    def _status_changed(self, event: StatusChanged) -> None:
        if event.status is not MessageStatus.RUNNING:
            self._running.end(event.message_id)
        if event.address in self._rooms:
            change = {"type": "status", "messageId": event.message_id, "status": event.status}
            shown = frame(change if event.reason is None else {**change, "reason": event.reason})
            self._push(event.address, shown, progress=event.status is MessageStatus.RUNNING)

    def _agent_moved(self, event: AgentMoved) -> None:
        if event.address in self._rooms:
            moved = {"type": "agent_moved", "messageId": event.message_id, "from": event.source, "to": event.target}
            self._push(event.address, frame(moved))

    def _rewound(self, event: ConversationRewound) -> None:
        if event.address in self._rooms:
            self._push(event.address, frame({"type": "rewound", "conversationId": event.conversation_id}))

    def _graph_completed(self, event: GraphCompleted) -> None:
        if event.address in self._rooms:
            payload = {
                "type": "transfer_data",
                "content": "graph_execution_complete",
                "messageId": event.message_id,
                "graph": event.graph,
                "stopReason": event.stop_reason,
                "waitingForUser": event.waiting_for_user,
                "threadId": event.thread_id,
            }
            self._push(event.address, frame(payload))

    def _delivery_added(self, event: DeliveryAdded) -> None:
        for client in self._rooms.get(event.address, ()):
            client.request_replay()

    def _notices_missed(self, _: NoticesMissed) -> None:
        self._running.clear()
        for room in self._rooms.values():
            for client in room:
                client.request_replay()

    def _push(self, address: Address, item: Frame, *, progress: bool = False) -> None:
        for client in self._rooms.get(address, ()):
            client.push(item, progress=progress)


class _RunningTexts:
    """The current texts of the unfinished answers on the web, for pages that are opened or reloaded before the answer
    ends."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[Address, str]] = {}
        self._characters = 0

    def add(self, delta: Delta) -> None:
        """Append a piece to the text of its answer. If text between two pieces is missing, drop the text of the answer,
        and begin again at the next piece with offset 0."""
        _, text = self._texts.get(delta.message_id, (delta.address, ""))
        self.end(delta.message_id)
        if delta.offset > len(text):
            return
        text = text[: delta.offset] + delta.text
        self._texts[delta.message_id] = (delta.address, text)
        self._characters += len(text)
        while self._characters > _MOST_RUNNING:
            self.end(next(iter(self._texts)))

    def end(self, message_id: str) -> None:
        _, text = self._texts.pop(message_id, (None, ""))
        self._characters -= len(text)

    def clear(self) -> None:
        self._texts.clear()
        self._characters = 0

    def of(self, address: Address) -> list[Delta]:
        return [Delta(place, message, 0, text) for message, (place, text) in self._texts.items() if place == address]
