"""The rules of handovers: the agents that may speak next, the limits, and the instructions. All functions are pure.

Each message from one agent to another is a hop. A handover is refused if too few hops would be left to answer all
waiting agents, so every waiting agent gets its answer, and every turn ends (docs/adr/0027)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arvis.approvals import visible
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.markup import escape
from arvis.engine.state import stored
from arvis.tasks.state import ChildEnd, WorkOutcome, WorkState

#: The maximum number of agents that wait for an answer at the same time.
DEEPEST = 8
#: The maximum number of hops in a turn.
MOST_HOPS = 20
#: The maximum number of refused handovers in a row. After that, the text of a further refused handover counts as the
#: agent's answer.
MOST_REFUSALS = 2
#: The maximum number of characters in a message from one agent to another.
LONGEST_MESSAGE = 16_000
#: The attributes of a reply that name the next speaker.
DESTINATIONS = ("destinationAgent", "agentNameToWhichSendTheMessage")

SAID_NOTHING = "(It said nothing.)"


@dataclass(frozen=True, slots=True)
class HandoverProgress:
    """The progress of a turn with handovers."""

    #: The id of the agent that speaks.
    speaker: str
    #: The ids of the agents that wait for an answer; the last one gets its answer first.
    stack: tuple[str, ...] = ()
    hops: int = 0
    #: The number of refused handovers in a row.
    refusals: int = 0
    #: The number of finished executions of speakers.
    runs: int = 0
    #: The message to the speaker. If it is empty, the speaker gets the messages of the turn.
    message: str = ""
    #: The id of the agent that wrote this message; empty if no agent wrote it.
    sender: str = ""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> HandoverProgress:
        """Return the stored progress; before the first step the agent of the turn is the speaker."""
        kept = HandoverState.from_json(state)
        return kept.progress or cls(kept.agent)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> HandoverProgress:
        return cls(**{**kept, "stack": tuple(kept["stack"])})

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "stack": list(self.stack)}


@dataclass(frozen=True, slots=True)
class HandoverState(WorkState):
    #: The progress of the turn; None before the first step.
    progress: HandoverProgress | None = stored(None, read=HandoverProgress.from_json, write=HandoverProgress.to_json)


@dataclass(frozen=True, slots=True)
class SpeakerResult:
    """The result of the speaker's work. If the work failed, `outcome` is None, `error` a sentence and `reason` a code.
    `destination` is the name of the next agent; if it is empty, the answer is for the waiting agent or the person."""

    outcome: WorkOutcome | None
    error: str = ""
    reason: str = ""

    @classmethod
    def of(cls, end: ChildEnd) -> SpeakerResult:
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
    def from_json(cls, data: Mapping[str, Any]) -> SpeakerResult:
        outcome = data["outcome"]
        return cls(WorkOutcome.from_json(outcome) if outcome is not None else None, data["error"], data["reason"])


@dataclass(frozen=True, slots=True)
class Company:
    """The agents of a turn."""

    #: All agents, by id.
    agents: Mapping[str, Agent]
    #: The id of the agent of the turn.
    first: str
    #: A function that returns True for an agent that the person may use.
    can_access: Callable[[Agent], bool]

    def may_speak(self, agent: Agent) -> bool:
        """Return True for the first agent, whose use was permitted when the turn began, and for active agents that the
        person may use."""
        return agent.id == self.first or (agent.active and self.can_access(agent))


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The handover to another agent, which gets the speaker's message. The speaker waits for the answer of that
    agent."""

    target: Agent


@dataclass(frozen=True, slots=True)
class Refused:
    """The refusal of a handover to `name`. The speaker continues and gets the reason `why`."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to the waiting agent `target`. The agents on `stack` continue to wait."""

    target: Agent
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the turn: the person gets the answer."""


Move = HandedOver | Refused | Answered | Finished


def next_move(progress: HandoverProgress, result: SpeakerResult, company: Company) -> Move:
    """Return the move that follows from the speaker's reply."""
    name, speaker = result.destination, company.agents.get(progress.speaker)
    if name and speaker is not None:
        target = find(name, speaker, company.agents.values())
        why = objection(target, speaker, progress, company)
        if target is not None and (why is None or _waits_next(target, progress)):
            return answered(progress, company) if _waits_next(target, progress) else HandedOver(target)
        if progress.refusals < MOST_REFUSALS:
            return Refused(name, why or "")
    return answered(progress, company)


def answered(progress: HandoverProgress, company: Company) -> Answered | Finished:
    """Return the move after an answer. The answer goes to the last waiting agent that may still speak, or to the person
    if there is no such agent."""
    stack = progress.stack
    while stack:
        *rest, last = stack
        stack = tuple(rest)
        if (waiting := company.agents.get(last)) is not None and company.may_speak(waiting):
            return Answered(waiting, stack)
    return Finished()


