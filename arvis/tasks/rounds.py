"""The rounds of a turn: for each model call before the last one its text, the tools that it called, their outputs, and the
messages that arrived during the turn.

The state of the execution holds each round under a key of its own, so that no step writes an earlier round again. The
outputs are effects of the execution and are read from there; the state holds only the outputs of refused calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from arvis.domain.errors import SecretLost
from arvis.domain.executions import Effect, EffectState, Execution
from arvis.domain.messages import StoredMessage
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.ports.store import Transaction
from arvis.prompt import Round, Words

#: Beginning of the name of a tool call's effect.
TOOL_EFFECT = "tool "

_LOST = "It is unknown if this call happened, and a person decided not to repeat it."

# The stored keys of a state, the numbered ones with the number of the round (from 1).
_ROUND = "round {}"
_RESULT = "result {}"
_MESSAGES = "heard {}"
_RESTARTED = "restarted"


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The places of the outputs of a round's calls."""

    #: Cursor and visit of the effects that hold the outputs.
    cursor: str
    visit: int
    #: Outputs of calls that were refused, by the index of the call (as JSON).
    refused: Mapping[str, Mapping[str, Any]]

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> ToolResults:
        cursor, visit = kept["place"]
        return cls(cursor, visit, kept["refused"])


@dataclass(frozen=True, slots=True)
class StoredRound:
    """One round as the state holds it."""

    number: int
    text: str
    #: The tool calls as JSON; `tool_calls` reads them.
    calls: Sequence[Mapping[str, Any]] = ()
    #: The reminder or instruction that follows the text in the prompt; None in a round of tools.
    follow_up: str | None = None
    #: The reply with its tags, where these ask for actions.
    reply: str = ""
    #: A person's answer that is no message.
    answer: str = ""
    #: Reasoning blocks that the vendor wants back.
    thoughts: Mapping[str, Any] | None = None
    #: True once the calls were made, or there was none to make.
    finished: bool = False
    results: ToolResults | None = None
    #: Ids of the messages that follow this round in the prompt.
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
        """Return the state's key of this round; its results and messages have keys of their own."""
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
    """All rounds of a turn, oldest first. The methods that begin with a verb return changes of the state."""

    all: tuple[StoredRound, ...] = ()
    #: Number of the last round before the turn began again with newer messages; 0: it did not.
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
        """The rounds since the turn began, or began again."""
        return self.all[self.restarted :]

    @property
    def messages(self) -> set[str]:
        """Ids of the messages that follow a round in the prompt."""
        return {each for found in self.current for each in found.messages}

    @property
    def replies(self) -> list[str]:
        """The replies before the last one whose tags ask for actions."""
        return [found.reply for found in self.current if found.reply]

    @property
    def tool_rounds(self) -> int:
        """The number of rounds of tools since the model last ended a cycle without calls."""
        return sum(1 for _ in takewhile(lambda found: found.calls, reversed(self.current)))

    @property
    def end_with_tools(self) -> bool:
        """True if the outputs of tools are the last part of the prompt."""
        return bool(self.all) and bool(self.last.calls) and not self.last.messages

    def with_messages(self, message_ids: Sequence[str]) -> Rounds:
        """Return these rounds with further messages behind the last one."""
        if not message_ids or not self.all:
            return self
        last = replace(self.last, messages=(*self.last.messages, *message_ids))
        return replace(self, all=(*self.all[:-1], last))

    # -- changes of the state ----------------------------------------------------------------------------------

    def add_tool_calls(
        self, text: str, calls: Sequence[ToolCall], thoughts: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Begin a round whose calls are made next."""
        made = [call.to_json() for call in calls]
        return StoredRound(self.count + 1, text, made, thoughts=thoughts).to_json()

    def add_text(self, text: str, follow_up: str, reply: str = "") -> dict[str, Any]:
        """Add a round without calls, after which the model is called again. `reply` is the text with its tags, if it has any."""
        added = StoredRound(self.count + 1, text, follow_up=follow_up, reply=reply)
        return {**added.to_json(), _RESULT.format(added.number): None}

    def add_answer(self, text: str) -> dict[str, Any]:
        """Add a person's answer that is no message to the last round."""
        return replace(self.last, answer=text).to_json()

    def add_messages(self, message_ids: Iterable[str]) -> dict[str, Any]:
        """Put these messages behind the last round."""
        return {_MESSAGES.format(self.count): [*self.last.messages, *message_ids]}

    def add_results(self, place: tuple[str, int], refused: Mapping[int, ToolOutput]) -> dict[str, Any]:
        """Finish the last round: its outputs are effects at `place` (cursor and visit), or were `refused`."""
        outputs = {str(index): output.to_json() for index, output in refused.items()}
        return {_RESULT.format(self.count): {"place": list(place), "refused": outputs}}

    def restart(self) -> dict[str, Any]:
        """Leave all rounds so far out of the prompt: the turn begins again with newer messages."""
        return {_RESTARTED: self.count}


def effect_name(index: int, call: ToolCall) -> str:
    """Return the name of the effect of a call. It does not depend on whether the tool still exists."""
    return f"{TOOL_EFFECT}{index + 1}: {call.name}"


def load_rounds(
    tx: Transaction,
    execution: Execution,
    rounds: Rounds,
    unseal: Callable[[str], str],
    written: Callable[[StoredMessage], str] = lambda message: message.content,
) -> list[Round]:
    """Return the finished rounds for a prompt: their texts, calls and outputs, and the messages behind them as `written`
    formats them. Rounds before a restart of the turn are left out."""
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
    unseal: Callable[[str], str],
) -> ToolOutput:
    if results is None:
        return output_of(call, None)
    if (refused := results.refused.get(str(index))) is not None:
        return ToolOutput.from_json(refused)
    effect = effects.get((results.cursor, results.visit, effect_name(index, call)))
    return _unsealed(output_of(call, effect), unseal)


def output_of(call: ToolCall, effect: Effect | None) -> ToolOutput:
    """Return the output of a finished call; a failed one where a person decided not to repeat an interrupted call."""
    if effect is None or effect.state is not EffectState.FINISHED or effect.result is None:
        return ToolOutput(call.id, _LOST, failed=True)
    return replace(ToolOutput.from_json(effect.result), call_id=call.id)


def _unsealed(output: ToolOutput, unseal: Callable[[str], str]) -> ToolOutput:
    if not output.sealed:
        return output
    try:
        return replace(output, content=unseal(output.content), sealed=False)
    except SecretLost:
        return replace(output, content="This cannot be opened any more.", failed=True, sealed=False)
