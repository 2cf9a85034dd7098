"""What goes from node to node of a compaction: plain JSON, a part of its position, so that a crash loses no finished call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any


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
