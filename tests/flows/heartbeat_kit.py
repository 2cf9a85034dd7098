"""Heartbeats for tests: the real graphs on a real store, and a model that answers by the cycle."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from arvis.app.graphs import build_graphs
from arvis.domain.agents import Agent
from arvis.domain.executions import Execution
from arvis.domain.jobs import Done, Job, JobKind
from arvis.domain.messages import Address, Delivery
from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.messaging.owner_alerts import choose_place
from arvis.ports.store import Store, Transaction
from arvis.skills import Skill
from arvis.tasks.state import TaskSpec
from arvis.tasks.task import NewRun, begin_run
from tests.flows.engine_kit import Graphs, Scenario, Stage
from tests.flows.scripted import Answer, ScriptedProvider, ScriptedTools
from tests.flows.turn_kit import parts_with

DONE = "<AGENT_DONE><KEY_RESULT>All is well.</KEY_RESULT></AGENT_DONE>"

_CYCLE = re.compile(r"^\s*Cycle (\d+) of \d+\.$", re.MULTILINE)


def blocked(reason: str, needs: str = "a key") -> str:
    inner = f"<BLOCKER_REASON>{reason}</BLOCKER_REASON><UNBLOCK_REQUIREMENTS>{needs}</UNBLOCK_REQUIREMENTS>"
    return f"<AGENT_BLOCKED>{inner}</AGENT_BLOCKED>"


def going_on(report: str) -> str:
    return f"<AGENT_CONTINUE><STATUS_REPORT>{report}</STATUS_REPORT></AGENT_CONTINUE>"


class CycleModel(ScriptedProvider):
    """A model that answers by the cycle in its prompt, since a process that died may ask again. A cycle without an
    answer is done, and so is a prompt with tool outputs. `during` runs before each answer."""

    def __init__(self, answers: Mapping[int, Answer]) -> None:
        super().__init__()
        self._answers = answers
        self.during: Callable[[], Awaitable[None]] | None = None

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        if self.during is not None:
            await self.during()
        used = any(turn.outputs for turn in request.turns)
        self.script.append(DONE if used else self._answers.get(cycle_of(request), DONE))
        return await super().stream(request, account, on_text)


def cycle_of(request: RunRequest) -> int:
    return max(int(number) for turn in request.turns for number in _CYCLE.findall(turn.content))


@dataclass(slots=True)
class Pulse:
    """One heartbeat: its schedule, the model's answer in each cycle, and the rows that exist before it."""

    answers: Mapping[int, Answer] = field(default_factory=dict)
    prompt: str = "Look after the garden."
    max_cycles: int = 1
    projects: tuple[str, ...] = ()
    skills: tuple[Skill, ...] = ()
    tools: ScriptedTools = field(default_factory=ScriptedTools)
    model: CycleModel = field(init=False)
    agent: Agent = field(init=False)
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        self.model = CycleModel(self.answers)
        name = uuid4().hex[:12]
        self.agent = Agent(id=f"agent-{name}", slug=name, name="Gardener", tools=("update_project", "look"))
        self.address = Address("chat", "main", f"garden-{name}")

    @property
    def owner(self) -> Address:
        return Address("chat", "main", f"owner-{self.agent.slug}")

    async def _skills(self) -> tuple[Skill, ...]:
        return self.skills

    def graphs(self, store: Store) -> Graphs:
        return build_graphs(parts_with(store, self.model, self.tools, permits={}, skills=self._skills))

    def begin(self, tx: Transaction, now: int) -> str:
        """Start the run; the first call also adds the agent and its projects, the least recently updated one first."""
        if tx.agents.get(self.agent.id) is None:
            tx.agents.add(self.agent, now)
            choose_place(tx, self.owner, now)
            for number, slug in enumerate(self.projects):
                tx.projects.add(project(slug, self.agent, number + 1, id=tx.new_id()))
        run = NewRun(
            agent=self.agent,
            task=TaskSpec(prompt=self.prompt),
            address=self.address,
            principal_id=None,
            source=f"schedule:{self.agent.slug}",
            graph="heartbeat",
            more={"max_cycles": self.max_cycles},
        )
        lane = f"schedule:{self.agent.slug}"
        begun = begin_run(tx, run, kind=JobKind.HEARTBEAT, lane=lane, priority=10, now=now, key=lane)
        assert begun is not None
        return begun.id


def project(slug: str, agent: Agent, at: int, **more: Any) -> Project:
    fields = {"id": slug, "title": slug.title(), "goal": "", "status": ProjectStatus.ACTIVE, "notes": ""}
    owned = {"slug": f"{slug}-{agent.slug}", "agent_id": agent.id, "principal_id": None}
    return Project(**{**fields, **owned, "created_at": at, "updated_at": at, **more})


class PulseStage(Stage):
    """A heartbeat on a store, through any number of deaths; its deliveries count as sent."""

    def __init__(self, store: Store, pulse: Pulse) -> None:
        super().__init__(store=store, scenario=Scenario("heartbeat", lambda _: pulse.graphs(store), [], {}))
        self._plain = store
        self.pulse = pulse
        self.sent: list[Delivery] = []

    async def begin(self) -> None:
        self.execution_id = await self._plain.write(self.pulse.begin, self._clock.now())

    async def pass_days(self, days: float) -> None:
        await self._clock.sleep(86_400 * days)

    def _worker(self, store: Store) -> Callable[[Job], Awaitable[None]]:
        work = super()._worker(store)

        async def take(job: Job) -> None:
            if job.kind is JobKind.DELIVER:
                self.sent.append(await self._plain.write(_sent, job))
            else:
                await work(job)

        return take

    async def cycles(self) -> list[Execution]:
        return await self._plain.read(lambda tx: tx.executions.children_of(self.execution_id))

    @property
    def posted(self) -> list[str]:
        """Return the texts in its channel."""
        return [each.content for each in self.sent if each.address.channel == self.pulse.address.channel]

    @property
    def told(self) -> list[str]:
        """Return the texts to the owner."""
        return [each.content for each in self.sent if each.address.channel == self.pulse.owner.channel]


def _sent(tx: Transaction, job: Job) -> Delivery:
    delivery = tx.deliveries.get(job.delivery_id or "")
    assert delivery is not None
    tx.jobs.settle(job, Done(), 0)
    return delivery


async def beat(store: Store, pulse: Pulse) -> tuple[PulseStage, Execution]:
    """Run a heartbeat to its end."""
    stage = PulseStage(store, pulse)
    await stage.begin()
    await stage.play()
    return stage, await stage.execution()


def prompts_of(pulse: Pulse) -> list[str]:
    """Return the prompt of each cycle."""
    found: dict[int, str] = {}
    for request in pulse.model.asked:
        prompt = next(turn.content for turn in request.turns if _CYCLE.search(turn.content))
        # In a conversation with several people, the lines after the first are indented.
        found.setdefault(cycle_of(request), prompt.replace("\n  ", "\n"))
    return [found[number] for number in sorted(found)]


def outcome_of(execution: Execution) -> Mapping[str, Any]:
    outcome: Mapping[str, Any] = execution.result["outcome"]
    return outcome
