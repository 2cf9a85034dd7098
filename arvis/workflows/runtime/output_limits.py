"""Limits for the data of a run: outputs are cut before they grow without end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.domain.workflows import OUTPUT, as_text

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
