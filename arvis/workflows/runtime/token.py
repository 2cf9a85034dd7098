"""What moves along the connections of a run: the value of a position, and what becomes of it at a node.

A node function (`nodes/`) gets `Carried`, does its work and answers with `proceed` (or another decision of the engine); the compiled
edges (`compiling.py`) read from the value where it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from arvis.engine.decisions import Next


@dataclass(frozen=True, slots=True)
class Token:
    """`output` is what the node before gave (JSON); `source` its id; `handle` the way out that it chose (None: all plain ones). `regions`
    are the open `parallel` nodes, outermost first, each with the mark of its visit; `rounds` counts by loop, `passed` by join and `visits` by
    node how often this position came through it. `failed` says what went wrong on a branch that goes to its merge; `joined`
    are the (source, what went wrong there) of those that came together as this one."""

    output: Any = None
    source: str = ""
    handle: str | None = None
    regions: tuple[str, ...] = ()
    rounds: Mapping[str, int] = field(default_factory=dict)
    passed: Mapping[str, int] = field(default_factory=dict)
    visits: Mapping[str, int] = field(default_factory=dict)
    failed: str | None = None
    joined: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Token:
        known = dict(data or {})
        joined = tuple((source, error) for source, error in known.get("joined", ()))
        return cls(**{**known, "regions": tuple(known.get("regions", ())), "joined": joined})

    def origin(self) -> dict[str, Any]:
        """Return what a node keeps of how it was come to, without the output: enough to come to it once more."""
        found = {
            "source": self.source,
            "joined": [list(each) for each in self.joined],
            "rounds": dict(self.rounds),
            "regions": list(self.regions),
        }
        return {name: value for name, value in found.items() if value}

    def on(self, node_id: str, output: Any, handle: str | None = None) -> Token:
        """What leaves this node."""
        return replace(self, output=output, source=node_id, handle=handle, joined=())


def proceed(token: Token, **changes: Any) -> Next:
    """Go where the connections lead from `carried.source`, by `carried.handle`."""
    return Next(token.to_json(), **changes)
