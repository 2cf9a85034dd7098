"""What the pages Queue, Messages, Conversations and Approvals show: rows with everything that a person wants to see
beside them, so that a page asks once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from arvis.domain.conversations import Compaction
from arvis.domain.executions import Execution, Step, Wait
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import Address, Delivery, MessageStatus, StoredMessage
from arvis.domain.platforms import Part
from arvis.domain.runs import ModelCall
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list shows; no `statuses`: any. `agent` is a slug or an id."""

    kind: str | None = None
    statuses: Collection[JobStatus] = ()
    agent: str | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A job and what it is about: `about` begins with the words of the message, or is the name of a schedule or web hook.
    `agent` is a slug, `person` a name."""

    job: Job
    agent: str | None
    about: str
    address: Address | None
    person: str | None


@dataclass(frozen=True, slots=True)
class JobStory:
    """What is known of a job that answers no message; `delivery` and its `parts` for one that sends."""

    item: QueueItem
    execution: Execution | None = None
    steps: Sequence[Step] = ()
    calls: Sequence[ModelCall] = ()
    waits: Sequence[Wait] = ()
    delivery: Delivery | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who sees only what is theirs: as principal and as user of the web."""

    principal_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """Which conversations a list shows. `text` is looked for in agents, channels, people and the newest messages; `own`
    are those in which this person wrote, in places of their own."""

    agent: str | None = None
    platform: str | None = None
    channel: str | None = None
    thread: str | None = None
    text: str | None = None
    own: Person | None = None


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list. `title` and `preview` begin the first and the last message, `people` counts those who wrote
    among the newest hundred. Times in ms."""

    id: str
    agent: str
    address: Address
    turns: int
    created_at: int
    last_message_at: int
    open: bool
    title: str
    preview: str
    people: int


@dataclass(frozen=True, slots=True)
class TalkDetail:
    """One conversation: what its next prompt takes of it (`messages`, `tokens` without summaries), and its summaries."""

    talk: ConversationSummary
    messages: int
    tokens: int
    compactions: int
    summary: Compaction | None


class QuestionState(StrEnum):
    """`closed`: the work that asked has ended otherwise, so an answer is no longer wanted."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """The question that a message shows. `decision` is what a person decided, such as `approve`; `answered_at` in ms."""

    id: str
    state: QuestionState
    decision: str | None = None
    answered_at: int | None = None


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A stored message as it was seen. `agent` is a slug, `cost_micros` that of the turn which it ends."""

    message: StoredMessage
    status: MessageStatus
    agent: str | None
    cost_micros: int = 0
    deliveries: Sequence[Delivery] = ()
    answered_by: str | None = None
    question: ShownQuestion | None = None


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which messages of people a list shows; `agent` is a slug or an id. `text` is looked for in the newest some ten
    thousand."""

    status: MessageStatus | None = None
    agent: str | None = None
    platform: str | None = None
    conversation_id: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WaitView:
    """A question, whose execution asks it, and the message it is asked for (None where nobody wrote). `answerer` is the name
    of who answered it."""

    wait: Wait
    execution: Execution
    message: StoredMessage | None = None
    person: str | None = None
    agent: str | None = None
    answerer: str | None = None


class BrowsingInsights(Protocol):
    async def queue(self, which: JobFilter, *, limit: int, cursor: str | None) -> Page[QueueItem]:
        """Newest first."""
        ...

    async def queue_item(self, job_id: str) -> QueueItem | None: ...

    async def job_story(self, job_id: str) -> JobStory | None: ...

    async def count_jobs(self, which: JobFilter, *, below: str | None, most: int) -> int:
        """How many jobs of a list follow behind a cursor; counts to `most`."""
        ...

    async def talks(self, which: ConversationFilter, *, limit: int, cursor: str | None) -> Page[ConversationSummary]:
        """The last used first."""
        ...

    async def talk(self, conversation_id: str) -> TalkDetail | None: ...

    async def talk_messages(
        self, conversation_id: str, *, own: Person | None, limit: int, cursor: str | None
    ) -> Page[ShownMessage]:
        """Newest first; with `own` only what this person said and was answered."""
        ...

    async def whole_talk(self, conversation_id: str, *, after: str, limit: int) -> Sequence[StoredMessage]:
        """In order, with what summaries stand for."""
        ...

    async def asked_messages(self, which: MessageFilter, *, limit: int, cursor: str | None) -> Page[ShownMessage]:
        """What people wrote, newest first."""
        ...

    async def questions(self, *, open_only: bool, kind: str | None, limit: int, cursor: str | None) -> Page[WaitView]:
        """Questions to people, newest first."""
        ...

    async def question(self, wait_id: str) -> WaitView | None: ...
