"""Queries for pages, lists and `explain`. One function serves one page, in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.agents import Agent
from arvis.domain.executions import Execution, Step, Wait
from arvis.domain.jobs import Job
from arvis.domain.messages import Address, Delivery, MessageStatus, StoredMessage
from arvis.domain.money import Charge, Client, ClientChannel
from arvis.domain.runs import Cooldown, ModelCall
from arvis.ports.automation import ProjectInsights, ScheduleInsights, WebhookInsights
from arvis.ports.browsing import BrowsingInsights
from arvis.ports.changes import ChangeInsights
from arvis.ports.conversations import CompactionInsights
from arvis.ports.memory import MemoryInsights
from arvis.ports.pages import Page
from arvis.ports.people import PeopleInsights
from arvis.ports.receipts import ReceiptInsights
from arvis.ports.workflows import WorkflowInsights


@dataclass(frozen=True, slots=True)
class Headline:
    """The counters: running work and queued work (deliveries have their own counter of unsent ones), dead letters,
    and questions that wait for a person. `cost_micros` is the cost of the day."""

    running: int
    pending: int
    undelivered: int
    failed: int
    waiting: int
    cost_micros: int


@dataclass(frozen=True, slots=True)
class RunningWork:
    """A running job. Values are None if they are unknown. Times in ms."""

    job_id: str
    kind: str
    since: int
    message_id: str | None
    execution_id: str | None
    #: A slug.
    agent: str | None
    agent_name: str | None
    graph: str | None
    #: Its current node in the graph.
    node: str | None
    #: The effect that it has begun.
    tool: str | None
    #: The latest progress text of its agent.
    note: str | None
    conversation_id: str | None
    place: Address | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview in one snapshot. The lists are bounded: longest running work first, newest questions and failures
    first. `oldest_ready_ms` is the age of the oldest claimable job; `agents` are slugs by the ids that `failures`
    names."""

    headline: Headline
    oldest_ready_ms: int
    running: Sequence[RunningWork]
    waits: Sequence[Wait]
    failures: Sequence[Job]
    agents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """A group of messages that were answered, or failed (`failed`), in the same minute with about the same latency.
    `minute` counts from the epoch; `latency_ms` is from acceptance to answer, rounded to two digits or better."""

    minute: int
    failed: bool
    latency_ms: int
    number: int


class OverviewInsights(Protocol):
    async def overview(self, now: int, day: str) -> Overview:
        """Return the overview. `day` is today's key in the ledger."""
        ...

    async def headline(self, day: str) -> Headline: ...

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        """Return the answers that were written from `since` on and before `until` (ms). Each group of `minutes`
        consecutive minutes is returned as one, under the number of its first minute, which is a multiple of
        `minutes`."""
        ...


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One entry of a message's timeline. `at` in ms; `step` is a code such as `received`, `routed`, `queued`,
    `started`, `node`, `model_call`, `retried`, `recovered`, `answered`, `delivery`."""

    at: int
    step: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MessageTimeline:
    """The explanation of an answer, or of its absence. `answers` are all messages that the reply answered; `run` is
    the id of the workflow run that answered, if any."""

    message: StoredMessage
    status: MessageStatus
    reason: str | None
    reply: str | None
    reply_id: str | None
    answers: Sequence[str]
    steps: Sequence[TimelineStep]
    job: Job | None
    agent: str | None
    cost_micros: int
    input_tokens: int
    output_tokens: int
    run: str | None = None


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """Jobs by (kind, status) among those not yet pruned, and the age in ms of the oldest ready one."""

    jobs: Mapping[tuple[str, str], int]
    oldest_ready_ms: int


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation in a list, with the slug of its agent. Times in ms."""

    id: str
    agent: str
    address: Address
    turns: int
    created_at: int
    last_message_at: int


@dataclass(frozen=True, slots=True)
class AccountRows:
    """Stored accounts by name, and the cooldowns of all accounts."""

    accounts: Sequence[StoredAccount]
    rests: Sequence[Cooldown]


class UsageBy(StrEnum):
    """The grouping of a usage report."""

    AGENT = "agent"
    MODEL = "model"
    ACCOUNT = "account"
    CLIENT = "client"
    PRINCIPAL = "principal"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class UsageSums:
    """Sums over model calls. Of the input, `cached_tokens` were read from the vendors' caches and `written_tokens`
    were written to them; `unpriced` calls succeeded without a known price; `duration_ms` is the total duration."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    cost_micros: int = 0
    errors: int = 0
    unpriced: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """`key` is an id, a name or a day ("" if there was none), `name` its name for people."""

    key: str
    name: str
    sums: UsageSums


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Days in order, other keys by cost, highest first; `total` includes groups that are not listed."""

    groups: Sequence[UsageGroup]
    total: UsageSums


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """The usage of one item on one day; the key `*` sums all items that are not listed separately."""

    day: str
    key: str
    name: str
    sums: UsageSums


