"""Events of the bus. They carry notice; the database carries duty: a row first, an event second."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A piece of a streamed answer to `message_id`; `offset` = characters before it, so a retried answer
    starts again at 0."""

    address: Address
    message_id: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class DeliveryAdded:
    """There is something new to show in this place; whoever shows it reads it from the database."""

    address: Address


@dataclass(frozen=True, slots=True)
class StatusChanged:
    address: Address
    message_id: str
    status: MessageStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class GraphCompleted:
    """The graph that answered `message_id` has come to its end, or to a question (`waiting_for_user`). `stop_reason` is what
    the agent said (`done`, `blocked` …), or the state of the execution; `thread_id` is the conversation."""

    address: Address
    message_id: str
    graph: str
    stop_reason: str
    waiting_for_user: bool
    thread_id: str


@dataclass(frozen=True, slots=True)
class AgentMoved:
    """While `message_id` is answered, the talk went from one agent to another one; `source` and `target` are their
    slugs."""

    address: Address
    message_id: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class JobSettled:
    job_id: str
    status: str


@dataclass(frozen=True, slots=True)
class ExecutionPaused:
    execution_id: str
    wait_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A login of the dashboard is over, or a key was revoked; `session` is the hash of the cookie, or the key's id."""

    session: str


@dataclass(frozen=True, slots=True)
class AccountsChanged:
    """Accounts were added, changed or removed in the product; whoever asks models reads them anew."""


@dataclass(frozen=True, slots=True)
class DeliverySettled:
    """A delivery has left, or was given up; `execution_id` is the turn that it ends (None: it ends none)."""

    address: Address
    execution_id: str | None
    state: DeliveryState


@dataclass(frozen=True, slots=True)
class DeliveryPostponed:
    """An attempt to send a delivery ended without success; a later one follows. Only the process that sends needs this."""

    address: Address


@dataclass(frozen=True, slots=True)
class BotsChanged:
    """Bots were added, changed or removed in the product."""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """The configuration was changed in the product; whoever acts upon it at once reads it anew."""


@dataclass(frozen=True, slots=True)
class SchedulesChanged:
    """Schedules were added, changed or removed: one may be due sooner than was known."""


@dataclass(frozen=True, slots=True)
class BotStateChanged:
    """A bot of this process has come up, or gone down."""

    platform: str
    name: str
    state: BotState


@dataclass(frozen=True, slots=True)
class Changed:
    """A thing that pages show is not what it was: `topic` is a `ChangeTopic`, `id` names the thing (None: some of them)."""

    topic: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RunAdvanced:
    """The log of a workflow's run has new lines; whoever shows it reads them."""

    run_id: str


@dataclass(frozen=True, slots=True)
class NoticesMissed:
    """What other processes said may not have been heard: whoever waits for a notice looks for itself."""


Event = (
    MessageReceived
    | TypingRequested
    | Delta
    | DeliveryAdded
    | StatusChanged
    | GraphCompleted
    | AgentMoved
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
