"""An owner gets a notice of background failures: once a day, at a place where an owner can be reached."""

from __future__ import annotations

from arvis.domain.conversations import conversation_lane
from arvis.domain.executions import Execution
from arvis.domain.jobs import Fail, Job
from arvis.graphs.compaction.scripts import enqueue, note_failure
from arvis.ports.store import Transaction
from tests.flows.app_harness import AppHarness

DAY = 86_400


def fail(tx: Transaction, execution_id: str, now: int) -> None:
    execution = tx.executions.get(execution_id)
    assert execution is not None
    history = tx.messages.history(execution.state["conversation"], 10)
    note_failure(tx, execution, history, now, reason="auth", error="the key is refused")


def enqueued(tx: Transaction, conversation_id: str, now: int) -> bool:
    conversation = tx.conversations.get(conversation_id)
    assert conversation is not None
    agent = tx.agents.get(conversation.agent_id)
    assert agent is not None
    return enqueue(tx, conversation, agent, now)


def compact(tx: Transaction, conversation_id: str, now: int) -> Job:
    """Return the job of a compaction before it was claimed."""
    assert enqueued(tx, conversation_id, now)
    head = tx.jobs.head_of_lane(conversation_lane(conversation_id))
    assert head is not None
    return head


def rests(tx: Transaction, conversation_id: str) -> bool:
    return tx.compactions.is_postponed(conversation_id, planned=True)


async def failed(app: AppHarness, execution_id: str) -> None:
    await app.store.write(fail, execution_id, app.clock.now())


async def turn_of(app: AppHarness, message_id: str) -> Execution:
    def read(tx: Transaction) -> Execution:
        message = tx.messages.get(message_id)
        execution = tx.executions.get((message and message.execution_id) or "")
        assert execution is not None
        return execution

    return await app.store.read(read)


async def test_an_owner_is_told_once_a_day_where_they_talk(either_app: AppHarness) -> None:
    app = either_app
    await app.ask("Hello", user="owner", channel="office")
    asked = await app.ask("Hello", user="ann", channel="room")
    await app.until_sent(1, "room")
    turn = await turn_of(app, asked.message.id)
    await failed(app, turn.id)
    await failed(app, turn.id)
    await app.until_sent(2, "office")
    told = [delivery.content for delivery in await app.deliveries("office")]
    assert len(told) == 2, told
    assert "could not summarize a long conversation of Helper (the key is refused)" in told[1]
    assert len(await app.deliveries("room")) == 1, "nobody else is told"
    app.clock.put_forward(DAY + 1)
    await failed(app, turn.id)
    await app.until_sent(3, "office")


async def test_an_owner_among_others_is_no_place_for_it(app: AppHarness) -> None:
    await app.ask("Hello", user="owner", channel="market", is_direct=False)
    asked = await app.ask("Hello", user="ann", channel="room")
    turn = await turn_of(app, asked.message.id)
    await failed(app, turn.id)
    await app.until_idle()
    assert len(await app.deliveries("market")) == 1


async def test_a_compaction_that_breaks_is_told_and_rests(app: AppHarness) -> None:
    await app.ask("Hello", user="owner", channel="office")
    asked = await app.ask("Hello", user="ann", channel="room")
    turn = await turn_of(app, asked.message.id)
    job = await app.store.write(compact, turn.state["conversation"], app.clock.now())
    await app.store.write(app.flow.postponed, job, Fail("poison", "it crashed"), app.clock.now())
    await app.until_sent(2, "office")
    assert await app.store.read(rests, turn.state["conversation"]), "the next turns do not try at once"
