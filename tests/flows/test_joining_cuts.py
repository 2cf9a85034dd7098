"""A message that comes while a turn runs, killed before and after each of its commits: the turn answers it once, and
the model has read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.executions import WaitKind
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Role, Sender, StoredMessage
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.graphs.agent.steering import RESTART, STEER
from arvis.ports.store import Store, Transaction
from arvis.turns.turns import begin_turn
from tests.flows.engine_kit import Death, Scenario, deaths, say_nothing
from tests.flows.scripted import asking, call
from tests.flows.test_tool_cuts import HELPER, Model, OutsideWorld
from tests.flows.turn_kit import TurnStage, outlive

BLOCKED = "<AGENT_BLOCKED><BLOCKER_REASON>Which way?</BLOCKER_REASON></AGENT_BLOCKED>"
MORE = "to the left"


class Listener(Model):
    """A model that calls tools until it has read the second message; with `asks`, it reports that it is blocked."""

    def __init__(self, stage: Talk, *, asks: bool) -> None:
        super().__init__()
        self._stage = stage
        self._asks = asks

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        read = MORE in str(request.turns)
        spoken = sum(turn.role == "assistant" for turn in request.turns)
        if not read and not self._asks:
            await self._stage.say_more()
        unread = BLOCKED if self._asks else asking(call(spoken, "look", words=str(spoken)))
        self.script.append("Both." if read else unread)
        return await super(Model, self).stream(request, account, on_text)


class Talk(TurnStage):
    """A turn in which a person writes once more, while the model thinks or when the agent is blocked."""

    async def say_more(self) -> None:
        await self._plain.write(_say, self.execution_id)

    async def _pass_time(self) -> None:
        waits = await self._plain.read(lambda tx: tx.waits.of_execution(self.execution_id))
        if any(wait.kind is WaitKind.USER and wait.answer is None for wait in waits):
            await self.say_more()
        await super()._pass_time()


def _say(tx: Transaction, execution_id: str) -> None:
    execution = tx.executions.get(execution_id)
    agent = tx.agents.get(HELPER.id)
    assert execution is not None
    assert agent is not None
    address = Address.from_json(execution.state["address"])
    if tx.messages.by_event(address, "2") is None:
        incoming = IncomingMessage(address=address, sender=Sender("ann", "Ann"), content=MORE, event_id="2")
        ann = tx.principals.seen("chat", "ann", "Ann", PrincipalRole.OWNER, 0)
        begin_turn(tx, incoming, agent=agent, route="test", principal=ann, attachments=(), now=0)


async def play(store: Store, way: str, *cuts: Death, asks: bool = False) -> tuple[dict[str, Any], int]:
    """Return the data at the end, and the number of writes of the last process."""
    outside = OutsideWorld(store)
    scenario = Scenario("joining", outside.graphs, [], {}, people=say_nothing)
    stage = Talk(store=store, scenario=scenario, agents=[replace(HELPER, on_new_message=way)])
    outside.model = Listener(stage, asks=asks)
    execution, writes = await outlive(stage, cuts)
    said = await store.write(_said, execution.id, execution.state["conversation"])
    return {"reply": execution.result["content"], **said}, writes


def _said(tx: Transaction, execution_id: str, conversation_id: str) -> dict[str, Any]:
    asked: list[StoredMessage] = tx.messages.of_turn(execution_id)
    history = tx.messages.history(conversation_id, 20)
    return {
        "asked": [(each.content, each.status) for each in asked],
        "replies": sum(each.role is Role.ASSISTANT for each in history),
        "last": history[-1].content,
        "live": [job.id for job in tx.jobs.live_of_execution(execution_id)],
    }


@pytest.mark.parametrize(("way", "asks"), [(STEER, False), (RESTART, False), (STEER, True)])
async def test_what_joins_a_turn_survives_a_cut_at_every_commit(either_store: Store, way: str, asks: bool) -> None:
    whole, writes = await play(either_store, way, asks=asks)
    assert whole["asked"] == [("Go", MessageStatus.ANSWERED), (MORE, MessageStatus.ANSWERED)]
    assert (whole["reply"], whole["replies"], whole["last"], whole["live"]) == ("Both.", 1, "Both.", [])
    for death in deaths(writes, either_store):
        assert (await play(either_store, way, death, asks=asks))[0] == whole, death
