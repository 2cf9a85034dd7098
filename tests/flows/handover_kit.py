"""Random towns of agents whose models hand over, delegate and write nonsense, and the rules that hold for each town.

The rules are written here independently of the product's code.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from arvis.domain.agents import Agent, AgentStatus
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.domain.tools import ToolCall
from arvis.ports.changes import Delegation
from tests.flows.scripted import ScriptedProvider

ROLES = (PrincipalRole.OWNER, PrincipalRole.OPERATOR, PrincipalRole.MEMBER)
TOOLS = ("look", "srv.dig", "web_search")
HARMLESS = frozenset({"web_search"})
DEEPEST, MOST_HOPS, MOST_TOLD = 8, 20, 2
DEPTH, JOBS, FAN_OUT = 3, 20, 5
_NONSENSE = ("nobody", "[/DELEGATE]", "user", "a" * 200, "Ägent", "")


@dataclass(frozen=True, slots=True)
class Person:
    """The person who asks; `agents` are those that the person's key names (None: no key)."""

    user_id: str
    role: PrincipalRole
    paired: bool = False
    agents: tuple[str, ...] | None = None

    @property
    def runs_the_daemon(self) -> bool:
        return self.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}

    @property
    def address(self) -> Address:
        return Address("web", "web", "site") if self.agents is not None else Address("chat", "main", "room")


@dataclass(slots=True)
class Town:
    """A town, whose first agent gets the question. `limit` is the budget of a turn in micros (None: no limit)."""

    agents: list[Agent]
    person: Person
    limit: int | None
    zeal: float
    chance: random.Random
    dearest: int = 0
    names: list[str] = field(default_factory=list)

    @property
    def first(self) -> Agent:
        return self.agents[0]


def build(number: int, seed: int) -> Town:
    chance = random.Random(f"{seed}-{number}")
    slugs = [f"g{number}-{letter}" for letter in "abcdef"[: chance.randint(2, 6)]]
    agents = [_agent(slug, slugs, chance, first=slug == slugs[0]) for slug in slugs]
    person = _person(slugs, chance)
    limit = chance.choice((None, None, 500, 3_000, 20_000))
    town = Town(agents, person, limit, chance.choice((0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 0.98)), chance)
    town.names = [*slugs, *(agent.name for agent in agents), *(slug.upper() for slug in slugs), *_NONSENSE]
    return town


def _agent(slug: str, slugs: Sequence[str], chance: random.Random, *, first: bool) -> Agent:
    """Return a random agent. Lists of helpers may contain the agent itself, unknown agents and rings; names may be
    equal."""
    helpers = chance.sample([*slugs, "ghost"], chance.randint(0, len(slugs)))
    return Agent(
        id=f"id-{slug}",
        slug=slug,
        name=chance.choice((slug.title(), "Twin", f"The {slug}")),
        role="conductor" if chance.random() < 0.05 else "custom",
        tools=tuple(chance.sample(TOOLS, chance.choice((0, 0, 1, 2, 3)))),
        graph="handover" if first or chance.random() < 0.5 else "agent",
        allow_users=("ann",) if chance.random() < 0.15 else None,
        status=AgentStatus.PAUSED if not first and chance.random() < 0.1 else AgentStatus.ACTIVE,
        helpers=tuple(helpers if chance.random() < 0.5 else {*helpers, *slugs}),
    )


def _person(slugs: Sequence[str], chance: random.Random) -> Person:
    if chance.random() < 0.25:
        named = chance.sample(slugs, chance.randint(0, len(slugs)))
        return Person("key:site", PrincipalRole.MEMBER, chance.random() < 0.3, tuple(named))
    return Person(chance.choice(("ann", "bob")), chance.choice(ROLES), chance.random() < 0.4)