def after(progress: HandoverProgress, move: Move, message: str) -> HandoverProgress:
    """Return the progress after a move. `message`: the message to the next speaker."""
    fresh = replace(progress, runs=progress.runs + 1, message=message, sender=progress.speaker)
    match move:
        case HandedOver(target=target):
            return replace(
                fresh, speaker=target.id, stack=(*progress.stack, progress.speaker), hops=progress.hops + 1, refusals=0
            )
        case Refused():
            return replace(fresh, refusals=progress.refusals + 1, sender="")
        case Answered(target=target, stack=stack):
            return replace(fresh, speaker=target.id, stack=stack, hops=progress.hops + 1, refusals=0)
        case Finished():
            return replace(fresh, stack=(), refusals=0)


def find(name: str, speaker: Agent, agents: Collection[Agent]) -> Agent | None:
    """Return the agent with this slug. If there is none, return the agent with this name. Case is ignored. If several
    agents have the name, prefer an agent to which the speaker may hand over. Return None if no agent matches."""
    wanted = name.casefold()
    by_slug = (agent for agent in agents if agent.slug.casefold() == wanted)
    by_name = sorted(
        (agent for agent in agents if agent.name.casefold() == wanted), key=lambda agent: not _listed(speaker, agent)
    )
    return next(by_slug, None) or next(iter(by_name), None)


def objection(target: Agent | None, speaker: Agent, progress: HandoverProgress, company: Company) -> str | None:
    """Return the first reason why the speaker may not hand over to this agent, or None if it may."""
    if target is None:
        return "no agent has that name"
    if target.id == speaker.id:
        return "that agent is you"
    if not _listed(speaker, target):
        return "you may not hand over to that agent"
    if target.id != company.first and not target.active:
        return "that agent is not active"
    if not company.may_speak(target):
        return "the person who asks may not use that agent"
    if len(progress.stack) >= DEEPEST:
        return f"{DEEPEST} agents are already waiting for one another, which is the limit"
    if progress.hops + len(progress.stack) + 2 > MOST_HOPS:
        return "this turn has reached its limit of handovers"
    return None


def offered(progress: HandoverProgress, speaker: Agent, company: Company) -> list[Agent]:
    """Return the agents to which the speaker may hand over now, ordered by slug."""
    others = [each for each in company.agents.values() if objection(each, speaker, progress, company) is None]
    return sorted(others, key=lambda agent: agent.slug)


def _waits_next(target: Agent, progress: HandoverProgress) -> bool:
    """Return True if this agent waits for the speaker's answer."""
    return bool(progress.stack) and progress.stack[-1] == target.id


def _listed(speaker: Agent, target: Agent) -> bool:
    """Return True if the speaker's `helpers` contain this agent. `helpers` are slugs, because names need not be
    unique."""
    return target.slug.casefold() in {slug.casefold() for slug in speaker.helpers}


# -- instructions and messages -----------------------------------------------------------------------------------------


#: The maximum number of agents in the instructions, and of characters in each description and in a name.
_MOST_OFFERED = 20
_DESCRIPTION = 100
_LONGEST_NAME = 60

_HOW = """\
# Other agents
You can ask one of these agents for help. It answers you, not the person:
{agents}
To ask, write only this, in this form:
<response-metadata><attributes><destinationAgent>{example}</destinationAgent></attributes></response-metadata>
MESSAGE TO SEND:
everything the agent needs to know"""
_TO_PERSON = "Any other reply goes to the person."
_TO_AGENT = "{how} goes to the agent {name}, which asked you; no person reads it."


def instructions(offered: Sequence[Agent], waiting: Agent | None) -> str:
    """Return the instructions about handovers, or "" if the speaker may ask no agent and no agent waits for the
    speaker."""
    if not offered:
        how = "A reply that names no other agent"
        return _TO_AGENT.format(how=how, name=plain(waiting.name)) if waiting is not None else ""
    lines = [f"- {agent.slug}: {escape(_what(agent))}" for agent in offered[:_MOST_OFFERED]]
    how = _HOW.format(agents="\n".join(lines), example=offered[0].slug)
    then = _TO_PERSON
    if waiting is not None:
        then = _TO_AGENT.format(how="Any other reply", name=plain(waiting.name))
    return f"{how}\n{then}"


def message_from(agent: Agent | None, text: str) -> str:
    """Return an agent's message for the prompt of another agent, under a heading that names the agent who wrote it."""
    return f"[Message from the agent {_name(agent)}]\n{cut(text) or SAID_NOTHING}"


def failure_of(agent: Agent | None) -> str:
    return f"[The agent {_name(agent)} could not answer.]"


def refusal(name: str, why: str) -> str:
    """Return the message to an agent whose handover was refused."""
    return (
        f"[Not handed over to “{plain(name)}”: {why}. Your text was not sent. Name another agent, or answer yourself.]"
    )


def moved(target: Agent) -> str:
    """Return the progress message that shows a person the next speaker."""
    return f"→ {plain(target.name)}"


def cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}\n[cut]"


def plain(name: str) -> str:
    """Return a name for a line in brackets, without brackets and line breaks, so that it cannot imitate such a line."""
    return visible(name).replace("[", "(").replace("]", ")")[:_LONGEST_NAME]


def _name(agent: Agent | None) -> str:
    return plain(agent.name) if agent is not None else "(gone)"


def _what(agent: Agent) -> str:
    return " ".join((agent.description or agent.name).split())[:_DESCRIPTION]
