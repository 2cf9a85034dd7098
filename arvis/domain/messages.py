"""Incoming and outgoing messages in one form for every platform (behaviour 1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from arvis.domain.taint import CLEAN, Taint


class PrincipalRole(StrEnum):
    """The rights of a person. Every job carries the principal for whom it acts."""

    OWNER = "owner"
    OPERATOR = "operator"
    MEMBER = "member"
    BLOCKED = "blocked"


#: From the fewest rights to the most.
RANKS = (PrincipalRole.BLOCKED, PrincipalRole.MEMBER, PrincipalRole.OPERATOR, PrincipalRole.OWNER)


@dataclass(frozen=True, slots=True)
class Principal:
    """A person, identified by the immutable id of the platform, never by a display name. `paired`: an owner or
    operator has confirmed this person."""

    id: str
    platform: str
    user_id: str
    name: str
    role: PrincipalRole
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """An address on a platform: the source of a message and the target of replies. `connector` is the bot's name."""

    platform: str
    connector: str
    channel: str
    thread: str = ""

    @property
    def lane(self) -> str:
        """The lane of deliveries to one address, which are sent one at a time, in order."""
        return f"to:{self.platform}:{self.connector}:{self.channel}:{self.thread}"

    def to_json(self) -> list[str]:
        return [self.platform, self.connector, self.channel, self.thread]

    @classmethod
    def from_json(cls, parts: Sequence[str]) -> Address:
        return cls(*parts)


@dataclass(frozen=True, slots=True)
class Sender:
    """The author of a message."""

    user_id: str
    name: str
    #: Set if the connector already knows it (a logged-in web user, a key).
    role: PrincipalRole | None = None
    #: Paired people may use agents with risky tools.
    paired: bool = False
    #: Limits a chat key to these slugs; None: no limit.
    agents: tuple[str, ...] | None = None
    #: Another program wrote the message, and its connector accepts such messages.
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that arrived with a message, its bytes still in memory (they reach the disk before the commit). `voice`:
    it was recorded in the dashboard."""

    filename: str
    content_type: str
    data: bytes
    voice: bool = False


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file that is still at the platform. Its bytes are fetched after permission by `source`, which only the
    connector reads. `size` is in bytes (None: the platform does not report it). `voice`: it was recorded as a voice
    message."""

    filename: str
    content_type: str
    size: int | None
    source: str
    voice: bool = False


class FileState(StrEnum):
    WAITING = "waiting"
    STORED = "stored"
    FAILED = "failed"


