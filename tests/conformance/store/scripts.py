"""Scripts and factories that the cases of the store share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.agents import Agent
from arvis.domain.executions import Effect, EffectState, Execution, ExecutionStatus
from arvis.domain.jobs import Job, JobKind, NewJob, Settlement
from arvis.domain.messages import Address, Delivery, DeliveryState, MessageStatus, Role, StoredMessage
from arvis.ports.job_store import AddedJob, Slots
from arvis.ports.store import Transaction

#: The time of every case (ms); later times are relative to it.
NOW = 1_800_000_000_000
LEASE = 30_000

BOOT, NODE = "boot-1", "node-1"
MANY = Slots(work=1000, background=1000, delivery=1000)

PLACE = Address("web", "web", "hall")
AGENT = Agent(id="agent-1", slug="helper", name="Helper")


def message(lane: str = "a", *, principal: str = "ann", tokens: int = 10, priority: int = 5) -> NewJob:
    return NewJob(kind=JobKind.MESSAGE, priority=priority, lane=lane, principal_id=principal, tokens=tokens)


def add(tx: Transaction, job: NewJob, now: int = NOW) -> AddedJob:
    return tx.jobs.add(job, now)


def get(tx: Transaction, job_id: str) -> Job:
    job = tx.jobs.get(job_id)
    assert job is not None
    return job


def claim(
    tx: Transaction, slots: Slots = MANY, *, owner: str = BOOT, node: str = NODE, now: int = NOW, lease: int = LEASE
) -> list[Job]:
    return tx.jobs.claim(slots, owner, node, now, now + lease)


def claim_one(tx: Transaction, now: int = NOW) -> Job:
    [job] = claim(tx, now=now)
    return job


def settle(tx: Transaction, job: Job, outcome: Settlement, now: int = NOW) -> bool:
    return tx.jobs.settle(job, outcome, now)


def wake(tx: Transaction, now: int) -> int:
    return tx.jobs.wake(now)


def hasten(tx: Transaction, now: int) -> None:
    tx.jobs.hasten(now)


def rescue(tx: Transaction, now: int, *, boot: str = "boot-2", node: str = NODE, died: str = "") -> list[Job]:
    return tx.jobs.rescue(node, boot, now, died=died)


def cancel(tx: Transaction, job_id: str, now: int = NOW) -> Job | None:
    return tx.jobs.cancel(job_id, now)


def requeue(tx: Transaction, job_id: str, now: int = NOW) -> Job | None:
    return tx.jobs.requeue(job_id, now)


def delete(tx: Transaction, job_id: str) -> bool:
    return tx.jobs.delete(job_id)


def fold(tx: Transaction, head: Job, max_jobs: int = 10, max_tokens: int = 8_000) -> list[Job]:
    return tx.jobs.fold(head, max_jobs, max_tokens, NOW)


def add_first(tx: Transaction, jobs: Sequence[NewJob]) -> list[AddedJob]:
    return tx.jobs.add_first(jobs, NOW)


def joined_messages(tx: Transaction, execution_id: str) -> set[str]:
    return tx.jobs.joined_messages(execution_id)


def make_progress(tx: Transaction, execution_id: str, steps: int) -> None:
    execution = tx.executions.get(execution_id)
    assert execution is not None
    tx.executions.save(replace(execution, steps=steps))


def end_effect(tx: Transaction, execution_id: str, name: str) -> None:
    if name:
        tx.executions.put_effect(Effect(execution_id, "c", 0, name, EffectState.FINISHED, None, NOW))


def next_due(tx: Transaction) -> int | None:
    return tx.jobs.next_due()


def head_of(tx: Transaction, lane: str) -> Job | None:
    return tx.jobs.head_of_lane(lane)


def put_setting(tx: Transaction, key: str, value: str) -> None:
    tx.settings.put(key, value, NOW)


def get_setting(tx: Transaction, key: str) -> str | None:
    return tx.settings.get(key)


def add_agent(tx: Transaction) -> None:
    tx.agents.add(AGENT, NOW)


def said(
    message_id: str, *, role: Role = Role.USER, execution: str | None = None, conversation: str | None = None
) -> StoredMessage:
    return StoredMessage(
        id=message_id,
        conversation_id=conversation,
        role=role,
        content="Hello",
        tokens=2,
        status=MessageStatus.ACCEPTED,
        address=PLACE,
        principal_id="ann",
        user_name="Ann",
        agent_id=AGENT.id,
        execution_id=execution,
        turn=None,
        created_at=NOW,
    )


def part(delivery_id: str, message_id: str, seq: int, number: int = 1) -> Delivery:
    return Delivery(
        id=delivery_id,
        message_id=message_id,
        part=number,
        address=PLACE,
        seq=seq,
        content="Hello",
        reply_to=None,
        answers=(),
        agent=None,
        state=DeliveryState.PENDING,
        created_at=NOW,
    )


def begin_execution(tx: Transaction, execution_id: str, parent_wait: str | None = None) -> None:
    execution = Execution(
        id=execution_id,
        graph="agent",
        version="1",
        state={"round": 1},
        status=ExecutionStatus.RUNNING,
        result=None,
        lane="a",
        priority=5,
        principal_id="ann",
        parent_wait=parent_wait,
        steps=0,
        error=None,
        created_at=NOW,
        updated_at=NOW,
    )
    tx.executions.add(execution)
