"""Features of chat platforms besides messages: edits, clicks, replies in parts, pairing, and bots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from arvis.domain.messages import Address, Button, Delivery, FeedPosition, OutgoingFile, Sender


@dataclass(frozen=True, slots=True)
class MessageEdit:
    """A person edited a message. `ref` is the platform's id of the message."""

    address: Address
    event_id: str
    ref: str
    sender: Sender
    content: str
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class MessageDeletion:
    """A message was deleted (platforms do not report by whom). `ref` is the platform's id of the message."""

    address: Address
    event_id: str
    ref: str
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class Click:
    """A button was pressed; `data` is the `id` of the button. `message_ref` is the platform's id of the message that
    shows it."""

    address: Address
    event_id: str
    sender: Sender
    data: str
    message_ref: str | None = None
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Content that a connector sends in one request: Markdown within the platform's limits (after conversion to its
    format), buttons and files."""

    content: str
    buttons: tuple[Button, ...] = ()
    files: tuple[OutgoingFile, ...] = ()


class PartState(StrEnum):
    """`reserved`: a placeholder in the chat waits for its content."""

    PENDING = "pending"
    SENDING = "sending"
    RESERVED = "reserved"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a delivery. `platform_id` is the message whose content it replaces (a placeholder or a draft), or
    the message that it has become. `tried_at` (ms) is when it was first sent; if set, the part may already have
    arrived.

    `data` holds the bytes of the stored files of the piece by their `sha256`. It is filled before every `send` and
    empty elsewhere (in `find` and `reserve`), so that a connector needs no store. `bytes_of` returns the bytes of any
    file of the piece.
    """

    delivery: Delivery
    number: int
    piece: Piece
    state: PartState = PartState.PENDING
    platform_id: str | None = None
    tried_at: int | None = None
    data: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The key of the part, unique and the same at every try: the delivery's id and the number, at most 29
        characters."""
        return f"{self.delivery.id}.{self.number}"

    def bytes_of(self, file: OutgoingFile) -> bytes:
        """Return the bytes of a file: the stored bytes, or its `content` as UTF-8."""
        return self.data[file.sha256] if file.sha256 else file.content.encode()


class DraftState(StrEnum):
    """`sending`: the chat may show the draft under an unknown id. `gone`: the reply replaced the draft, or it was
    removed."""

    SENDING = "sending"
    SHOWN = "shown"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft that a chat shows while a turn runs. `id` is its key at the platform, 26 characters."""

    execution_id: str
    id: str
    address: Address
    state: DraftState
    platform_id: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class OverheardMessage:
    """A message that was not for a bot and that the bot reads as context. Time in ms."""

    address: Address
    event_id: str
    platform_ref: str | None
    user_id: str
    user_name: str
    content: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """A channel to which a bot cannot write (`reason` explains why), or that was replaced by another channel."""

    address: Address
    state: str
    reason: str
    moved_to: str | None
    updated_at: int


@dataclass(frozen=True, slots=True)
class Incident:
    """A problem that the agent's next prompt in a conversation reports."""

    id: str
    conversation_id: str
    text: str
    created_at: int


class PairingStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing request of an unpaired user. `channel` is their direct chat; times in ms."""

    id: str
    code_hash: str
    address: Address
    user_id: str
    user_name: str
    status: PairingStatus
    created_at: int
    expires_at: int


class BotState(StrEnum):
    """`waiting`: another process runs the bot; `error`: its settings are invalid, or its platform is unreachable."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPED = "stopped"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StoredBot:
    """A bot that was entered in the product. `settings` is JSON as in the configuration, `secrets` JSON of its tokens by
    name, each of them sealed. Times in ms."""

    id: str
    platform: str
    name: str
    settings: str
    secrets: str
    enabled: bool
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class BotStatus:
    """The status of a bot. `user_id` and `user_name` are its own on the platform, once known; `error` is a sentence."""

    platform: str
    name: str
    state: BotState
    error: str
    user_id: str
    user_name: str
    since: int
