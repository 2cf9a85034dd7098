"""The rounds of a turn or run that ends, in the form that is stored with its reply (`domain/past_rounds.py`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from arvis.domain.dataclass import replace
from arvis.domain.executions import Execution
from arvis.domain.markup import visible
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.ports.store import Transaction
from arvis.prompt.past import shortened
from arvis.prompt.tool_rounds import fair_share
from arvis.tasks.rounds import StoredRound, effect_name, load_rounds
from arvis.tasks.state import AgentState

#: The graphs whose states contain rounds.
AGENT_GRAPHS = frozenset({"agent", "code"})
#: The maximum number of calls of a turn that are stored. The newest calls are stored.
MOST_CALLS = 40
#: The maximum number of characters of all stored outputs together. A single output of the maximum length is stored
#: whole.
MOST_OUTPUT = 32_000
#: The maximum numbers of characters of the text beside the calls of a round, and of the arguments of a call.
MOST_TEXT, MOST_ARGUMENTS = 4_000, 4_000
#: The maximum number of characters of a text in arguments.
LONGEST_ARGUMENT = 1_500


def past_rounds(tx: Transaction, execution: Execution) -> tuple[PastRound, ...]:
    """Return the finished rounds with tool calls of this execution. Rounds without calls are left out, because their
    texts were posted as messages."""
    if execution.graph not in AGENT_GRAPHS:
        return ()
    rounds = AgentState.from_json(execution.state).rounds
    if not any(each.calls for each in rounds.current):
        return ()
    outputs = [each.outputs for each in load_rounds(tx, execution, rounds, None)]
    finished = takewhile(lambda stored: stored.finished, rounds.current)
    made = [
        (stored, [*zip(stored.tool_calls(), given, strict=True)])
        for stored, given in zip(finished, outputs, strict=True)
        if stored.calls
    ]
    newest, left_out = _newest(made)
    share = fair_share([_size(output) for _, calls in newest for _, output in calls], MOST_OUTPUT)
    found = [_past(stored, calls, share) for stored, calls in newest]
    if left_out and found:
        note = f"[{left_out} earlier calls of this turn are left out.]"
        found[0] = replace(found[0], text="\n".join(filter(None, [note, found[0].text])))
    return tuple(found)


_Made = tuple[StoredRound, Sequence[tuple[ToolCall, ToolOutput]]]


def _newest(made: Sequence[_Made]) -> tuple[list[_Made], int]:
    """Return the newest rounds with at most `MOST_CALLS` calls together, and the number of the other calls."""
    kept: list[_Made] = []
    room = MOST_CALLS
    for stored, calls in reversed(made):
        room -= len(calls)
        if room < 0 and kept:
            break
        kept.append((stored, calls[-MOST_CALLS:]))
    count = sum(len(calls) for _, calls in kept)
    return kept[::-1], sum(len(calls) for _, calls in made) - count


def _past(stored: StoredRound, calls: Sequence[tuple[ToolCall, ToolOutput]], share: int) -> PastRound:
    text = Excerpt.of(visible(stored.text).strip(), MOST_TEXT).within(MOST_TEXT)
    first = len(stored.calls) - len(calls)
    return PastRound(text, tuple(_call(stored, first + index, *each, share) for index, each in enumerate(calls)))


def _call(stored: StoredRound, index: int, call: ToolCall, output: ToolOutput, share: int) -> PastCall:
    # Later prompts do not contain secret outputs.
    kept = Excerpt.of("" if output.sealed else output.content, share)
    place = None
    if not kept.whole and stored.results is not None:
        place = (stored.results.cursor, stored.results.visit, effect_name(index, call))
    return PastCall(
        name=call.name,
        arguments=_shortened_arguments(call),
        output=kept,
        failed=output.failed,
        secret=output.sealed,
        place=place,
        pictures=output.pictures,
    )


def _size(output: ToolOutput) -> int:
    return 0 if output.sealed else len(output.content)


def _shortened_arguments(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments
    if arguments is None:
        return {"written": Excerpt.of(call.written, LONGEST_ARGUMENT).within(LONGEST_ARGUMENT)}
    kept = shortened(arguments, LONGEST_ARGUMENT)
    text = json.dumps(kept, ensure_ascii=False)
    return kept if len(text) <= MOST_ARGUMENTS else {"shortened": text[:LONGEST_ARGUMENT] + "…"}
