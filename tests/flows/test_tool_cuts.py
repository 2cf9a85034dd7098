"""A turn with four tool calls, killed before and after each of its commits: no finished call is repeated, and the model
is called at most once more than needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arvis.app.graphs import build_graphs
from arvis.domain.agents import Agent
from arvis.domain.executions import Wait
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.domain.tools import Permit
from arvis.engine.engine import RUN_AGAIN, SKIP
from arvis.ports.store import Store
from tests.flows.engine_kit import Death, Graphs, Scenario, World, deaths
from tests.flows.scripted import Answer, ScriptedProvider, ScriptedTools, asking, call
from tests.flows.turn_kit import TurnStage, outlive, parts_with

TOOLS = ("look", "srv.dig", "pay", "rm")
HELPER = Agent(id="agent-helper", slug="helper", name="Helper", tools=TOOLS)
#: Two rounds with tool calls, and an answer.
CALLS_NEEDED = 3


class Model(ScriptedProvider):
    """A model that answers by its prompt, since a process that died may ask again."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[Answer] = [
            asking(call(1, "look", words="a"), call(2, "srv__dig", words="b"), call(3, "pay", words="c")),
            asking(call(4, "rm", words="d")),
            "All done.",
        ]

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        rounds = sum(bool(turn.calls) for turn in request.turns)
        self.script.append(self.replies[rounds])
        return await super().stream(request, account, on_text)


class OutsideWorld:
    """The world outside the process: the model and the tools."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.model = Model()
        self.tools = ScriptedTools()

    def graphs(self, _world: World) -> Graphs:
        permits = {"exec": Permit.ASK, "pay": Permit.ALWAYS}
        return build_graphs(parts_with(self._store, self.model, self.tools, permits=permits))


def honest(outside: OutsideWorld, wait: Wait) -> dict[str, Any]:
    """Approve calls, and tell the truth about an interrupted call."""
    if wait.subject is None:
        return {"decision": "approve"}
    tool = outside.tools.pay if "pay" in wait.subject else outside.tools.rm
    return {"decision": "answer", "text": SKIP if tool.calls else RUN_AGAIN}


async def play(store: Store, *cuts: Death) -> tuple[OutsideWorld, int]:
    """Run the turn to its end through these deaths, and return the number of writes of the last process."""
    outside = OutsideWorld(store)
    scenario = Scenario("tools", outside.graphs, [], {}, people=lambda wait, _: honest(outside, wait))
    stage = TurnStage(store=store, scenario=scenario, agents=[HELPER])
    execution, writes = await outlive(stage, cuts)
    assert execution.result["content"] == "All done."
    return outside, writes


def made(outside: OutsideWorld) -> dict[str, int]:
    tools = outside.tools
    return {tool.spec.name: len(tool.calls) for tool in (tools.look, tools.dig, tools.pay, tools.rm)}


async def test_a_turn_with_four_calls_survives_a_cut_at_every_commit(either_store: Store) -> None:
    outside, writes = await play(either_store)
    assert made(outside) == dict.fromkeys(TOOLS, 1)
    assert len(outside.model.asked) == CALLS_NEEDED
    for death in deaths(writes, either_store):
        outside, _ = await play(either_store, death)
        times = made(outside)
        assert (times["pay"], times["rm"]) == (1, 1), death
        # A repeatable call runs again if the process died before it stored the result.
        assert times["look"] <= 2, death
        assert times["srv.dig"] <= 2, death
        assert len(outside.model.asked) <= CALLS_NEEDED + 1, death


async def test_what_was_kept_is_not_done_again(store: Store) -> None:
    """Each call whose output the model got before the death was made exactly once."""
    _, writes = await play(store)
    for death in deaths(writes):
        outside, _ = await play(store, death)
        seen = [request for request in outside.model.asked if any(turn.outputs for turn in request.turns)]
        assert [output.content for turn in seen[0].turns for output in turn.outputs if not output.failed][:2] == [
            "look of a",
            "srv.dig of b",
        ]
