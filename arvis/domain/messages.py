"""Incoming and outgoing messages, in the same form for every platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.past_rounds import Excerpt, PastRound
from arvis.domain.quotations import Quotation, is_forward, with_quotations
from arvis.domain.taint import CLEAN, Taint


class PrincipalRole(StrEnum):
    """The rights of a person."""

    OWNER = "owner"
    OPERATOR = "operator"
    MEMBER = "member"
    BLOCKED = "blocked"


#: The roles, from the fewest rights to the most.
RANKS = (PrincipalRole.BLOCKED, PrincipalRole.MEMBER, PrincipalRole.OPERATOR, PrincipalRole.OWNER)


@dataclass(frozen=True, slots=True)
class Principal:
    """A person on one platform."""

    #: The id of the person, which all linked identities share.
    id: str
    platform: str
    #: The platform's immutable id of the person.
    user_id: str
    #: The display name, which does not identify a person.
    name: str
    role: PrincipalRole
    #: True if an owner or operator has confirmed this person.
    paired: bool = False
    #: The time zone and the language that the person has chosen; None: the default.
    timezone: str | None = None
    language: str | None = None
    #: The id of this identity. If the identity is linked to another identity of the same person, `id` differs: it is
    #: the id of the other identity, which decides the role, the pairing and the preferences.
    identity: str = ""

    @property
    def linked(self) -> bool:
        return self.identity not in {"", self.id}


@dataclass(frozen=True, slots=True)
class Address:
    """A place on a platform from which messages come and to which replies are sent."""

    platform: str
    #: The name of the bot.
    connector: str
    channel: str
    thread: str = ""

    def __hash__(self) -> int:
        return hash((self.channel, self.thread))  # every event is looked up by its address several times

    @property
    def lane(self) -> str:
        """The lane of the deliveries to this address, which are sent one at a time, in order."""
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
    #: The role, if the connector knows it from a login or a key. If None, the stored role applies.
    role: PrincipalRole | None = None
    #: True if the connector knows that this person is paired. A paired person may use agents with risky tools.
    paired: bool = False
    #: The slugs of the agents that the sender's chat key permits. None means all agents.
    agents: tuple[str, ...] | None = None
    #: True if another program wrote the message and the bot's settings accept messages of programs.
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that arrived with a message. Its bytes are in memory until the inbox stores them, which happens before the
    message is committed."""

    filename: str
    content_type: str
    data: bytes
    #: True if the file is a voice message. Its transcript becomes the text of the message.
    voice: bool = False


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a message. Its bytes are still on the platform. The connector fetches them after the message was
    permitted."""

    filename: str
    content_type: str
    #: The size in bytes; None if the platform does not report it.
    size: int | None
    #: The connector's own reference to the file. No other component interprets it.
    source: str
    #: True if the file is a voice message.
    voice: bool = False


class FileState(StrEnum):
    WAITING = "waiting"
    STORED = "stored"
    FAILED = "failed"


class FileKind(StrEnum):
    """The ways in which an agent uses a file."""

    #: The agent views the picture.
    IMAGE = "image"
    #: The agent reads the text.
    DOCUMENT = "document"
    #: The agent reads the transcript.
    VOICE = "voice"
    #: The agent gets only the name of the file.
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message."""

    filename: str
    content_type: str
    #: In bytes.
    size: int
    #: The hash under which the bytes are stored; empty while the state is `waiting`.
    sha256: str
    state: FileState = FileState.STORED
    kind: FileKind | None = None
    #: The extracted or transcribed text.
    content: str = ""
    #: The reason why the text is missing.
    problem: str = ""
    #: The reference by which the connector fetches the file (`FileRef.source`).
    source: str = ""


class Respond(StrEnum):
    """The messages of a group that a bot answers. Direct messages are always answered."""

    #: Only messages that address the bot.
    MENTION = "mention"
    ALL = "all"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """The read position of a bot in one feed. A feed is the bot's queue of events, or the history of a channel. All
    events of `feed` up to `position` are committed."""

    feed: str
    position: int


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """One event of a platform that may become a message. `event_id` and the address form the inbox key: an event that
    is received twice creates only one message."""

    address: Address
    event_id: str
    sender: Sender
    content: str
    #: Files whose bytes came with the message.
    uploads: tuple[Upload, ...] = ()
    is_direct: bool = False
    #: True if the message mentions the bot, replies to the bot or is a command.
    addressed: bool = True
    assigned_agent: str | None = None
    #: Files whose bytes the connector can fetch later.
    files: tuple[FileRef, ...] = ()
    respond: Respond = Respond.MENTION
    #: The maximum number of overheard messages of the channel that are stored. If 0, none are stored.
    observe: int = 0
    #: The platform's own id of the message.
    platform_ref: str | None = None
    #: The name of the channel; empty in a direct chat, or if the platform does not report it.
    room: str = ""
    #: The time (ms) at which the sender wrote the message, if the platform reports it.
    sent_at: int | None = None
    #: The platform's id of an album. All events with the same album become one message.
    album: str | None = None
    #: The read position of the bot, which is stored in the same commit as this event.
    position: FeedPosition | None = None
    #: The messages that this one answers, quotes or forwards, as the platform reports them.
    quotations: tuple[Quotation, ...] = ()
    #: The sources of the content other than the sender.
    taint: Taint = CLEAN
    #: The platform's id of the message to which this one replies.
    in_reply_to: str | None = None
    #: The parameters for the model: `max_tokens`, `effort`, and `sampling`, which contains all other parameters under
    #: OpenAI's names.
    wishes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def forwarded(self) -> bool:
        """True if the content is a text that the sender forwarded and another person may have written."""
        return is_forward(self.quotations)


