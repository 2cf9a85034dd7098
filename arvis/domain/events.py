"""Events of the bus. They carry notice; the database carries duty: a row first, an event second."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.messages import Address, MessageStatus


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
    """A login of the dashboard is over; `session` is the hash of its cookie."""

    session: str


@dataclass(frozen=True, slots=True)
class AccountsChanged:
    """Accounts were added, changed or removed in the product; whoever asks models reads them anew."""


@dataclass(frozen=True, slots=True)
class NoticesMissed:
    """What other processes said may not have been heard: whoever waits for a notice looks for itself."""


Event = (
    MessageReceived
    | TypingRequested
    | Delta
    | DeliveryAdded
    | StatusChanged
    | JobSettled
    | ExecutionPaused
    | SessionEnded
    | AccountsChanged
    | NoticesMissed
)
