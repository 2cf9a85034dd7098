"""Queries for the dashboard pages Queue, Messages, Conversations and Approvals. Each result contains all related data,
so that a page needs only one request."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Protocol

from arvis.domain.conversations import Compaction, ConversationVersion
from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution, Step, Wait
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import Address, Delivery, MessageStatus, StoredMessage
from arvis.domain.platforms import Part
from arvis.domain.reactions import Feedback
from arvis.domain.runs import ModelCall
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The filter of a list of jobs. Empty `statuses` match every status; `agent` is a slug or an id."""

    kind: str | None = None
    statuses: Collection[JobStatus] = ()
    agent: str | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A job in a list."""

    job: Job
    #: The agent's slug.
    agent: str | None
    #: The beginning of the job's message, or the name of its schedule or webhook.
    about: str
    address: Address | None
    #: The person's name.
    person: str | None


@dataclass(frozen=True, slots=True)
class JobStory:
    """The details of a job that answers no message. Only a job of a delivery has `delivery` and `parts`."""

    item: QueueItem
    execution: Execution | None = None
    steps: Sequence[Step] = ()
    calls: Sequence[ModelCall] = ()
    waits: Sequence[Wait] = ()
    delivery: Delivery | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """A person who may see only their own data: the id of the principal, and the id of the user of the dashboard."""

    principal_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """The filter of a list of conversations."""

    agent: str | None = None
    platform: str | None = None
    channel: str | None = None
    thread: str | None = None
    #: A search text. The whole text is searched in the names of agents, and its words in messages and in the names of
    #: their writers and channels.
    text: str | None = None
    #: If set, select only conversations that are in this person's own channels and contain messages of this person.
    own: Person | None = None


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list. Times in ms."""

    id: str
    agent: str
    address: Address
    turns: int
    created_at: int
    last_message_at: int
    open: bool
    #: The beginning of the first message.
    title: str
    #: The beginning of the last message.
    preview: str
    #: The number of people who wrote the newest hundred messages.
    people: int


@dataclass(frozen=True, slots=True)
class TalkDetail:
    """One conversation and its summaries."""

    talk: ConversationSummary
    #: The number of messages that the next prompt contains, and their tokens. Summaries do not count.
    messages: int
    tokens: int
    #: The number of summaries.
    compactions: int
    summary: Compaction | None
    #: False if memory is off in the channel of the conversation.
    remembers: bool


class QuestionState(StrEnum):
    """The state of a question."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    #: The execution that asked the question has ended, so no answer is needed.
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """The question that a message shows. `answered_at` in ms."""

    id: str
    state: QuestionState
    #: The person's decision, such as `approve`.
    decision: str | None = None
    answered_at: int | None = None


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A stored message with its details."""

    message: StoredMessage
    status: MessageStatus
    #: The agent's slug.
    agent: str | None
    #: The cost of the turn that this message ends.
    cost_micros: int = 0
    deliveries: Sequence[Delivery] = ()
    answered_by: str | None = None
    question: ShownQuestion | None = None
    #: The ratings of this reply.
    feedback: Sequence[Feedback] = ()
    #: The versions that continue the conversation from the point before this message, oldest first, if there are
    #: several. One of them, the active one, begins with this message.
    versions: Sequence[ConversationVersion] = ()


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """The filter of a list of people's messages. `agent` is a slug or an id. A message must contain all words
    of `text`."""

    status: MessageStatus | None = None
    agent: str | None = None
    platform: str | None = None
    conversation_id: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WaitView:
    """A question with the execution that asks it."""

    wait: Wait
    execution: Execution
    #: The message that the execution answers; None if it answers no message.
    message: StoredMessage | None = None
    person: str | None = None
    agent: str | None = None
    #: The name of the person who answered the question.
    answerer: str | None = None


class BrowsingInsights(Protocol):
    async def queue(self, which: JobFilter, *, limit: int, cursor: str | None) -> Page[QueueItem]:
        """Return jobs, newest first."""
        ...

    async def queue_item(self, job_id: str) -> QueueItem | None: ...

    async def job_story(self, job_id: str) -> JobStory | None: ...

    async def count_jobs(self, which: JobFilter, *, below: str | None, most: int) -> int:
        """Count the jobs that follow the cursor `below` in a list. Stop counting at `most`."""
        ...

    async def talks(self, which: ConversationFilter, *, limit: int, cursor: str | None) -> Page[ConversationSummary]:
        """Return conversations, the most recently used first."""
        ...

    async def talk(self, conversation_id: str) -> TalkDetail | None: ...

    async def talk_messages(
        self, conversation_id: str, *, own: Person | None, limit: int, cursor: str | None
    ) -> Page[ShownMessage]:
        """Return the messages of a conversation, newest first; with `own`, only this person's messages and the replies
        to them."""
        ...

    async def whole_talk(self, conversation_id: str, *, after: str, limit: int) -> Sequence[StoredMessage]:
        """Return all messages of a conversation in order, including those that summaries replace in prompts."""
        ...

    async def asked_messages(self, which: MessageFilter, *, limit: int, cursor: str | None) -> Page[ShownMessage]:
        """Return messages of people, newest first."""
        ...

    async def questions(self, *, open_only: bool, kind: str | None, limit: int, cursor: str | None) -> Page[WaitView]:
        """Return questions to people, newest first."""
        ...

    async def question(self, wait_id: str) -> WaitView | None: ...
