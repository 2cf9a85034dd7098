"""The typed states of executions that do an agent's work, and the types of their fields: task, outcome, files.

The classes of states are not frozen, because each step creates several instances, and creating a frozen instance takes
several times as long. No code assigns to their fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Answer, ExecutionStatus
from arvis.domain.messages import FileKind, OutgoingFile, StoredMessage
from arvis.domain.runs import Image, Turn
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.engine.state import stored, whole
from arvis.ports.store import Store
from arvis.tags import Reply
from arvis.tasks.access import PlacedState
from arvis.tasks.rounds import Rounds

# -- the task ----------------------------------------------------------------------------------------------------------


#: The key of the task in the state. An execution whose state has this key is a run.
RUN = "run"
#: The key of `TaskSpec.messages` in the stored task.
MESSAGES = "messages"
#: The key of `RunTask.under` in the stored task.
UNDER = "under"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The task of a run."""

    prompt: str
    #: Instructions that are added to the agent's own instructions.
    instructions: str = ""
    #: `explicit`: each reply must have a status. `implicit`: a reply without a status counts as done. None: the setting
    #: of the agent applies.
    completion: str | None = None
    #: Pairs of role and text that precede the prompt.
    history: Sequence[tuple[str, str]] = ()
    #: The subset of the agent's tools that the run may use (None: all).
    tools: Sequence[str] | None = None
    #: The reply is streamed to the sender of the message with this id. None: the reply is not streamed.
    audience: str | None = None
    #: The taint of the prompt.
    taint: Taint = CLEAN
    #: The pictures of the prompt: name, media type and hash of each (`pictures_of`).
    pictures: Sequence[Sequence[str]] = ()
    #: The model to call (None: the agent's model).
    model: str | None = None
    #: The reasoning effort of the model calls (None: the agent's reasoning effort).
    effort: str | None = None
    #: The format that the reply must have (`ReplyFormat` as JSON; None: any text).
    format: Mapping[str, Any] | None = None
    #: The maximum number of rounds with tool calls (None: the setting for all agents).
    rounds: int | None = None
    #: Subagents that the model may call as tools (`Subagent` as JSON).
    subagents: Sequence[Mapping[str, Any]] = ()
    #: The workflow run whose log records the calls of the subagents.
    within: Mapping[str, Any] | None = None
    #: True: an agent that is a conductor has only the rights of an ordinary agent in this run, because no person chose
    #: the conductor for this work.
    plain: bool = False
    #: The id and text of each message of a person in the prompt, so that the messages that were read can be recorded.
    messages: Sequence[Sequence[str]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the task as JSON, without `taint`. Fields that few tasks use are left out if they are empty."""
        more = {
            "model": self.model,
            "effort": self.effort,
            "format": self.format,
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

    #: The source of the run: `schedule:ID`, `webhook:ID`, `chat` or another source. It is empty for a child run,
    #: because the result of a child run is not posted.
    source: str = ""
    #: The source of the run for which a child run works; empty for all other runs.
    under: str = ""

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> RunTask:
        return cls(**{"prompt": "", **{name: kept[name] for name in _RUN_FIELDS if name in kept}})


_RUN_FIELDS = tuple(each.name for each in fields(RunTask) if each.name != "taint")


# -- the outcome -------------------------------------------------------------------------------------------------------
#
# The status with which an agent ends its work. The timeline shows it, and the agent or graph that gave the task reads
# it.


#: The maximum number of characters of a status line (`WorkOutcome.note`).
LONGEST_NOTE = 240


class WorkStatus(StrEnum):
    """The status of an agent's work."""

    DONE = "done"
    BLOCKED = "blocked"
    CONTINUE = "continue"
    #: The reply had no status.
    OPEN = "open"
    #: A limit stopped the work.
    EXHAUSTED = "exhausted"
    #: Only heartbeats: there was nothing to do, and no model was called.
    IDLE = "idle"
    #: Only heartbeats: the execution that the heartbeat called failed.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """The outcome of an agent's work."""

    status: WorkStatus
    #: The part of the last reply that people may see.
    visible: str = ""
    #: The report of the work so far, if the status is `continue`.
    report: str = ""
    #: If the status is `blocked`: the reason, and the requirements for the work to continue.
    reason: str = ""
    requirements: str = ""
    #: The result of the work, if the status is `done`.
    result: str = ""
    #: The attributes that the agent's plugins require.
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """The outcome in one line of at most `LONGEST_NOTE` characters."""
        text = self.reason or self.report or self.result or self.visible
        return " ".join(text.split())[:LONGEST_NOTE]

    @property
    def summary(self) -> str:
        """The text that the next cycle or another agent gets about the work."""
        return self.report or self.result or self.visible or self.reason

    def to_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "attributes": dict(self.attributes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WorkOutcome:
        return cls(**{**data, "status": WorkStatus(data["status"])})


def outcome_of(reply: Reply, otherwise: WorkStatus) -> WorkOutcome:
    """Return the outcome of a reply. A reply without a status gets the status `otherwise`."""
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
    """The end of a child execution."""

    #: None if the child failed or was cancelled.
    outcome: WorkOutcome | None
    #: The error as a sentence, and the code of the reason. Both are empty if `outcome` is not None.
    error: str = ""
    reason: str = ""


def child_end(answer: Answer) -> ChildEnd:
    """Read the end of a child from the answer to a `Call`."""
    value: Mapping[str, Any] = answer.value or {}
    result = value.get("result") or {}
    if value.get("status") != ExecutionStatus.DONE or "outcome" not in result:
        error = value.get("error") or f"It was {value.get('status', 'lost')}."
        return ChildEnd(None, error, value.get("reason") or "")
    return ChildEnd(WorkOutcome.from_json(result["outcome"]))


# -- pictures for the model, and files of the reply: the state has their names and hashes, never their bytes -----------


#: The maximum number of pictures in a model call, and the maximum sum of their sizes in bytes. The newest pictures are
#: preferred.
MOST_PICTURES = 10
MOST_BYTES = 20_000_000


def pictures_of(messages: Sequence[StoredMessage]) -> list[list[str]]:
    """Return the name, media type and hash of each picture of these messages, oldest first. If not all pictures fit in
    a model call, leave out the oldest ones."""
    shown = [file for message in messages for file in message.attachments if file.kind is FileKind.IMAGE]
    kept: list[list[str]] = []
    room = MOST_BYTES
    for file in reversed([file for file in shown if not file.problem]):
        room -= file.size
        if room < 0 or len(kept) == MOST_PICTURES:
            break
        kept.append([file.filename, file.content_type, file.sha256])
    return kept[::-1]


async def load_pictures(store: Store, pictures: Sequence[Sequence[str]], *, past: bool = False) -> tuple[Image, ...]:
    """Return these pictures with their bytes. Pictures whose bytes are no longer stored are left out. `past` is True if
    the pictures were sent in an earlier turn."""
    found = [(name, media_type, await store.get_blob(sha256)) for name, media_type, sha256 in pictures]
    return tuple(Image(media_type, data, name, past=past) for name, media_type, data in found if data is not None)


async def with_pictures(store: Store, turns: Sequence[Turn]) -> list[Turn]:
    """Return the messages of a prompt with the bytes of their past pictures."""
    return [
        replace(turn, images=await load_pictures(store, turn.pictures, past=True)) if turn.pictures else turn
        for turn in turns
    ]


#: The maximum number of files of a reply.
MOST_FILES = 10


def with_files(state: Mapping[str, Any], more: Sequence[OutgoingFile]) -> dict[str, Any]:
    """Return the change of the state that adds these files to the reply. Each file is added only once, and a reply has
    at most `MOST_FILES` files."""
    files = dict.fromkeys((*WorkState.from_json(state).files, *more))
    return {"files": [asdict(file) for file in [*files][:MOST_FILES]]} if more else {}


#: The value of `WorkState.read` if the daemon itself wrote the last text of the turn. Such a text has no prompt, and it
#: answers all messages of the turn.
BY_DAEMON = "by daemon"


def _taint(labels: Sequence[str]) -> Taint:
    return frozenset(Label(label) for label in labels)


def _files(stored_files: Sequence[Mapping[str, Any]]) -> tuple[OutgoingFile, ...]:
    return tuple(OutgoingFile(**each) for each in stored_files)


@dataclass(frozen=True, slots=True)
class WorkState(PlacedState):
    """The part of the state that all graphs for an agent's work have."""

    #: The taint of the work.
    taint: Taint = stored(CLEAN, read=_taint, write=sorted)
    #: The task of a run; None in a turn.
    run: RunTask | None = stored(None, key=RUN, read=RunTask.from_json)
    #: `delegation`, `report` or `workflow` in a turn that no message of a person began; else empty.
    task: str = ""
    #: Settings that a client of the API sent with its message.
    wishes: Mapping[str, Any] = stored({})
    #: The files that are sent with the reply.
    files: tuple[OutgoingFile, ...] = stored((), read=_files)
    #: The ids of the messages in the prompt of the last model call, or `BY_DAEMON`; None before the first model call.
    read: Sequence[str] | None = None
    #: One line about the agent's present work, for people.
    status_note: str = ""
    outcome: WorkOutcome | None = stored(None, read=WorkOutcome.from_json, write=WorkOutcome.to_json)
    #: The id of the newest incident that a prompt of this execution reported.
    last_incident: str | None = stored(None, key="incidents")
    #: The tokens of each layer of the last prompt, and the number of messages that were left out of it.
    prompt: Mapping[str, Any] = stored({})
    #: The time (ms) at which this execution began to wait for a budget; 0 if it has not waited.
    waits_since: int = 0
    #: The token limit of the last prompt.
    ceiling: int = 0
    #: The number of tokens in the prompt that are available for messages. The compaction of the conversation uses this
    #: number.
    room: int | None = None
    #: The result of a compaction during this turn: the number of its rounds, and the reason if the compaction failed.
    compaction: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AgentState(WorkState):
    """The state of the graphs `agent` and `code`."""

    rounds: Rounds = whole(Rounds.from_json)
    #: The ids of the messages that the prompt contains before the first round; None before the first model call.
    first_messages: Sequence[str] | None = stored(None, key="asked")
    #: The time (ms) that the prompt states as the current time.
    prompt_time: int | None = stored(None, key="told_at")
    #: True after a model has refused a prompt as too long; pictures and long parts are then left out.
    shrunk: bool = False
    #: True after the model has repeated the same calls; the next model call then offers no tools.
    looping: bool = False
    #: The decisions of people about tool calls of the last round, by the index of the call in the round.
    verdicts: Mapping[str, Any] = stored({})
    #: The tool call about which a person is asked: its index in the round, its hash and its risk.
    asking: Mapping[str, Any] | None = None
    #: The tool call whose subagent is running: its index in the round and its log event.
    calling: Mapping[str, Any] | None = None
    #: The tool servers for which the person got a login link in this turn.
    logins: Sequence[str] = ()
    #: The indexes of the calls of the last round that the client of the API makes.
    client_calls: Sequence[int] = ()
    #: The question of a tool server that a person is asked (`graphs/agent/server_questions.py`).
    inputs: Mapping[str, Any] | None = None
    #: The pictures that tools have shown, such as those of earlier turns: name, media type and hash of each.
    again: Sequence[Sequence[str]] = ()
    #: The number of the present cycle (from 1).
    cycle: int = 1
    #: The reply without a status, after which the model was reminded to add the status.
    reply_before_reminder: str = stored("", key="kept")
    reminded: bool = stored(default=False, key="nudged")
    #: The text so far of a continued reply that has reached the limit of tokens, and the number of continuations.
    reply_so_far: str = ""
    continued: int = 0
    #: True after the model was asked to correct a reply that does not have the requested format.
    corrected: bool = False
    #: The findings of the input check, for the timeline.
    input: Mapping[str, Any] | None = None
    #: The number and the tokens of the conversation's messages before this turn (`Size`); empty if they are unknown.
    size: Sequence[int] = ()
