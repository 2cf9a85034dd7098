"""Tool rounds of a turn in its prompt. Outputs are shortened first; then old rounds become a short record of their
calls. Messages that people wrote after a round always stay."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arvis.domain.markup import escape
from arvis.domain.runs import RunRequest, Turn, joined
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.llm.tokens import Estimator, measure_request

# Cuts texts to a number of tokens: head and tail stay, and a mark states the size of the gap.


#: The part of the estimated size that is kept, because the kept ends may be denser than the whole text.
_CAREFUL = 0.95


def cut_to_fit(text: str, room: int, count: Callable[[str], int]) -> str:
    """Return at most `room` tokens by `count`; "" if not even the mark fits. A cut cannot create a tag: the mark has
    its own line, and a tag is on one line."""
    if room <= 0:
        return ""
    tokens, size, shorter = count(text), len(text), text
    while tokens > room:
        size = int(size * room / tokens * _CAREFUL)
        if size < 1:
            return ""
        shorter = _ends(text, size)
        tokens = count(shorter)
    return shorter


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The largest size to which all may be cut so that they fit into `room` together."""
    left = max(room, 0)
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _ends(text: str, size: int) -> str:
    head = text[: size - size // 2]
    tail = text[len(text) - size // 2 :]
    return f"{head}\n[… {len(text) - size} characters omitted …]\n{tail}"


#: The least tokens of an output: older rounds become a record before any output is cut further.
_LEAST = 100
#: The record takes at most such a part of the room of all rounds.
_RECORD = 4
#: Characters of the arguments of a call, and of a text, in the record.
_ARGUMENTS, _TEXT = 160, 200

_HEADING = (
    "[Your earlier calls in this turn, without outputs. They were executed: do not repeat calls that change something.]"
)


@dataclass(frozen=True, slots=True)
class Words:
    """A person's text during a turn, as the model reads it; `message` is the id of the stored message ("": the text
    answered a question without one)."""

    text: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """A reply of the model with its calls and their outputs. `outputs` is empty while the calls are pending. A round
    without calls is text only. After the outputs follow `words` of people and then `then`, a reminder of the daemon.
    `thoughts` came before the calls, in the form in which their vendor wants them back."""

    said: str
    calls: tuple[ToolCall, ...]
    outputs: tuple[ToolOutput, ...] = ()
    words: tuple[Words, ...] = ()
    then: str = ""
    thoughts: Mapping[str, Any] | None = None


def turns_of(rounds: Sequence[Round]) -> tuple[Turn, ...]:
    """Return the rounds as turns of a prompt, whole; `fit_rounds` cuts them to their room."""
    return tuple(turn for each in rounds for turn in _pair(each))


def fit_rounds(rounds: Sequence[Round], room: int, estimator: Estimator, most: int | None = None) -> tuple[Turn, ...]:
    """Return the rounds as turns in at most `room` tokens without the words of people, and in at most `most` with
    them.

    The longest outputs are cut first; then the oldest rounds become a record, which is a user turn at the beginning.
    Calls and their outputs are kept or dropped together; the newest round always stays. If `most` has no room for all
    words of people, the first that does not fit and all later ones are left out, with their ids.
    """
    if not rounds:
        return ()
    if most is not None:
        rounds = _with_words_that_fit(rounds, most - min(room, least_room(rounds, estimator)), estimator)
    words = _cost_of_words(rounds, estimator)
    room = room + words if most is None else min(room + words, most)
    condensed = _condensed(rounds, room - words, estimator)
    turns = _laid_out(rounds, condensed, room - words, estimator)
    sizes = [estimator.tokens(escape(output.content)) for output in _outputs(turns)]
    longest = fair_share(sizes, room - _cost(_bare(turns), estimator))
    return tuple(_fitted(turn, longest, estimator) for turn in turns)


def behind(turns: Sequence[Turn], rounds: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return a prompt with its rounds behind it; a record joins the turn of the user before it."""
    if turns and rounds and rounds[0].role == turns[-1].role:
        return (*turns[:-1], joined(turns[-1], rounds[0]), *rounds[1:])
    return (*turns, *rounds)


def least_room(rounds: Sequence[Round], estimator: Estimator) -> int:
    """Return the tokens without which the newest round would say nothing."""
    if not rounds:
        return 0
    newest = _pair(replace(rounds[-1], words=()))
    return _cost(_bare(newest), estimator) + _LEAST * len(rounds[-1].outputs)


def answers_room(rounds: Sequence[Round], estimator: Estimator) -> int:
    """Return the tokens of answers without a stored message, which always stay."""
    return sum(_cost_of(words, estimator) for each in rounds for words in each.words if not words.message)


def tools_cost(tools: Sequence[ToolSpec], rounds: Sequence[Turn], estimator: Estimator) -> int:
    """Return the tokens of the offered tools and of the rounds made with them."""
    return _cost(rounds, estimator, tools) if tools or rounds else 0


def _pair(each: Round) -> tuple[Turn, Turn]:
    content = "\n\n".join(filter(None, [*(words.text for words in each.words), each.then]))
    ids = tuple(words.message for words in each.words if words.message)
    asked = Turn("assistant", each.said, calls=each.calls, thoughts=each.thoughts)
    return asked, Turn("user", content, outputs=each.outputs, messages=ids)


def _with_words_that_fit(rounds: Sequence[Round], room: int, estimator: Estimator) -> list[Round]:
    """Drop words that do not fit. Answers without a stored message stay, because nothing else would repeat them."""
    kept: list[Round] = []
    full = False
    for each in rounds:
        words: list[Words] = []
        for one in each.words:
            room -= _cost_of(one, estimator)
            full = full or room < 0
            if not full or not one.message:
                words.append(one)
        kept.append(replace(each, words=tuple(words)))
    return kept


def _cost_of_words(rounds: Sequence[Round], estimator: Estimator) -> int:
    return sum(_cost_of(words, estimator) for each in rounds for words in each.words)


def _cost_of(words: Words, estimator: Estimator) -> int:
    return estimator.tokens(escape(f"{words.text}\n\n"))


def _condensed(rounds: Sequence[Round], room: int, estimator: Estimator) -> int:
    """Return the number of oldest rounds that must become a record, so that no output of the others is cut too short."""
    bare = [_cost(_bare(_pair(replace(each, words=()))), estimator) + _LEAST * len(each.outputs) for each in rounds]
    if sum(bare) <= room:
        return 0
    room -= room // _RECORD
    kept = bare[-1]
    for count in range(len(rounds) - 1, 0, -1):
        kept += bare[count - 1]
        if kept > room:
            return count
    return 0


def _laid_out(rounds: Sequence[Round], condensed: int, room: int, estimator: Estimator) -> list[Turn]:
    whole = list(turns_of(rounds[condensed:]))
    if not condensed:
        return whole
    bare = _cost(_bare(_pair(replace(rounds[-1], words=()))), estimator)
    record = _record(rounds[:condensed], min(room // _RECORD, room - bare), estimator)
    return [record, *whole] if record.content else whole


# -- the record ----------------------------------------------------------------------------------------------------------


def _record(rounds: Sequence[Round], room: int, estimator: Estimator) -> Turn:
    """Return one user turn: the record in at most `room` tokens, with its oldest lines combined if they do not fit,
    and the words of people between its lines, whole."""
    lines = [[*_lines(each)] for each in rounds]
    shown = _newest_lines([line for group in lines for line in group], room - _overhead(estimator), estimator)
    hidden = sum(map(len, lines)) - shown
    summed_up = _summed_up(rounds, lines, hidden) if room > _overhead(estimator) else []
    block = [_HEADING, *summed_up] if summed_up or shown else []
    parts: list[str] = []
    for each, group in zip(rounds, lines, strict=True):
        left_out = min(hidden, len(group))
        hidden -= left_out
        block += group[left_out:]
        if each.words:
            parts += ["\n".join(block)] if block else []
            parts += [words.text for words in each.words]
            block = []
    parts += ["\n".join(block)] if block else []
    ids = tuple(words.message for each in rounds for words in each.words if words.message)
    return Turn("user", "\n\n".join(parts), messages=ids)


def _overhead(estimator: Estimator) -> int:
    """Return the tokens of the record without its lines."""
    return estimator.tokens(f"{_HEADING}\n- and before: {'some_tool ×100, ' * 3}\n\n")


def _newest_lines(lines: Sequence[str], room: int, estimator: Estimator) -> int:
    shown = 0
    for line in reversed(lines):
        room -= estimator.tokens(f"\n{line}")
        if room < 0:
            break
        shown += 1
    return shown


def _summed_up(rounds: Sequence[Round], lines: Sequence[Sequence[str]], hidden: int) -> list[str]:
    """Return one line for the oldest rounds that have no line of their own."""
    if not hidden:
        return []
    names: Counter[str] = Counter()
    for each, group in zip(rounds, lines, strict=True):
        names.update([call.name for call in each.calls][: max(hidden, 0)])
        hidden -= len(group)
    made = ", ".join(f"{name} ×{count}" for name, count in names.most_common(3))
    return [f"- and before: {escape(made)}"] if made else []


def _lines(each: Round) -> Iterator[str]:
    """Yield a line for each call; for a text-only round, its beginning."""
    failed = {output.call_id: output.failed for output in each.outputs}
    for call in each.calls:
        end = "failed" if failed.get(call.id, True) else "finished"
        yield f"- {escape(call.name)} {_short(_arguments(call), _ARGUMENTS)} → {end}"
    if not each.calls and each.said.strip():
        yield f"- you wrote: {_short(each.said, _TEXT)}"


def _arguments(call: ToolCall) -> str:
    return call.written if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


# -- cutting -------------------------------------------------------------------------------------------------------------


def _fitted(turn: Turn, longest: int, estimator: Estimator) -> Turn:
    outputs = [
        replace(each, content=cut_to_fit(escape(each.content), longest, estimator.tokens)) for each in turn.outputs
    ]
    return replace(turn, content=escape(turn.content), outputs=tuple(outputs))


def _bare(turns: Sequence[Turn]) -> list[Turn]:
    """The turns without what the outputs say."""
    return [
        replace(turn, content=escape(turn.content), outputs=tuple(replace(each, content="") for each in turn.outputs))
        for turn in turns
    ]


def _outputs(turns: Sequence[Turn]) -> list[ToolOutput]:
    return [output for turn in turns for output in turn.outputs]


def _cost(turns: Sequence[Turn], estimator: Estimator, tools: Sequence[ToolSpec] = ()) -> int:
    request = RunRequest(system="", turns=tuple(turns), model=None, agent_name="", tools=tuple(tools))
    # The request itself and its system text are counted elsewhere.
    found = measure_request(request)
    return estimator.of(replace(found, requests=0, messages=found.messages - 1))