@dataclass(frozen=True, slots=True)
class ClientSums:
    """Charges and payments of a client in a period, in micros."""

    charged: int
    paid: int


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """An execution with its steps, its questions and the executions that it called."""

    execution: Execution
    steps: Sequence[Step]
    waits: Sequence[Wait]
    children: Sequence[Execution]
    calls: Sequence[ModelCall] = ()


class ExecutionInsights(Protocol):
    async def executions(
        self, *, graph: str | None, status: str | None, limit: int, cursor: str | None
    ) -> Page[Execution]:
        """Return executions, newest first."""
        ...

    async def execution_costs(
        self, *, graph: str | None, status: str | None, oldest: str, newest: str
    ) -> Mapping[str, int]:
        """Return costs in millionths of a dollar by execution id, for the list with these filters between two of its
        ids. Executions without cost are left out."""
        ...

    async def execution(self, execution_id: str) -> ExecutionView | None: ...


class Insights(
    BrowsingInsights,
    ExecutionInsights,
    MemoryInsights,
    ScheduleInsights,
    ProjectInsights,
    WebhookInsights,
    CompactionInsights,
    ChangeInsights,
    PeopleInsights,
    ReceiptInsights,
    OverviewInsights,
    WorkflowInsights,
    Protocol,
):
    async def message(self, message_id: str) -> MessageTimeline | None: ...

    async def status(self, message_id: str) -> tuple[MessageStatus, str | None] | None:
        """Return only status and reason, for callers that wait for a message."""
        ...

    async def jobs(
        self, *, kind: str | None, status: str | None, agent: str | None, limit: int, cursor: str | None
    ) -> Page[Job]: ...

    async def job(self, job_id: str) -> Job | None: ...

    async def waits(self, *, open_only: bool, limit: int, cursor: str | None) -> Page[Wait]:
        """Return questions to people (approval, review, user)."""
        ...

    async def wait(self, wait_id: str) -> Wait | None: ...

    async def agents(self, *, archived: bool = False) -> Sequence[Agent]:
        """Return agents that are not deleted, or deleted ones, in order of creation."""
        ...

    async def accounts(self) -> AccountRows: ...

    async def variables(self, *, limit: int, cursor: str | None) -> Page[Variable]:
        """Return variables in the order of their keys; a cursor is a key."""
        ...

    async def conversations(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[ConversationView]: ...

    async def conversation_messages(
        self, conversation_id: str, *, limit: int, cursor: str | None
    ) -> Page[StoredMessage]: ...

    async def search_messages(self, text: str, *, principal_id: str | None, limit: int) -> Sequence[StoredMessage]:
        """Return conversation messages that contain this text, ignoring case, newest first; only the newest ten
        thousands of messages are searched. With `principal_id` only messages of this person and the replies to them."""
        ...

    async def deliveries_after(self, address: Address, seq: int, limit: int) -> Sequence[Delivery]:
        """Return deliveries of a channel above `seq`, in order, in every state."""
        ...

    async def last_seq(self, address: Address) -> int: ...

    async def counts(self, now: int) -> QueueCounts: ...

    async def usage(self, by: UsageBy, since: int, until: int, zone: str) -> UsageReport:
        """Return sums over the calls that ended from `since` on and before `until` (ms); days are those of the zone."""
        ...

    async def usage_by_day(self, split: UsageBy, since: int, until: int, zone: str) -> Sequence[UsagePoint]:
        """Return the same calls by day and by a second key (agent, model, account or client): the eight most
        expensive values of it, and all others as one. Ordered by day, then by cost, highest first."""
        ...

    async def clients(self, *, limit: int, cursor: str | None) -> Page[Client]: ...

    async def client(self, client_id: str) -> Client | None: ...

    async def client_channels(self, client_id: str) -> Sequence[ClientChannel]: ...

    async def charges(
        self, client_id: str, *, since: int, until: int | None, limit: int, cursor: str | None
    ) -> Page[Charge]:
        """Return account lines from `since` on and before `until` (ms; None: now)."""
        ...

    async def client_sums(self, client_id: str, since: int, until: int) -> ClientSums: ...
