"""Repositories of platform events, of outgoing deliveries and of bots. All times are in ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
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
    """A received event that created no message."""

    #: The message that the event concerns; None if it concerns no message.
    message_id: str | None
    #: The result of the event. If the platform repeats the event, the repetition has the same result.
    outcome: str


class Events(Protocol):
    """Received events that created no message, and the read positions of bots."""

    def seen(self, platform: str, connector: str, event_id: str) -> SeenEvent | None: ...

    def keep(self, platform: str, connector: str, event_id: str, event: SeenEvent, now: int) -> None: ...

    def advance(self, platform: str, connector: str, position: FeedPosition) -> None:
        """Store the position up to which a bot has read a feed; change nothing if the stored position is higher."""
        ...

    def position(self, platform: str, connector: str, feed: str) -> int | None: ...

    def feeds(self, platform: str, connector: str, limit: int) -> Mapping[str, int]:
        """Return the `limit` highest read positions of a bot, by feed."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class Overheard(Protocol):
    def add(self, message: OverheardMessage, keep: int) -> bool:
        """Store an overheard message. Then delete the oldest overheard messages of the channel, so that at most `keep`
        remain. Return False if the event is already stored."""
        ...

    def newest(self, address: Address, since: int, limit: int) -> list[OverheardMessage]:
        """Return the newest `limit` messages since `since` (ms), oldest first."""
        ...

    def edit(self, address: Address, ref: str, content: str | None) -> None:
        """Replace the text of the message with the platform's id `ref`. If `content` is None, delete the message."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class Files(Protocol):
    """The files of messages, with their states and extracted texts."""

    def of_message(self, message_id: str) -> list[Attachment]: ...

    def add(self, message_id: str, attachments: Sequence[Attachment]) -> None:
        """Add files to a message, after its existing files."""
        ...

    def put(self, message_id: str, ordinal: int, attachment: Attachment) -> None:
        """Replace a file of a message by its new state; `ordinal` is the position of the file in the message."""
        ...


class Pairings(Protocol):
    def add(self, pairing: Pairing) -> None: ...

    def get(self, pairing_id: str) -> Pairing | None: ...

    def by_code(self, code_hash: str) -> Pairing | None: ...

    def newest_of(self, platform: str, user_id: str) -> Pairing | None: ...

    def pending(self, platform: str, connector: str, now: int) -> int:
        """Count the pairing requests to this bot that are undecided and not expired."""
        ...

    def settle(self, pairing_id: str, status: PairingStatus, by_id: str, now: int) -> bool:
        """Store the decision about a request; return False if the request is already decided."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` requests created before this time; return their number."""
        ...


class Parts(Protocol):
    """The parts of deliveries."""

    def of_delivery(self, delivery_id: str) -> list[Part]:
        """Return the parts of a delivery in order; an empty list before the first attempt to send it."""
        ...

    def plan(self, delivery_id: str, parts: Sequence[Part]) -> None:
        """Replace all stored parts of a delivery by these parts."""
        ...

    def put(self, part: Part, state: PartState, *, platform_id: str | None = None, tried_at: int | None = None) -> None:
        """Store the state of a part. If `platform_id` or `tried_at` is None, keep the stored value."""
        ...


class Drafts(Protocol):
    def get(self, execution_id: str) -> Draft | None: ...

    def open(self, limit: int) -> list[Draft]:
        """Return the drafts that chats show or may show, oldest first."""
        ...

    def awaited(self, execution_id: str) -> bool:
        """Return whether the turn has an unsent reply, which will replace the draft of the turn."""
        ...

    def add(self, draft: Draft) -> bool:
        """Add the draft of a turn; return False if the turn already has a draft."""
        ...

    def put(self, execution_id: str, state: DraftState, *, platform_id: str | None, now: int) -> None:
        """Store the state of a draft; change nothing if the draft is no longer stored. If `platform_id` is None, keep
        the stored id."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


class ChannelStatuses(Protocol):
    def get(self, address: Address) -> ChannelStatus | None:
        """Return the status of a channel; None if the bot can write to it."""
        ...

    def put(self, place: ChannelStatus) -> None: ...

    def clear(self, address: Address) -> bool:
        """Mark a channel as writable again. Return False if the channel was already writable, or if another channel
        replaced it."""
        ...

    def move(self, old: Address, new_channel: str, now: int) -> None:
        """Move bindings, conversations, unsent deliveries, schedules, webhooks, memory and lanes to the new
        channel."""
        ...


class Incidents(Protocol):
    def add(self, conversation_id: str, text: str, now: int) -> None: ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` incidents from before this time; return their number."""
        ...

    def unreported(self, conversation_id: str, limit: int) -> list[Incident]:
        """Return the newest `limit` problems and reactions that no prompt has reported, oldest first."""
        ...

    def reopen(self, conversation_id: str, execution_ids: Sequence[str]) -> None:
        """Mark the incidents that the prompts of these executions reported as not reported, so that the next prompt
        reports them again."""
        ...

    def mark_reported(self, conversation_id: str, execution_id: str, upto: str) -> None:
        """Store that the prompt of this turn reported the incidents up to the id `upto`."""
        ...


class Bots(Protocol):
    def all(self) -> list[StoredBot]:
        """Return the stored bots in the order of platform and name."""
        ...

    def get(self, platform: str, name: str) -> StoredBot | None: ...

    def add(self, bot: StoredBot) -> bool:
        """Add a bot; return False if the platform has a bot with this name."""
        ...

    def update(self, bot: StoredBot) -> None: ...

    def remove(self, platform: str, name: str) -> bool: ...

    def statuses(self) -> list[BotStatus]: ...

    def put_status(self, platform: str, name: str, state: BotState, *, error: str, now: int) -> None: ...

    def put_identity(self, platform: str, name: str, *, user_id: str, user_name: str, now: int) -> None: ...


class IncomingRows(Protocol):
    """Operations on messages that only the inbox uses."""

    def by_ref(self, address: Address, ref: str) -> StoredMessage | None:
        """Return the newest message of a person in this channel whose platform id is `ref`."""
        ...

    def sent_as(self, address: Address, ref: str) -> StoredMessage | None:
        """Return the message that was sent to this channel and has the platform's id `ref`."""
        ...

    def by_album(self, address: Address, album: str) -> StoredMessage | None:
        """Return the newest message of a person in this channel with this album."""
        ...

    def replace_text(self, message_id: str, content: str, tokens: int) -> None: ...
