"""Run documents without errors to their end: on the real engine and store, with a random model, random tools and
people, and a clock that advances to the next event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind, Unprocessable
from arvis.domain.executions import Execution, ExecutionStatus, Wait, WaitKind
from arvis.domain.jobs import Job
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.domain.text import storable_json
from arvis.domain.tools import Permit, ToolCall
from arvis.domain.workflows import LogType
from arvis.engine import lifecycle
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from arvis.workflows.compiler import compile_document
from arvis.workflows.document.model import normalise
from arvis.workflows.runtime.parts import NodeParts
from arvis.workflows.validation.check import check, errors
from tests.flows.drawn_kit import Play, WorkflowStage
from tests.flows.engine_kit import Death, World, _leftovers, _open_waits, claim, family
from tests.flows.scripted import asking, said

#: A run that has not ended after this many rounds of the queue never ends.
_ROUNDS = 10_000
_OTHER = "another"
_ANSWERS = ("yes", "no", "way 0", "way 1", '{"total": 3, "a": {"b": "e"}}', "A long answer. " * 20, "true", "", "[]")


@dataclass(slots=True)
class Outcome:
    """The ends of runs."""

    ends: Counter[str] = field(default_factory=Counter)
    #: The reasons of the failed runs, each after the number of its document.
    reasons: list[str] = field(default_factory=list)
    #: Defects of the engine.
    wrong: list[str] = field(default_factory=list)


class ChanceModel:
    """A provider that answers at random, sometimes calls tools, and seldom fails."""

    name = "scripted"

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._calls = 0

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self.stream(request, account, lambda _: None)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        chance = self._chance.random()
        if chance < 0.02:
            raise ProviderError(ProviderErrorKind.AUTH, "no")
        if request.tools and not request.tools_off and chance < 0.3:
            self._calls += 1
            spec = self._chance.choice(request.tools)
            names = spec.parameters.get("required") or list(spec.parameters.get("properties", {}))[:1]
            return asking(ToolCall(f"call_{self._calls}", spec.name, dict.fromkeys(names, "something")))
        if chance < 0.5:
            return said(request.turns[-1].content[-500:])
        return said(self._chance.choice(_ANSWERS))


class ChanceStage(WorkflowStage):
    """Plays a run until it has ended, including all its waits."""

    def __init__(self, store: Store, play: Play) -> None:
        super().__init__(store, play)
        self.rounds = 0

    async def play(self, death: Death | None = None) -> int:
        await self._store.write(queue.rescue, "node", "boot", self._clock.now())
        work: Callable[[Job], Awaitable[None]] = self._worker(self._store)
        for self.rounds in range(_ROUNDS):
            jobs = await self._store.write(claim, "boot", self._clock.now())
            for job in jobs:
                await work(job)
            if not jobs and await self._is_over():
                return 0
            if not jobs:
                await self._pass_time()
        raise AssertionError(f"it does not end: {await self.execution()}")

    async def _pass_time(self) -> None:
        """Let a person answer, or advance the clock to the next event."""
        waits = await self._store.read(_open_waits, self.execution_id)
        due = [wait.expires_at for wait in waits if wait.expires_at is not None]
        before = self._clock.now()
        await super()._pass_time()
        if self._clock.now() > before and due and min(due) > self._clock.now():
            await self._clock.sleep((min(due) - self._clock.now()) / 1000)
            await self._store.write(queue.wake, lifecycle.expire, self._clock.now())


def people_by(chance: Random) -> Callable[[Wait, World], dict[str, Any] | None]:
    """Return people who approve, reject, give another answer, or, if there is a deadline, none."""

    def people(wait: Wait, _world: World) -> dict[str, Any] | None:
        if wait.expires_at is not None and chance.random() < 0.4:
            return None
        if wait.kind is WaitKind.USER:
            return {"decision": "answer", "text": chance.choice(_ANSWERS) or "hm"}
        said = chance.choices(("approve", "reject", "answer"), (5, 3, 1))[0]
        return {"decision": said, "text": "perhaps" if said == "answer" else None}

    return people


async def run_all(store: Store, documents: Iterator[tuple[int, Any]], seed: object, *, most: int) -> Outcome:
    """Run the documents without errors one after the other, up to a maximum number."""
    outcome = Outcome()
    for number, document in documents:
        if outcome.ends.total() + len(outcome.wrong) >= most:
            break
        normal = normalise(storable_json(document))  # as the API reads it
        if not errors(check(normal)):
            await _run(store, normal, Random(f"{seed}:{number}:run"), number, outcome)
    return outcome


async def _run(store: Store, document: Mapping[str, Any], chance: Random, number: int, outcome: Outcome) -> None:
    play = Play(
        {}, people=people_by(chance), permits={"look": Permit.ALWAYS}, input=chance.choice((None, "yes", {"total": 3}))
    )
    play.document = _with_names(document, play.mark)
    play.others = {_OTHER: _another(chance)}
    play.entry = next((node["id"] for node in document["nodes"] if node["type"] in {"start", "trigger"}), None)
    play.model = ChanceModel(chance)  # type: ignore[assignment]
    stage = ChanceStage(store, play)
    await stage.begin()
    try:
        await stage.play()
    except AssertionError as error:
        outcome.wrong.append(f"{number}: {str(error)[:2_000]}")
        await store.write(_stop, stage.execution_id)
        return
    execution = await stage.execution()
    outcome.ends[execution.status] += 1
    if execution.status is ExecutionStatus.FAILED:
        outcome.reasons.append(f"{number}: {(execution.error or '')[:200]}")
    outcome.wrong += [f"{number}: {each}" for each in await _complaints(stage, execution, play.document)]


async def _complaints(stage: ChanceStage, execution: Execution, document: Mapping[str, Any]) -> list[str]:
    """Return the defects of a run that is over."""
    log = await stage.log()
    steps = sum(entry.type == LogType.STEP_START for entry in log)
    left = await stage._store.write(_leftovers, stage.execution_id)
    found = [
        (execution.status not in {ExecutionStatus.DONE, ExecutionStatus.FAILED}, f"it is {execution.status}"),
        (execution.status is ExecutionStatus.FAILED and not execution.error, "it does not say why it failed"),
        (not log or log[-1].type != LogType.RUN_END, f"the log ends with {log[-1] if log else None}"),
        (steps > document["settings"].get("maxSteps", 1_000), f"it made {steps} steps"),
        (bool(left), f"it left {left}"),
    ]
    return [text for wrong, text in found if wrong]


def _with_names(document: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """Store other workflows under the slugs that this one uses."""
    known = deepcopy(dict(document))
    for node in known["nodes"]:
        if node["data"].get("workflow") == _OTHER:
            node["data"]["workflow"] = f"{_OTHER}-{mark}"
    return known


def _another(chance: Random) -> dict[str, Any]:
    nodes = [{"id": "s", "type": "start"}, {"id": "r", "type": chance.choice(("agent", "response", "user-input"))}]
    return normalise({"nodes": nodes, "connections": [{"source": "s", "target": "r"}]})


def _stop(tx: Transaction, execution_id: str) -> None:
    for each in family(tx, execution_id):
        lifecycle.cancel(tx, each, 0)


def refusals(parts: NodeParts, document: Any, problems: list[dict[str, Any]]) -> str | None:
    """Compare the compiler with these problems, and return the difference.

    The compiler must refuse a document with errors, with the first of them, and no other document.
    """
    wrong = [problem for problem in problems if problem["severity"] == "error"]
    try:
        compile_document(normalise(document), parts, "workflow:it")
    except Unprocessable as error:
        if not wrong:
            return f"refused without errors: {error}"
        return (
            None
            if error.what.startswith(wrong[0]["message"]) and error.fix == wrong[0]["fix"]
            else f"refused by {error}, not by {wrong[0]}"
        )
    return f"compiled with {wrong[0]}" if wrong else None
