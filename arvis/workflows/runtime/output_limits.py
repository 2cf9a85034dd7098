"""How much a run may carry: outputs are cut where they would grow without end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.domain.workflows import OUTPUT, as_text

#: One output, and all that a run keeps together, in characters of JSON.
MOST_OUTPUT, MOST_KEPT = 262_144, 2_097_152
#: What templates put into one text, in characters; all that an output may be fits in twice.
MOST_FILLED = 524_288
#: What all positions of a run carry together, about.
MOST_CARRIED = 8_388_608
#: What any output has at least.
LEAST_OUTPUT = 2_000
#: Stands at the end of what was cut.
CUT = "\n[… cut: the output was longer than a run may keep]"


def bounded(output: Any, state: Mapping[str, Any], node_id: str, branches: int = 1) -> Any:
    """The output as the run may keep it beside the others in this state, and so many positions may carry it or its like; one that is
    too long is cut, as text."""
    size = size_of(output)
    if size <= LEAST_OUTPUT:
        return output
    others = sum(size_of(kept) for name, kept in state.items() if name.startswith(OUTPUT) and name != OUTPUT + node_id)
    return cut(output, max(min(MOST_OUTPUT, MOST_KEPT - others, MOST_CARRIED // branches), LEAST_OUTPUT))


def cut(output: Any, most: int) -> Any:
    """The output in so many characters."""
    if size_of(output) <= most:
        return output
    room = max(most - size_of(CUT), 0)
    kept = as_text(output)[:room]
    while size_of(kept) > room + 2:  # signs that JSON writes as several
        kept = kept[: len(kept) * 3 // 4]
    return f"{kept}{CUT}"


def size_of(output: Any) -> int:
    """In characters of JSON."""
    return len(json.dumps(output, ensure_ascii=False))
