"""The rounds of a turn in its prompt. If they are too long, outputs are shortened first; then the oldest rounds become
a short record of their calls. Messages that people wrote after a round are never shortened, but may be left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.markup import escape
from arvis.domain.runs import RunRequest, Turn, joined
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.llm.tokens import Estimator, measure_request

# -- cutting a text: its beginning and its end stay, and a line between them states how many characters are missing ----


#: A text is cut to this fraction of the length that is estimated to fit, because its ends may have more tokens per
#: character than its middle.
_CAREFUL = 0.95


def cut_to_fit(text: str, room: int, count: Callable[[str], int]) -> str:
    """Return the text cut to at most `room` tokens, measured by `count`. Return "" if not even the line about the
    missing characters fits. A cut cannot create a tag, because this line separates the two ends and a tag is on one
    line."""
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
    """Return the largest size for which all texts fit into `room` together if every longer text is cut to this size."""
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


#: The minimum number of tokens to which an output is cut. If the outputs are then still too long, the oldest rounds
#: become a record.
_LEAST = 100
#: The record gets at most the tokens for all rounds divided by this number.
_RECORD = 4
#: In the record, the arguments of a call have at most `_ARGUMENTS` characters, and a text at most `_TEXT`.
_ARGUMENTS, _TEXT = 160, 200

_HEADING = (
    "[Your earlier calls in this turn, without outputs. They were executed: do not repeat calls that change something.]"
)


@dataclass(frozen=True, slots=True)
class Words:
    """A person's text during a turn, in the form for the prompt. `message` is the id of the stored message. It is empty
    if the text answers a question of the turn, because such an answer is not stored as a message."""

    text: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """A reply of the model, with its tool calls and the outputs of the calls."""

    text: str
    #: The tool calls; empty if the reply is only text.
    calls: tuple[ToolCall, ...]
    #: The outputs of the calls; empty until the calls are made.
    outputs: tuple[ToolOutput, ...] = ()
    #: The messages of people that follow the outputs.
    words: tuple[Words, ...] = ()
    #: A reminder from the daemon. It follows `words`.
    then: str = ""
    #: The model's reasoning before the calls. The next request sends it back in the form in which the vendor sent it.
    thoughts: Mapping[str, Any] | None = None


def turns_of(rounds: Sequence[Round]) -> tuple[Turn, ...]:
    """Return the rounds as turns of a prompt, with their full outputs."""
    return tuple(turn for each in rounds for turn in _pair(each))


def fit_rounds(rounds: Sequence[Round], room: int, estimator: Estimator, most: int | None = None) -> tuple[Turn, ...]:
    """Return the rounds as turns of a prompt. They have at most `room` tokens without people's messages, and at most
    `most` tokens with these messages.

    The longest outputs are cut first; then the oldest rounds become a record, which is a user turn at the beginning. A
    call and its output are included or left out together; the newest round is always included. If people's messages do
    not all fit into `most`, the first message that does not fit and all later messages are left out, with their ids.
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
    """Return the turns of a prompt followed by its rounds. A record is joined with the user turn before it."""
    if turns and rounds and rounds[0].role == turns[-1].role:
        return (*turns[:-1], joined(turns[-1], rounds[0]), *rounds[1:])
    return (*turns, *rounds)


def least_room(rounds: Sequence[Round], estimator: Estimator) -> int:
    """Return the minimum number of tokens that the newest round needs: its text, its calls, and `_LEAST` tokens for
    each output."""
    if not rounds:
        return 0
    newest = _pair(replace(rounds[-1], words=()))
    return _cost(_bare(newest), estimator) + _LEAST * len(rounds[-1].outputs)


def answers_room(rounds: Sequence[Round], estimator: Estimator) -> int:
    """Return the tokens of people's answers to questions of the turn. They are never left out, because they are not
    stored as messages."""
    return sum(_cost_of(words, estimator) for each in rounds for words in each.words if not words.message)


def cost_of_turns(turns: Sequence[Turn], estimator: Estimator) -> int:
    """Return the tokens of these messages."""
    return _cost(turns, estimator) if turns else 0


def tools_cost(tools: Sequence[ToolSpec], rounds: Sequence[Turn], estimator: Estimator) -> int:
    """Return the tokens of the offered tools and of the rounds made with them."""
    return _cost(rounds, estimator, tools) if tools or rounds else 0


def _pair(each: Round) -> tuple[Turn, Turn]:
    content = "\n\n".join(filter(None, [*(words.text for words in each.words), each.then]))
    ids = tuple(words.message for words in each.words if words.message)
    asked = Turn("assistant", each.text, calls=each.calls, thoughts=each.thoughts)
    return asked, Turn("user", content, outputs=each.outputs, messages=ids)


def _with_words_that_fit(rounds: Sequence[Round], room: int, estimator: Estimator) -> list[Round]:
    """Return the rounds without the messages of people that do not fit. People's answers to questions of the turn stay,
    because they are not stored as messages and no later turn would contain them."""
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
    """Return the number of the oldest rounds that must become a record, so that the record and `_LEAST` tokens of
    each output in the other rounds fit into `room`."""
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
    """Return the record as one user turn. Its lines take at most `room` tokens. If they do not fit, the oldest lines
    are combined into one line. People's messages remain between the lines and are not shortened."""
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
    """Return the tokens of the record without the lines about single calls."""
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
    """Return one line for all calls that get no separate line, or an empty list if each call gets a separate line."""
    if not hidden:
        return []
    names: Counter[str] = Counter()
    for each, group in zip(rounds, lines, strict=True):
        names.update([call.name for call in each.calls][: max(hidden, 0)])
        hidden -= len(group)
    made = ", ".join(f"{name} ×{count}" for name, count in names.most_common(3))
    return [f"- and before: {escape(made)}"] if made else []


def _lines(each: Round) -> Iterator[str]:
    """Yield a line for each call of the round, or for a round without calls a line with the beginning of its text."""
    failed = {output.call_id: output.failed for output in each.outputs}
    for call in each.calls:
        end = "failed" if failed.get(call.id, True) else "finished"
        yield f"- {escape(call.name)} {_short(_arguments(call), _ARGUMENTS)} → {end}"
    if not each.calls and each.text.strip():
        yield f"- you wrote: {_short(each.text, _TEXT)}"


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
    """Return copies of all turns in which the content of each tool output is empty."""
    return [
        replace(turn, content=escape(turn.content), outputs=tuple(replace(each, content="") for each in turn.outputs))
        for turn in turns
    ]


def _outputs(turns: Sequence[Turn]) -> list[ToolOutput]:
    return [output for turn in turns for output in turn.outputs]


def _cost(turns: Sequence[Turn], estimator: Estimator, tools: Sequence[ToolSpec] = ()) -> int:
    request = RunRequest(system="", turns=tuple(turns), model=None, agent_name="", tools=tuple(tools))
    # The fixed cost of a request and the message with the system text are counted elsewhere.
    found = measure_request(request)
    return estimator.of(replace(found, requests=0, messages=found.messages - 1))
