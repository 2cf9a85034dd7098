"""Why a message rests without an answer, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.messages import MessageStatus
from arvis.domain.reasons import CHOSEN, in_words


def why_not(timeline: Mapping[str, Any]) -> str:
    """Why a message rests without an answer; "" when nobody knows."""
    if timeline["status"] == MessageStatus.WAITING:
        return "a person has to decide first"
    job = timeline["job"] or {}
    # Without a reason of its own a message shows the rule that routed it, which explains nothing here.
    own = None if timeline["reason"] in CHOSEN else timeline["reason"]
    reason, detail = own or job.get("reason"), job.get("error")
    words = in_words(reason) if reason else ""
    return f"{words}: {detail}" if words and detail else words or detail or ""
