"""The data that a visit keeps between its children or questions: in the execution's state, under its position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.engine.context import NodeContext

#: Prefix of the state's keys, followed by the id of a position.
AT = "at:"


def kept(context: NodeContext, prefix: str = AT) -> Mapping[str, Any]:
    """Return the data that this visit kept; empty at the beginning."""
    cursor_id, visit = context.place
    found: Mapping[str, Any] = context.state.get(prefix + cursor_id) or {}
    return found if found.get("visit") == visit else {}


def keeping(context: NodeContext, values: Mapping[str, Any], prefix: str = AT) -> dict[str, Any]:
    """Return the change of state that keeps these values until the visit ends."""
    cursor_id, visit = context.place
    return {prefix + cursor_id: {**values, "visit": visit}}


def ended(context: NodeContext, prefix: str = AT) -> dict[str, Any]:
    """Return the change of state for the end of the visit."""
    return {prefix + context.place[0]: None}
