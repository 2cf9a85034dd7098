"""The state of a planning execution: its lanes, its limits, the evidence of its tools, and the calls of agents for
parts of the work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import PERSONAL_WAITS, Execution
from arvis.domain.messages import OutgoingFile, PastMessage, Role
from arvis.domain.regex import regex
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
# A lane is a list of messages in the state of the execution. All nodes share `lane`; `lane_planner`, `lane_reasoning`
# and `lane_action` belong to one node each. Every step writes the state, so the size of a lane is limited: the oldest
# messages are dropped first, and messages of the kinds in `_ONCE` are dropped last.


ENVIRONMENT = "shared_context_environment"
MEMORY = "shared_context_observational_memory"
SKILL = "shared_context_skill_environment"
BRIEF = "technical_execution_brief"
EVIDENCE = "action_evidence"
FEEDBACK = "critic_feedback"
#: The last unusable output of the planner or of the reasoning node.
REFUSED = "refused_draft"
#: A lane contains at most one message of each of these kinds.
_ONCE = frozenset({ENVIRONMENT, MEMORY, SKILL, BRIEF, REFUSED})

MOST_MESSAGES = 120
#: The maximum number of characters in a message, a skill, an unusable output, and a whole lane.
LONGEST_MESSAGE = 4_000
LONGEST_SKILL = 8_000
LONGEST_REFUSED = 8_000
LONGEST_LANE = 24_000

USER, ASSISTANT = Role.USER.value, Role.ASSISTANT.value


@dataclass(frozen=True, slots=True)
class LaneMessage:
    """A message of a lane. `kind` is empty for plain text."""

    role: str
    text: str
    kind: str = ""

    @property
    def shared(self) -> bool:
        return self.kind.startswith("shared_context_")


@dataclass(frozen=True, slots=True)
class Lane:
    messages: tuple[LaneMessage, ...] = ()

    def __iter__(self) -> Iterator[LaneMessage]:
        return iter(self.messages)

    def adding(self, text: str, kind: str = "", *, role: str = ASSISTANT) -> Lane:
        """Return the lane with this message at its end. If `kind` is in `_ONCE`, the older message of this kind is
        removed, even if `text` is empty. An empty `text` adds no message."""
        kept = tuple(each for each in self.messages if kind not in _ONCE or each.kind != kind)
        most = {SKILL: LONGEST_SKILL, REFUSED: LONGEST_REFUSED}.get(kind, LONGEST_MESSAGE)
        said = (LaneMessage(role, clipped(text.strip(), most), kind),) if text.strip() else ()
        return Lane(_bounded((*kept, *said)))

    def without(self, kind: str) -> Lane:
        return replace(self, messages=tuple(each for each in self.messages if each.kind != kind))

    def of_assistant(self) -> Lane:
        return replace(self, messages=tuple(each for each in self.messages if each.role == ASSISTANT))

    def without_echoes(self, goal: str) -> Lane:
        """Return the lane without messages that are copied from the shared context, and without messages that only
        repeat the goal."""
        return Lane(tuple(each for each in self.messages if not each.shared and each.text.strip() != goal.strip()))

    def joined(self, others: Iterable[LaneMessage]) -> Lane:
        """Return the lane, followed by those messages in `others` that the lane does not contain yet."""
        return Lane(tuple(dict.fromkeys((*self.messages, *others))))

    @classmethod
    def from_json(cls, kept: Sequence[Sequence[str]]) -> Lane:
        return cls(tuple(LaneMessage(*each) for each in kept))

    def to_json(self) -> list[list[str]]:
        return [[each.role, each.text, each.kind] for each in self.messages]


def seed(history: Sequence[PastMessage]) -> Lane:
    """Return a lane that begins with the conversation so far."""
    said = (LaneMessage(USER if each.role is Role.USER else ASSISTANT, each.text) for each in history[-MOST_MESSAGES:])
    return Lane(_bounded(tuple(replace(each, text=clipped(each.text, LONGEST_MESSAGE)) for each in said if each.text)))


def _bounded(messages: tuple[LaneMessage, ...]) -> tuple[LaneMessage, ...]:
    """Return the messages of the kinds in `_ONCE` and the newest others, within the limits of a lane, in order."""
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
    """Return the text, or only its beginning and its end if it has more than `most` characters."""
    if len(text) <= most:
        return text
    half = max(most // 2 - 20, 1)
    return f"{text[:half]}\n[… left out …]\n{text[-half:]}"


# -- limits of one planning execution ----------------------------------------------------------------------------------
#
# The limits in the original design were larger, so that an execution could work for hours (docs/adr/0025).


TIME, ROUNDS, SAME_FEEDBACK, TRIES, FAILED = "time", "rounds", "same_feedback", "tries", "failed"

#: For each reason to stop the work: the text about it in the report to the person.
REASONS = {
    TIME: "the time for one run is used up",
    ROUNDS: "the work is still not complete after the last permitted check",
    SAME_FEEDBACK: "two checks found the same part missing, so more attempts would not help",
    TRIES: "no attempt produced a usable plan or brief",
    FAILED: "the work itself failed twice",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a planning execution."""

    #: The maximum numbers of consecutive attempts at an estimate, a plan and a brief.
    retrievals: int = 15
    plans: int = 15
    briefs: int = 15
    #: The maximum number of calls of the executor between two checks.
    actions: int = 20
    #: The maximum number of checks.
    rounds: int = 5
    #: The maximum time. The time in which the work waits for answers of people does not count.
    minutes: int = 30

    def over(self, began: int | None, now: int, waited_ms: int) -> bool:
        """Return True if the time is used up. All times are in ms. If `began` is None, the work begins now."""
        return now - (now if began is None else began) - waited_ms > self.minutes * 60_000


