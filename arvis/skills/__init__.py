"""Skills: instructions for one kind of task. They are added to the prompt only if the message matches the skill's
triggers."""

from __future__ import annotations

from arvis.skills.skill import Skill, choose, skills_of

__all__ = ["Skill", "choose", "skills_of"]
