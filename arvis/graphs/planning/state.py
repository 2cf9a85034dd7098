"""The state of a planning run: its lanes, its limits, the evidence of its tools, and the call of an agent for a part of it."""

# ruff: noqa: RUF009 - `stored` and `whole` declare fields, as `field` does

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arvis.domain.executions import PERSONAL_WAITS, Execution
from arvis.domain.messages import OutgoingFile, PastMessage, Role
from arvis.domain.taint import Taint, taint_in
from arvis.engine.graph import Call, NodeContext
from arvis.engine.state import changes, stored
from arvis.graphs.planning.documents import harmless
from arvis.ports.store import Store, Transaction
from arvis.prompt import Round
from arvis.tasks.rounds import Rounds, load_rounds
from arvis.tasks.state import TaskSpec, WorkOutcome, WorkState
from arvis.tasks.task import GRAPH, child_state

# -- lanes -------------------------------------------------------------------------------------------------------------
#
# The messages that all nodes share (`lane`) and those of single nodes (`lane_planner`, `lane_reasoning`, `lane_action`),
# in the state of the execution (seed 001, 2–4). Their size is limited, because every step writes the state: the oldest
# messages are dropped first, and messages of single kinds stay.


ENVIRONMENT = "shared_context_environment"
MEMORY = "shared_context_observational_memory"
SKILL = "shared_context_skill_environment"
BRIEF = "technical_execution_brief"
EVIDENCE = "action_evidence"
FEEDBACK = "critic_feedback"
#: The last output of a node that could not be used.
REFUSED = "refused_draft"
#: Of these there is one message each.
_ONCE = frozenset({ENVIRONMENT, MEMORY, SKILL, BRIEF, REFUSED})

MOST_MESSAGES = 120
#: Characters of one message, of a skill, and of a lane.
LONGEST_MESSAGE = 4_000
LONGEST_SKILL = 8_000
LONGEST_REFUSED = 8_000
LONGEST_LANE = 24_000

USER, ASSISTANT = Role.USER.value, Role.ASSISTANT.value


@dataclass(frozen=True, slots=True)
class Said:
    """`kind` is empty for plain text."""

    role: str
    text: str
    kind: str = ""

    @property
    def shared(self) -> bool:
        return self.kind.startswith("shared_context_")


@dataclass(frozen=True, slots=True)
class Lane:
    messages: tuple[Said, ...] = ()

    def __iter__(self) -> Iterator[Said]:
        return iter(self.messages)

    def adding(self, text: str, kind: str = "", *, role: str = ASSISTANT) -> Lane:
        """With one message more; of a kind that is there once, it takes the place of the older one. Empty text adds
        nothing."""
        kept = tuple(each for each in self.messages if kind not in _ONCE or each.kind != kind)
        most = {SKILL: LONGEST_SKILL, REFUSED: LONGEST_REFUSED}.get(kind, LONGEST_MESSAGE)
        said = (Said(role, clipped(text.strip(), most), kind),) if text.strip() else ()
        return Lane(_bounded((*kept, *said)))

    def without(self, kind: str) -> Lane:
        return replace(self, messages=tuple(each for each in self.messages if each.kind != kind))

    def of_assistant(self) -> Lane:
        return replace(self, messages=tuple(each for each in self.messages if each.role == ASSISTANT))

    def without_echoes(self, goal: str) -> Lane:
        """Neither copies of shared context nor the goal once more."""
        return Lane(tuple(each for each in self.messages if not each.shared and each.text.strip() != goal.strip()))

    def joined(self, others: Iterable[Said]) -> Lane:
        """With these behind it, each that is not there yet."""
        return Lane(tuple(dict.fromkeys((*self.messages, *others))))

    @classmethod
    def from_json(cls, kept: Sequence[Sequence[str]]) -> Lane:
        return cls(tuple(Said(*each) for each in kept))

    def to_json(self) -> list[list[str]]:
        return [[each.role, each.text, each.kind] for each in self.messages]


def seed(history: Sequence[PastMessage]) -> Lane:
    """Return a lane that begins with the conversation so far."""
    said = (Said(USER if each.role is Role.USER else ASSISTANT, each.content) for each in history[-MOST_MESSAGES:])
    return Lane(_bounded(tuple(replace(each, text=clipped(each.text, LONGEST_MESSAGE)) for each in said if each.text)))


