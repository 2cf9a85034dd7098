"""The interface through which tools read the files of skills. `arvis/skills` implements it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill."""

    data: bytes
    #: The paths of the other files of the skill, with their sizes in bytes.
    others: Mapping[str, int]


class SkillFiles(Protocol):
    """The files of the skills that an agent has. All methods check the content against the hash that an owner has
    trusted."""

    async def read(self, agent: Agent, skill: str, path: str) -> SkillFile:
        """Return a file. `path` is relative to the directory of the skill. Raise `ToolError` if the agent does not have
        the skill, or the skill does not have the file."""
        ...

    async def folders(self, agent: Agent) -> Mapping[str, Path]:
        """Return the directories of the agent's skills that have further files, by the names of the skills."""
        ...
