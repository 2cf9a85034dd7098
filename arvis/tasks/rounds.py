"""The rounds of a turn. A round is a model call other than the last one: its text, its tool calls with their outputs,
and the messages that arrived after them.

The state of the execution has a separate key for each round, so that no step writes an earlier round again. The outputs
of calls are stored as effects of the execution; only the outputs of refused calls are in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import SecretLost
from arvis.domain.executions import Effect, EffectState, Execution
from arvis.domain.messages import StoredMessage
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.ports.store import Transaction
from arvis.prompt import Round, Words

#: The beginning of the name of an effect that is a tool call.
TOOL_EFFECT = "tool "

_LOST = "It is unknown whether this call was made. A person decided not to repeat it."

# The keys of a state under which rounds are stored. The number in a key is the number of the round, from 1.
_ROUND = "round {}"
_RESULT = "result {}"
_MESSAGES = "heard {}"
_RESTARTED = "restarted"


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The position of the effects that contain the outputs of a round's tool calls, and the outputs of refused
    calls."""

    #: The cursor and the visit to which the effects with the outputs belong.
    cursor: str
    visit: int
    #: The outputs (as JSON) of calls that were refused, by the index of the call in the round.
    refused: Mapping[str, Mapping[str, Any]]

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> ToolResults:
        cursor, visit = kept["place"]
        return cls(cursor, visit, kept["refused"])


