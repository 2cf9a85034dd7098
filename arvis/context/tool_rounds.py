"""The rounds of tools of a turn as they stand in its prompt: outputs cut to their room, pairs never torn apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.context.cutting import cut_to_fit, fair_share
from arvis.conversations.tokens import Estimator, measure_request
from arvis.domain.markup import escape
from arvis.domain.runs import RunRequest, Turn
from arvis.domain.tools import ToolOutput, ToolSpec

#: An older round is left out before any output would be cut below so many tokens.
_LEAST = 100


def fit_rounds(rounds: Sequence[Turn], room: int, estimator: Estimator) -> tuple[Turn, ...]:
    """Calls and outputs in at most `room` tokens, the longest outputs cut first. Each round is two turns, the calls and
    their outputs, and goes in with both or not at all; the newest always does."""
    pairs = [rounds[start : start + 2] for start in range(0, len(rounds), 2)]
    while len(pairs) > 1 and _cost(_bare(pairs), estimator) + _LEAST * len(_outputs(pairs)) > room:
        pairs.pop(0)
    sizes = [estimator.tokens(escape(output.content)) for output in _outputs(pairs)]
    longest = fair_share(sizes, room - _cost(_bare(pairs), estimator))
    return tuple(_fitted(turn, longest, estimator) for pair in pairs for turn in pair)


def tools_cost(tools: Sequence[ToolSpec], rounds: Sequence[Turn], estimator: Estimator) -> int:
    """What the tools on offer and the rounds made with them take, in tokens."""
    return _cost(rounds, estimator, tools) if tools or rounds else 0


def _fitted(turn: Turn, longest: int, estimator: Estimator) -> Turn:
    outputs = [
        replace(each, content=cut_to_fit(escape(each.content), longest, estimator.tokens)) for each in turn.outputs
    ]
    return replace(turn, content=escape(turn.content), outputs=tuple(outputs))


def _bare(pairs: Sequence[Sequence[Turn]]) -> list[Turn]:
    """The rounds without what the outputs say."""
    return [
        replace(turn, content=escape(turn.content), outputs=tuple(replace(each, content="") for each in turn.outputs))
        for pair in pairs
        for turn in pair
    ]


def _outputs(pairs: Sequence[Sequence[Turn]]) -> list[ToolOutput]:
    return [output for pair in pairs for turn in pair for output in turn.outputs]


def _cost(turns: Sequence[Turn], estimator: Estimator, tools: Sequence[ToolSpec] = ()) -> int:
    request = RunRequest(system="", turns=tuple(turns), model=None, agent_name="", tools=tuple(tools))
    # The request itself and its system text are counted elsewhere.
    found = measure_request(request)
    return estimator.of(replace(found, requests=0, messages=found.messages - 1))
