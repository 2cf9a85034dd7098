"""The token that moves along the connections of a run, and the step from one node to the next.

A node function (`nodes/`) gets a `Token`, does its work and answers with `proceed` (or another decision of the
engine); the compiled edges (`compiler.py`) read the next node from the token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from arvis.engine.decisions import Next


@dataclass(frozen=True, slots=True)
class Token:
    """The value of a position of a run."""

    #: The output of the node before (JSON).
    output: Any = None
    #: The id of that node.
    source: str = ""
    #: The output handle that it chose (None: all plain ones).
    handle: str | None = None
    #: The open `parallel` nodes, outermost first, each with the mark of its visit.
    regions: tuple[str, ...] = ()
    #: Rounds, by loop.
    rounds: Mapping[str, int] = field(default_factory=dict)
    #: How often this position went through each join.
    passed: Mapping[str, int] = field(default_factory=dict)
    #: Visits of this position, by node.
    visits: Mapping[str, int] = field(default_factory=dict)
    #: The error of a branch that goes to its merge.
    failed: str | None = None
    #: The (source, error there) of the tokens that were joined to this one.
    joined: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Token:
        known = dict(data or {})
        joined = tuple((source, error) for source, error in known.get("joined", ()))
        return cls(**{**known, "regions": tuple(known.get("regions", ())), "joined": joined})

    def origin(self) -> dict[str, Any]:
        """Return where this token came from, without the output: enough to reach the node once more."""
        found = {
            "source": self.source,
            "joined": [list(each) for each in self.joined],
            "rounds": dict(self.rounds),
            "regions": list(self.regions),
        }
        return {name: value for name, value in found.items() if value}

    def on(self, node_id: str, output: Any, handle: str | None = None) -> Token:
        """Return the token that leaves this node."""
        return replace(self, output=output, source=node_id, handle=handle, joined=())


def proceed(token: Token, **changes: Any) -> Next:
    """Go where the connections lead from `token.source`, by `token.handle`."""
    return Next(token.to_json(), **changes)