class Babbler(ScriptedProvider):
    """A model with random replies."""

    def __init__(self, town: Town) -> None:
        super().__init__()
        self._town = town

    async def stream(self, request: RunRequest, account: Account, on_text: Any) -> RunResult:
        self.asked.append(request)
        chance, zeal = self._town.chance, self._town.zeal
        if chance.random() < 0.02:
            raise ProviderError(ProviderErrorKind.REFUSED, "no")
        used = chance.randint(1, 400)
        self._town.dearest = max(self._town.dearest, used)
        calls: tuple[ToolCall, ...] = ()
        if request.tools and not request.tools_off and chance.random() < 0.1:
            calls = (ToolCall("1", request.tools[0].name, {"words": str(chance.random())}),)
        said = (
            self._tasks(chance)
            if chance.random() < 0.12
            else chance.choice(("Yes.", "[STATE:mood] 1 [/STATE]", "No " * 20))
        )
        if chance.random() < zeal:
            names = self._town.names if chance.random() < 0.3 else [agent.slug for agent in self._town.agents]
            said = f"{_block(chance.choice(names))}\nMESSAGE TO SEND:\n{said}"
        return RunResult(said, "model", "scripted", "main", input_tokens=used, output_tokens=0, calls=calls)

    def _tasks(self, chance: random.Random) -> str:
        names = [chance.choice(self._town.names) for _ in range(chance.randint(1, FAN_OUT + 2))]
        report = " report" if chance.random() < 0.3 else ""
        return "".join(f"[DELEGATE:{name.lower()}{report}] Look. [/DELEGATE]" for name in names)


def _block(name: str) -> str:
    return (
        f"<response-metadata><attributes><destinationAgent>{name}</destinationAgent></attributes></response-metadata>"
    )


# -- the rules -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """The data that a question leaves: its execution, all executions below it, its tasks, its cost, and the number of
    live executions."""

    turns: Sequence[Execution]
    children: Mapping[str, Sequence[Execution]]
    tasks: Sequence[Delegation]
    spent: int
    live: int
    answers: int


def complaints(town: Town, record: Record) -> list[str]:
    """Return all broken rules."""
    found = [f"{record.live} still live"] if record.live else []
    if record.answers != len(record.turns):
        found.append(f"{record.answers} ends for {len(record.turns)} turns")
    if town.limit is not None and record.spent > town.limit + town.dearest:
        found.append(f"spent {record.spent} of {town.limit}, the dearest call {town.dearest}")
    ran = [*record.turns, *(child for children in record.children.values() for child in children)]
    for agent_id in sorted({execution.state["agent"] for execution in ran}):
        agent = next(agent for agent in town.agents if agent.id == agent_id)
        if not can_access(town.person, town.first, agent):
            found.append(f"{agent.slug} ran, which {town.person} may not use")
    found += _of_tasks(record)
    for turn in record.turns:
        if turn.graph == "handover":
            found += _of_talk(town, turn, record.children[turn.id])
    return found


def can_access(person: Person, first: Agent, agent: Agent) -> bool:
    if person.runs_the_daemon or agent == first:
        return True
    risky = bool({*agent.tools} - HARMLESS)
    if person.agents is not None:
        by_key = agent.slug in person.agents if person.agents else not risky
        if not by_key:
            return False
    listed = person.user_id in agent.allow_users if agent.allow_users is not None else person.paired or not risky
    return listed and agent.role != "conductor" and {*agent.tools} <= {*first.tools, *HARMLESS}


def _of_tasks(record: Record) -> list[str]:
    found = [f"a task at depth {task.depth}" for task in record.tasks if task.depth > DEPTH]
    if len(record.tasks) > JOBS:
        found.append(f"{len(record.tasks)} tasks")
    givers = [task.parent_id for task in record.tasks if task.kind == "task"]
    return found + [f"{giver} gave too many" for giver in {*givers} if givers.count(giver) > FAN_OUT]


def _of_talk(town: Town, turn: Execution, children: Sequence[Execution]) -> list[str]:
    """Follow the speakers of a handover, and return all broken rules."""
    by_id = {agent.id: agent for agent in town.agents}
    spoke = [
        turn.state[f"said {number}"]["agent"]
        for number in range(1, len(children) + 1)
        if f"said {number}" in turn.state
    ]
    if not spoke:
        return [] if not children else ["nobody spoke, but somebody worked"]
    found, stack, hops, told = [], list[str](), 0, 0
    for before, now in pairwise(spoke):
        told = told + 1 if before == now else 0
        if before == now:
            found += [f"{now} was told {told} times"] if told > MOST_TOLD else []
            continue
        hops += 1
        if stack and stack[-1] == now:
            stack.pop()
        elif by_id[now].slug in by_id[before].helpers:
            stack.append(before)
        elif now in stack:  # the agents in between may not speak any more
            del stack[stack.index(now) :]
        else:
            found.append(f"{before} may not hand over to {now}")
        if len(stack) > DEEPEST:
            found.append(f"{len(stack)} wait")
    if hops > MOST_HOPS:
        found.append(f"{hops} hops")
    return found