class FileKind(StrEnum):
    """The use of a file for an agent: view a picture, read a text, read a transcript, or only see its name."""

    IMAGE = "image"
    DOCUMENT = "document"
    VOICE = "voice"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message. `sha256` is its name in the blob folder (empty while it is `waiting`); `size` is in bytes.
    `content` is the extracted or transcribed text, `problem` the reason why there is none; the connector fetches the
    file by `source`."""

    filename: str
    content_type: str
    size: int
    sha256: str
    state: FileState = FileState.STORED
    kind: FileKind | None = None
    content: str = ""
    problem: str = ""
    source: str = ""


class Respond(StrEnum):
    """The group messages that a bot answers: messages that address it, all, or none. It always answers direct
    messages."""

    MENTION = "mention"
    ALL = "all"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """The read position of a bot: every event of `feed` (the bot's one queue, or the history of a channel) up to
    `position` is committed."""

    feed: str
    position: int


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """One platform event. `event_id` and the address form the inbox key: the same event received twice is one
    message."""

    address: Address
    event_id: str
    sender: Sender
    content: str
    #: Files with their bytes.
    uploads: tuple[Upload, ...] = ()
    is_direct: bool = False
    #: The message mentions the bot, replies to it or is a command; `respond` then decides whether the bot
    #: answers.
    addressed: bool = True
    assigned_agent: str | None = None
    #: Files that are still at the platform.
    files: tuple[FileRef, ...] = ()
    respond: Respond = Respond.MENTION
    #: A message that the bot does not answer may be stored as context; this many of a channel are kept.
    observe: int = 0
    #: The platform's own id of the message.
    platform_ref: str | None = None
    #: When (ms) it was written at the platform.
    sent_at: int | None = None
    #: Groups several events into one message.
    album: str | None = None
    #: How far the bot has read once this is committed.
    position: FeedPosition | None = None
    #: The sender forwards text of others.
    forwarded: bool = False
    #: The sources of the content other than the sender.
    taint: Taint = CLEAN
    #: The platform's id of the message to which this one replies.
    in_reply_to: str | None = None
    #: Passed to the model: `max_tokens`, and under `sampling` the model parameters by OpenAI's names.
    wishes: Mapping[str, Any] = field(default_factory=dict)


class Role(StrEnum):
    """The author of a stored message. The daemon writes a notice in place of a reply; an agent posts progress before
    its reply."""

    USER = "user"
    ASSISTANT = "assistant"
    NOTICE = "notice"
    PROGRESS = "progress"


class MessageStatus(StrEnum):
    """The status of an accepted message. `queued` and `running` are read from its job, all others are stored."""

    ACCEPTED = "accepted"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    ANSWERED = "answered"
    FAILED = "failed"
    DROPPED = "dropped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


#: A message in one of these states already has its one reply or notice (reliability.md §3).
FINAL_STATUSES = frozenset(
    {
        MessageStatus.ANSWERED,
        MessageStatus.FAILED,
        MessageStatus.DROPPED,
        MessageStatus.CANCELLED,
        MessageStatus.EXPIRED,
    }
)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A row of the conversation. Times in ms."""

    id: str
    conversation_id: str | None
    role: Role
    content: str
    tokens: int
    status: MessageStatus
    address: Address
    principal_id: str | None
    user_name: str
    agent_id: str | None
    execution_id: str | None
    #: The order in which turns ended; None while the turn is open. History is read in this order, so a waiting
    #: message never precedes the reply that it will see.
    turn: int | None
    created_at: int
    reason: str | None = None
    #: The rule that chose the agent.
    route: str | None = None
    reply_to: str | None = None
    #: The order of the messages of one turn.
    position: int = 0
    attachments: tuple[Attachment, ...] = field(default=())
    #: The sources of a reply.
    taint: Taint = CLEAN
    platform_ref: str | None = None
    album: str | None = None
    #: The trigger of an unprompted message: `schedule:ID` or `webhook:ID`.
    source: str = ""
    #: The question that a notice shows.
    wait_id: str | None = None


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A message of an ended turn, as a prompt or a summary needs it. `tokens` is an estimate, time in ms."""

    role: Role
    content: str
    tokens: int
    id: str = ""
    turn: int = 0
    position: int = 0
    taint: Taint = CLEAN
    principal_id: str | None = None
    user_name: str = ""
    created_at: int = 0


class DeliveryState(StrEnum):
    """The state of one outgoing part (reliability.md §3); `unknown` = interrupted while it was sent."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    FAILED = "failed"
    EXPIRED = "expired"


class ButtonStyle(StrEnum):
    PRIMARY = "primary"
    SECONDARY = "secondary"
    SUCCESS = "success"
    DANGER = "danger"


@dataclass(frozen=True, slots=True)
class Button:
    """A click returns `id`: at most 64 bytes, which every platform supports."""

    id: str
    label: str
    style: ButtonStyle = ButtonStyle.SECONDARY


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A file of the content-addressed store that is sent with a reply; `size` is in bytes. If `content` is set, the
    file is created from that text when it is sent, and has no hash."""

    filename: str
    content_type: str
    size: int
    sha256: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One outgoing message."""

    id: str
    message_id: str
    part: int
    address: Address
    #: Counts the messages of a channel from 1, without gaps except after the restore of a backup.
    seq: int
    content: str
    reply_to: str | None
    #: The ids of the messages that it answers; empty for a notice during a turn.
    answers: tuple[str, ...]
    agent: str | None
    state: DeliveryState
    created_at: int
    #: The platform's id of the message to which it replies.
    reply_ref: str | None = None
    #: The delivery replaces the draft of this execution.
    execution_id: str | None = None
    buttons: tuple[Button, ...] = ()
    files: tuple[OutgoingFile, ...] = ()
