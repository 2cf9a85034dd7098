"""Data of chat platforms besides messages: edits, clicks, parts of replies, drafts, pairing requests, and bots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, Button, Delivery, FeedPosition, OutgoingFile, Sender


@dataclass(frozen=True, slots=True)
class MessageEdit:
    """The event that a person edited a message."""

    address: Address
    event_id: str
    #: The platform's id of the message.
    ref: str
    sender: Sender
    content: str
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class MessageDeletion:
    """The event that a message was deleted. Platforms do not report who deleted it."""

    address: Address
    event_id: str
    #: The platform's id of the message.
    ref: str
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class Click:
    """The event that a person pressed a button."""

    address: Address
    event_id: str
    sender: Sender
    #: The `id` of the button.
    data: str
    #: The platform's id of the message with the button.
    message_ref: str | None = None
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Content that a connector sends in one request: Markdown, buttons and files. After conversion to the platform's
    format, the text is within the platform's limits."""

    content: str
    buttons: tuple[Button, ...] = ()
    files: tuple[OutgoingFile, ...] = ()


class PartState(StrEnum):
    """The state of a part."""

    PENDING = "pending"
    SENDING = "sending"
    #: The chat shows a placeholder that is not filled yet.
    RESERVED = "reserved"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a delivery, with the state of its sending."""

    delivery: Delivery
    number: int
    piece: Piece
    state: PartState = PartState.PENDING
    #: The platform's id of the message that shows the part. Before the part is sent, it is the id of the placeholder or
    #: draft whose content the part will replace.
    platform_id: str | None = None
    #: The time (ms) of the first attempt to send. If it is set, the part may already have arrived.
    tried_at: int | None = None
    #: The bytes of the piece's stored files, by `sha256`. Because the part contains the bytes, connectors need no
    #: access to the store. The bytes are loaded only for the connector's `send`, not for `find` and `reserve`.
    data: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The unique key of the part: the delivery's id and the part's number, at most 29 characters. It is the same at
        every attempt."""
        return f"{self.delivery.id}.{self.number}"

    def bytes_of(self, file: OutgoingFile) -> bytes:
        """Return the bytes of a file of the piece: the stored bytes, or the file's `content` as UTF-8."""
        return self.data[file.sha256] if file.sha256 else file.content.encode()


class DraftState(StrEnum):
    """The state of a draft."""

    #: The chat may show the draft already, but the platform's id of the draft is unknown.
    SENDING = "sending"
    SHOWN = "shown"
    #: The reply replaced the draft, or the draft was removed.
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Draft:
    """The unfinished reply that a chat shows while a turn runs."""

    execution_id: str
    #: The key with which the connector sends the draft, 26 characters.
    id: str
    address: Address
    state: DraftState
    #: The platform's id of the draft's message.
    platform_id: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class OverheardMessage:
    """A message in a channel that is not for the bot, stored as context. Time in ms."""

    address: Address
    event_id: str
    platform_ref: str | None
    user_id: str
    user_name: str
    content: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """The status of a channel that another channel replaced, or to which a bot cannot write."""

    address: Address
    state: str
    #: The reason why the bot cannot write.
    reason: str
    #: The channel that replaced this one.
    moved_to: str | None
    updated_at: int


@dataclass(frozen=True, slots=True)
class Incident:
    """A delivery problem, or a reaction to a message, that the next prompt of the conversation reports to the agent."""

    id: str
    conversation_id: str
    text: str
    created_at: int
    #: The person who reacted; None for a problem.
    principal_id: str | None = None


class LinkStatus(StrEnum):
    """The status of a request to link another identity of the same person."""

    OPEN = "open"
    #: The other identity has sent the code. The requesting identity must still confirm the link.
    CLAIMED = "claimed"
    DONE = "done"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """The request of an identity to be linked with another identity of the same person. Times in ms."""

    id: str
    identity_id: str
    #: The direct chat in which the code was shown.
    address: Address
    status: LinkStatus
    #: The identity that has sent the code.
    claimed_by: str | None
    created_at: int
    expires_at: int


class PairingStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing request of an unknown person. `address` is the person's direct chat with the bot. Times in ms."""

    id: str
    code_hash: str
    address: Address
    user_id: str
    user_name: str
    status: PairingStatus
    created_at: int
    expires_at: int
    #: The time of the approval or rejection; None if the request is pending.
    settled_at: int | None = None


class BotState(StrEnum):
    """The state of a bot."""

    STARTING = "starting"
    RUNNING = "running"
    #: Another process runs the bot.
    WAITING = "waiting"
    STOPPED = "stopped"
    #: The bot's settings are invalid, or its platform is unreachable.
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StoredBot:
    """A bot that was added while the daemon runs, and is therefore stored in the database. Times in ms."""

    id: str
    platform: str
    name: str
    #: The settings of the bot as JSON, with the same keys as in the configuration.
    settings: str
    #: A JSON object of the bot's tokens by name. Each token is sealed.
    secrets: str
    enabled: bool
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class BotStatus:
    """The status of a bot."""

    platform: str
    name: str
    state: BotState
    #: A sentence about the error, for people.
    error: str
    #: The bot's own id and name on the platform. Both are "" until they are known.
    user_id: str
    user_name: str
    #: The time (ms) at which the bot entered this state.
    since: int