def _bounded(messages: tuple[Said, ...]) -> tuple[Said, ...]:
    """Return the newest messages and those of single kinds, within the limits of a lane."""
    room, places = LONGEST_LANE, MOST_MESSAGES
    kept: set[int] = set()
    order = sorted(range(len(messages)), key=lambda index: (messages[index].kind in _ONCE, index), reverse=True)
    for index in order:
        room -= len(messages[index].text)
        places -= 1
        if room < 0 or places < 0:
            break
        kept.add(index)
    return tuple(each for index, each in enumerate(messages) if index in kept)


def clipped(text: str, most: int) -> str:
    """Head and tail of a text that is too long."""
    if len(text) <= most:
        return text
    half = max(most // 2 - 20, 1)
    return f"{text[:half]}\n[… left out …]\n{text[-half:]}"


# -- limits of one run (behaviour.md 3, "ours") ------------------------------------------------------------------------
#
# With the constants of the original it could run for hours.


TIME, ROUNDS, SAME_FEEDBACK, TRIES, FAILED = "time", "rounds", "same_feedback", "tries", "failed"

#: The reasons of a stop, for the report.
REASONS = {
    TIME: "the time for one run is used up",
    ROUNDS: "the work is still not complete after the last permitted check",
    SAME_FEEDBACK: "two checks found the same part missing, so more attempts would not help",
    TRIES: "no attempt produced a usable plan or brief",
    FAILED: "the work itself failed twice",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """`retrievals`, `plans` and `briefs` are tries in a row, `actions` runs of the executor between two checks, `rounds`
    checks in all. `minutes` of work in all; what people take to answer does not count."""

    retrievals: int = 15
    plans: int = 15
    briefs: int = 15
    actions: int = 20
    rounds: int = 5
    minutes: int = 30

    def over(self, began: int | None, now: int, waited_ms: int) -> bool:
        """Return whether the time of a run is used up; all times in ms."""
        return now - (now if began is None else began) - waited_ms > self.minutes * 60_000


# -- evidence ----------------------------------------------------------------------------------------------------------
#
# The outputs of tools, read from the effects of the run's children; claims of models do not count. Outputs of sensitive
# tools stay sealed, because the evidence becomes part of the execution's state.


#: Key of a child's state: the node that called it, and the number of its brief.
PART = "planning"

#: Tool runs in the prompt of a planner, and of a brief; characters of each.
KNOWN_RUNS = 20
READINESS_RUNS = 40
SNIPPET = 220
#: Characters in the critic's transcript: of one output, of all, and of text.
_ENTRY = 1_200
LONGEST_TRANSCRIPT = 24_000

_SEALED = "(not shown)"
#: Tools that find out what there is, and those that hand out means to reach it, by their names.
_READIES = re.compile(
    r"list|search|find|get|read|fetch|look|browse|discover|describe|status|http|cred|secret|variable|token|auth|vault|login",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """`arguments` are JSON with sorted keys."""

    tool: str
    arguments: str
    output: str
    failed: bool

    @property
    def line(self) -> str:
        said = " ".join(self.output.split())
        return f"- {self.tool} {self.arguments[:SNIPPET]} {'failed' if self.failed else '→'} {said[:SNIPPET]}"


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one child: the node that called it (`part`), the number of the brief, and its entries in order."""

    part: str
    brief: int
    entries: tuple[str | ToolRun, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of all children, the oldest first. `waited_ms`: time of waits for people; `taint` and `files` are
    those of the children."""

    works: tuple[Work, ...]
    taint: Taint
    files: tuple[OutgoingFile, ...]
    waited_ms: int

    @property
    def runs(self) -> list[ToolRun]:
        return [entry for work in self.works for entry in work.entries if isinstance(entry, ToolRun)]

    def transcript(self, brief: int) -> str:
        """Return the work for this brief as numbered entries; only the newest where that is long."""
        entries = [
            entry for work in self.works if (work.part, work.brief) == ("action", brief) for entry in work.entries
        ]
        lines = [f"{number}. {_told(entry)}" for number, entry in enumerate(entries, 1)]
        room, kept = LONGEST_TRANSCRIPT, list[str]()
        for line in reversed(lines):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept))


def load_evidence(tx: Transaction, execution: Execution) -> Evidence:
    children = [child for child in tx.executions.children_of(execution.id) if PART in child.state]
    return Evidence(
        works=tuple(_work(tx, child) for child in children),
        taint=taint_in(*(child.state for child in children)),
        files=tuple(file for child in children for file in WorkState.from_json(child.state).files),
        waited_ms=sum(_waited(tx, child) for child in children),
    )


def _work(tx: Transaction, child: Execution) -> Work:
    called: Mapping[str, object] = child.state[PART]
    made = load_rounds(tx, child, Rounds.from_json(child.state), lambda _sealed: _SEALED)
    entries = tuple(entry for each in made for entry in _entries(each))
    return Work(str(called["part"]), int(str(called["brief"])), entries)


def _entries(made: Round) -> Iterator[str | ToolRun]:
    if made.said.strip():
        yield made.said.strip()
    for call, output in zip(made.calls, made.outputs, strict=False):
        arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, default=str)
        yield ToolRun(call.name, arguments, output.content, output.failed)


