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
    """An event that created no message: its subject, and the answer to it."""

    message_id: str | None
    outcome: str


class Events(Protocol):
    """Events besides messages, and how far bots have read."""

    def seen(self, platform: str, connector: str, event_id: str) -> SeenEvent | None: ...

    def keep(self, platform: str, connector: str, event_id: str, event: SeenEvent, now: int) -> None: ...

    def advance(self, platform: str, connector: str, position: FeedPosition) -> None:
        """Advance a position, which only ever grows."""
        ...

    def position(self, platform: str, connector: str, feed: str) -> int | None: ...

    def feeds(self, platform: str, connector: str, limit: int) -> Mapping[str, int]:
        """Return the furthest positions."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class Overheard(Protocol):
    def add(self, message: OverheardMessage, keep: int) -> bool:
        """Store a message, and delete all but the newest `keep` of its channel; return False if the event is stored
        already."""
        ...

    def newest(self, address: Address, since: int, limit: int) -> list[OverheardMessage]:
        """Return messages in the order of their arrival."""
        ...

    def edit(self, address: Address, ref: str, content: str | None) -> None:
        """Replace the text, or delete the message (None)."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class Files(Protocol):
    """The files of messages and their reading state."""

    def of_message(self, message_id: str) -> list[Attachment]: ...

    def add(self, message_id: str, attachments: Sequence[Attachment]) -> None:
        """Add files after the existing ones."""
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
        """Decide a request; return False if it is decided already."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` requests created before this time; return their number."""
        ...


class Parts(Protocol):
    """The parts in which deliveries are sent."""

    def of_delivery(self, delivery_id: str) -> list[Part]:
        """Return the parts in order; empty before the delivery is first sent."""
        ...

    def plan(self, delivery_id: str, parts: Sequence[Part]) -> None:
        """Replace the planned parts by these."""
        ...

    def put(self, part: Part, state: PartState, *, platform_id: str | None = None, tried_at: int | None = None) -> None:
        """Store the state of a part; None leaves id and time unchanged."""
        ...


class Drafts(Protocol):
    def get(self, execution_id: str) -> Draft | None: ...

    def open(self, limit: int) -> list[Draft]:
        """Return the drafts that are not gone, oldest first."""
        ...

    def awaited(self, execution_id: str) -> bool:
        """Return whether the reply of the turn is not sent yet and will replace its draft."""
        ...

    def add(self, draft: Draft) -> bool:
        """Add a draft; return False if the turn has one already."""
        ...

    def put(self, execution_id: str, state: DraftState, *, platform_id: str | None, now: int) -> None:
        """Store the state of a draft; a draft that is gone stays gone, and None leaves the id unchanged."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class ChannelStatuses(Protocol):
    def get(self, address: Address) -> ChannelStatus | None:
        """Return the status of a channel; None for a usable channel."""
        ...

    def put(self, place: ChannelStatus) -> None: ...

    def clear(self, address: Address) -> bool:
        """Mark a channel as writable again; return False if it was writable already."""
        ...

    def move(self, old: Address, new_channel: str, now: int) -> None:
        """Move bindings, conversations, pending deliveries, schedules, memory and lanes to the new channel."""
        ...


class Incidents(Protocol):
    def add(self, conversation_id: str, text: str, now: int) -> None: ...

    def unreported(self, conversation_id: str, limit: int) -> list[Incident]:
        """Return the newest unreported incidents, in order."""
        ...

    def mark_reported(self, conversation_id: str, execution_id: str, upto: str) -> None:
        """Note that the prompt of this turn reported the incidents up to this id."""
        ...


class Bots(Protocol):
    def all(self) -> list[StoredBot]:
        """Return bots in the order of platform and name."""
        ...

    def get(self, platform: str, name: str) -> StoredBot | None: ...

    def add(self, bot: StoredBot) -> bool:
        """Add a bot; return False if the name exists."""
        ...

    def update(self, bot: StoredBot) -> None: ...

    def remove(self, platform: str, name: str) -> bool: ...

    def statuses(self) -> list[BotStatus]: ...

    def put_status(self, platform: str, name: str, state: BotState, *, error: str, now: int) -> None: ...

    def put_identity(self, platform: str, name: str, *, user_id: str, user_name: str, now: int) -> None: ...


class IncomingRows(Protocol):
    """Queries of the inbox about messages besides `Messages`."""

    def by_ref(self, address: Address, ref: str) -> StoredMessage | None:
        """Return a person's message by the platform's id of it."""
        ...

    def by_album(self, address: Address, album: str) -> StoredMessage | None:
        """Return the newest message that includes this album."""
        ...

    def replace_text(self, message_id: str, content: str, tokens: int) -> None: ...
