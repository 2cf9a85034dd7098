"""Repositories for platform events and for outgoing deliveries. All times in ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Address, Attachment, FeedPosition, StoredMessage
from arvis.domain.platforms import (
    BotState,
    BotStatus,
    ChannelStatus,
    Draft,
    DraftState,
    Incident,
    OverheardMessage,
    Pairing,
    PairingStatus,
    Part,
    PartState,
    StoredBot,
)


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """An event that made no message: what it was about, and what was answered."""

    message_id: str | None
    outcome: str


class Events(Protocol):
    """Events besides messages, and how far bots have read."""

    def seen(self, platform: str, connector: str, event_id: str) -> SeenEvent | None: ...

    def keep(self, platform: str, connector: str, event_id: str, event: SeenEvent, now: int) -> None: ...

    def advance(self, platform: str, connector: str, position: FeedPosition) -> None:
        """A position only ever grows."""
        ...

    def position(self, platform: str, connector: str, feed: str) -> int | None: ...

    def feeds(self, platform: str, connector: str, limit: int) -> Mapping[str, int]:
        """The furthest ones."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class Overheard(Protocol):
    def add(self, message: OverheardMessage, keep: int) -> bool:
        """Keep it, and in its place only the newest `keep`; False when the event is there already."""
        ...

    def newest(self, address: Address, since: int, limit: int) -> list[OverheardMessage]:
        """In the order in which they came."""
        ...

    def edit(self, address: Address, ref: str, content: str | None) -> None:
        """Replace the text, or forget the message (None)."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class Files(Protocol):
    """The files of messages and how far they are read."""

    def of_message(self, message_id: str) -> list[Attachment]: ...

    def add(self, message_id: str, attachments: Sequence[Attachment]) -> None:
        """Behind those that are there."""
        ...

    def put(self, message_id: str, ordinal: int, attachment: Attachment) -> None:
        """Store the result for a file; `ordinal` is its position among the files of the message."""
        ...


class Pairings(Protocol):
    def add(self, pairing: Pairing) -> None: ...

    def get(self, pairing_id: str) -> Pairing | None: ...

    def by_code(self, code_hash: str) -> Pairing | None: ...

    def newest_of(self, platform: str, user_id: str) -> Pairing | None: ...

    def pending(self, platform: str, connector: str, now: int) -> int:
        """Count the unexpired pairing requests of this bot."""
        ...

    def settle(self, pairing_id: str, status: PairingStatus, by_id: str, now: int) -> bool:
        """False when it is settled already."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` of those made before this time; how many."""
        ...


class Parts(Protocol):
    """The pieces in which deliveries leave."""

    def of_delivery(self, delivery_id: str) -> list[Part]:
        """In order; none before the delivery was first sent."""
        ...

    def plan(self, delivery_id: str, parts: Sequence[Part]) -> None:
        """These, in place of what was planned before."""
        ...

    def put(self, part: Part, state: PartState, *, platform_id: str | None = None, tried_at: int | None = None) -> None:
        """Store the state of a part; None leaves id and time unchanged."""
        ...


class Drafts(Protocol):
    def get(self, execution_id: str) -> Draft | None: ...

    def open(self, limit: int) -> list[Draft]:
        """Those that are not gone, the oldest first."""
        ...

    def awaited(self, execution_id: str) -> bool:
        """Return whether the reply of the turn is not sent yet and will replace its draft."""
        ...

    def add(self, draft: Draft) -> bool:
        """False when the turn has one already."""
        ...

    def put(self, execution_id: str, state: DraftState, *, platform_id: str | None, now: int) -> None:
        """Store the state of a draft; a draft that is gone stays gone, and None leaves the id unchanged."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class ChannelStatuses(Protocol):
    def get(self, address: Address) -> ChannelStatus | None:
        """None for one that is as it should be."""
        ...

    def put(self, place: ChannelStatus) -> None: ...

    def clear(self, address: Address) -> bool:
        """It can be written to again; False when it always could."""
        ...

    def move(self, old: Address, new_channel: str, now: int) -> None:
        """Bindings, conversations, deliveries on their way, schedules, memory and lanes take the new channel."""
        ...


class Incidents(Protocol):
    def add(self, conversation_id: str, text: str, now: int) -> None: ...

    def untold(self, conversation_id: str, limit: int) -> list[Incident]:
        """The newest, in order."""
        ...

    def told(self, conversation_id: str, execution_id: str, upto: str) -> None:
        """Note that the prompt of this turn reported the incidents up to this id."""
        ...


class Bots(Protocol):
    def all(self) -> list[StoredBot]:
        """In the order of platform and name."""
        ...

    def get(self, platform: str, name: str) -> StoredBot | None: ...

    def add(self, bot: StoredBot) -> bool:
        """False when there is one of this name."""
        ...

    def update(self, bot: StoredBot) -> None: ...

    def remove(self, platform: str, name: str) -> bool: ...

    def statuses(self) -> list[BotStatus]: ...

    def put_status(self, platform: str, name: str, state: BotState, *, error: str, now: int) -> None: ...

    def put_identity(self, platform: str, name: str, *, user_id: str, user_name: str, now: int) -> None: ...


class IncomingRows(Protocol):
    """Queries of the inbox about messages besides `Messages`."""

    def by_ref(self, address: Address, ref: str) -> StoredMessage | None:
        """A person's message by the platform's id of it."""
        ...

    def by_album(self, address: Address, album: str) -> StoredMessage | None:
        """The newest message that this album became part of."""
        ...

    def replace_text(self, message_id: str, content: str, tokens: int) -> None: ...
