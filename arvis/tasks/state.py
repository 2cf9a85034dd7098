"""The typed states of executions that work for an agent, with the task, the outcome and the files that they hold. Each stored key
is declared here once.

The classes are not frozen, because states are read several times in a step, and frozen instances take several times as long to make.
No code assigns to their fields."""

# ruff: noqa: RUF009 - `stored` and `whole` declare fields, as `field` does

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from arvis.domain.executions import Answer, ExecutionStatus
from arvis.domain.messages import FileKind, OutgoingFile, StoredMessage
from arvis.domain.runs import Image
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.engine.state import stored, whole
from arvis.ports.store import Store
from arvis.tags import Reply
from arvis.tasks.access import PlacedState
from arvis.tasks.rounds import Rounds

# -- the task ----------------------------------------------------------------------------------------------------------


#: The key of the state that makes an execution a run.
RUN = "run"
#: In it, the messages that a run was given.
MESSAGES = "messages"
#: And, of a child: what had that run begin which it works for.
UNDER = "under"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The task of a run."""

    prompt: str
    #: Added to the agent's own instructions.
    instructions: str = ""
    #: How replies end (`implicit`, `explicit`); None: as the agent is configured.
    completion: str | None = None
    #: Pairs of role and text in front of the prompt.
    history: Sequence[tuple[str, str]] = ()
    #: The only tools it may use, of those of its agent (None: all).
    tools: Sequence[str] | None = None
    #: Id of the message to whose sender the reply is streamed (None: it is not streamed).
    audience: str | None = None
    #: Sources of the prompt other than the person for whom the work is done.
    taint: Taint = CLEAN
    #: Shown with the prompt (`pictures_of`).
    pictures: Sequence[Sequence[str]] = ()
    #: Called instead of the agent's own model.
    model: str | None = None
    #: Rounds of tools (None: as configured for all agents).
    rounds: int | None = None
    #: Further tools (`Subagent` as JSON).
    subagents: Sequence[Mapping[str, Any]] = ()
    #: The workflow run whose log holds the calls of the subagents.
    within: Mapping[str, Any] | None = None
    #: True: without the powers of a conductor, because no person chose the conductor for this work.
    plain: bool = False
    #: Id and text of each message of a person in the prompt, to note which of them were read.
    messages: Sequence[Sequence[str]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; fields that few tasks use are left out where they are empty."""
        more = {
            "model": self.model,
            "rounds": self.rounds,
            "subagents": [dict(each) for each in self.subagents],
            "within": self.within,
            "plain": self.plain,
            MESSAGES: [list(each) for each in self.messages],
        }
        return {
            "prompt": self.prompt,
            "instructions": self.instructions,
            "completion": self.completion,
            "history": [list(each) for each in self.history],
            "tools": None if self.tools is None else list(self.tools),
            "audience": self.audience,
            "pictures": [list(each) for each in self.pictures],
            **{name: value for name, value in more.items() if value},
        }


@dataclass(frozen=True, slots=True)
class RunTask(TaskSpec):
    """The task in the state of a run."""

    #: The origin: `schedule:ID`, `webhook:ID`, `chat`, …; empty for a child, which posts nothing.
    source: str = ""
    #: The source of the run that a child works for.
    under: str = ""

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> RunTask:
        return cls(**{"prompt": "", **{name: kept[name] for name in _RUN_FIELDS if name in kept}})


_RUN_FIELDS = tuple(each.name for each in fields(RunTask) if each.name != "taint")


# -- the outcome -------------------------------------------------------------------------------------------------------
#
# The status with which an agent ends its work (behaviour.md 2.2): the timeline shows it, and the agent or graph that gave
# the task reads it.


#: Characters of a status line.
LONGEST_NOTE = 240


