"""The rules of a talk that agents hand over to one another (behaviour.md 5.7): who may speak next, and how far it goes.

Arithmetic over values. Each message from agent to agent is a hop; a talk is handed over only while there is room for the way
back, so whoever waits always hears the answer, and every talk comes to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from arvis.domain.agents import Agent
from arvis.engine.state import stored
from arvis.tasks.outcome import ChildEnd, WorkOutcome
from arvis.tasks.state import WorkState

#: So many agents wait for an answer at once, at most, and a turn takes so many hops (seed 003, with our bounds).
DEEPEST = 8
MOST_HOPS = 20
#: So often in a row an agent is told that its hand-over was refused; then what it said is its answer.
MOST_TOLD = 2
#: Of what goes from agent to agent, in characters.
LONGEST_MESSAGE = 16_000
#: The attributes of a reply that name who is to go on.
DESTINATIONS = ("destinationAgent", "agentNameToWhichSendTheMessage")

SAID_NOTHING = "(It said nothing.)"


@dataclass(frozen=True, slots=True)
class Talk:
    """Where a turn stands: ids of who speaks and of those who wait for an answer, the last one first to be answered.
    `told` counts refusals in a row, `runs` how often anybody spoke; `heard` is what the speaker was given, by the agent
    `sender` (empty: not by an agent)."""

    speaker: str
    stack: tuple[str, ...] = ()
    hops: int = 0
    told: int = 0
    runs: int = 0
    heard: str = ""
    sender: str = ""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Talk:
        """Return the stored state of the handover; before the first step the turn's own agent speaks."""
        kept = HandoverState.from_json(state)
        return kept.talk or cls(kept.agent)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Talk:
        return cls(**{**kept, "stack": tuple(kept["stack"])})

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "stack": list(self.stack)}


@dataclass(slots=True)
class HandoverState(WorkState):
    #: Who speaks, and who waits; None before the first step.
    talk: Talk | None = stored(None, read=Talk.from_json, write=Talk.to_json)


@dataclass(frozen=True, slots=True)
class Said:
    """What came of the speaker's work. `destination` names who is to go on (empty: whoever waits, or the person); without
    an `outcome` it failed, as `error` says, and the code `reason`."""

    outcome: WorkOutcome | None
    error: str = ""
    reason: str = ""

    @classmethod
    def of(cls, end: ChildEnd) -> Said:
        return cls(end.outcome, end.error, end.reason)

    @property
    def text(self) -> str:
        return "" if self.outcome is None else (self.outcome.visible or self.outcome.summary).strip()

    @property
    def destination(self) -> str:
        given = {} if self.outcome is None else self.outcome.attributes
        return next((given[name].strip() for name in DESTINATIONS if given.get(name, "").strip()), "")

    def to_json(self) -> dict[str, Any]:
        outcome = self.outcome.to_json() if self.outcome is not None else None
        return {"outcome": outcome, "error": self.error, "reason": self.reason}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Said:
        outcome = data["outcome"]
        return cls(WorkOutcome.from_json(outcome) if outcome is not None else None, data["error"], data["reason"])


@dataclass(frozen=True, slots=True)
class Company:
    """Who is there: all agents by id, the one that was asked (`first`, an id), and whom the asking person reaches."""

    agents: Mapping[str, Agent]
    first: str
    reaches: Callable[[Agent], bool]

    def may_speak(self, agent: Agent) -> bool:
        """That the first one may be asked was decided when it was."""
        return agent.id == self.first or (agent.active and self.reaches(agent))


@dataclass(frozen=True, slots=True)
class HandedOver:
    target: Agent


@dataclass(frozen=True, slots=True)
class Told:
    """The speaker goes on itself, and is told why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Answered:
    """`target`, who waited, gets the answer; behind it `stack` still waits."""

    target: Agent
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The person gets the answer."""


Move = HandedOver | Told | Answered | Finished


def next_move(talk: Talk, said: Said, company: Company) -> Move:
    """What follows from what the speaker said."""
    name, speaker = said.destination, company.agents.get(talk.speaker)
    if name and speaker is not None:
        target = find(name, speaker, company.agents.values())
        why = objection(target, speaker, talk, company)
        if target is not None and (why is None or _waits_next(target, talk)):
            return answered(talk, company) if _waits_next(target, talk) else HandedOver(target)
        if talk.told < MOST_TOLD:
            return Told(name, why or "")
    return answered(talk, company)


def answered(talk: Talk, company: Company) -> Answered | Finished:
    """Whoever waited and may speak no more is passed over."""
    stack = talk.stack
    while stack:
        *rest, last = stack
        stack = tuple(rest)
        if (waiting := company.agents.get(last)) is not None and company.may_speak(waiting):
            return Answered(waiting, stack)
    return Finished()


def after(talk: Talk, move: Move, heard: str) -> Talk:
    """Where the talk stands once the move is made, and whoever goes on has `heard` this."""
    fresh = replace(talk, runs=talk.runs + 1, heard=heard, sender=talk.speaker)
    match move:
        case HandedOver(target=target):
            return replace(fresh, speaker=target.id, stack=(*talk.stack, talk.speaker), hops=talk.hops + 1, told=0)
        case Told():
            return replace(fresh, told=talk.told + 1, sender="")
        case Answered(target=target, stack=stack):
            return replace(fresh, speaker=target.id, stack=stack, hops=talk.hops + 1, told=0)
        case Finished():
            return replace(fresh, stack=(), told=0)


def find(name: str, speaker: Agent, agents: Collection[Agent]) -> Agent | None:
    """By slug, else by name, upper or lower case; of several with one name the one that the speaker may hand over to."""
    wanted = name.casefold()
    by_slug = (agent for agent in agents if agent.slug.casefold() == wanted)
    by_name = sorted(
        (agent for agent in agents if agent.name.casefold() == wanted), key=lambda agent: not _listed(speaker, agent)
    )
    return next(by_slug, None) or next(iter(by_name), None)


def objection(target: Agent | None, speaker: Agent, talk: Talk, company: Company) -> str | None:
    """Why the speaker may not hand over to it; the first rule that forbids."""
    if target is None:
        return "there is no agent of that name"
    if target.id == speaker.id:
        return "that is you"
    if not _listed(speaker, target):
        return "you may not hand over to that agent"
    if target.id != company.first and not target.active:
        return "that agent is not active"
    if not company.may_speak(target):
        return "the person who asks may not reach that agent"
    if len(talk.stack) >= DEEPEST:
        return f"{DEEPEST} agents wait already"
    if talk.hops + len(talk.stack) + 2 > MOST_HOPS:
        return "this went from agent to agent often enough"
    return None


def offered(talk: Talk, speaker: Agent, company: Company) -> list[Agent]:
    """To whom the speaker may hand over just now, by slug."""
    others = [each for each in company.agents.values() if objection(each, speaker, talk, company) is None]
    return sorted(others, key=lambda agent: agent.slug)


def _waits_next(target: Agent, talk: Talk) -> bool:
    """Whoever names the agent that waits for its answer, answers it."""
    return bool(talk.stack) and talk.stack[-1] == target.id


def _listed(speaker: Agent, target: Agent) -> bool:
    """The white list holds slugs; of names there may be two."""
    return target.slug.casefold() in {slug.casefold() for slug in speaker.helpers}
