"""A harness for workflows: real rows, the real engine and the real runner; only the model and the people are
scripted, by the text of the question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any
from uuid import uuid4

from arvis.app.graphs import GraphParts, build_graphs, drawn_graphs
from arvis.domain.agents import Agent
from arvis.domain.errors import ProviderError
from arvis.domain.executions import Execution, ExecutionStatus, Wait
from arvis.domain.jobs import Done, Job, JobKind
from arvis.domain.messages import Address, Delivery
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.domain.tools import Permit
from arvis.domain.workflows import LogEntry, Workflow, WorkflowVersion
from arvis.engine.lifecycle import Drawn
from arvis.plugins import NoPlugins, Plugins
from arvis.ports.store import Store, Transaction
from arvis.services import workflow_runs
from arvis.workflows.document.model import normalise
from arvis.workflows.runtime.parts import NodeParts
from tests.flows.engine_kit import Death, Graphs, Scenario, Stage, World, claim, family
from tests.flows.scripted import Answer, Held, ScriptedProvider, ScriptedTools
from tests.flows.turn_kit import outlive, parts_with

MOST_LINES = 10_000

# -- drawing -----------------------------------------------------------------------------------------------------------


def node(node_id: str, kind: str, label: str = "", /, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "type": kind, "x": 0, "y": 0, **({"label": label} if label else {}), "data": data}


def links(*lines: str) -> list[dict[str, Any]]:
    """Read connections: `a > b`, `a:handle > b`, several in a row as in `a > b > c`, and with the handle of the target
    as in `a > @handle b`."""
    found = list[dict[str, Any]]()
    for one in lines:
        for start, end in pairwise(each.strip() for each in one.split(">")):
            source, _, out = start.rpartition(" ")[2].partition(":")
            into, _, rest = end.rpartition(" ")
            found.append(
                {
                    "id": f"c{len(found) + 1}",
                    "source": source,
                    "target": rest.partition(":")[0],
                    "sourceHandle": out,
                    "targetHandle": into.removeprefix("@"),
                }
            )
    return found


def drawing(*nodes: Mapping[str, Any], ways: Sequence[str], **settings: Any) -> dict[str, Any]:
    return normalise({"schema": 1, "settings": settings, "nodes": list(nodes), "connections": links(*ways)})


START = node("start", "start", initialInput="hello")


def pause(node_id: str, seconds: int = 0, **data: Any) -> dict[str, Any]:
    """Return a node that passes on its input after this many seconds."""
    return node(node_id, "wait", amount=seconds, **data)


# -- running -----------------------------------------------------------------------------------------------------------


#: The classes of answers; an answer may also be a function.
_ANSWERS = (str, RunResult, ProviderError, Held)


class AskedModel(ScriptedProvider):
    """A model that answers by the newest text. A text that contains no key of `answers` is repeated, and so are
    outputs of tools. The entries of a list are used one by one, the last one repeatedly."""

    def __init__(self, answers: Mapping[str, Answer | Sequence[Answer]]) -> None:
        super().__init__()
        self._answers: dict[str, list[Answer]] = {}
        for words, given in answers.items():
            self._answers[words] = [given] if isinstance(given, _ANSWERS) or callable(given) else list(given)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        prompt = last_words(request)
        if outputs := request.turns[-1].outputs:
            self.script.append(f"Made of: {'; '.join(each.content for each in outputs)}")
            return await super().stream(request, account, on_text)
        found = next((answers for words, answers in self._answers.items() if words in prompt), None)
        answer: Answer = prompt if found is None else found.pop(0) if len(found) > 1 else found[0]
        self.script.append(answer)
        return await super().stream(request, account, on_text)


def last_words(request: RunRequest) -> str:
    """Return the newest text of a request, without the day and the name before it."""
    text = request.turns[-1].content
    return text.rpartition("]: ")[2] if "]: " in text else text


People = Callable[[Wait, World], dict[str, Any] | None]


def saying(**words: str) -> People:
    """Return a person who gives this answer to questions that contain the key, and no answer to others."""

    def people(wait: Wait, _world: World) -> dict[str, Any] | None:
        said = next((word for key, word in words.items() if key in wait.prompt), None)
        if said is None:
            return None
        return (
            {"decision": said, "text": None} if said in {"approve", "reject"} else {"decision": "answer", "text": said}
        )

    return people


def nobody(_wait: Wait, _world: World) -> None:
    """Give no answer."""


@dataclass(slots=True)
class Play:
    """A workflow and the surroundings of its run. `others` are workflows that it may call, by their slugs."""

    document: Mapping[str, Any]
    answers: Mapping[str, Answer | Sequence[Answer]] = field(default_factory=dict)
    people: People = nobody
    input: Any = None
    taint: frozenset[Any] = frozenset()
    entry: str | None = None
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    permits: Mapping[str, Permit] = field(default_factory=dict)
    tools: ScriptedTools = field(default_factory=ScriptedTools)
    agent_tools: tuple[str, ...] = ("look",)
    plugins: Plugins = field(default_factory=NoPlugins)
    model: AskedModel = field(init=False)
    agent: Agent = field(init=False)
    mark: str = field(default_factory=lambda: uuid4().hex[:12])

    def __post_init__(self) -> None:
        self.model = AskedModel(self.answers)
        self.agent = Agent(
            id=f"agent-{self.mark}", slug=self.mark, name="Worker", tools=self.agent_tools, plugins=("garden",)
        )

    def parts(self, store: Store) -> GraphParts:
        return replace(parts_with(store, self.model, self.tools, permits=self.permits), plugins=self.plugins)

    def node_parts(self, store: Store) -> NodeParts:
        parts = self.parts(store)
        return NodeParts(store=store, rules=parts.tools, plugins=self.plugins)

    def draw_anew(self, tx: Transaction, document: Mapping[str, Any]) -> None:
        """Save a newer version, then remove the workflow."""
        workflow_id = f"id-main-{self.mark}"
        tx.workflows.keep_version(WorkflowVersion(workflow_id, 2, document, 0, "", None, 0))
        workflow = tx.workflows.get(workflow_id)
        assert workflow is not None
        tx.workflows.update(replace(workflow, version=2, runnable=2, removed_at=1))

    def lay(self, tx: Transaction, now: int) -> Workflow:
        """Store the rows that must exist before the run."""
        tx.agents.add(self.agent, now)
        for slug, document in self.others.items():
            _kept(tx, f"{slug}-{self.mark}", document, now)
        return _kept(tx, f"main-{self.mark}", self.document, now)

    def begin(self, tx: Transaction, now: int) -> str:
        workflow = self.lay(tx, now)
        wanted = workflow_runs.NewWorkflowRun(
            workflow=workflow,
            agent=self.agent,
            address=Address("chat", "main", self.mark),
            source="api",
            input=self.input,
            entry=self.entry,
            taint=self.taint,
        )
        return workflow_runs.begin(tx, wanted, now).id


def _kept(tx: Transaction, slug: str, document: Mapping[str, Any], now: int) -> Workflow:
    workflow = Workflow(
        id=f"id-{slug}",
        slug=slug,
        name=slug.title(),
        description="",
        enabled=True,
        version=1,
        runnable=1,
        principal_id=None,
        created_at=now,
        updated_at=now,
    )
    tx.workflows.add(workflow)
    tx.workflows.keep_version(WorkflowVersion(workflow.id, 1, document, 0, "", None, now))
    return workflow


class WorkflowStage(Stage):
    """A run on a store, through any number of deaths; deliveries count as sent."""

    def __init__(self, store: Store, play: Play) -> None:
        scenario = Scenario("workflow", lambda _: self._ours(store), [], {}, people=play.people)
        super().__init__(store=store, scenario=scenario)
        self._plain = store
        self.running = play
        self.sent: list[Delivery] = []

    def _ours(self, store: Store) -> Graphs:
        return build_graphs(self.running.parts(store))

    def _drawn(self, store: Store) -> Drawn:
        return drawn_graphs(self.running.parts(store)).find

    async def begin(self) -> None:
        self.execution_id = await self._plain.write(self.running.begin, self._clock.now())

    def _worker(self, store: Store) -> Callable[[Job], Awaitable[None]]:
        work = super()._worker(store)

        async def take(job: Job) -> None:
            if job.kind is JobKind.DELIVER:
                self.sent.append(await self._plain.write(_sent, job))
            else:
                await work(job)

        return take

    async def walk(self) -> None:
        """Do the jobs that are ready now, without answers and without advancing the clock."""
        work = self._worker(self._plain)
        while jobs := await self._plain.write(claim, "walk", self._clock.now()):
            for job in jobs:
                await work(job)

    async def everyone(self) -> list[Execution]:
        """Return the run and all executions that worked for it."""
        return await self._plain.read(_everyone, self.execution_id)

    async def log(self) -> list[LogEntry]:
        return await self._plain.read(lambda tx: tx.workflow_runs.entries(self.execution_id, 0, MOST_LINES))


def _everyone(tx: Transaction, execution_id: str) -> list[Execution]:
    found = [tx.executions.get(each) for each in family(tx, execution_id)]
    return [each for each in found if each is not None]


def _sent(tx: Transaction, job: Job) -> Delivery:
    delivery = tx.deliveries.get(job.delivery_id or "")
    assert delivery is not None
    tx.jobs.settle(job, Done(), 0)
    return delivery


@dataclass(frozen=True, slots=True)
class Played:
    """A run at its end."""

    stage: WorkflowStage
    execution: Execution
    log: Sequence[LogEntry]

    @property
    def output(self) -> Any:
        assert self.execution.status is ExecutionStatus.DONE, self.execution.error
        return self.execution.result["output"]

    def of(self, node_id: str) -> Any:
        """Return the newest output of a node; `KeyError` if it was never visited."""
        return self.execution.state[f"out:{node_id}"]["output"]

    def visited(self, node_id: str) -> int:
        """Return the number of its visits."""
        return len(self.lines(node_id, "step_start"))

    def lines(self, node_id: str, kind: str | None = None) -> list[str]:
        """Return the log lines of a node."""
        found = [each for each in self.log if each.node_id == node_id]
        return [each.content for each in found if kind is None or each.type == kind]

    def at(self, node_id: str, kind: str) -> int:
        """Return the age of the run (ms) at the first such log line of a node."""
        first = next(each for each in self.log if (each.node_id, each.type) == (node_id, kind))
        return first.at - self.execution.created_at

    @property
    def order(self) -> list[str]:
        """Return the nodes in the order in which they began."""
        return [each.node_id for each in self.log if each.type == "step_start"]


async def ran(store: Store, document: Mapping[str, Any], **more: Any) -> Played:
    """Run this document to its end."""
    stage = WorkflowStage(store, Play(document, **more))
    await stage.begin()
    await stage.play()
    return Played(stage, await stage.execution(), await stage.log())


async def played(store: Store, play: Play, *cuts: Death) -> tuple[Played, int]:
    """Run through these deaths, and return also the number of writes of the last process."""
    stage = WorkflowStage(store, play)
    _, writes = await outlive(stage, cuts)
    return Played(stage, await stage.execution(), await stage.log()), writes
