"""Messages as connectors bring them and as they leave: one shape for every platform (behaviour 1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from arvis.domain.taint import CLEAN, Taint


class PrincipalRole(StrEnum):
    """What a person may do; every job carries the principal it acts for."""

    OWNER = "owner"
    OPERATOR = "operator"
    MEMBER = "member"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Principal:
    """A person as Arvis knows them: the platform's immutable id decides, never a display name."""

    id: str
    platform: str
    user_id: str
    name: str
    role: PrincipalRole


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
    people may reach agents with risky tools; `agents` limits a chat key to these slugs (None: no limit)."""

    user_id: str
    name: str
    role: PrincipalRole | None = None
    paired: bool = False
    agents: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that arrived with a message, its bytes still in memory (they reach the disk before the commit)."""

    filename: str
    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Attachment:
    """A stored file: `sha256` is its name in the blob folder, `size` is in bytes."""

    filename: str
    content_type: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """One platform event. `event_id` with the address is the inbox key: the same event twice is one message."""

    address: Address
    event_id: str
    sender: Sender
    content: str
    uploads: tuple[Upload, ...] = ()
    is_direct: bool = False
    addressed: bool = True
    assigned_agent: str | None = None


class Role(StrEnum):
    """Who speaks in a stored message. A notice is the daemon's own word in place of a reply."""

    USER = "user"
    ASSISTANT = "assistant"
    NOTICE = "notice"


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
    from. Times in ms."""

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


@dataclass(frozen=True, slots=True)
class Delivery:
    """One outgoing message part. `seq` counts the parts of a channel from 1, without gaps but where a backup was
    restored; `answers` are the ids of the messages it answers (none for a notice on the way)."""

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