@dataclass(frozen=True, slots=True)
class StoredRound:
    """One round in its stored form."""

    number: int
    text: str
    #: The tool calls as JSON; the method `tool_calls` parses them.
    calls: Sequence[Mapping[str, Any]] = ()
    #: The reminder or instruction that follows the text in the prompt. None in a round with tool calls.
    follow_up: str | None = None
    #: The text of the model with its tags, if the tags ask for actions; otherwise empty.
    reply: str = ""
    #: A person's answer to a question of this round, if it was not given as a message.
    answer: str = ""
    #: Blocks with the model's reasoning, which the vendor requires in the next request.
    thoughts: Mapping[str, Any] | None = None
    #: True if all calls of the round were made, or if the round has no calls.
    finished: bool = False
    results: ToolResults | None = None
    #: The ids of the messages that follow this round in the prompt.
    messages: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, number: int, state: Mapping[str, Any]) -> StoredRound:
        asked = state[_ROUND.format(number)]
        result = state.get(key := _RESULT.format(number))
        return cls(
            number=number,
            text=asked["said"],
            calls=asked["calls"],
            follow_up=asked.get("then"),
            reply=asked.get("whole", ""),
            answer=asked.get("answer", ""),
            thoughts=asked.get("thoughts"),
            finished=key in state,
            results=None if result is None else ToolResults.from_json(result),
            messages=tuple(state.get(_MESSAGES.format(number), ())),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the changes of the state that store this round. Its results and messages are stored under other
        keys."""
        more = {"whole": self.reply, "answer": self.answer}
        return {
            _ROUND.format(self.number): {
                "said": self.text,
                "calls": list(self.calls),
                **({} if self.follow_up is None else {"then": self.follow_up}),
                **{key: text for key, text in more.items() if text},
                **({} if self.thoughts is None else {"thoughts": self.thoughts}),
            }
        }

    def tool_calls(self) -> list[ToolCall]:
        return [ToolCall.from_json(call) for call in self.calls]


@dataclass(frozen=True, slots=True)
class Rounds:
    """All rounds of a turn, oldest first. The methods `add_…` and `restart` only return the changes to make in the
    state."""

    all: tuple[StoredRound, ...] = ()
    #: The number of rounds that were made before the turn was restarted with newer messages. 0 if it was not restarted.
    restarted: int = 0

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Rounds:
        found: list[StoredRound] = []
        while _ROUND.format(len(found) + 1) in state:
            found.append(StoredRound.from_json(len(found) + 1, state))
        return cls(tuple(found), state.get(_RESTARTED, 0))

    @property
    def count(self) -> int:
        return len(self.all)

    @property
    def last(self) -> StoredRound:
        return self.all[-1]

    @property
    def current(self) -> tuple[StoredRound, ...]:
        """The rounds since the turn began or was restarted."""
        return self.all[self.restarted :]

    @property
    def messages(self) -> set[str]:
        """The ids of all messages that follow a round in the prompt."""
        return {each for found in self.current for each in found.messages}

    @property
    def replies(self) -> list[str]:
        """The replies whose tags ask for actions, from all rounds since the last restart. The tags are included."""
        return [found.reply for found in self.current if found.reply]

    @property
    def tool_rounds(self) -> int:
        """The number of rounds with tool calls after the last round without tool calls."""
        return sum(1 for _ in takewhile(lambda found: found.calls, reversed(self.current)))

    @property
    def end_with_tools(self) -> bool:
        """True if the prompt ends with the outputs of tool calls."""
        return bool(self.all) and bool(self.last.calls) and not self.last.messages

    def with_messages(self, message_ids: Sequence[str]) -> Rounds:
        """Return these rounds with these messages added to the last round."""
        if not message_ids or not self.all:
            return self
        last = replace(self.last, messages=(*self.last.messages, *message_ids))
        return replace(self, all=(*self.all[:-1], last))

    # -- changes of the state ----------------------------------------------------------------------------------

    def add_tool_calls(
        self, text: str, calls: Sequence[ToolCall], thoughts: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Add a round with tool calls that have not been made yet."""
        made = [call.to_json() for call in calls]
        return StoredRound(self.count + 1, text, made, thoughts=thoughts).to_json()

    def add_text(self, text: str, follow_up: str, reply: str = "") -> dict[str, Any]:
        """Add a round without tool calls, after which the model is called again with the instruction `follow_up`.
        `reply` is the text with its tags, if the tags ask for actions."""
        added = StoredRound(self.count + 1, text, follow_up=follow_up, reply=reply)
        return {**added.to_json(), _RESULT.format(added.number): None}

    def add_answer(self, text: str) -> dict[str, Any]:
        """Add a person's answer to the last round. The answer was not given as a message."""
        return replace(self.last, answer=text).to_json()

    def add_messages(self, message_ids: Iterable[str]) -> dict[str, Any]:
        """Add messages that follow the last round."""
        return {_MESSAGES.format(self.count): [*self.last.messages, *message_ids]}

    def add_results(self, place: tuple[str, int], refused: Mapping[int, ToolOutput]) -> dict[str, Any]:
        """Finish the last round. The outputs of its calls are effects of the visit `place` (cursor and visit).
        `refused` contains the outputs of refused calls by the index of the call."""
        outputs = {str(index): output.to_json() for index, output in refused.items()}
        return {_RESULT.format(self.count): {"place": list(place), "refused": outputs}}

    def restart(self) -> dict[str, Any]:
        """Restart the turn with newer messages. The rounds so far are left out of the prompt."""
        return {_RESTARTED: self.count}


def effect_name(index: int, call: ToolCall) -> str:
    """Return the name of the effect of a call. The name does not depend on whether the tool still exists."""
    return f"{TOOL_EFFECT}{index + 1}: {call.name}"


def load_rounds(
    tx: Transaction,
    execution: Execution,
    rounds: Rounds,
    unseal: Callable[[str], str] | None,
    written: Callable[[StoredMessage], str] = lambda message: message.content,
) -> list[Round]:
    """Return the finished rounds since the last restart in the form that prompts use. `written` returns the text of a
    message, and `unseal` decrypts sealed outputs (None: they stay sealed)."""
    places = {(effect.cursor_id, effect.visit, effect.name): effect for effect in tx.executions.effects(execution.id)}
    messages = {each.id: each for each in tx.messages.of_turn(execution.id)} if rounds.messages else {}
    found = []
    for each in takewhile(lambda stored: stored.finished, rounds.current):
        calls = each.tool_calls()
        outputs = [_output(index, call, each.results, places, unseal) for index, call in enumerate(calls)]
        words = [Words(written(messages[key]), key) for key in each.messages if key in messages]
        words += [Words(each.answer)] if each.answer else []
        found.append(Round(each.text, tuple(calls), tuple(outputs), tuple(words), each.follow_up or "", each.thoughts))
    return found


def _output(
    index: int,
    call: ToolCall,
    results: ToolResults | None,
    effects: Mapping[tuple[str, int, str], Effect],
    unseal: Callable[[str], str] | None,
) -> ToolOutput:
    if results is None:
        return output_of(call, None)
    if (refused := results.refused.get(str(index))) is not None:
        return ToolOutput.from_json(refused)
    effect = effects.get((results.cursor, results.visit, effect_name(index, call)))
    return _unsealed(output_of(call, effect), unseal)


def output_of(call: ToolCall, effect: Effect | None) -> ToolOutput:
    """Return the output of a call from its effect. Return a failed output if the effect is missing or unfinished, which
    happens only when a person has decided not to repeat an interrupted call."""
    if effect is None or effect.state is not EffectState.FINISHED or effect.result is None:
        return ToolOutput(call.id, _LOST, failed=True)
    return replace(ToolOutput.from_json(effect.result), call_id=call.id)


def _unsealed(output: ToolOutput, unseal: Callable[[str], str] | None) -> ToolOutput:
    if unseal is None or not output.sealed:
        return output
    try:
        return replace(output, content=unseal(output.content), sealed=False)
    except SecretLost:
        return replace(output, content="This output can no longer be decrypted.", failed=True, sealed=False)
