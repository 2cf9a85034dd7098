"""What chat platforms have besides messages: edits, clicks, replies that leave in parts, strangers, and bots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from arvis.domain.messages import Address, Button, Delivery, FeedPosition, OutgoingFile, Sender


@dataclass(frozen=True, slots=True)
class MessageEdit:
    """Somebody changed what they wrote. `ref` is the platform's id of the message."""

    address: Address
    event_id: str
    ref: str
    sender: Sender
    content: str
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class MessageDeletion:
    """Somebody took back what they wrote (platforms do not say who)."""

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
    """What a connector wants to send at once, as it plans a delivery: Markdown within the platform's limits (of what it
    becomes there), buttons and files."""

    content: str
    buttons: tuple[Button, ...] = ()
    files: tuple[OutgoingFile, ...] = ()


class PartState(StrEnum):
    """`reserved`: a placeholder stands there and waits for its content."""

    PENDING = "pending"
    SENDING = "sending"
    RESERVED = "reserved"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a delivery on its way. `platform_id` is the message that it becomes the content of (a placeholder or a
    draft), or has become. `tried_at` (ms) is when it was first sent: set, it may already have arrived.

    `data` holds the bytes of the stored files of the piece by their `sha256`: read before every `send`, empty elsewhere (in
    `find` and `reserve`), so that a connector reads no store. `bytes_of` gives the bytes of any file of the piece."""

    delivery: Delivery
    number: int
    piece: Piece
    state: PartState = PartState.PENDING
    platform_id: str | None = None
    tried_at: int | None = None
    data: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The same at every try, and no other part's: the delivery's id and the number, 29 characters at most."""
        return f"{self.delivery.id}.{self.number}"

    def bytes_of(self, file: OutgoingFile) -> bytes:
        """What to send of a file: the stored bytes, or its `content` as UTF-8."""
        return self.data[file.sha256] if file.sha256 else file.content.encode()


class DraftState(StrEnum):
    """`sending`: it may stand in the chat, under an id that nobody knows yet. `gone`: the answer took its place, or it was
    removed."""

    SENDING = "sending"
    SHOWN = "shown"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Draft:
    """What is shown in a chat while a turn runs. `id` is its key at the platform, 26 characters."""

    execution_id: str
    id: str
    address: Address
    state: DraftState
    platform_id: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class OverheardMessage:
    """What somebody said where a bot reads along. Time in ms."""

    address: Address
    event_id: str
    platform_ref: str | None
    user_id: str
    user_name: str
    content: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """A channel that a bot cannot write to (`reason` says why), or that has become another one."""

    address: Address
    state: str
    reason: str
    moved_to: str | None
    updated_at: int


@dataclass(frozen=True, slots=True)
class Incident:
    """What an agent is to hear of in its next turn of a conversation."""

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
    """A stranger who asked in a direct message. `channel` is that direct message; times in ms."""

    id: str
    code_hash: str
    address: Address
    user_id: str
    user_name: str
    status: PairingStatus
    created_at: int
    expires_at: int


class BotState(StrEnum):
    """`waiting`: another process runs it; `error`: it cannot run as it is set up, or its platform is out of reach."""

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
    """How a bot is. `user_id` and `user_name` are its own on the platform, once known; `error` is a sentence."""

    platform: str
    name: str
    state: BotState
    error: str
    user_id: str
    user_name: str
    since: int
