"""The token that moves along the connections of a run, the limits of its output, and the step from one node to the
next.

A node function (`nodes/`) gets a `Token`, does its work and answers with `proceed` (or another decision of the engine);
the compiled edges (`compiler.py`) read the next node from the token. Outputs are cut before they grow without end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from arvis.domain.workflows import OUTPUT, as_text
from arvis.engine.graph import Next


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


# -- limits ------------------------------------------------------------------------------------------------------------


#: Maximum characters of JSON of one output, and of all outputs of a run together.
MOST_OUTPUT, MOST_KEPT = 262_144, 2_097_152
#: Maximum characters that templates insert into one text; twice the largest output fits.
MOST_FILLED = 524_288
#: Approximate maximum of characters that all positions of a run carry together.
MOST_CARRIED = 8_388_608
#: Characters that every output may have in any case.
LEAST_OUTPUT = 2_000
#: Added at the end of a text that was cut.
CUT = "\n[… cut: the output was longer than a run may keep]"


def bounded(output: Any, state: Mapping[str, Any], node_id: str, branches: int = 1) -> Any:
    """Return the output, cut as text if it is too long to be kept beside the others in this state and carried by this
    number of positions."""
    size = size_of(output)
    if size <= LEAST_OUTPUT:
        return output
    others = sum(size_of(kept) for name, kept in state.items() if name.startswith(OUTPUT) and name != OUTPUT + node_id)
    return cut(output, max(min(MOST_OUTPUT, MOST_KEPT - others, MOST_CARRIED // branches), LEAST_OUTPUT))


def cut(output: Any, most: int) -> Any:
    """Return the output within this number of characters."""
    if size_of(output) <= most:
        return output
    room = max(most - size_of(CUT), 0)
    kept = as_text(output)[:room]
    while size_of(kept) > room + 2:  # signs that JSON writes as several
        kept = kept[: len(kept) * 3 // 4]
    return f"{kept}{CUT}"


def size_of(output: Any) -> int:
    """Return the size in characters of JSON."""
    return len(json.dumps(output, ensure_ascii=False))
