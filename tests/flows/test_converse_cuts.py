"""A turn that is handed over to other agents and back, killed before and after each of its commits: its end is always
the same."""

from __future__ import annotations

from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.executions import ExecutionStatus
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.store import Store, Transaction
from tests.flows.engine_kit import Death, Scenario, deaths
from tests.flows.scripted import ScriptedProvider
from tests.flows.test_tool_cuts import OutsideWorld
from tests.flows.turn_kit import TurnStage, outlive

MAIN = Agent(id="a-main", slug="main", name="Main", graph="handover", helpers=("writer",))
WRITER = Agent(id="a-writer", slug="writer", name="Writer")
CALLS_NEEDED = 4


class Model(ScriptedProvider):
    """A model that answers by its prompt, since a process that died may ask again."""

    async def stream(self, request: RunRequest, account: Account, on_text: Any) -> RunResult:
        newest = request.turns[-1].content
        self.script.append(next(answer for part, answer in ANSWERS.items() if part in newest))
        return await super().stream(request, account, on_text)


def _to(name: str, text: str) -> str:
    block = (
        f"<response-metadata><attributes><destinationAgent>{name}</destinationAgent></attributes></response-metadata>"
    )
    return f"{block}\nMESSAGE TO SEND:\n{text}"


ANSWERS = {
    "Go": _to("nobody", "Hello?"),
    "Not handed over": _to("writer", "A poem."),
    "from the agent Main": "Roses.",
    "from the agent Writer": "Here: Roses.",
}


def _found(tx: Transaction, execution_id: str) -> dict[str, Any]:
    execution = tx.executions.get(execution_id)
    assert execution is not None
    [asked] = tx.messages.of_turn(execution_id)
    children = tx.executions.children_of(execution_id)
    kept = tx.handover_threads.get(asked.conversation_id or "", "agent:writer") or {}
    return {
        "status": execution.status,
        "answer": execution.result["content"],
        "talk": {key: execution.state["progress"][key] for key in ("stack", "hops", "runs")},
        "children": sorted((child.state["agent"], child.status) for child in children),
        "moves": [message.content for message in tx.messages.progress(execution_id)],
        "thread": [text for _, text, _ in kept["entries"]],
        "asked": asked.status,
    }


async def play(store: Store, *cuts: Death) -> tuple[dict[str, Any], int, int]:
    """Return the turn's result, the number of model calls, and the number of writes of the last process."""
    outside = OutsideWorld(store)
    outside.model = Model()  # type: ignore[assignment]
    scenario = Scenario("talk", outside.graphs, [], {})
    execution, writes = await outlive(TurnStage(store=store, scenario=scenario, agents=[MAIN, WRITER]), cuts)
    return await store.read(_found, execution.id), len(outside.model.asked), writes


async def test_a_talk_survives_a_cut_at_every_commit(either_store: Store) -> None:
    expected, calls, writes = await play(either_store)
    assert expected["status"] is ExecutionStatus.DONE
    assert expected["answer"] == "Here: Roses."
    assert expected["moves"] == ["→ Writer", "→ Main"]
    assert expected["thread"] == ["[Message from the agent Main]\nA poem.", "Roses."]
    assert [agent for agent, _ in expected["children"]] == [MAIN.id, MAIN.id, MAIN.id, WRITER.id]
    assert calls == CALLS_NEEDED
    for death in deaths(writes, either_store):
        found, calls, _ = await play(either_store, death)
        assert found == expected, death
        assert calls <= CALLS_NEEDED + 1, death