class WorkStatus(StrEnum):
    """`open`: the reply had no status; `exhausted`: the work was stopped at a limit. Of heartbeats, `idle`: there was
    nothing to do, and no model was called; `failed`: the called execution failed."""

    DONE = "done"
    BLOCKED = "blocked"
    CONTINUE = "continue"
    OPEN = "open"
    EXHAUSTED = "exhausted"
    IDLE = "idle"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """`visible` is the part of the last reply that people may see. `report` belongs to `continue`, `reason` and
    `requirements` to `blocked`, `result` to `done`. `attributes` are those that the agent's plugins required."""

    status: WorkStatus
    visible: str = ""
    report: str = ""
    reason: str = ""
    requirements: str = ""
    result: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """One line about the present status."""
        text = self.reason or self.report or self.result or self.visible
        return " ".join(text.split())[:LONGEST_NOTE]

    @property
    def summary(self) -> str:
        """The information for the next cycle, or for another agent."""
        return self.report or self.result or self.visible or self.reason

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "attributes": dict(self.attributes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WorkOutcome:
        return cls(**{**data, "status": WorkStatus(data["status"])})


def outcome_of(reply: Reply, otherwise: WorkStatus) -> WorkOutcome:
    """Return the status of a reply; `otherwise` for a reply without one."""
    wrapper = reply.wrapper
    if wrapper is None:
        return WorkOutcome(otherwise, reply.visible, attributes=reply.attributes)
    return WorkOutcome(
        status=WorkStatus(wrapper.status.value),
        visible=wrapper.visible,
        report=wrapper.report,
        reason=wrapper.reason,
        requirements=wrapper.requirements,
        result=wrapper.result,
        attributes=reply.attributes,
    )


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of a child execution. Without an outcome it failed or was cancelled; `error` is a sentence and `reason`
    a code."""

    outcome: WorkOutcome | None
    error: str = ""
    reason: str = ""


def child_end(answer: Answer) -> ChildEnd:
    """Read from the answer that a `Call` got."""
    value: Mapping[str, Any] = answer.value or {}
    result = value.get("result") or {}
    if value.get("status") != ExecutionStatus.DONE or "outcome" not in result:
        error = value.get("error") or f"It was {value.get('status', 'lost')}."
        return ChildEnd(None, error, value.get("reason") or "")
    return ChildEnd(WorkOutcome.from_json(result["outcome"]))


# The pictures of a turn on their way to a model: their names in the state, their bytes only in the request.


# -- files that leave with the reply: names and hashes, never bytes ----------------------------------------------------


#: Of one request: pictures, and bytes of all of them. The newest go first.
MOST_PICTURES = 10
MOST_BYTES = 20_000_000


def pictures_of(messages: Sequence[StoredMessage]) -> list[list[str]]:
    """Name, media type and hash of those that go along, in order."""
    shown = [file for message in messages for file in message.attachments if file.kind is FileKind.IMAGE]
    kept: list[list[str]] = []
    room = MOST_BYTES
    for file in reversed([file for file in shown if not file.problem]):
        room -= file.size
        if room < 0 or len(kept) == MOST_PICTURES:
            break
        kept.append([file.filename, file.content_type, file.sha256])
    return kept[::-1]


async def load_pictures(store: Store, pictures: Sequence[Sequence[str]]) -> tuple[Image, ...]:
    """With their bytes; without those whose bytes are gone."""
    found = [(name, media_type, await store.get_blob(sha256)) for name, media_type, sha256 in pictures]
    return tuple(Image(media_type, data, name) for name, media_type, data in found if data is not None)


#: Of one reply.
MOST_FILES = 10


def with_files(state: Mapping[str, Any], more: Sequence[OutgoingFile]) -> dict[str, Any]:
    """The change of state that adds these, each once; no change without any."""
    files = dict.fromkeys((*WorkState.from_json(state).files, *more))
    return {"files": [asdict(file) for file in [*files][:MOST_FILES]]} if more else {}


#: `WorkState.read` of a turn that ends with a text of the daemon: such a text needs no prompt and answers all
#: messages.
BY_DAEMON = "by daemon"


def _taint(labels: Sequence[str]) -> Taint:
    return frozenset(Label(label) for label in labels)


def _files(stored_files: Sequence[Mapping[str, Any]]) -> tuple[OutgoingFile, ...]:
    return tuple(OutgoingFile(**each) for each in stored_files)


@dataclass(slots=True)
class WorkState(PlacedState):
    """The part that all graphs have which work for an agent."""

    #: Sources other than the person for whom the work is done.
    taint: Taint = stored(CLEAN, read=_taint, write=sorted)
    #: The task of a run; None in a turn.
    run: RunTask | None = stored(None, key=RUN, read=RunTask.from_json)
    #: `delegation`, `report` or `results` in a turn that no message of a person began.
    task: str = ""
    #: Settings that a client of the API sent with its message.
    wishes: Mapping[str, Any] = stored({})
    #: Files that leave with the reply.
    files: tuple[OutgoingFile, ...] = stored((), read=_files)
    #: Ids of the messages whose text the prompt of the last reply held; `BY_DAEMON`; None before the first reply.
    read: Sequence[str] | None = None
    #: One line for people who ask what the agent is doing.
    status_note: str = ""
    outcome: WorkOutcome | None = stored(None, read=WorkOutcome.from_json, write=WorkOutcome.to_json)
    #: Id of the newest incident that a prompt of this execution reported.
    last_incident: str | None = stored(None, key="incidents")
    #: Tokens of each layer of the last prompt, and the number of messages that it left out.
    prompt: Mapping[str, Any] = stored({})
    #: Since when (ms) this execution waits for a budget.
    waits_since: int = 0
    #: Token limit of the last prompt.
    ceiling: int = 0
    #: The tokens that the prompt has for messages, for the compaction of this conversation.
    room: int | None = None
    #: The result of the compaction within this turn: the number of its rounds, and why it failed.
    compaction: Mapping[str, Any] | None = None


@dataclass(slots=True)
class AgentState(WorkState):
    """The state of the graphs `agent` and `code`."""

    rounds: Rounds = whole(Rounds.from_json)
    #: Ids of the messages at the head of the prompt; None before the first model call.
    first_messages: Sequence[str] | None = stored(None, key="asked")
    #: The time in the prompt (ms).
    prompt_time: int | None = stored(None, key="told_at")
    #: True after a model refused a prompt as too long: its pictures and long parts are left out.
    shrunk: bool = False
    #: True after the model repeated the same calls: the next call offers no tools.
    looping: bool = False
    #: Decisions of people about calls of the last round, by the index of the call.
    verdicts: Mapping[str, Any] = stored({})
    #: The call that a person is asked about: index, hash and risk.
    asking: Mapping[str, Any] | None = None
    #: The call whose subagent is at work: index and log event.
    calling: Mapping[str, Any] | None = None
    #: Number of the cycle that the next reply ends.
    cycle: int = 1
    #: The reply to which the model was reminded to add its status.
    reply_before_reminder: str = stored("", key="kept")
    reminded: bool = stored(default=False, key="nudged")
    #: Findings of the input check, for the timeline.
    input: Mapping[str, Any] | None = None
