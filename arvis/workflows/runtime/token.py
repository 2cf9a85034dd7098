"""The token that moves along the connections of a run, and the limits of its output.

A node function (`nodes/`) gets a `Token`, does its work and returns `proceed` or another decision of the engine. The
compiled edges (`compiler.py`) read the next node from the token. Outputs that are too long are cut.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.workflows import OUTPUT, as_text
from arvis.engine.graph import Next


@dataclass(frozen=True, slots=True)
class Token:
    """The data that a position of a run carries."""

    #: The output (JSON) of the node that the position left last.
    output: Any = None
    #: The id of the node that the position left last.
    source: str = ""
    #: The output handle that this node chose; None: all connections from the node are followed.
    handle: str | None = None
    #: The open regions (`joins.py`), outermost first: ids of `parallel` nodes, each with the mark of a visit.
    regions: tuple[str, ...] = ()
    #: The number of rounds, by loop.
    rounds: Mapping[str, int] = field(default_factory=dict)
    #: The number of times that this position went through a join, by join.
    passed: Mapping[str, int] = field(default_factory=dict)
    #: The number of visits by this position, by node.
    visits: Mapping[str, int] = field(default_factory=dict)
    #: The error of a failed branch. The token carries the error to the merge of the branch.
    failed: str | None = None
    #: The source and the error (empty: none) of each token that was joined to this one.
    joined: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Token:
        known = dict(data or {})
        joined = tuple((source, error) for source, error in known.get("joined", ()))
        return cls(**{**known, "regions": tuple(known.get("regions", ())), "joined": joined})

    def origin(self) -> dict[str, Any]:
        """Return the sources, rounds and regions of this token, from which a rerun makes the token again."""
        found = {
            "source": self.source,
            "joined": [list(each) for each in self.joined],
            "rounds": dict(self.rounds),
            "regions": list(self.regions),
        }
        return {name: value for name, value in found.items() if value}

    def on(self, node_id: str, output: Any, handle: str | None = None) -> Token:
        """Return the token that leaves the node `node_id` with this output."""
        return replace(self, output=output, source=node_id, handle=handle, joined=())


def proceed(token: Token, **changes: Any) -> Next:
    """Return the decision to follow the connections from `token.source` that have the handle `token.handle`."""
    return Next(token.to_json(), **changes)


# -- limits ------------------------------------------------------------------------------------------------------------


#: Maximum characters of JSON of one output, and of all outputs of a run together.
MOST_OUTPUT, MOST_KEPT = 262_144, 2_097_152
#: Maximum characters that templates insert into one text: enough for twice the largest output.
MOST_FILLED = 524_288
#: Approximate maximum of characters that all positions of a run carry together.
MOST_CARRIED = 8_388_608
#: An output with at most this number of characters is never cut, even if the other limits are exceeded.
LEAST_OUTPUT = 2_000
#: Added at the end of a text that was cut.
CUT = "\n[… cut: the output was longer than a run may keep]"


def bounded(output: Any, state: Mapping[str, Any], node_id: str, branches: int = 1) -> Any:
    """Return the output of a node. Cut it as text if it exceeds one of three limits: for one output, for all outputs in
    this state, or for the outputs that all positions of the run carry. `branches` is the number of these positions."""
    size = size_of(output)
    if size <= LEAST_OUTPUT:
        return output
    others = sum(size_of(kept) for name, kept in state.items() if name.startswith(OUTPUT) and name != OUTPUT + node_id)
    return cut(output, max(min(MOST_OUTPUT, MOST_KEPT - others, MOST_CARRIED // branches), LEAST_OUTPUT))


def cut(output: Any, most: int) -> Any:
    """Return the output, cut as text if its JSON has more than `most` characters."""
    if size_of(output) <= most:
        return output
    room = max(most - size_of(CUT), 0)
    kept = as_text(output)[:room]
    while size_of(kept) > room + 2:  # JSON writes some characters as several characters
        kept = kept[: len(kept) * 3 // 4]
    return f"{kept}{CUT}"


def size_of(output: Any) -> int:
    """Return the size of an output in characters of JSON."""
    return len(json.dumps(output, ensure_ascii=False))
