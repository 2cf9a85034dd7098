"""Queries for the pages and lists of the dashboard, and for `explain`. Each function reads one snapshot of the
database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import Meaning
from arvis.domain.executions import Execution, Step, Wait
from arvis.domain.jobs import Job
from arvis.domain.messages import Address, Delivery, MessageStatus, StoredMessage
from arvis.domain.money import Charge, Client, ClientChannel
from arvis.domain.reactions import Feedback
from arvis.domain.runs import Cooldown, ModelCall
from arvis.ports.automation import ProjectInsights, ScheduleInsights, WebhookInsights
from arvis.ports.browsing import BrowsingInsights
from arvis.ports.changes import ChangeInsights
from arvis.ports.conversations import CompactionInsights
from arvis.ports.knowledge import KnowledgeInsights
from arvis.ports.memory import MemoryInsights
from arvis.ports.notifications import NotificationInsights
from arvis.ports.pages import Page
from arvis.ports.people import PeopleInsights
from arvis.ports.receipts import ReceiptInsights
from arvis.ports.workflows import WorkflowInsights


@dataclass(frozen=True, slots=True)
class Headline:
    """The counters at the top of the dashboard. Jobs that send deliveries are counted only in `undelivered`."""

    #: Running jobs.
    running: int
    #: Waiting jobs.
    pending: int
    #: Unsent deliveries.
    undelivered: int
    #: Failed jobs.
    failed: int
    #: Questions that wait for a person.
    waiting: int
    #: The cost of the current day.
    cost_micros: int


@dataclass(frozen=True, slots=True)
class RunningWork:
    """A running job, with details of its execution. `since` is the time (ms) at which the job started. Unknown values
    are None."""

    job_id: str
    kind: str
    since: int
    message_id: str | None
    execution_id: str | None
    #: The agent's slug.
    agent: str | None
    agent_name: str | None
    graph: str | None
    #: The current node of the execution.
    node: str | None
    #: The name of the effect that the execution has begun, such as a tool call.
    tool: str | None
    #: The latest progress text of the agent.
    note: str | None
    conversation_id: str | None
    place: Address | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of the overview page. The lists have a maximum length."""

    headline: Headline
    #: The time for which the oldest claimable job has waited.
    oldest_ready_ms: int
    #: The jobs that have run for the longest time.
    running: Sequence[RunningWork]
    #: The newest questions.
    waits: Sequence[Wait]
    #: The newest failures.
    failures: Sequence[Job]
    #: The slugs of the agents whose jobs are in `failures`, by agent id.
    agents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """The number of messages that were answered or failed in the same minute, with about the same latency."""

    #: The minute, as the number of minutes since 1970.
    minute: int
    failed: bool
    #: The time from acceptance to answer, rounded to at least two significant digits.
    latency_ms: int
    #: The number of these messages.
    number: int


class OverviewInsights(Protocol):
    async def overview(self, now: int, day: str) -> Overview:
        """Return the data of the overview page. `day` is the current day in the ledger's form (2026-11-22)."""
        ...

    async def headline(self, day: str) -> Headline: ...

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        """Return counts of the answers that were written from `since` on and before `until` (ms). Answers of `minutes`
        consecutive minutes are counted together. The `minute` of such a count is the first of these minutes, a multiple
        of `minutes`."""
        ...


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One entry of a message's timeline. `at` in ms."""

    at: int
    #: A code such as `received`, `routed`, `queued`, `started`, `node`, `model_call`, `retried`, `recovered`,
    #: `answered`, `delivery`.
    step: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MessageTimeline:
    """The history of a message. It explains the answer, or the reason why there is no answer."""

    message: StoredMessage
    status: MessageStatus
    reason: str | None
    reply: str | None
    reply_id: str | None
    #: The ids of all messages that the same reply answered.
    answers: Sequence[str]
    steps: Sequence[TimelineStep]
    job: Job | None
    agent: str | None
    cost_micros: int
    input_tokens: int
    output_tokens: int
    #: The part of the input that was read from the caches of vendors.
    cached_tokens: int = 0
    #: The id of the workflow run that answered; None if no run answered.
    run: str | None = None
    #: The ratings of the reply.
    feedback: Sequence[Feedback] = ()


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The size and the delay of the queue."""

    #: The numbers of waiting, running and failed jobs by (kind, status).
    jobs: Mapping[tuple[str, str], int]
    #: The time for which the oldest claimable job has waited.
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
    """The stored accounts in the order of their names, and the cooldowns of all accounts."""

    accounts: Sequence[StoredAccount]
    rests: Sequence[Cooldown]


class UsageBy(StrEnum):
    """The keys by which a usage report can be grouped."""

    AGENT = "agent"
    MODEL = "model"
    ACCOUNT = "account"
    CLIENT = "client"
    PRINCIPAL = "principal"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class UsageSums:
    """Sums over model calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    #: The part of the input that was read from vendors' caches.
    cached_tokens: int = 0
    #: The part of the input that was written to vendors' caches.
    written_tokens: int = 0
    cost_micros: int = 0
    errors: int = 0
    #: The number of successful calls of models without a known price.
    unpriced: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """One group of a usage report."""

    #: The id, the name or the day by which the calls were grouped; empty for calls that have no such value.
    key: str
    #: The name under which people see the group.
    name: str
    sums: UsageSums


