"""A turn with cycles, a tool call, a blocked report and a person's answer, killed before and after each of its commits:
the end is always the same, and each text is shown once."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import Wait, WaitKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.store import Store
from tests.flows.engine_kit import Death, Scenario, deaths
from tests.flows.scripted import asking, call
from tests.flows.test_tool_cuts import HELPER, Model, OutsideWorld
from tests.flows.turn_kit import TurnStage, outlive

REPLIES = (
    "<AGENT_CONTINUE><STATUS_REPORT>First half.</STATUS_REPORT></AGENT_CONTINUE>",
    asking(call(1, "look", words="a")),
    "<AGENT_BLOCKED><BLOCKER_REASON>Which town?</BLOCKER_REASON></AGENT_BLOCKED>",
    "In Ulm. <AGENT_DONE><KEY_RESULT>found</KEY_RESULT></AGENT_DONE>",
)


class Worker(Model):
    """A model that answers by the number of its replies in this turn."""

    async def stream(self, request: RunRequest, account: Account, on_text: Any) -> RunResult:
        spoken = sum(turn.role == "assistant" for turn in request.turns)
        self.script.append(REPLIES[spoken])
        return await super(Model, self).stream(request, account, on_text)


def people(wait: Wait, _: object) -> dict[str, Any]:
    assert wait.kind is WaitKind.USER
    return {"decision": "answer", "text": "Ulm"}


async def play(store: Store, *cuts: Death) -> tuple[dict[str, Any], int]:
    """Return the data at the end, and the number of writes of the last process."""
    outside = OutsideWorld(store)
    outside.model = Worker()
    scenario = Scenario("loops", outside.graphs, [], {}, people=people)
    execution, writes = await outlive(TurnStage(store=store, scenario=scenario, agents=[HELPER]), cuts)
    said = await store.read(lambda tx: tx.messages.progress(execution.id))
    heard = outside.model.asked[-1].turns[-1].content
    outcome = execution.result["outcome"]
    return {"said": [each.content for each in said], "outcome": outcome, "heard": heard}, writes


async def test_loops_and_questions_survive_a_cut_at_every_commit(either_store: Store) -> None:
    whole, writes = await play(either_store)
    assert whole["said"] == ["First half.", "Which town?"]
    assert whole["outcome"]["result"] == "found"
    assert whole["heard"] == "Ulm"
    for death in deaths(writes, either_store):
        assert (await play(either_store, death))[0] == whole, death
