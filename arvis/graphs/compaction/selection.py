"""The selection of messages for a summary: the oldest turns, whole ones only, as many as fit into one call.

Arithmetic over rows. A cut inside a turn would separate a question from its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from arvis.domain.messages import PastMessage
from arvis.ports.compactions import Size
from arvis.prompt import Budget

# The value that the nodes of a compaction hand on: plain JSON, a part of the position, so that a crash loses no
# finished call.


@dataclass(frozen=True, slots=True)
class Plan:
    """`round` counts from 1. `ids` are the messages of this round; `tight`: a model refused as many as seemed to
    fit; `again`: they had changed once; `tried` is the summary that was to be written in the last round."""

    round: int = 1
    ids: tuple[str, ...] = ()
    tight: bool = False
    again: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    taint: str = ""
    tried: str | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> Plan:
        given = dict(value or {})
        facts = tuple((category, text) for category, text in given.pop("facts", ()))
        return cls(**{**given, "ids": tuple(given.get("ids", ())), "facts": facts})

    def next_round(self) -> Plan:
        return Plan(round=self.round + 1, tight=self.tight)

    def look_again(self) -> Plan:
        """The messages have changed since they were chosen: the same round once more."""
        return Plan(round=self.round, tight=self.tight, again=True)

    def with_half(self) -> Plan:
        """A model refused the call as too long."""
        return Plan(round=self.round, tight=True, again=self.again)

    def written(self, compaction_id: str) -> Plan:
        """This summary is about to be written."""
        return Plan(round=self.round, tight=self.tight, again=self.again, tried=compaction_id)

    def chosen(self, ids: Sequence[str]) -> Plan:
        return replace(self, ids=tuple(ids), tried=None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


#: The number of newest messages that stay unchanged (behaviour 1.5), if they take no more than this part of a prompt.
KEPT_MESSAGES = 10
KEPT_SHARE = 4

#: Messages below this part of a prompt get no summary, unless a prompt has no room for them.
LEAST_SHARE = 8

#: More messages than this make a conversation due for compaction (behaviour §7), and so do too many tokens.
DUE_MESSAGES = 80


def compaction_due(size: Size, ceiling: int) -> bool:
    """Return True if a conversation of this size must be compacted. `ceiling` is the maximum of tokens in a prompt of
    the agent: the smaller of the model's window and `context_tokens`."""
    return size.messages > DUE_MESSAGES or size.tokens > Budget(ceiling).threshold


def room_is_short(layers: Mapping[str, int], reply: int, ceiling: int) -> bool:
    """Return True if the next prompt may have no room for all messages: those of this turn and before it take most of
    the tokens that the other layers leave. `layers` are the tokens of the last prompt, `reply` those of its reply."""
    budget = Budget(ceiling)
    messages = layers.get("history", 0) + layers.get("current", 0)
    room = budget.usable - (sum(layers.values()) - messages)
    return messages + reply > room - min(room // 4, 2 * budget.reply)


def first_kept(
    newest: Sequence[PastMessage], tokens_of: Callable[[PastMessage], int], most: int, room: int | None = None
) -> int:
    """Return the first turn that stays. `newest` are the last messages in order, at least the last turn; of the turns
    before it as many stay as make `KEPT_MESSAGES` together, within `most` tokens. No message stays without a place in
    `room` (tokens; None: there is enough)."""
    kept = newest[-1].turn + 1 if newest else 0
    messages = tokens = 0
    for turn, group in groupby(reversed(newest), key=_turn_of):
        said = list(group)
        tokens += sum(map(tokens_of, said))
        if room is not None and tokens > room:
            break
        if messages and (messages >= KEPT_MESSAGES or tokens > most):
            break
        kept, messages = turn, messages + len(said)
    return kept


def oldest_turns(
    messages: Sequence[PastMessage], before: int, room: int, tokens_of: Callable[[PastMessage], int]
) -> list[PastMessage]:
    """Return the first turns of these messages, in order, before the first kept turn, with at most `room` tokens
    together in a call; a single turn above it is returned alone."""
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
