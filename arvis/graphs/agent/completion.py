"""The end of an agent's work: the status in a reply decides whether the work ends, continues, or waits for a person.

In a chat, a reply without a status ends the work. An agent that works alone (`explicit`) must write a status wrapper.
If its reply has no wrapper, the agent gets one reminder, unless people have already seen the reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import WaitKind
from arvis.domain.messages import OutgoingFile
from arvis.domain.runs import RunResult
from arvis.domain.taint import Label
from arvis.engine.graph import Decision, End, Goto, NodeContext, Pause
from arvis.engine.state import changes
from arvis.messaging import messages
from arvis.messaging.messages import is_silent
from arvis.tags import read
from arvis.tasks.state import AgentState, WorkOutcome, WorkStatus, outcome_of, with_files
from arvis.tasks.task import is_run

EXPLICIT = "explicit"
CHECK_NEW_MESSAGES = "check_new_messages"
#: The maximum time (ms) that a blocked agent waits for a person's answer.
PATIENCE_MS = 86_400_000

#: In the next prompt, this text replaces a reply without text.
_NOTHING = "[no text]"

#: The instructions about the end of the work, for an agent that works alone.
RULES = """\
You work alone; no person can answer questions. End every reply with exactly one of these and write nothing after it:
<AGENT_DONE><KEY_RESULT>the result</KEY_RESULT></AGENT_DONE> if the work is done;
<AGENT_BLOCKED><BLOCKER_REASON>why you cannot continue</BLOCKER_REASON>\
<UNBLOCK_REQUIREMENTS>what you need</UNBLOCK_REQUIREMENTS></AGENT_BLOCKED> if you are blocked;
<AGENT_CONTINUE><STATUS_REPORT>done so far, next step</STATUS_REPORT></AGENT_CONTINUE> if you will continue."""

_GO_ON = "[Continue with the next step. Your text so far is kept; do not repeat it.]"
_NUDGE = """\
[You gave no status. Your text is kept; do not repeat it. Reply with one wrapper only: AGENT_DONE, AGENT_BLOCKED or \
AGENT_CONTINUE.]"""


@dataclass(frozen=True, slots=True)
class Completion:
    """Decides after a reply whether the work ends, continues, or waits for a person."""

    context: NodeContext
    #: True if the reply must have a status wrapper.
    explicit: bool
    #: The maximum number of cycles of the turn.
    loops: int
    #: The ids of the messages in the prompt of this reply.
    read: Sequence[str] = ()

    @property
    def state(self) -> AgentState:
        return AgentState.from_json(self.context.state)

    def decide(self, result: RunResult, files: Sequence[OutgoingFile] = ()) -> Decision:
        reply = read(result.content)
        outcome = self._with_kept(outcome_of(reply, WorkStatus.OPEN if self.explicit else WorkStatus.DONE))
        # The whole reply is stored only if it has tags. The tags are needed at the end of the turn, when their actions
        # are done.
        whole = result.content if reply.proposals else ""
        match outcome.status:
            case WorkStatus.CONTINUE:
                return self._go_on(result, outcome, whole)
            case WorkStatus.BLOCKED if not is_run(self.context.execution) and self._cycle < self.loops:
                return self._listen(outcome, whole)
            case WorkStatus.OPEN if self._is_to_be_asked(outcome):
                said = outcome.visible or _NOTHING
                more = changes(AgentState, reminded=True, reply_before_reminder=outcome.visible)
                return self._call_again(said, _NUDGE, whole, more)
            case _:
                return self._end(result, outcome, files)

    def _with_kept(self, outcome: WorkOutcome) -> WorkOutcome:
        """Return the outcome. If the reply after the reminder has no text or no wrapper, the outcome gets the text of
        the reply before the reminder."""
        kept = self.state.reply_before_reminder
        alone = not outcome.visible or (outcome.status is WorkStatus.OPEN and not is_silent(outcome.visible))
        return replace(outcome, visible=kept) if kept and alone else outcome

    def _is_to_be_asked(self, outcome: WorkOutcome) -> bool:
        seen = bool(outcome.visible) and not is_run(self.context.execution)
        return not seen and not self.state.reminded

    @property
    def _cycle(self) -> int:
        """The number of the cycle that this reply ends."""
        return self.state.cycle

    def _go_on(self, result: RunResult, outcome: WorkOutcome, whole: str) -> Decision:
        if self._cycle >= self.loops:
            return self._end(result, replace(outcome, status=WorkStatus.EXHAUSTED), ())
        self._show(outcome.visible)
        said = outcome.visible or _NOTHING
        more = changes(AgentState, reminded=False, reply_before_reminder="", cycle=self._cycle + 1)
        return self._call_again(said, _GO_ON, whole, more)

    def _listen(self, outcome: WorkOutcome, whole: str) -> Decision:
        """Let a blocked agent wait for the person. The wait counts as a cycle, so that the number of waits is
        limited."""
        added = self.state.rounds.add_text(outcome.visible, "", whole)
        more = changes(AgentState, read=self.read, cycle=self._cycle + 1)
        return Goto(CHECK_NEW_MESSAGES, outcome.visible, **added, **more, **_noted(outcome))

    def _call_again(self, text: str, follow_up: str, whole: str, more: Mapping[str, Any]) -> Decision:
        added = self.state.rounds.add_text(text, follow_up, whole) | changes(AgentState, read=self.read)
        note = changes(AgentState, status_note=" ".join(text.split())[:240]) if text != _NOTHING else {}
        return Goto("prepare", **added, **more, **note)

    def _end(self, result: RunResult, outcome: WorkOutcome, files: Sequence[OutgoingFile]) -> Decision:
        plain = outcome.status is WorkStatus.DONE and not self.explicit and not outcome.result
        content = result.content
        if (kept := self.state.reply_before_reminder) and outcome.visible == kept:
            alone = outcome.status is WorkStatus.OPEN and not is_silent(content)
            content = kept if alone else f"{kept}\n\n{content}"
        value = replace(result, content=content, calls=()).to_json() | {"outcome": outcome.to_json()}
        noted = {} if plain else _noted(outcome)
        return End(value, **changes(AgentState, read=self.read), **with_files(self.context.state, files), **noted)

    def _show(self, text: str) -> None:
        """Send the text to people as a progress message. Even after a crash, the message is sent only once."""
        if text and not is_run(self.context.execution):
            self.context.record(messages.post_progress, self.context.execution, text, self.context.now())
            self.context.commit_first()


async def listen(context: NodeContext) -> Decision:
    """Wait for the person's answer, for at most `PATIENCE_MS`. In the next prompt, the answer follows the agent's
    text."""
    state = AgentState.from_json(context.state)
    if context.answer is None:
        return Pause(WaitKind.USER, str(context.value), until=context.now() + PATIENCE_MS)
    if context.answer.expired:
        return End(_given_up(state), **changes(AgentState, status_note="Nobody answered."))
    given = context.answer.value or {}
    # An answer that is a chat message is already a message of the turn, and so a part of the prompt.
    said = "" if given.get("message") else str(given.get("text") or given.get("decision") or "")
    # Another person's answer taints the turn, because that person may have fewer rights than the person who asked.
    others = [Label.PEOPLE] if said and context.answer.by != context.execution.principal_id else []
    return Goto("check_input", **changes(AgentState, taint=state.taint.union(others)), **state.rounds.add_answer(said))


def _given_up(state: AgentState) -> dict[str, Any]:
    """Return the result of a blocked agent that got no answer. The result has no text, because people have already seen
    the agent's question."""
    outcome = {**(state.outcome.to_json() if state.outcome is not None else {}), "visible": ""}
    return RunResult("<AGENT_DONE></AGENT_DONE>", "", "", "").to_json() | {"outcome": outcome}


def _noted(outcome: WorkOutcome) -> dict[str, Any]:
    """Return the changes that store the outcome and the status note in the state."""
    return changes(AgentState, outcome=outcome, status_note=outcome.note)
