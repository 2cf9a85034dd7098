"""The typed states of executions that work for an agent. Each stored key is declared here once.

The classes are not frozen, because states are read several times in a step, and frozen instances take several times as long to make.
No code assigns to their fields.
"""

# ruff: noqa: RUF009 - `stored` and `whole` declare fields, as `field` does
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arvis.domain.messages import Address, OutgoingFile
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.engine.state import State, stored, whole
from arvis.tasks.attachments import files_of
from arvis.tasks.outcome import WorkOutcome
from arvis.tasks.rounds import Rounds
from arvis.tasks.task import RunTask, task_in

#: `WorkState.read` of a turn that ends with a text of the daemon: such a text needs no prompt and answers all
#: messages.
BY_DAEMON = "by daemon"

_NOWHERE = Address("", "", "")


def _taint(labels: Sequence[str]) -> Taint:
    return frozenset(Label(label) for label in labels)


@dataclass(slots=True)
class WorkState(State):
    """The part that all graphs have which work for an agent."""

    #: Id of the agent, its place, and the id of its conversation there.
    agent: str = ""
    address: Address = stored(_NOWHERE, read=Address.from_json, write=Address.to_json)
    conversation: str = ""
    #: Sources other than the person for whom the work is done.
    taint: Taint = stored(CLEAN, read=_taint, write=sorted)
    #: The task of a run; None in a turn.
    run: RunTask | None = whole(task_in)
    #: `delegation`, `report` or `results` in a turn that no message of a person began.
    task: str = ""
    #: Settings that a client of the API sent with its message.
    wishes: Mapping[str, Any] = stored({})
    #: Files that leave with the reply.
    files: tuple[OutgoingFile, ...] = whole(files_of)
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
