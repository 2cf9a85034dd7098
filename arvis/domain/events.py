"""Events of the bus. They only announce changes: the data is in the database, and is committed before the event."""

from __future__ import annotations

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, DeliveryState, MessageStatus
from arvis.domain.platforms import BotState


@dataclass(frozen=True, slots=True)
class MessageReceived:
    message_id: str
    address: Address


@dataclass(frozen=True, slots=True)
class TypingRequested:
    address: Address


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed answer to `message_id`."""

    address: Address
    message_id: str
    #: The number of characters of the answer before this piece. If the model starts the answer again, the number starts
    #: at 0 again.
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A tool of a running turn reports its progress, such as `3 of 10`."""

    address: Address
    execution_id: str
    text: str


@dataclass(frozen=True, slots=True)
class DeliveryAdded:
    """A delivery to `address` was added. Subscribers read the delivery from the database."""

    address: Address


@dataclass(frozen=True, slots=True)
class StatusChanged:
    address: Address
    message_id: str
    status: MessageStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class GraphCompleted:
    """The graph that answers `message_id` has ended or asked a question."""

    address: Address
    message_id: str
    graph: str
    #: The reason that the agent gave (`done`, `blocked` …), or the status of the execution.
    stop_reason: str
    #: True if the graph has asked a question.
    waiting_for_user: bool
    #: The id of the conversation.
    thread_id: str


@dataclass(frozen=True, slots=True)
class AgentMoved:
    """An agent (`source`) handed the conversation over to another agent (`target`) during the turn that answers
    `message_id`. Both are slugs."""

    address: Address
    message_id: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ConversationRewound:
    """Messages of a conversation have become inactive or active. Pages read the conversation again."""

    address: Address
    conversation_id: str


@dataclass(frozen=True, slots=True)
class JobSettled:
    """A job was cancelled. An asyncio task that runs the job must stop. `status` is `cancelled`."""

    job_id: str
    status: str


@dataclass(frozen=True, slots=True)
class ExecutionPaused:
    execution_id: str
    wait_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A login of the dashboard ended, or a key was revoked."""

    #: The hash of the cookie, or the id of the key.
    session: str


@dataclass(frozen=True, slots=True)
class AccountsChanged:
    """Model accounts were added, changed or removed. Model runners reload the accounts."""


@dataclass(frozen=True, slots=True)
class DeliverySettled:
    """A delivery was sent, or failed."""

    address: Address
    #: The execution of the turn that the delivery answers; None if it answers no turn.
    execution_id: str | None
    state: DeliveryState


@dataclass(frozen=True, slots=True)
class DeliveryPostponed:
    """An attempt to send a delivery failed, and another attempt will follow. Only the sending process needs this
    event."""

    address: Address


@dataclass(frozen=True, slots=True)
class BotsChanged:
    """Bots were added, changed or removed."""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings were changed. Components that can apply new settings without a restart reload them."""


@dataclass(frozen=True, slots=True)
class SchedulesChanged:
    """Schedules were added, changed or removed, so the earliest due time may have changed."""


@dataclass(frozen=True, slots=True)
class BotStateChanged:
    """A bot of this process has connected or disconnected."""

    platform: str
    name: str
    state: BotState


@dataclass(frozen=True, slots=True)
class Changed:
    """Data that a page shows has changed."""

    #: A `ChangeTopic`.
    topic: str
    #: The id of the changed item. None means that any items may have changed.
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RunAdvanced:
    """The log of a workflow run has new lines. Subscribers read the lines from the database."""

    run_id: str


@dataclass(frozen=True, slots=True)
class NoticesMissed:
    """Notices of other processes may have been lost. Every subscriber of notices reads the database again."""


Event = (
    MessageReceived
    | TypingRequested
    | Delta
    | StepProgress
    | DeliveryAdded
    | StatusChanged
    | GraphCompleted
    | AgentMoved
    | ConversationRewound
    | JobSettled
    | ExecutionPaused
    | SessionEnded
    | AccountsChanged
    | DeliverySettled
    | DeliveryPostponed
    | BotsChanged
    | SettingsChanged
    | SchedulesChanged
    | BotStateChanged
    | Changed
    | RunAdvanced
    | NoticesMissed
)
