"""Skills: what an agent is told for a kind of task, only in the turns where it fits (behaviour 1.8)."""

from __future__ import annotations

from arvis.skills.choosing import choose
from arvis.skills.skill import Skill

__all__ = ["Skill", "choose"]