@dataclass(frozen=True, slots=True)
class UsageReport:
    """A usage report."""

    #: The groups. Days are ordered by time. All other groups are ordered by cost, highest first.
    groups: Sequence[UsageGroup]
    #: The sums of all calls, including those of groups that `groups` does not contain.
    total: UsageSums


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """The usage of one item on one day."""

    day: str
    #: The key of the item, or `*` for the sum of all items that have no separate points.
    key: str
    name: str
    sums: UsageSums


@dataclass(frozen=True, slots=True)
class ClientSums:
    """The sums of a customer's charges and payments in a period, in micros."""

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
        """Return the costs (micros), by id, of the executions that match these filters and have ids from `oldest` to
        `newest`. Executions without model calls are left out."""
        ...

    async def execution(self, execution_id: str) -> ExecutionView | None: ...


class Insights(
    BrowsingInsights,
    ExecutionInsights,
    MemoryInsights,
    KnowledgeInsights,
    ScheduleInsights,
    ProjectInsights,
    WebhookInsights,
    CompactionInsights,
    ChangeInsights,
    PeopleInsights,
    ReceiptInsights,
    OverviewInsights,
    NotificationInsights,
    WorkflowInsights,
    Protocol,
):
    async def message(self, message_id: str) -> MessageTimeline | None: ...

    async def status(self, message_id: str) -> tuple[MessageStatus, str | None] | None:
        """Return the status and reason of a message. The query is cheap, for callers that wait for the answer."""
        ...

    async def jobs(
        self, *, kind: str | None, status: str | None, agent: str | None, limit: int, cursor: str | None
    ) -> Page[Job]: ...

    async def job(self, job_id: str) -> Job | None: ...

    async def waits(self, *, open_only: bool, limit: int, cursor: str | None) -> Page[Wait]:
        """Return the questions to people: waits of the kinds approval, review and user."""
        ...

    async def wait(self, wait_id: str) -> Wait | None: ...

    async def agents(self, *, archived: bool = False) -> Sequence[Agent]:
        """Return the agents that are not archived, in the order of their creation. With `archived`, return only the
        archived agents."""
        ...

    async def accounts(self) -> AccountRows: ...

    async def variables(self, *, limit: int, cursor: str | None) -> Page[Variable]:
        """Return variables in the order of their keys. The cursor is the key of the last variable."""
        ...

    async def conversations(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[ConversationView]: ...

    async def conversation_messages(
        self, conversation_id: str, *, limit: int, cursor: str | None
    ) -> Page[StoredMessage]: ...

    async def search_messages(
        self, text: str, *, principal_id: str | None, limit: int, meaning: Meaning | None = None
    ) -> Sequence[StoredMessage]:
        """Return the messages of conversations that fit a question best: messages with the most and the rarest words of
        the question and, if the question is a sentence, also the messages next to them. The best match is first; of
        equal matches, the newest is first. With `principal_id`, return only this person's messages and the replies to
        them. With `meaning`, the vector of the text, also return messages with a similar meaning, ranked together with
        the other messages."""
        ...

    async def deliveries_after(self, address: Address, seq: int, limit: int) -> Sequence[Delivery]:
        """Return the deliveries of a channel whose numbers are above `seq`, in order of their numbers and in any
        state."""
        ...

    async def last_seq(self, address: Address) -> int: ...

    async def counts(self, now: int) -> QueueCounts: ...

    async def usage(self, by: UsageBy, since: int, until: int, zone: str) -> UsageReport:
        """Return sums over the calls that ended from `since` on and before `until` (ms). Days begin at midnight in the
        time zone `zone`."""
        ...

    async def usage_by_day(self, split: UsageBy, since: int, until: int, zone: str) -> Sequence[UsagePoint]:
        """Return the sums of `usage` by day and by `split` (agent, model, account or client), ordered by day, then by
        cost, highest first. The eight most expensive values of `split` have separate points. For each day, all other
        values are summed up in one point."""
        ...

    async def clients(self, *, limit: int, cursor: str | None) -> Page[Client]: ...

    async def client(self, client_id: str) -> Client | None: ...

    async def client_channels(self, client_id: str) -> Sequence[ClientChannel]: ...

    async def charges(
        self, client_id: str, *, since: int, until: int | None, limit: int, cursor: str | None
    ) -> Page[Charge]:
        """Return the entries of a customer's account from `since` on and before `until` (ms; None: no end)."""
        ...

    async def client_sums(self, client_id: str, since: int, until: int) -> ClientSums: ...
