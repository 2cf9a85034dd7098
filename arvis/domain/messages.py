"""Messages as connectors bring them and as they leave: one shape for every platform (behaviour 1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from arvis.domain.taint import CLEAN, Taint


class PrincipalRole(StrEnum):
    """What a person may do; every job carries the principal it acts for."""

    OWNER = "owner"
    OPERATOR = "operator"
    MEMBER = "member"
    BLOCKED = "blocked"


#: From the fewest rights to the most.
RANKS = (PrincipalRole.BLOCKED, PrincipalRole.MEMBER, PrincipalRole.OPERATOR, PrincipalRole.OWNER)


@dataclass(frozen=True, slots=True)
class Principal:
    """A person as Arvis knows them: the platform's immutable id decides, never a display name. `paired`: somebody who
    runs the house vouches for them."""

    id: str
    platform: str
    user_id: str
    name: str
    role: PrincipalRole
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """A place on a platform: where a message came from and where replies go. `connector` is the bot's name."""

    platform: str
    connector: str
    channel: str
    thread: str = ""

    @property
    def lane(self) -> str:
        """Deliveries to one address leave one at a time, in order."""
        return f"to:{self.platform}:{self.connector}:{self.channel}:{self.thread}"

    def to_json(self) -> list[str]:
        return [self.platform, self.connector, self.channel, self.thread]

    @classmethod
    def from_json(cls, parts: Sequence[str]) -> Address:
        return cls(*parts)


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote. `role` is set where the surface already knows it (a logged-in web user, a key); `paired`
    people may reach agents with risky tools; `agents` limits a chat key to these slugs (None: no limit). `bot`: another
    program wrote it, which its connector lets through."""

    user_id: str
    name: str
    role: PrincipalRole | None = None
    paired: bool = False
    agents: tuple[str, ...] | None = None
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that arrived with a message, its bytes still in memory (they reach the disk before the commit). `voice`: it was
    spoken into the page."""

    filename: str
    content_type: str
    data: bytes
    voice: bool = False


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file that a platform keeps: its bytes are fetched after permission, by `source`, which only the connector reads.
    `size` in bytes, as far as the platform tells (None: it does not). `voice`: it was spoken into the platform."""

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
    """What a file is to the agent: a picture it may see, a text it may read, words it may hear, or only a name."""

    IMAGE = "image"
    DOCUMENT = "document"
    VOICE = "voice"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message: `sha256` is its name in the blob folder (empty while it is `waiting`), `size` is in bytes.
    `content` is the text that was read or heard in it, `problem` why there is none, `source` what its connector fetches it
    by."""

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
    """Which messages of a group are for a bot: those that address it, all, or none. A direct message always is."""

    MENTION = "mention"
    ALL = "all"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """How far a bot has read: every event of `feed` (the bot's one queue, or a channel's history) up to `position` is
    committed."""

    feed: str
    position: int


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """One platform event. `event_id` with the address is the inbox key: the same event twice is one message. `uploads`
    have their bytes with them, `files` are still with the platform.

    `addressed`: by a mention, a reply to the bot or a command; whether the message is for the bot is then decided by
    `respond`, and what is not for it may be observed, the newest `observe` of a place. `platform_ref` is the platform's own
    id of the message, `sent_at` (ms) when it was written there; `album` ties several events to one message; `position`
    says how far the bot has read once this is committed. `forwarded`: the sender only passes on what others said; `taint`
    says what else than the sender's own words the content holds. `in_reply_to` is the platform's id of the message that this
    one directly replies to; `wishes` (`max_tokens`, and under `sampling` what tunes a model, by
    OpenAI's names) go along to the model."""

    address: Address
    event_id: str
    sender: Sender
    content: str
    uploads: tuple[Upload, ...] = ()
    is_direct: bool = False
    addressed: bool = True
    assigned_agent: str | None = None
    files: tuple[FileRef, ...] = ()
    respond: Respond = Respond.MENTION
    observe: int = 0
    platform_ref: str | None = None
    sent_at: int | None = None
    album: str | None = None
    position: FeedPosition | None = None
    forwarded: bool = False
    taint: Taint = CLEAN
    in_reply_to: str | None = None
    wishes: Mapping[str, Any] = field(default_factory=dict)


class Role(StrEnum):
    """Who speaks in a stored message. A notice is the daemon's own word in place of a reply; progress is what an agent says
    on the way to it."""

    USER = "user"
    ASSISTANT = "assistant"
    NOTICE = "notice"
    PROGRESS = "progress"


class MessageStatus(StrEnum):
    """The life of an accepted message. `queued` and `running` are read from its job, the rest is stored."""

    ACCEPTED = "accepted"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    ANSWERED = "answered"
    FAILED = "failed"
    DROPPED = "dropped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


#: A message in one of these states has had its one reply or notice (reliability.md §3).
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
    """A row of the conversation. `turn` is the order in which turns ended (None while one is open): history
    is read by it, so that a message that waits never stands before the reply it will see. `position`
    orders the messages of one turn, `route` is the rule that chose the agent; `taint` says what a reply was written
    from, `source` what had it written where nobody asked (`schedule:ID`, `webhook:ID`), `wait_id` the question that a notice
    shows. Times in ms."""

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
    turn: int | None
    created_at: int
    reason: str | None = None
    route: str | None = None
    reply_to: str | None = None
    position: int = 0
    attachments: tuple[Attachment, ...] = field(default=())
    taint: Taint = CLEAN
    platform_ref: str | None = None
    album: str | None = None
    source: str = ""
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
    """Where one outgoing part stands (reliability.md §3); `unknown` = interrupted mid-send."""

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
    """`id` comes back with a click: at most 64 bytes, which every platform carries."""

    id: str
    label: str
    style: ButtonStyle = ButtonStyle.SECONDARY


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A file of the content-addressed store that leaves with a reply; `size` in bytes. One with `content` is made of that
    text when it is sent, and has no hash."""

    filename: str
    content_type: str
    size: int
    sha256: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One outgoing message. `seq` counts those of a channel from 1, without gaps but where a backup was restored; `answers`
    are the ids of the messages it answers (none for a notice on the way). `reply_ref` is the platform's id of the message
    that it replies to; the draft of `execution_id` gives way to it."""

    id: str
    message_id: str
    part: int
    address: Address
    seq: int
    content: str
    reply_to: str | None
    answers: tuple[str, ...]
    agent: str | None
    state: DeliveryState
    created_at: int
    reply_ref: str | None = None
    execution_id: str | None = None
    buttons: tuple[Button, ...] = ()
    files: tuple[OutgoingFile, ...] = ()