def _waited(tx: Transaction, child: Execution) -> int:
    waits = [wait for wait in tx.waits.of_execution(child.id) if wait.kind in PERSONAL_WAITS and wait.answered_at]
    return sum((wait.answered_at or 0) - wait.asked_at for wait in waits)


def _told(entry: str | ToolRun) -> str:
    if isinstance(entry, str):
        return f"The executor said: {clipped(entry, _ENTRY)}"
    how = "failed" if entry.failed else "gave"
    return f"Tool {entry.tool} {clipped(entry.arguments, _ENTRY)} {how}: {clipped(entry.output, _ENTRY)}"


def known_runs(runs: Sequence[ToolRun]) -> str:
    """The last distinct ones, by tool and arguments, as lines of a prompt; each with what it gave last."""
    newest: dict[tuple[str, str], ToolRun] = {}
    for run in reversed(runs):
        newest.setdefault((run.tool, run.arguments), run)
    return harmless("\n".join(run.line for run in reversed([*newest.values()][:KNOWN_RUNS])))


def readiness(runs: Sequence[ToolRun]) -> str:
    """Return the known state of the surroundings: the last runs of tools that check it or supply credentials."""
    ready = [run for run in runs if _READIES.search(run.tool)]
    return harmless("\n".join(run.line for run in ready[-READINESS_RUNS:]))


PLAN_RETRIEVAL, PLANNER, REASONING = "plan_retrieval", "planner", "reasoning"
ACTION, CRITIC, OUTPUT = "action", "skill_critic", "output"


@dataclass(slots=True)
class PlanningState(WorkState):
    #: The judgement of `plan_retrieval` (`Retrieval` as JSON): goal, complexity, skill.
    plan: Mapping[str, Any] = stored({})
    #: The request in the person's own words.
    request: str = ""
    #: The plan in Markdown.
    prd: str = ""
    brief: str = ""
    #: Number of briefs; 0: the executor works on the goal itself.
    brief_number: int = 0
    #: Messages that all nodes share, and those of single nodes; None: the lane has not begun.
    lane: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_planner: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_reasoning: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_action: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    #: When the run began (ms); None before its first decision.
    began: int | None = None
    #: Failures of each node in a row.
    tries: Mapping[str, int] = stored({})
    #: Runs of the executor since the last check.
    actions: int = 0
    #: Number of checks.
    checks: int = stored(0, key="rounds")
    #: Feedback of the checks.
    feedbacks: Sequence[str] = ()
    #: The reason with which the executor was blocked last.
    blocker: str | None = None
    #: Result of the executor's last run.
    last: WorkOutcome | None = stored(None, read=WorkOutcome.from_json, write=WorkOutcome.to_json)
    #: Why the run was stopped before its end (a key of `REASONS`).
    stopped: str = ""

    @property
    def goal(self) -> str:
        goal: str = self.plan["goal"]
        return goal

    @property
    def shared(self) -> Lane:
        return self.lane or Lane()

    def with_tries(self, node: str, number: int) -> dict[str, Any]:
        """Return the change that notes the number of failures of a node."""
        return changes(PlanningState, tries={**self.tries, node: number})

    def with_taint(self, evidence: Evidence) -> dict[str, Any]:
        """Return the change that adds the taint of the children."""
        return changes(PlanningState, taint=self.taint | evidence.taint)


async def evidence_of(store: Store, context: NodeContext) -> Evidence:
    return await store.read(load_evidence, context.execution)


def call_agent(context: NodeContext, part: str, task: TaskSpec, more: Mapping[str, Any]) -> Call:
    """Call the agent for a part of the work, with `more` changes of the state. The child's text is not streamed, because it may
    hold a plan or a brief."""
    mark = {PART: {"part": part, "brief": PlanningState.from_json(context.state).brief_number}}
    return Call(GRAPH, child_state(context.state, task) | mark, **more)
