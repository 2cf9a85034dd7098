"""Skills: instructions for a kind of task, added to the prompt only if the message matches."""

from __future__ import annotations

from arvis.skills.skill import Skill, choose

__all__ = ["Skill", "choose"]
