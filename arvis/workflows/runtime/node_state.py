"""What a visit keeps from one of its children or questions to the next: in the execution's state, under its position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.engine.context import NodeContext

#: Key of the state, with the id of a position behind it.
AT = "at:"


def kept(context: NodeContext, prefix: str = AT) -> Mapping[str, Any]:
    """What this very visit kept; empty in the beginning."""
    cursor_id, visit = context.place
    found: Mapping[str, Any] = context.state.get(prefix + cursor_id) or {}
    return found if found.get("visit") == visit else {}


def keeping(context: NodeContext, values: Mapping[str, Any], prefix: str = AT) -> dict[str, Any]:
    """The change of state that keeps them until the visit ends."""
    cursor_id, visit = context.place
    return {prefix + cursor_id: {**values, "visit": visit}}


def ended(context: NodeContext, prefix: str = AT) -> dict[str, Any]:
    """The change of state when the visit ends."""
    return {prefix + context.place[0]: None}