# -- evidence ----------------------------------------------------------------------------------------------------------
#
# The evidence is read from the tool calls of the child executions. Outputs of sensitive tools stay sealed, because the
# evidence becomes part of the execution's state.


#: A key in the state of a child execution. The value names the node that called the child and the number of the brief.
PART = "planning"

#: The maximum number of tool calls in the prompt of the planner.
KNOWN_RUNS = 20
#: The maximum number of tool calls in the prompt of the node that writes the brief.
READINESS_RUNS = 40
#: The maximum number of characters of the arguments of a tool call in these prompts, and of its output.
SNIPPET = 220
#: The maximum number of characters of one text, one argument list or one output in the critic's transcript.
_ENTRY = 1_200
#: The maximum number of characters of the whole transcript.
LONGEST_TRANSCRIPT = 24_000

_SEALED = "(not shown)"
#: Matches the names of tools that examine the environment or supply credentials.
_READIES = regex(
    r"list|search|find|get|read|fetch|look|browse|discover|describe|status|http|cred|secret|variable|token|auth|vault|login",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool call with its output. `arguments` are JSON with sorted keys, so that equal arguments are equal text."""

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
    """The work of one child execution."""

    #: The node that called the child.
    part: str
    #: The number of the brief that the child carries out.
    brief: int
    #: The child's texts and tool calls, in order.
    entries: tuple[str | ToolRun, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The work of all child executions, oldest first, with their taint and files. `waited_ms`: the time (ms) for which
    these executions waited for answers of people."""

    works: tuple[Work, ...]
    taint: Taint
    files: tuple[OutgoingFile, ...]
    waited_ms: int
    #: The rounds of all child executions. The outputs of sensitive tools stay sealed.
    rounds: tuple[Round, ...] = ()

    @property
    def runs(self) -> list[ToolRun]:
        return [entry for work in self.works for entry in work.entries if isinstance(entry, ToolRun)]

    def transcript(self, brief: int) -> str:
        """Return the executor's work for this brief as numbered lines. If they exceed `LONGEST_TRANSCRIPT`, only the
        newest ones remain."""
        entries = [
            entry for work in self.works if (work.part, work.brief) == ("action", brief) for entry in work.entries
        ]
        lines = [f"{number}. {_entry_text(entry)}" for number, entry in enumerate(entries, 1)]
        room, kept = LONGEST_TRANSCRIPT, list[str]()
        for line in reversed(lines):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept))


def load_evidence(tx: Transaction, execution: Execution) -> Evidence:
    children = [child for child in tx.executions.children_of(execution.id) if PART in child.state]
    rounds = [load_rounds(tx, child, Rounds.from_json(child.state), lambda _sealed: _SEALED) for child in children]
    return Evidence(
        works=tuple(_work(child, made) for child, made in zip(children, rounds, strict=True)),
        taint=taint_in(*(child.state for child in children)),
        files=tuple(file for child in children for file in WorkState.from_json(child.state).files),
        waited_ms=sum(_waited(tx, child) for child in children),
        rounds=tuple(each for made in rounds for each in made),
    )


def _work(child: Execution, rounds: Sequence[Round]) -> Work:
    called: Mapping[str, object] = child.state[PART]
    entries = tuple(entry for each in rounds for entry in _entries(each))
    return Work(str(called["part"]), int(str(called["brief"])), entries)


def _entries(made: Round) -> Iterator[str | ToolRun]:
    if made.text.strip():
        yield made.text.strip()
    for call, output in zip(made.calls, made.outputs, strict=False):
        arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, default=str)
        yield ToolRun(call.name, arguments, output.content, output.failed)


