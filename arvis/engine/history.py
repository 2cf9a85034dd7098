"""The history of an execution stores shortened changes of each step; the state holds them whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Of a longer value (in characters of JSON) only the beginning is kept. A loop would write it once for each step.
LONGEST_NOTED = 8_000
_SHOWN = 1_000


def noted(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes (JSON) in little room."""
    return {name: _short(value) for name, value in changes.items()}


def _short(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST_NOTED else f"{text[:_SHOWN]} [… {len(text)} characters]"
