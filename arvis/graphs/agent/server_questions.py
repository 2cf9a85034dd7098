"""Questions of tool servers during a call: the turn pauses until the person for whom the agent works has answered.

A call that needs answers ends with its questions (`ToolOutput.pending`), which are stored as the result of an effect.
Arvis asks them one after the other, and then makes the call again with all answers, as the next part of the same call.
So the questions survive a restart. Only the call of a server with an older protocol waits in memory
(`tools/mcp/calls.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.approvals import FORMS, server_question
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Answer, EffectState, WaitKind
from arvis.domain.forms import CANCEL, DECLINE, QuestionKind, ServerQuestion
from arvis.domain.tools import PendingInput, ToolCall, ToolOutput
from arvis.engine.graph import NodeContext, Pause
from arvis.engine.state import changes
from arvis.graphs.agent.tool_calls import AnsweredPart, Planned, newest_part, part_name
from arvis.tasks.state import AgentState

#: The time (ms) for which the call of a server with an older protocol can wait for an answer.
HELD_MS = 600_000
#: The maximum number of times that a server may ask questions during one call.
_MOST_PARTS = 10
_TOO_LONG = "The server asked a question that is too long to be shown, so Arvis declined it."
_TOO_OFTEN = f"Error: the server asked {_MOST_PARTS} times during this call, so Arvis stopped the call."


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a call that has ended with questions."""

    index: int
    number: int
    #: The name of the tool.
    tool: str
    pending: PendingInput


@dataclass(frozen=True, slots=True)
class Asking:
    """Decides in a visit which question of a server is asked next. `waiting_ms` is the time for an answer. `verdicts`
    are people's decisions about the calls; each pause stores these decisions in the state again."""

    context: NodeContext
    agent: Agent
    waiting_ms: int
    verdicts: Mapping[str, Any]

    def answered(self, planned: Sequence[Planned]) -> Pause | dict[int, AnsweredPart]:
        """Read the answer to the open question. Return the decision to ask the next question or, after the last
        question, the answered questions by the index of their call."""
        inputs = AgentState.from_json(self.context.state).inputs
        if inputs is None:
            return {}
        index, number = inputs["call"], inputs["part"]
        pending = _pending(self.context, index, planned[index].call, number)
        if pending is None:
            return {}
        part, responses = _Part(index, number, planned[index].name, pending), dict(inputs["responses"])
        if self.context.answer is not None:
            question = ServerQuestion.from_json(self.context.state[_key(self.context)])
            response = response_to(question, self.context.answer)
            if response is None:
                drafted = question.with_draft((self.context.answer.value or {}).get("arguments") or {})
                if (asked := self._ask(part, inputs["key"], drafted, responses)) is not None:
                    return asked
            responses[inputs["key"]] = response or {"action": CANCEL}
        return self._next(part, responses)

    def begin(self, planned: Sequence[Planned], outputs: list[ToolOutput]) -> Pause | dict[int, AnsweredPart]:
        """Return the decision to ask the first question of the calls that need answers. If no question can be shown,
        return the responses of Arvis by the index of the call; the result is empty if all calls have ended. In
        `outputs`, replace the output of a call that asked too often by an error."""
        complete: dict[int, AnsweredPart] = {}
        for index, output in enumerate(outputs):
            if output.pending is None:
                continue
            call = planned[index].call
            number = newest_part(self.context, index, call)
            if number >= _MOST_PARTS:
                outputs[index] = self._stopped(index, call)
                continue
            found = self._next(_Part(index, number, planned[index].name, output.pending), {})
            if isinstance(found, Pause):
                return found
            complete |= found
        return complete

    def _next(self, part: _Part, responses: dict[str, Any]) -> Pause | dict[int, AnsweredPart]:
        pending, notes = part.pending, list(part.pending.notes)
        for key, question in pending.questions.items():
            if key in responses:
                continue
            if (asked := self._ask(part, key, question, responses)) is not None:
                return asked
            responses[key] = {"action": DECLINE}
            notes.append(_TOO_LONG)
        complete = replace(pending, responses={**pending.responses, **responses}, notes=tuple(notes))
        return {part.index: AnsweredPart(part.number, complete, part.tool)}

    def _ask(self, part: _Part, key: str, question: ServerQuestion, responses: Mapping[str, Any]) -> Pause | None:
        """Return the decision to ask; None if the question is too long to be shown."""
        text = server_question(question, tool=part.tool, agent=self.agent.name)
        if text is None:
            return None
        inputs = {"call": part.index, "part": part.number, "key": key, "responses": dict(responses)}
        most = min(HELD_MS, self.waiting_ms) if part.pending.held else self.waiting_ms
        more: dict[str, Any] = {_key(self.context): question.to_json()}
        return Pause(
            WaitKind.INPUT,
            text,
            until=self.context.now() + most,
            choices=question.choices,
            **changes(AgentState, verdicts=dict(self.verdicts), asking=None, client_calls=(), inputs=inputs),
            **more,
        )

    def _stopped(self, index: int, call: ToolCall) -> ToolOutput:
        output = ToolOutput(call.id, _TOO_OFTEN, failed=True)
        self.context.take(part_name(index, call, 0), output.to_json())
        self.context.commit_first()
        return output


def ended(context: NodeContext) -> dict[str, Any]:
    """Return the changes of the state after the last question of a round."""
    if AgentState.from_json(context.state).inputs is None:
        return {}
    return {**changes(AgentState, inputs=None), _key(context): None}


def _key(context: NodeContext) -> str:
    """Return the key of the state under which the open question is stored."""
    return f"{FORMS}{context.place[0]}"


def response_to(question: ServerQuestion, answer: Answer) -> dict[str, Any] | None:
    """Return the response for the server; None if the answer is a draft that the person still has to accept. A question
    without an answer is cancelled."""
    given: Mapping[str, Any] = answer.value or {}
    if answer.expired or CANCEL in {given.get("decision"), given.get("text")}:
        return {"action": CANCEL}
    if given.get("decision") == "reject":
        return {"action": DECLINE}
    if given.get("decision") == "answer" and given.get("text") not in question.choices:
        return None
    if question.kind is QuestionKind.FORM:
        return {"action": "accept", "content": dict(given.get("arguments") or {})}
    return {"action": "accept"}


def _pending(context: NodeContext, index: int, call: ToolCall, part: int) -> PendingInput | None:
    """Return the questions with which a part of a call has ended; None if this part has not ended or asked nothing."""
    effect = context.known(part_name(index, call, part))
    finished = effect is not None and effect.state is EffectState.FINISHED and effect.result is not None
    return ToolOutput.from_json(effect.result).pending if effect is not None and finished else None
