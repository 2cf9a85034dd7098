"""A scripted inbox, insights and operations: plain containers that a test fills and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arvis.bus import EventBus
from arvis.domain.accounts import Variable
from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation, EarlierEffects
from arvis.domain.embeddings import Meaning
from arvis.domain.errors import Conflict, DiskLow, NotFound
from arvis.domain.events import MessageReceived
from arvis.domain.executions import Wait
from arvis.domain.jobs import Job, JobKind, JobStatus, Pool
from arvis.domain.messages import (
    Address,
    Delivery,
    DeliveryState,
    IncomingMessage,
    MessageStatus,
    Principal,
    PrincipalRole,
    Role,
    Sender,
    StoredMessage,
)
from arvis.domain.platforms import Part, Piece
from arvis.ports.inbox import Received
from arvis.ports.insights import AccountRows, ConversationView, MessageTimeline, QueueCounts, TimelineStep
from arvis.ports.operations import OPERATOR, RewoundConversation, WaitAnswer, WaitRights
from arvis.ports.pages import Page
from tests.flows.audit_script import NoChanges
from tests.flows.browsing_script import GivenBrowsing
from tests.flows.compaction_script import NoCompactions
from tests.flows.execution_script import GivenExecutions
from tests.flows.knowledge_script import NoKnowledge
from tests.flows.memory_script import NoMemory
from tests.flows.money_script import NoMoney
from tests.flows.overview_script import NoOverview
from tests.flows.people_script import NoPeople
from tests.flows.receipt_script import NoNotifications, NoReceipts
from tests.flows.schedule_script import NoSchedules
from tests.flows.webhook_script import NoWebhooks
from tests.flows.workflow_script import NoWorkflows
from tests.platforms.recording_inbox import RecordingInbox

NOW = 1_700_000_000_000
HELPER = Agent(id="agent1", slug="helper", name="Helper")


def a_job(job_id: str = "job1", *, status: JobStatus = JobStatus.FAILED) -> Job:
    return Job(
        id=job_id, kind=JobKind.MESSAGE, status=status, pool=Pool.INTERACTIVE, priority=5, rank=0,
        lane="conversation:c1", position=1, run_at=NOW, attempts=3, crashes=0, claim=1, owner=None, key=None,
        agent_id=HELPER.id, principal_id=None, message_id="m1", execution_id="e1", delivery_id=None, tokens=0,
        payload={"text": "hello"}, error="no model answered", reason="attempts", merged_into=None, created_at=NOW,
        started_at=NOW, finished_at=NOW, lease_until=None,
    )  # fmt: skip


def a_delivery(seq: int, address: Address, *, content: str | None = None) -> Delivery:
    return Delivery(
        id=f"d{seq}", message_id=f"reply{seq}", part=0, address=address, seq=seq, content=content or f"answer {seq}",
        reply_to="m1", answers=("m0", "m1"), agent="helper", state=DeliveryState.PENDING, created_at=NOW,
    )  # fmt: skip


def a_part(seq: int, address: Address, *, content: str | None = None) -> Part:
    """Return the part that the connector gets for `a_delivery`."""
    return whole(a_delivery(seq, address, content=content))


def whole(delivery: Delivery) -> Part:
    return Part(delivery, 0, Piece(delivery.content, delivery.buttons, delivery.files))


def web_address(channel: str, thread: str = "") -> Address:
    return Address("web", "web", channel, thread)


def database_text(text: str) -> str:
    """Remove NUL characters, which PostgreSQL does not accept."""
    if "\0" in text:
        raise ValueError("invalid byte sequence for encoding")
    return text


class ScriptedInsights(
    GivenBrowsing,
    NoMoney,
    NoOverview,
    NoMemory,
    NoKnowledge,
    NoCompactions,
    NoSchedules,
    NoChanges,
    NoPeople,
    NoReceipts,
    NoNotifications,
    NoWebhooks,
    NoWorkflows,
    GivenExecutions,
):
    """Insights from plain containers that a test fills."""

    def __init__(self) -> None:
        self.timelines: dict[str, MessageTimeline] = {}
        self.all_jobs: dict[str, Job] = {}
        self.all_waits: dict[str, Wait] = {}
        self.deliveries: dict[Address, list[Delivery]] = {}
        self.all_conversations: list[ConversationView] = []
        self.stored: list[StoredMessage] = []
        self.asked: list[Mapping[str, Any]] = []
        #: Runs in the middle of a replay, after the database was read and before its result is returned.
        self.during_replay: asyncio.Event | None = None
        self.replaying = asyncio.Event()

    async def message(self, message_id: str) -> MessageTimeline | None:
        return self.timelines.get(database_text(message_id))

    async def status(self, message_id: str) -> tuple[MessageStatus, str | None] | None:
        found = self.timelines.get(message_id)
        return None if found is None else (found.status, found.reason)

    async def jobs(
        self, *, kind: str | None, status: str | None, agent: str | None, limit: int, cursor: str | None
    ) -> Page[Job]:
        self.asked.append({"kind": kind, "status": status, "agent": agent, "limit": limit, "cursor": cursor})
        found = list(self.all_jobs.values())[int(cursor or 0) :]
        return Page(found[:limit], str(int(cursor or 0) + limit) if len(found) > limit else None)

    async def job(self, job_id: str) -> Job | None:
        return self.all_jobs.get(database_text(job_id))

    async def waits(self, *, open_only: bool, limit: int, cursor: str | None) -> Page[Wait]:
        self.asked.append({"open_only": open_only, "limit": limit, "cursor": cursor})
        return Page([wait for wait in self.all_waits.values() if wait.answer is None or not open_only], None)

    async def wait(self, wait_id: str) -> Wait | None:
        return self.all_waits.get(wait_id)

    async def agents(self, *, archived: bool = False) -> Sequence[Agent]:
        return [] if archived else [HELPER]

    async def accounts(self) -> AccountRows:
        return AccountRows([], [])

    async def variables(self, *, limit: int, cursor: str | None) -> Page[Variable]:
        return Page([], None)

    async def conversations(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[ConversationView]:
        self.asked.append({"agent": agent, "limit": limit, "cursor": cursor})
        return Page(self.all_conversations, None)

    async def conversation_messages(
        self, conversation_id: str, *, limit: int, cursor: str | None
    ) -> Page[StoredMessage]:
        self.asked.append({"conversation": conversation_id, "limit": limit, "cursor": cursor})
        return Page(self.stored, None)

    async def search_messages(
        self, text: str, *, principal_id: str | None, limit: int, meaning: Meaning | None = None
    ) -> Sequence[StoredMessage]:
        self.asked.append({"text": text, "principal_id": principal_id, "limit": limit})
        return [message for message in self.stored if text in message.content][:limit]

    async def deliveries_after(self, address: Address, seq: int, limit: int) -> Sequence[Delivery]:
        found = [delivery for delivery in self.deliveries.get(address, []) if delivery.seq > seq][:limit]
        if self.during_replay is not None:
            self.replaying.set()
            await self.during_replay.wait()
        return found

    async def last_seq(self, address: Address) -> int:
        return max((delivery.seq for delivery in self.deliveries.get(address, [])), default=0)

    async def counts(self, now: int) -> QueueCounts:
        return QueueCounts({("message", "pending"): 2}, 1500)


class ScriptedInbox(RecordingInbox):
    """An inbox that accepts a message unless it has a reason to refuse it, recognises duplicates by address and event
    id, and stores everything."""

    def __init__(self, insights: ScriptedInsights, bus: EventBus) -> None:
        super().__init__()
        self.received: list[IncomingMessage] = []
        self.stops: list[tuple[Address, str]] = []
        self.refusals: dict[str, str] = {}
        self.broken = False
        self.full = False
        self.came = asyncio.Event()
        self._known: dict[tuple[Address, str], Received] = {}
        self._insights = insights
        self._bus = bus

    async def receive(self, message: IncomingMessage) -> Received:
        if self.broken:
            raise RuntimeError("the secret is swordfish")
        if self.full:
            raise DiskLow("There is little room left.", why="The disk is nearly full.", fix="Send it again later.")
        key = (message.address, message.event_id)
        if key in self._known:
            return replace(self._known[key], duplicate=True)
        self.received.append(message)
        self.came.set()
        reason = self.refusals.get(message.address.channel)
        status = MessageStatus.DROPPED if reason else MessageStatus.ACCEPTED
        answer = Received(f"m{len(self.received)}", status, reason or "fallback")
        self._known[key] = answer
        self._insights.timelines[answer.message_id] = a_timeline(answer.message_id, message, status)
        self._bus.publish(MessageReceived(answer.message_id, message.address))
        return answer

    async def stop(self, address: Address, by: str) -> int:
        self.stops.append((address, by))
        return 1


def a_timeline(message_id: str, message: IncomingMessage, status: MessageStatus) -> MessageTimeline:
    stored = StoredMessage(
        id=message_id, conversation_id="c1", role=Role.USER, content=message.content, tokens=1, status=status,
        address=message.address, principal_id=f"principal of {message.sender.user_id}",
        user_name=message.sender.name, agent_id=HELPER.id, execution_id="e1", turn=None, created_at=NOW,
    )  # fmt: skip
    return MessageTimeline(
        message=stored, status=status, reason=None, reply=None, reply_id=None, answers=(),
        steps=[TimelineStep(NOW, "received", {}), TimelineStep(NOW, "model_call", {"duration_ms": 5})],
        job=a_job(), agent="helper", cost_micros=1500, input_tokens=3, output_tokens=4,
    )  # fmt: skip


class ScriptedOperations:
    """Operations that retry failed jobs and refuse everything else; the first answer to a wait wins."""

    def __init__(self, insights: ScriptedInsights) -> None:
        self._insights = insights
        self.answers: list[tuple[str, WaitAnswer, Principal]] = []
        self.ended: list[str] = []

    async def cancel_execution(self, execution_id: str, *, by: str = OPERATOR) -> None:
        if await self._insights.execution(execution_id) is None:
            raise NotFound(f"There is no execution {execution_id}")
        self.ended.append(execution_id)

    async def retry_job(self, job_id: str) -> None:
        self._move(job_id, {JobStatus.FAILED, JobStatus.CANCELLED}, JobStatus.PENDING)

    async def ask_anew(self, job_id: str, content: str, by: Principal) -> str:
        self._move(job_id, {JobStatus.FAILED, JobStatus.CANCELLED}, JobStatus.PENDING)
        return job_id

    async def wait_rights(self, waits: Sequence[Wait], by: Principal) -> Sequence[WaitRights]:
        return [WaitRights(["owners"], by.role is PrincipalRole.OWNER) for _ in waits]

    async def close_conversation(self, conversation_id: str, by: Principal) -> None:
        raise NotFound(f"There is no conversation {conversation_id}")

    async def switch_memory(self, conversation_id: str, *, on: bool) -> None:
        raise NotFound(f"There is no conversation {conversation_id}")

    async def earlier_effects(self, message_id: str, by: Principal) -> EarlierEffects:
        raise NotFound(f"There is no message {message_id}")

    async def answer_again(
        self, message_id: str, by: Principal, sender: Sender, *, content: str | None = None
    ) -> RewoundConversation:
        raise NotFound(f"There is no message {message_id}")

    async def switch_version(self, conversation_id: str, version_id: str, by: Principal) -> RewoundConversation:
        raise NotFound(f"There is no version {version_id}")

    async def branch_conversation(self, message_id: str, place: Address, by: Principal) -> Conversation:
        raise NotFound(f"There is no message {message_id}")

    async def cancel_job(self, job_id: str, *, by: str = OPERATOR) -> None:
        self._move(job_id, {JobStatus.PENDING, JobStatus.RUNNING}, JobStatus.CANCELLED)

    async def delete_job(self, job_id: str) -> None:
        self._move(job_id, {JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED}, JobStatus.DONE)
        del self._insights.all_jobs[job_id]

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        if wait_id not in self._insights.all_waits:
            raise NotFound("There is no such question.", fix="Look at the list.")
        if any(answered == wait_id for answered, _, _ in self.answers):
            raise Conflict("It was answered before.", fix="Nothing to do.", code="already_answered")
        self.answers.append((wait_id, answer, by))

    def _move(self, job_id: str, allowed: set[JobStatus], to: JobStatus) -> None:
        job = self._insights.all_jobs.get(job_id)
        if job is None:
            raise NotFound("There is no such job.", fix="Look at the list.")
        if job.status not in allowed:
            raise Conflict(f"The job is {job.status}.", fix="Wait.")
        self._insights.all_jobs[job_id] = replace(job, status=to)
