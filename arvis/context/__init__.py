"""The prompt of a turn: identity and the agent's own words, then as much history as fits (behaviour 1.6)."""

from __future__ import annotations

from arvis.context.prompt import Prompt, build_prompt, room_for_tools

__all__ = ["Prompt", "build_prompt", "room_for_tools"]
