"""Which messages a summary is to stand for: the oldest turns, whole ones only, as many as fit into one call.

Arithmetic over rows. A cut inside a turn would part a question from its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from arvis.domain.messages import PastMessage
from arvis.ports.compactions import Size

#: So many of the newest messages stay as they were said (behaviour 1.5).
KEPT_MESSAGES = 10

#: More messages than this make a conversation due for compaction, and so does more than this share of its prompt.
DUE_MESSAGES = 80
DUE_PERCENT = 75


def compaction_due(size: Size, ceiling: int) -> bool:
    """Whether so much is to be compacted. `ceiling` is the most that a prompt of the agent may hold, in tokens: the
    smaller of the model's window and `context_tokens`."""
    return size.messages > DUE_MESSAGES or size.tokens * 100 > ceiling * DUE_PERCENT


def first_kept(newest: Sequence[PastMessage], most_tokens: int) -> int | None:
    """The turn from which on everything stays. `newest` are the last messages in order, at least the last turn; of the
    turns before that one as many stay as bring `KEPT_MESSAGES` together, within so many tokens. None: there is none."""
    kept: int | None = None
    messages = tokens = 0
    for turn, group in groupby(reversed(newest), key=_turn_of):
        said = list(group)
        tokens += sum(message.tokens for message in said)
        if kept is not None and (messages >= KEPT_MESSAGES or tokens > most_tokens):
            break
        kept, messages = turn, messages + len(said)
    return kept


def oldest_turns(
    messages: Sequence[PastMessage], before: int, room: int, tokens_of: Callable[[PastMessage], int]
) -> list[PastMessage]:
    """The first turns of these messages, in order, that stand before this turn and together take at most `room` tokens
    in a call; one that takes more alone is the only one."""
    chosen: list[PastMessage] = []
    for turn, group in groupby(messages, key=_turn_of):
        said = list(group)
        room -= sum(map(tokens_of, said))
        if turn >= before or (chosen and room < 0):
            break
        chosen += said
    return chosen


def _turn_of(message: PastMessage) -> int:
    return message.turn
