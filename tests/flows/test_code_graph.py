"""Graph `code` (seed 003): scripts that models write run once, after a person's approval, with tools as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arvis.app.graphs import build_graphs
from arvis.domain.agents import Agent
from arvis.domain.executions import Wait
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.domain.tools import Permit
from arvis.engine.engine import RUN_AGAIN, SKIP
from arvis.ports.store import Store
from arvis.process.sandbox import Bubblewrap
from arvis.tools.code import CODE_EXECUTION, PackageSets, Workbench, daemons_interpreter, envelope
from arvis.tools.code.tool import RESULT
from tests.flows.engine_kit import Death, Graphs, Scenario, World, deaths
from tests.flows.scripted import Answer, ScriptedProvider, ScriptedTools, asking, call
from tests.flows.turn_kit import TurnStage, outlive, parts_with
from tests.parts import refused, require

CODER = Agent(id="agent-coder", slug="coder", name="Coder", tools=(CODE_EXECUTION, "look", "rm", "vault"), graph="code")
SCRIPT = "open('log', 'a').write('ran\\n')\nprint('it says', look({'words': 'the sky'}))"
APPROVE = {"decision": "approve"}


class Model(ScriptedProvider):
    """A model that answers by the number of script results that it has received."""

    def __init__(self, *replies: Answer) -> None:
        super().__init__()
        self.replies = replies

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        self.script.append(self.replies[min(len(results(request)), len(self.replies) - 1)])
        return await super().stream(request, account, on_text)


def results(request: RunRequest) -> list[str]:
    """Return the script results in the prompt, as text or as tool outputs."""
    _, *rounds = request.turns
    told = [turn for turn in rounds if turn.role == "user"]
    return ["\n".join([*(output.content for output in turn.outputs), turn.content]) for turn in told]


@dataclass
class Lab:
    """A store, a sandbox, and a model that writes scripts; `people` answers the questions."""

    store: Store
    folder: Path
    model: Model
    agent: Agent = CODER
    rules: dict[str, Permit] = field(default_factory=dict)
    people: Callable[[Wait], dict[str, Any]] = lambda _: APPROVE
    asked: list[Wait] = field(default_factory=list)
    tools: ScriptedTools = field(default_factory=ScriptedTools)

    @property
    def runs(self) -> int:
        """Return the number of runs of the script, counted by its file."""
        logs = list(self.folder.glob("sessions/*/workspace/log"))
        return sum(log.read_text(encoding="utf-8").count("ran") for log in logs)

    def graphs(self, _world: World) -> Graphs:
        sandbox, python = Bubblewrap(hidden=[self.folder]), daemons_interpreter()
        packages = PackageSets(folder=self.folder / "code", sandbox=sandbox, interpreter=python)
        bench = Workbench(sandbox, python, packages, seconds=20.0)
        parts = parts_with(
            self.store, self.model, self.tools, permits=self.rules, sessions=self.folder / "sessions", bench=bench
        )
        return build_graphs(parts)

    async def play(self, *cuts: Death) -> tuple[str, int]:
        """Run a turn to its end through these deaths. Return its answer and the number of writes of its last
        process."""
        scenario = Scenario("code", self.graphs, [], {}, people=lambda wait, _: self._answer(wait))
        stage = TurnStage(store=self.store, scenario=scenario, agents=[self.agent])
        execution, writes = await outlive(stage, cuts)
        return execution.result["content"], writes

    def _answer(self, wait: Wait) -> dict[str, Any]:
        self.asked.append(wait)
        return self.people(wait)


@pytest.fixture
async def lab(store: Store, tmp_path: Path) -> Lab:
    return await opened_lab(store, tmp_path)


@pytest.fixture
async def either_lab(either_store: Store, tmp_path: Path) -> Lab:
    return await opened_lab(either_store, tmp_path)


async def opened_lab(store: Store, tmp_path: Path) -> Lab:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    if (reason := await Bubblewrap().refusal()) is not None:
        refused(reason)
    return Lab(store, tmp_path, Model(envelope(SCRIPT, (), "One moment."), "It is blue."))


async def test_a_script_calls_a_tool_and_its_output_comes_back(lab: Lab) -> None:
    assert (await lab.play())[0] == "It is blue."
    first, second = lab.model.asked
    assert first.tools == second.tools == ()
    assert "- look(arguments: dict)" in first.system + first.changing
    (told,) = results(second)
    assert f"{RESULT}\nit says look of the sky\n[exit code 0; tools called: look]" in told
    (caller,) = lab.tools.look.callers
    assert caller.call_id == f"{caller.execution_id}-1-1-1"
    assert lab.runs == 1


async def test_a_person_is_asked_before_a_script_runs_and_sees_it(lab: Lab) -> None:
    """The default of the policy is the review of seed 003."""
    await lab.play()
    (wait,) = lab.asked
    assert wait.prompt.startswith("Coder wants to use the tool code_execution.")
    assert "open('log', 'a')" in wait.prompt
    assert "libraries: []" in wait.prompt


async def test_what_a_person_edits_is_what_runs(lab: Lab) -> None:
    script = "open('log', 'a').write('ran\\n')\nprint('edited')"
    lab.people = lambda _: {"decision": "edit", "arguments": {"libraries": [], "script": script}}
    await lab.play()
    (told,) = results(lab.model.asked[1])
    assert "[A person changed the arguments. The actual call: code_execution" in told
    assert "\nedited\n" in told
    assert (lab.runs, lab.tools.look.calls) == (1, [])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"decision": "reject"}, "A person rejected this call."),
        ({"decision": "feedback", "text": "Use the moon."}, "rejected this call and wrote: Use the moon."),
        ({"decision": "edit", "arguments": {"libraries": []}}, "changed the arguments, and the new ones are not valid"),
    ],
)
async def test_what_a_person_refuses_is_told_to_the_model(answer: Mapping[str, Any], told: str, lab: Lab) -> None:
    lab.people = lambda _: dict(answer)
    assert (await lab.play())[0] == "It is blue."
    assert told in results(lab.model.asked[1])[0]
    assert lab.runs == 0


async def test_what_needs_a_persons_word_cannot_be_called_from_a_script(lab: Lab) -> None:
    """A script also cannot call tools that return secrets or that the agent does not have."""
    lab.rules |= {CODE_EXECUTION: Permit.ALWAYS, "vault": Permit.ALWAYS}
    names = "\n".join(
        f"try:\n    {name}()\nexcept NameError as error:\n    print(error)" for name in ("rm", "vault", "pay")
    )
    lab.model.replies = (envelope(names, (), ""), "Well.")
    await lab.play()
    (told,) = results(lab.model.asked[1])
    assert told.count("is not defined") == 3
    assert lab.asked == []


async def test_a_rule_lets_scripts_run_unasked(lab: Lab) -> None:
    lab.rules[CODE_EXECUTION] = Permit.ALWAYS
    await lab.play()
    assert (lab.asked, lab.runs) == ([], 1)


async def test_examples_and_native_calls_run_nothing(lab: Lab) -> None:
    example = f"So:\n```\n{envelope(SCRIPT, (), 'x')}\n```"
    lab.model.replies = (example,)
    assert "execution-code" in (await lab.play())[0]
    lab.model.replies = (asking(call(1, "look"), text="I look."),)
    assert (await lab.play())[0] == "I look."
    assert (lab.runs, lab.tools.look.calls) == (0, [])


async def test_packages_that_are_not_allowed_are_told(lab: Lab) -> None:
    lab.model.replies = (envelope(SCRIPT, ["evil"], ""), "Sorry.")
    await lab.play()
    assert "The package evil is not allowed here." in results(lab.model.asked[1])[0]
    assert lab.runs == 0


async def test_an_agent_without_the_tool_runs_no_scripts(lab: Lab) -> None:
    lab.agent = replace(CODER, id="agent-other", slug="other", tools=("look",))
    await lab.play()
    assert "There is no tool code_execution." in results(lab.model.asked[1])[0]
    assert "execution-code" not in lab.model.asked[0].system
    assert lab.runs == 0


async def test_a_script_is_never_run_twice_unasked(either_lab: Lab) -> None:
    """The turn is cut before and after every commit. If only the start of a script is recorded, a person is asked, and
    their answer that it ran is final."""
    lab = either_lab
    lab.people = partial(_honest, lab)
    _, writes = await lab.play()
    assert (lab.runs, len(lab.asked)) == (1, 1)
    for death in deaths(writes):
        before = lab.runs
        assert (await lab.play(death))[0] == "It is blue."
        assert lab.runs == before + 1, death
    assert {wait.subject for wait in lab.asked} == {None, f"tool 1: {CODE_EXECUTION}"}


def _honest(lab: Lab, wait: Wait) -> dict[str, Any]:
    if wait.subject is None:
        return APPROVE
    ran = any(caller.execution_id == wait.execution_id for caller in lab.tools.look.callers)
    return {"decision": "answer", "text": SKIP if ran else RUN_AGAIN}
