"""The rounds of a turn: what the model said on the way to its answer, which tools it asked for, what it was given and told,
and how that stands in a prompt.

The state of the execution names the calls, each round under a key of its own, so that no step writes an earlier round
again. The outputs are effects of the execution and are read from there; only what was refused without a call stands in
the state. Messages that came while a turn ran stand behind the round after which they were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from arvis.domain.errors import SecretLost
from arvis.domain.executions import Effect, EffectState, Execution
from arvis.domain.messages import StoredMessage
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.ports.store import Transaction
from arvis.prompt import Round, Words

#: How the name of such an effect begins.
TOOL_EFFECT = "tool "

_LOST = "It is not known whether this call happened, and a person said not to make it again."


def effect_name(index: int, call: ToolCall) -> str:
    """Under which the outcome of the call is remembered; it does not depend on whether the tool is still there."""
    return f"{TOOL_EFFECT}{index + 1}: {call.name}"


def asked(
    number: int, said: str, calls: Sequence[ToolCall], thoughts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The change of state when a model asks for tools."""
    kept = {} if thoughts is None else {"thoughts": thoughts}
    return {f"round {number}": {"said": said, "calls": [call.to_json() for call in calls], **kept}}


def talked(number: int, said: str, then: str, whole: str = "") -> dict[str, Any]:
    """The change of state when the model said something and goes on; `then` reminds it, and `whole` is its reply where that
    asks for more by tags."""
    tags = {"whole": whole} if whole else {}
    return {f"round {number}": {"said": said, "calls": [], "then": then, **tags}, f"result {number}": None}


def answered(state: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The change of state when a person answered what the model said last, without a message."""
    number = count(state)
    return {f"round {number}": state[f"round {number}"] | {"answer": text}}


def whole_replies(state: Mapping[str, Any]) -> list[str]:
    """Those before the last one that ask for something by tags."""
    found = (state[f"round {number}"].get("whole", "") for number in counting(state))
    return [each for each in found if each]


def heard(number: int, message_ids: Sequence[str]) -> dict[str, Any]:
    """The change of state when messages came that the model reads behind this round."""
    return {f"heard {number}": list(message_ids)}


def heard_in(state: Mapping[str, Any]) -> set[str]:
    """The messages that stand behind a round that counts."""
    return {each for number in counting(state) for each in state.get(f"heard {number}", ())}


def made(number: int, place: tuple[str, int], refused: Mapping[int, ToolOutput]) -> dict[str, Any]:
    """The change of state when the calls are made: where their effects are, and what was refused."""
    outputs = {str(index): output.to_json() for index, output in refused.items()}
    return {f"result {number}": {"place": list(place), "refused": outputs}}


def ends_with_tools(state: Mapping[str, Any]) -> bool:
    """Return whether the outputs of tools are what the model reads last."""
    number = count(state)
    return number > 0 and bool(state[f"round {number}"]["calls"]) and not state.get(f"heard {number}")


def count(state: Mapping[str, Any]) -> int:
    """How many rounds there were."""
    number = 0
    while f"round {number + 1}" in state:
        number += 1
    return number


def counting(state: Mapping[str, Any]) -> range:
    """The numbers of the rounds since the turn began, or began anew."""
    return range(1 + state.get("restarted", 0), count(state) + 1)


def in_cycle(state: Mapping[str, Any]) -> int:
    """How many rounds of tools the model asked for since it last said that it goes on."""
    calls = takewhile(bool, (state[f"round {each}"]["calls"] for each in reversed(counting(state))))
    return sum(1 for _ in calls)


def calls_of(state: Mapping[str, Any], number: int) -> list[ToolCall]:
    return [ToolCall.from_json(call) for call in state[f"round {number}"]["calls"]]


def load_rounds(
    tx: Transaction,
    execution: Execution,
    unseal: Callable[[str], str],
    written: Callable[[StoredMessage], str] = lambda message: message.content,
) -> list[Round]:
    """All rounds whose calls were made, with what they gave and what people said behind them, as it is `written` in a prompt.
    Those before the turn began anew do not count."""
    state = execution.state
    places = {(effect.cursor_id, effect.visit, effect.name): effect for effect in tx.executions.effects(execution.id)}
    messages = {each.id: each for each in tx.messages.of_turn(execution.id)} if heard_in(state) else {}
    found = []
    for number in counting(state):
        if f"result {number}" not in state:
            break
        calls = calls_of(state, number)
        result = state[f"result {number}"]
        outputs = [_output(index, call, result, places, unseal) for index, call in enumerate(calls)]
        came = [Words(written(messages[each]), each) for each in state.get(f"heard {number}", ()) if each in messages]
        asked = state[f"round {number}"]
        words = [*came, *([Words(asked["answer"])] if asked.get("answer") else [])]
        found.append(
            Round(
                asked["said"], tuple(calls), tuple(outputs), tuple(words), asked.get("then", ""), asked.get("thoughts")
            )
        )
    return found


def _output(
    index: int,
    call: ToolCall,
    result: Mapping[str, Any],
    effects: Mapping[tuple[str, int, str], Effect],
    unseal: Callable[[str], str],
) -> ToolOutput:
    if (refused := result["refused"].get(str(index))) is not None:
        return ToolOutput.from_json(refused)
    cursor, visit = result["place"]
    return _opened(output_of(call, effects.get((cursor, visit, effect_name(index, call)))), unseal)


def output_of(call: ToolCall, effect: Effect | None) -> ToolOutput:
    """What a finished call gave; a person may have said to leave it at that."""
    if effect is None or effect.state is not EffectState.FINISHED or effect.result is None:
        return ToolOutput(call.id, _LOST, failed=True)
    return replace(ToolOutput.from_json(effect.result), call_id=call.id)


def _opened(output: ToolOutput, unseal: Callable[[str], str]) -> ToolOutput:
    if not output.sealed:
        return output
    try:
        return replace(output, content=unseal(output.content), sealed=False)
    except SecretLost:
        return replace(output, content="This cannot be opened any more.", failed=True, sealed=False)
