"""Every example runs to its end with the demo provider, whatever people answer."""

from __future__ import annotations

from typing import Any

import pytest

from arvis.domain.executions import ExecutionStatus, Wait, WaitKind
from arvis.domain.tools import Permit
from arvis.ports.store import Store
from arvis.ports.tool import ToolServices
from arvis.providers import demo
from arvis.testing.clock import SteppedClock
from arvis.tools import calculate
from arvis.workflows.examples import Example, examples
from tests.flows.drawn_kit import Play, Played, WorkflowStage
from tests.flows.engine_kit import World
from tests.flows.scripted import ScriptedTools

#: The node after each decision, by example.
_DECIDED = {
    "research-with-review": {"approve": "publish", "reject": "keep"},
    "incident-escalation": {"approve": "taken", "reject": "open"},
    "meeting-notes-to-tasks": {"approve": "hand-out", "reject": "again"},
}
_LAST = {
    "content-pipeline": "done",
    "daily-digest": "post",
    "data-watch": "tell",
    "inbox-triage": "show-reply",
    "onboarding": "close",
    "support-answer": "send",
    "weekly-report": "post",
}


class Patient(WorkflowStage):
    """A stage that advances the clock by hours when there is nobody to answer."""

    async def _pass_time(self) -> None:
        before = self._clock.now()
        await super()._pass_time()
        if self._clock.now() > before:
            await self._clock.sleep(3600)


_RUNS = [
    pytest.param(example, decision, id=f"{example.slug}-{decision}")
    for example in examples()
    for decision in (_DECIDED.get(example.slug) or ("approve",))
]


@pytest.mark.parametrize(("example", "decision"), _RUNS)
async def test_an_example_runs_to_its_end(store: Store, example: Example, decision: str) -> None:
    last = _DECIDED.get(example.slug, {}).get(decision) or _LAST[example.slug]
    play = _play(example, decision)
    stage = Patient(store, play)
    await stage.begin()
    await stage.play()
    run = Played(stage, await stage.execution(), await stage.log())
    assert run.execution.status is ExecutionStatus.DONE, run.execution.error
    assert run.order[-1] == last
    assert "{{" not in str(run.output)


def _play(example: Example, decision: str) -> Play:
    def people(wait: Wait, _world: World) -> dict[str, Any]:
        if wait.kind is WaitKind.APPROVAL:
            return {"decision": decision, "text": None}
        return {"decision": "answer", "text": "I am well, thank you."}

    nothing = dict.fromkeys(("store", "clock", "fetcher", "http", "sandbox", "secrets", "search", "reader"))
    services = ToolServices(**nothing)  # type: ignore[arg-type]
    tools = ScriptedTools()
    tools.more.append(calculate.create(services))
    play = Play(
        example.document, people=people, tools=tools, agent_tools=("calculate",), permits={"calculate": Permit.ALWAYS}
    )
    play.model = demo.DemoProvider(clock=SteppedClock())  # type: ignore[assignment]
    return play
