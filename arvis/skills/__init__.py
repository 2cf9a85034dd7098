"""Skills: instructions for a kind of task, included only in the turns where they fit (behaviour 1.8)."""

from __future__ import annotations

from arvis.skills.skill import Skill, choose

__all__ = ["Skill", "choose"]