def _waited(tx: Transaction, child: Execution) -> int:
    waits = [wait for wait in tx.waits.of_execution(child.id) if wait.kind in PERSONAL_WAITS and wait.answered_at]
    return sum((wait.answered_at or 0) - wait.asked_at for wait in waits)


def _entry_text(entry: str | ToolRun) -> str:
    if isinstance(entry, str):
        return f"The executor said: {clipped(entry, _ENTRY)}"
    how = "failed" if entry.failed else "gave"
    return f"Tool {entry.tool} {clipped(entry.arguments, _ENTRY)} {how}: {clipped(entry.output, _ENTRY)}"


def known_runs(runs: Sequence[ToolRun]) -> str:
    """Return the newest tool calls as lines of a prompt. If several calls have the same tool and arguments, only the
    last is listed."""
    newest: dict[tuple[str, str], ToolRun] = {}
    for run in reversed(runs):
        newest.setdefault((run.tool, run.arguments), run)
    return harmless("\n".join(run.line for run in reversed([*newest.values()][:KNOWN_RUNS])))


def readiness(runs: Sequence[ToolRun]) -> str:
    """Return the last calls of tools that examine the environment or supply credentials, as lines of a prompt."""
    ready = [run for run in runs if _READIES.search(run.tool)]
    return harmless("\n".join(run.line for run in ready[-READINESS_RUNS:]))


PLAN_RETRIEVAL, PLANNER, REASONING = "plan_retrieval", "planner", "reasoning"
ACTION, CRITIC, OUTPUT = "action", "skill_critic", "output"


@dataclass(frozen=True, slots=True)
class PlanningState(WorkState):
    #: The result of `plan_retrieval` (`Retrieval` as JSON): goal, complexity, skill.
    plan: Mapping[str, Any] = stored({})
    #: The request in the person's own words.
    request: str = ""
    #: The plan in Markdown.
    prd: str = ""
    brief: str = ""
    #: The number of briefs so far. If it is 0, the executor works on the goal itself.
    brief_number: int = 0
    #: The lane that all nodes share, and the lanes of single nodes. A lane that has no message yet is None.
    lane: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_planner: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_reasoning: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    lane_action: Lane | None = stored(None, read=Lane.from_json, write=Lane.to_json)
    #: Start of the work (ms); None before the first decision of `plan_retrieval`.
    began: int | None = None
    #: Number of consecutive failures, by the name of the node.
    tries: Mapping[str, int] = stored({})
    #: Number of calls of the executor since the last check.
    actions: int = 0
    #: Number of checks.
    checks: int = stored(0, key="rounds")
    #: The feedback of each check that found the work incomplete, in order.
    feedbacks: Sequence[str] = ()
    #: The reason of the executor's last blocker, in lower case and without punctuation; None if the executor was never
    #: blocked.
    blocker: str | None = None
    #: The result of the last call of the executor.
    last: WorkOutcome | None = stored(None, read=WorkOutcome.from_json, write=WorkOutcome.to_json)
    #: The reason why the work was stopped before it was complete (a key of `REASONS`); empty if the work was not
    #: stopped.
    stopped: str = ""

    @property
    def goal(self) -> str:
        goal: str = self.plan["goal"]
        return goal

    @property
    def shared(self) -> Lane:
        return self.lane or Lane()

    def with_tries(self, node: str, number: int) -> dict[str, Any]:
        """Return the change of the state that sets the number of consecutive failures of a node."""
        return changes(PlanningState, tries={**self.tries, node: number})

    def with_taint(self, evidence: Evidence) -> dict[str, Any]:
        """Return the change of the state that adds the taint of the children."""
        return changes(PlanningState, taint=self.taint | evidence.taint)


async def evidence_of(store: Store, context: NodeContext) -> Evidence:
    return await store.read(load_evidence, context.execution)


def call_agent(context: NodeContext, part: str, task: TaskSpec, more: Mapping[str, Any]) -> Call:
    """Return the decision to call the agent for this part of the work. `more`: further changes of the caller's state.
    The text of the called agent is not streamed, because it may contain a plan or a brief."""
    state = PlanningState.from_json(context.state)
    mark = {PART: {"part": part, "brief": state.brief_number}}
    # The model and the effort of this work also apply to its parts.
    effort = state.wishes.get("effort") or (state.run.effort if state.run is not None else None)
    task = replace(task, model=state.run.model if state.run is not None else None, effort=effort)
    return Call(GRAPH, child_state(context.state, task) | mark, **more)