class Role(StrEnum):
    """The kind of a stored message."""

    USER = "user"
    ASSISTANT = "assistant"
    #: A message that the daemon writes by itself.
    NOTICE = "notice"
    #: A text that an agent posts before its reply.
    PROGRESS = "progress"


class MessageStatus(StrEnum):
    """The status of a message. `queued` and `running` are derived from the message's job. The other statuses are
    stored."""

    ACCEPTED = "accepted"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    ANSWERED = "answered"
    FAILED = "failed"
    DROPPED = "dropped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


#: The final statuses: the message gets no further reply, unless a person retries its turn.
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
    """A row of the table of messages. Times in ms."""

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
    #: The number of the ended turn in its conversation, from 1; None while the turn is open. Prompts contain messages
    #: in the order of these numbers. So the replies of earlier turns come before a message that waited for its turn.
    turn: int | None
    created_at: int
    reason: str | None = None
    #: The routing rule that chose the agent.
    route: str | None = None
    reply_to: str | None = None
    #: The position of the message in its turn.
    position: int = 0
    attachments: tuple[Attachment, ...] = field(default=())
    #: The sources of the text other than the person who asked.
    taint: Taint = CLEAN
    platform_ref: str | None = None
    album: str | None = None
    #: The cause of a message that is not a reply: `schedule:ID` or `webhook:ID`.
    source: str = ""
    #: The id of the question that this notice shows.
    wait_id: str | None = None
    #: The rounds of the turn that this message ends. Only prompts and exports read them.
    rounds: tuple[PastRound, ...] = ()
    #: The messages that this one answers, quotes or forwards.
    quotations: tuple[Quotation, ...] = ()
    #: The id of the inactive version of the conversation that contains the message; None for all other messages.
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class PastFile:
    """A file of a message of an ended turn."""

    #: The number of the file among all files of its turn, from 1.
    number: int
    #: The file without its text.
    file: Attachment
    text: Excerpt


@dataclass(frozen=True, slots=True)
class PastMessage:
    """The fields of a message of an ended turn that prompts and summaries use. Times in ms."""

    role: Role
    #: The text, without the names of files.
    content: str
    #: The estimated number of tokens.
    tokens: int
    id: str = ""
    turn: int = 0
    position: int = 0
    taint: Taint = CLEAN
    principal_id: str | None = None
    user_name: str = ""
    created_at: int = 0
    #: The names of the files, separated by commas.
    file_names: str = ""
    files: tuple[PastFile, ...] = ()
    #: The rounds before this reply.
    rounds: tuple[PastRound, ...] = ()
    quotations: tuple[Quotation, ...] = ()

    @property
    def said(self) -> str:
        """The text, preceded by the quotations."""
        return with_quotations(self.content, self.quotations)

    @property
    def text(self) -> str:
        """The text with its quotations, followed by the names of the files."""
        return f"{self.said}\n[Files: {self.file_names}]".strip() if self.file_names else self.said

    @property
    def size(self) -> int:
        """The number of characters of the text, of the files and of the rounds, without the arguments of calls."""
        if not self.files and not self.rounds and not self.quotations:
            return len(self.content)
        calls = [call for each in self.rounds for call in each.calls]
        parts = (len(self.said), *(each.text.size for each in self.files), *(call.output.size for call in calls))
        return sum(parts)


class DeliveryState(StrEnum):
    """The state of a delivery. `unknown`: sending was interrupted, and the message may have arrived."""

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
    """A button below a message. A click reports the button's `id`, which has at most 64 bytes because every platform
    supports that length."""

    id: str
    label: str
    style: ButtonStyle = ButtonStyle.SECONDARY


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A file that is sent with a reply."""

    filename: str
    content_type: str
    #: In bytes.
    size: int
    #: The hash under which the bytes are stored. If it is empty, the file consists of `content`.
    sha256: str = ""
    #: The text from which the file is created when it is sent.
    content: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One reply or notice on its way to a platform."""

    id: str
    message_id: str
    part: int
    address: Address
    #: The number of the delivery in its channel, from 1. Numbers have gaps only after the restore of a backup.
    seq: int
    content: str
    reply_to: str | None
    #: The ids of the messages that the delivery answers; empty for a notice during a turn.
    answers: tuple[str, ...]
    agent: str | None
    state: DeliveryState
    created_at: int
    #: The platform's id of the message to which the delivery replies.
    reply_ref: str | None = None
    #: The execution whose draft this delivery replaces.
    execution_id: str | None = None
    buttons: tuple[Button, ...] = ()
    files: tuple[OutgoingFile, ...] = ()
